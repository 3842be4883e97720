"""What models would run on, told as JSON: a process of its own, so that ``pssi doctor`` itself needs no torch."""

from __future__ import annotations

import json
from typing import Any

import torch


def describe() -> dict[str, Any]:
    """The device and the type that ``auto`` stands for, and why."""
    from pss_integrations.states import backbone

    device = torch.device(backbone.best_device())
    dtype = backbone.fast_dtype(device)
    return {"device": device.type, "dtype": str(dtype).removeprefix("torch."), "why": _reason(device.type, dtype)}


def _reason(device: str, dtype: torch.dtype) -> str:
    if device == "cuda":
        return f"{torch.cuda.get_device_name()} computes in it natively"
    if device == "mps":
        return "it is what this device computes in reliably"
    if dtype == torch.bfloat16:
        return "this CPU has BF16 matrix instructions"
    return "this CPU has no BF16 matrix instructions (avx512_bf16, amx_bf16 or bf16), so BF16 would be slower"


if __name__ == "__main__":
    print(json.dumps(describe()))
