"""Where a text or a matrix still is: in the files of a directory, and in the tensors of this process."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from pss_integrations.errors import InvalidInput


def files_of(root: Path) -> dict[str, bytes]:
    """Every file below a directory with its content, by its path within it."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def holding(files: Mapping[str, bytes], texts: Iterable[str]) -> list[str]:
    """Paths of the files that hold one of the texts in their name or content: as it is or as JSON, in any case."""
    wanted = {form for text in texts for form in _forms(text)}
    found = ((path, path.encode().lower() + b"\n" + content.lower()) for path, content in files.items())
    return [path for path, whole in found if any(form in whole for form in wanted)]


def factor_of(adapter: Path) -> set[bytes]:
    """The bytes of one trained B matrix of a stored state, as they look in each type that it may be held in.

    :raises InvalidInput: If the state changes nothing: zeros are everywhere.
    """
    with safe_open(adapter, "pt") as file:
        trained = (file.get_tensor(key) for key in sorted(file.keys()) if ".lora_B." in key)
        factor = next((one for one in trained if one.any()), None)
    if factor is None:
        raise InvalidInput(f"{adapter} holds zeros alone: compile a state that learnt something")
    return {_bytes(factor.to(dtype)) for dtype in (torch.bfloat16, torch.float16, torch.float32)}


def tensors_holding(factor: Iterable[bytes]) -> int:
    """How many pieces of memory, of those that a tensor of this process lies in, hold a matrix that was stored."""
    gc.collect()
    wanted = [*factor]
    return sum(any(one in content for one in wanted) for content in _memory())


def _memory() -> Iterator[bytes]:
    """The content of each piece of memory once, however many tensors look at it."""
    seen = set[int]()
    for one in gc.get_objects():
        # not isinstance, which would ask lazily loaded modules for their class, and load them
        if issubclass(type(one), Tensor) and one.layout == torch.strided and one.device.type != "meta":
            storage = one.untyped_storage()
            if storage.data_ptr() not in seen:
                seen.add(storage.data_ptr())
                yield _bytes(torch.empty(0, dtype=torch.uint8, device=one.device).set_(storage))


def _bytes(tensor: Tensor) -> bytes:
    return tensor.cpu().contiguous().view(torch.uint8).numpy().tobytes()


def _forms(text: str) -> Iterator[bytes]:
    """A text as it may be written; capitals of ASCII do not count, in file or text."""
    for form in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
        yield form.encode().lower()
