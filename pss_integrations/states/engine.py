"""Backbone, bank and compiler of one manager; used by the scheduler's thread only."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from pss_integrations.errors import StateCorrupt, StateMismatch
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.compiler import Compiler, CompileResult, Progress
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.drafts import Drafts, taught_clues
from pss_integrations.states.history import history_windows
from pss_integrations.states.lora import LoraBank
from pss_integrations.states.manifest import StateInfo
from pss_integrations.states.reader import Decoded, clue_tokens, decode, prompt_for, prompt_tokens
from pss_integrations.states.resident import ResidentState, SessionLRU
from pss_integrations.states.store import StateStore
from pss_integrations.types import Clue, ClueTarget, Message, SessionKey

try:
    from safetensors import SafetensorError
    from safetensors.torch import load, save
    from torch import Tensor
except ImportError as error:
    from pss_integrations.errors import MissingExtra

    raise MissingExtra("states", error.name or "torch") from error

_COMPILE_LANE = 0
READ_ROWS = 32
"""Most queries of one batch."""
_KEPT_CLUES = 4096

Request = tuple[StateInfo, str]
_ClueKey = tuple[SessionKey, tuple[str, str]]


class Engine:
    """Compiles and reads states with one resident model.

    :param backbone: The frozen model.
    :param state: Shape of the states.
    :param config: How they are written.
    :param read_lanes: How many different states one batch of reads can use.
    :param resident_bytes: States that were read stay in memory up to this size, the least recently used leave.
    """

    def __init__(
        self,
        backbone: Backbone,
        state: StateConfig,
        config: CompileConfig,
        *,
        read_lanes: int,
        resident_bytes: int,
    ) -> None:
        self.backbone, self.state, self.config = backbone, state, config
        self.bank = LoraBank(backbone.model, state, 1 + read_lanes)
        self._compiler = Compiler(backbone, self.bank, state, config, lane=_COMPILE_LANE)
        state_bytes = self.bank.layout.numel * self.bank.vectors.element_size()
        self._resident = SessionLRU[ResidentState](resident_bytes // state_bytes)
        self._clues = SessionLRU[Clue](_KEPT_CLUES)

    def close(self) -> None:
        """Leave the model as it was found."""
        self.bank.close()

    def compile(
        self,
        messages: Sequence[Message],
        targets: Sequence[ClueTarget],
        *,
        known: int = 0,
        start: Tensor | None = None,
        progress: Progress | None = None,
    ) -> Generator[None, None, CompileResult]:
        """Write a state from a session whose first ``known`` messages the state ``start`` was written from."""
        windows = history_windows(
            self.backbone,
            messages,
            length=self.config.history_window,
            segments=self.state.segments,
            known=known,
        )
        return self._compiler.compile(windows, targets, start=start, progress=progress)

    def read(self, requests: Sequence[Request], store: StateStore) -> Generator[None, None, list[Clue]]:
        """Write a clue for each query from its state; what was read before is not read again.

        A clue depends on nothing but state and prompt, which are its key.
        """
        keys = [(info.key, (info.state_id, prompt_for(query))) for info, query in requests]
        found = {key: self._clues.get(*key) for key in keys}
        missing = {key: request for key, request in zip(keys, requests, strict=True) if found[key] is None}
        for batch in self._batches(missing):
            clues = yield from self._read_batch([missing[key] for key in batch], store)
            found |= zip(batch, clues, strict=True)
            for key, clue in zip(batch, clues, strict=True):
                self._clues.put(*key, clue)
        return [clue for key in keys if (clue := found[key]) is not None]

    def _batches(self, requests: Mapping[_ClueKey, Request]) -> list[list[_ClueKey]]:
        """Split requests, by key, into batches that fit the lanes and ``READ_ROWS``."""
        batches, states = list[list[_ClueKey]](), set[str]()
        for key, (info, _) in requests.items():
            full = not batches or len(batches[-1]) == READ_ROWS
            if full or len(states | {info.state_id}) > len(self.bank.bound) - 1:
                batches.append([])
                states = set[str]()
            batches[-1].append(key)
            states.add(info.state_id)
        return batches

    def _read_batch(self, requests: Sequence[Request], store: StateStore) -> Generator[None, None, list[Clue]]:
        prompts = [prompt_tokens(self.backbone, query) for _, query in requests]
        lane_of = {info.state_id: lane for lane, info in enumerate({i.state_id: i for i, _ in requests}.values(), 1)}
        drafts = list[Drafts]()
        try:
            for info, query in requests:
                resident = self._load(info, store)
                if not self.bank.bound[lane := lane_of[info.state_id]]:
                    self.bank.bind(lane, resident.vector)
                drafts.append(Drafts(resident.taught, query))
            lanes = [lane_of[info.state_id] for info, _ in requests]
            rows = yield from decode(self.backbone, self.bank, lanes, prompts, self.config.max_clue_tokens, drafts)
        finally:
            for lane in lane_of.values():
                self.bank.unbind(lane)
        return [
            self._clue(row, len(prompt), info.state_id)
            for row, prompt, (info, _) in zip(rows, prompts, requests, strict=True)
        ]

    def check(self, info: StateInfo) -> None:
        """Refuse a state that was not made for this engine.

        :raises StateMismatch: If it belongs to another backbone or configuration.
        """
        if info.backbone.fingerprint != self.backbone.fingerprint:
            raise StateMismatch(
                f"the state of session {info.session_id!r} was compiled for backbone {info.backbone.name} "
                f"({info.backbone.fingerprint[:12]}), this is {self.backbone.name} "
                f"({self.backbone.fingerprint[:12]}): use that backbone or compile again"
            )
        if info.state != self.state.to_dict():
            raise StateMismatch(f"the state of session {info.session_id!r} has the configuration {info.state}")

    def vector(self, info: StateInfo, store: StateStore) -> Tensor:
        """The state vector (numel,), from memory or from its file."""
        return self._load(info, store).vector

    def keep(self, info: StateInfo, vector: Tensor) -> ResidentState:
        """Keep a state in memory, in place of the least recently used ones."""
        taught = taught_clues(
            [(request, clue) for request, clue, _ in info.targets.kept],
            lambda clue: clue_tokens(self.backbone, clue)[:-1],
        )
        resident = ResidentState(vector.to(self.bank.vectors), taught)
        self._resident.put(info.key, info.state_id, resident)
        return resident

    def forget(self, key: SessionKey) -> None:
        """Drop the states and clues of a session from memory."""
        self._resident.forget(key)
        self._clues.forget(key)

    def _load(self, info: StateInfo, store: StateStore) -> ResidentState:
        resident = self._resident.get(info.key, info.state_id)
        if resident is None:
            try:
                tensors = load(store.adapter(info))
            except SafetensorError as error:
                raise StateCorrupt(f"the adapter file of state {info.state_id} cannot be read: {error}") from error
            resident = self.keep(info, self.bank.layout.vector(tensors))
        return resident

    def adapter_file(self, vector: Tensor) -> bytes:
        """The state as a PEFT ``adapter_model.safetensors``."""
        return save({key: m.contiguous() for key, m in self.bank.layout.matrices(vector).items()}, {"format": "pt"})

    def adapter_config(self) -> dict[str, Any]:
        """The state as a PEFT ``adapter_config.json``; ``peft.LoraConfig`` reads it."""
        paths = [projection.path.split(".") for projection in self.bank.layout.projections]
        return {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": self.backbone.name,
            "r": self.state.total_rank,
            "lora_alpha": self.state.alpha * self.state.segments,
            "lora_dropout": 0.0,
            "bias": "none",
            "use_rslora": False,
            "inference_mode": True,
            "modules_to_save": None,
            "target_modules": sorted({path[-1] for path in paths}),
            "layers_to_transform": sorted({int(path[2]) for path in paths}),
            "layers_pattern": "layers",
        }

    def _clue(self, row: Decoded, prompt_tokens: int, state_id: str) -> Clue:
        text = self.backbone.decode(row.tokens).strip()
        return Clue(text, tuple(row.logprobs), prompt_tokens, state_id, row.finished)
