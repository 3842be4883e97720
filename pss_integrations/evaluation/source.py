"""States and clues of the real engine, kept on disk by content: whatever was computed once is never computed again.

::

    <directory>/<engine>/states/<digest>.safetensors   a state by what it was written from, with how it was written
                         reads/<digest>.json           the clues of one batch of reads, by the states' own content
                         answers/<digest>.json         the base model's answers to some chats, by those

``<engine>`` is a hash of everything else that they depend on: backbone, configuration, device, library versions, and
the source of the modules that write and read.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from pss_integrations import states
from pss_integrations.evaluation import generation
from pss_integrations.evaluation.bench import new_engine
from pss_integrations.evaluation.tools import Chat
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.compiler import Progress
from pss_integrations.states.config import READ_ROWS, CompileConfig, StateConfig
from pss_integrations.states.reader import decode, prompt_tokens
from pss_integrations.states.steps import finish
from pss_integrations.types import Clue, ClueTarget, Message

_LANES = 8
_CLUES = TypeAdapter(list[list[Clue]])
_ANSWERS = TypeAdapter(list[Clue])
_SOURCES = "backbone compiler config engine history layout loss lora optimizer reader rows schedule split steps".split()
_GENERATION = Path(generation.__file__).read_text(encoding="utf-8")  # other code may give other answers


@dataclass(frozen=True, slots=True)
class WrittenState:
    """A state vector (numel,) and how it was written."""

    vector: Tensor
    record: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Hash of the vector."""
        return hashlib.sha256(self.vector.contiguous().view(torch.uint8).numpy().tobytes()).hexdigest()


class CachedStates:
    """Writes and reads states with one engine, through a cache.

    :param directory: Where they are kept; anything in it may be deleted.
    :param progress: Told how far a compile is.
    :param state: The shape of the states; the default one if it is not said.
    """

    def __init__(
        self,
        backbone: Backbone,
        config: CompileConfig,
        directory: Path,
        progress: Progress | None = None,
        *,
        state: StateConfig | None = None,
    ) -> None:
        self.engine = new_engine(backbone, config, state)
        self._progress = progress
        self._directory = directory / _digest(self.describe())[:16]

    def describe(self) -> dict[str, Any]:
        """Return everything its states depend on besides their input."""
        return {
            "backbone": self.engine.backbone.name,
            "fingerprint": self.engine.backbone.fingerprint,
            "dtype": str(self.engine.backbone.dtype).removeprefix("torch."),
            "device": str(self.engine.backbone.device),
            "state": self.engine.state.to_dict(),
            "compile": self.engine.config.to_dict(),
            "libraries": {name: version(name) for name in ("torch", "transformers")},
            "source": _digest([files(states).joinpath(f"{name}.py").read_text() for name in _SOURCES])[:16],
        }

    def count_tokens(self, text: str) -> int:
        """Number of the backbone's tokens."""
        return len(self.engine.backbone.encode(text))

    def compile(self, messages: Sequence[Message], targets: Sequence[ClueTarget]) -> WrittenState:
        """Write a state, or take the one that was written from the same input."""
        said = [[message.role, message.text] for message in messages]
        taught = [asdict(target) for target in targets]
        path = self._directory / "states" / f"{_digest([said, taught])}.safetensors"
        if path.exists():
            with safe_open(path, "pt") as file:
                return WrittenState(file.get_tensor("state"), json.loads(file.metadata()["record"]))
        result = finish(self.engine.compile(messages, targets, progress=self._progress))
        record = {
            "seconds": round(result.seconds, 2),
            "steps": result.steps,
            "targets": result.targets,
            "reproduced": result.reproduced,
            "confirmed": result.confirmed,
            "history_tokens": result.history_tokens,
        }
        _write(path, save({"state": result.vector}, {"record": json.dumps(record)}))
        return WrittenState(result.vector, record)

    def shuffle(self, state: WrittenState) -> WrittenState:
        """Permute the entries within each factor, always in the same way."""
        vector = state.vector.clone()
        generator = torch.Generator().manual_seed(0)
        for factor in self.engine.bank.layout.matrices(vector).values():
            order = torch.randperm(factor.numel(), generator=generator)
            factor.copy_(factor.flatten()[order].view_as(factor))
        return WrittenState(vector, {})

    def zero(self) -> WrittenState:
        """Return the state of zeros."""
        vector = torch.zeros(self.engine.bank.layout.numel, dtype=self.engine.bank.dtype)
        return WrittenState(vector, {})

    def read(self, requests: Sequence[tuple[WrittenState, Sequence[str]]]) -> list[list[Clue]]:
        """Write a clue for each query from its state, all in as few batches as the lanes allow."""
        clues = list[list[Clue]]()
        for at in range(0, len(requests), _LANES):
            clues += self._read_batch(requests[at : at + _LANES])
        return clues

    def fits(self, chat: Chat) -> bool:
        """Whether the chat and an answer fit the backbone's context."""
        return generation.fits(self.engine.backbone, chat)

    def generate(self, chats: Sequence[Chat]) -> list[Clue]:
        """Answer each chat in one line without any state.

        :raises InvalidInput: If one does not fit.
        """
        said = [[[message.role, message.text] for message in chat] for chat in chats]
        path = self._directory / "answers" / f"{_digest([_GENERATION, said])}.json"
        if not path.exists():
            _write(path, _ANSWERS.dump_json(generation.answer(self.engine.backbone, chats)))
        return _ANSWERS.validate_json(path.read_bytes())

    def _read_batch(self, requests: Sequence[tuple[WrittenState, Sequence[str]]]) -> list[list[Clue]]:
        asked = [[state.digest, list(queries)] for state, queries in requests]
        path = self._directory / "reads" / f"{_digest(asked)}.json"
        if not path.exists():
            _write(path, _CLUES.dump_json(self._decode(requests)))
        return _CLUES.validate_json(path.read_bytes())

    def _decode(self, requests: Sequence[tuple[WrittenState, Sequence[str]]]) -> list[list[Clue]]:
        backbone, bank = self.engine.backbone, self.engine.bank
        rows = [(lane, prompt_tokens(backbone, query)) for lane, (_, some) in enumerate(requests, 1) for query in some]
        clues = list[Clue]()
        try:
            for lane, (state, _) in enumerate(requests, 1):
                bank.bind(lane, state.vector)
            for at in range(0, len(rows), READ_ROWS):
                lanes, prompts = zip(*rows[at : at + READ_ROWS], strict=True)
                decoded = finish(decode(backbone, bank, lanes, prompts, self.engine.config.max_clue_tokens))
                clues += [
                    Clue(
                        backbone.decode(row.tokens).strip(),
                        tuple(row.logprobs),
                        prompt_tokens=len(prompt),
                        state_id=requests[lane - 1][0].digest,
                        finished=row.finished,
                    )
                    for lane, prompt, row in zip(lanes, prompts, decoded, strict=True)
                ]
        finally:
            for lane in range(1, len(requests) + 1):
                bank.unbind(lane)
        left = iter(clues)
        return [[next(left) for _ in queries] for _, queries in requests]


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """Write a file that is complete whenever it is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{uuid.uuid4().hex}")
    scratch.write_bytes(content)
    os.replace(scratch, path)
