"""Reads with and without drafts, reads of many sessions in one batch, and bind and unload of the paper's states."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn
from transformers import Qwen2ForCausalLM

from pss_integrations.evaluation.bench import (
    CLUE_TOKENS,
    SEED,
    SESSIONS,
    Endless,
    Load,
    Tell,
    compare,
    new_engine,
    ratios,
)
from pss_integrations.evaluation.bench_drafts import bench_drafts
from pss_integrations.evaluation.bench_shapes import qwen_7b
from pss_integrations.evaluation.peft_reference import quiet_peft
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.lora import LoraBank
from pss_integrations.states.reader import decode, prompt_tokens
from pss_integrations.states.steps import finish

_QUERY: Final = "what was the setting before we switched?"


def bench_read(load: Load, *, quick: bool, tell: Tell) -> dict[str, Any]:
    """Everything about reads, each part under its own key, and the ratio to PEFT's ``generate`` above them.

    :param load: Loads the backbone; called three times.
    :param quick: Fewer queries and repeats.
    """
    repeats = 3 if quick else 7
    drafts = bench_drafts(load, quick=quick, tell=tell)
    tell(f"reads of {SESSIONS} sessions")
    batch = bench_batch(load, repeats=repeats)
    tell("bind and unload of a 44 MiB state")
    return {
        "ratio_vs_generate": drafts["ratio_vs_generate"],
        "drafts": drafts,
        "batch": batch,
        "bind": bench_bind(repeats=repeats),
    }


def bench_batch(load: Load, *, repeats: int) -> dict[str, Any]:
    """Reads of eight sessions in one batch against one at a time; random states, 24 tokens each."""
    engine = new_engine(Endless(load()), CompileConfig())
    generator = torch.Generator().manual_seed(SEED)
    lanes = list(range(1, SESSIONS + 1))
    for lane in lanes:
        engine.bank.bind(lane, torch.randn(engine.bank.layout.numel, generator=generator) * 0.01)
    prompts = [prompt_tokens(engine.backbone, _QUERY)] * SESSIONS

    def together() -> None:
        finish(decode(engine.backbone, engine.bank, lanes, prompts, CLUE_TOKENS))

    def apart() -> None:
        for lane, prompt in zip(lanes, prompts, strict=True):
            finish(decode(engine.backbone, engine.bank, [lane], [prompt], CLUE_TOKENS))

    batch, single = compare(together, apart, repeats)
    engine.close()
    return {
        **ratios("ratio_batched_8", single, batch),
        "batch_of_8_ms": batch.to_dict(),
        "one_at_a_time_ms": single.to_dict(),
        "read_ms": round(single.median / SESSIONS, 1),
    }


def bench_bind(*, repeats: int) -> dict[str, Any]:
    """Bind plus unload of a state with the paper's Qwen shapes against PEFT's load_adapter and delete_adapter.

    The base weights are allocated and never touched: neither side reads them.
    """
    from peft import LoraConfig, get_peft_model
    from safetensors.torch import save_file

    bank = LoraBank(_qwen(), StateConfig(), lanes=1)
    vector = torch.randn(bank.layout.numel, generator=torch.Generator().manual_seed(SEED)).bfloat16()
    modules = sorted({p.path.rpartition(".")[2] for p in bank.layout.projections})
    lora = LoraConfig(r=32, lora_alpha=64, target_modules=modules)
    with quiet_peft():
        peft_model: Any = get_peft_model(_qwen(), lora, adapter_name="resident", autocast_adapter_dtype=False)
    with tempfile.TemporaryDirectory() as folder:
        lora.save_pretrained(folder)
        tensors = {key: matrix.contiguous() for key, matrix in bank.layout.matrices(vector).items()}
        save_file(tensors, Path(folder) / "adapter_model.safetensors")

        def ours() -> None:
            bank.bind(0, vector)
            bank.unbind(0)

        def theirs() -> None:
            peft_model.load_adapter(folder, "session", autocast_adapter_dtype=False)
            peft_model.delete_adapter("session")

        with quiet_peft():
            bind, peft = compare(ours, theirs, repeats)
    return {
        **ratios("ratio_vs_peft", peft, bind),
        "mebibytes": round(vector.numel() * 2 / 2**20, 1),
        "bind_unload_ms": bind.to_dict(),
        "peft_load_delete_ms": peft.to_dict(),
    }


def _qwen() -> nn.Module:
    """The layers that a state adapts; the vocabulary does not matter here."""
    with torch.device("meta"):
        model: Any = Qwen2ForCausalLM(qwen_7b(layers=8, vocabulary=1024))
    return model.bfloat16().to_empty(device="cpu")
