"""Backbone, bank and compiler of one manager; used by the scheduler's thread only."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from pss_integrations.errors import StateCorrupt, StateMismatch
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.compiler import Compiler, CompileResult, Progress
from pss_integrations.states.config import READ_ROWS, CompileConfig, StateConfig
from pss_integrations.states.drafts import Drafts, taught_clues
from pss_integrations.states.history import history_windows
from pss_integrations.states.lora import LoraBank
from pss_integrations.states.manifest import StateInfo
from pss_integrations.states.reader import Decoded, clue_tokens, decode, prompt_for, prompt_tokens
from pss_integrations.states.resident import ResidentState, SessionLRU
from pss_integrations.states.steps import Step
from pss_integrations.states.store import StateStore
from pss_integrations.types import Clue, ClueTarget, Message, SessionKey

try:
    from safetensors import SafetensorError
    from safetensors.torch import load_file, save
    from torch import Tensor
except ImportError as error:
    from pss_integrations.errors import MissingExtra

    raise MissingExtra("states", error.name or "torch") from error

_KEPT_CLUES = 4096

Request = tuple[StateInfo, str]
_ClueKey = tuple[SessionKey, tuple[str, str]]


class Engine:
    """Compiles and reads states with one resident model.

    :param backbone: The frozen model.
    :param state: Shape of the states.
    :param config: How they are written.
    :param read_lanes: How many different states one batch of reads can use.
    :param compile_lanes: How many states can be written at once.
    :param resident_bytes: States that were read stay in memory up to this size, the least recently used leave.
    """

    def __init__(
        self,
        backbone: Backbone,
        state: StateConfig,
        config: CompileConfig,
        *,
        read_lanes: int,
        compile_lanes: int = 1,
        resident_bytes: int,
    ) -> None:
        self.backbone, self.state, self.config = backbone, state, config
        self.bank = LoraBank(backbone.model, state, compile_lanes + read_lanes)
        self._compiler = Compiler(backbone, self.bank, state, config, lanes=range(compile_lanes))
        self._read_lanes = range(compile_lanes, compile_lanes + read_lanes)
        self._resident = SessionLRU[ResidentState](resident_bytes // self.bank.state_bytes)
        self._clues = SessionLRU[Clue](_KEPT_CLUES)

    def close(self) -> None:
        """Leave the model as it was found."""
        self.bank.close()

    def compile(
        self,
        messages: Sequence[Message],
        targets: Sequence[ClueTarget],
        *,
        start: Tensor | None = None,
        known_messages: int = 0,
        known_targets: int = 0,
        progress: Progress | None = None,
    ) -> Generator[Step | None, None, CompileResult]:
        """Write a state from a session.

        :param start: A state to go on from.
        :param known_messages: How many of the first messages it was written from.
        :param known_targets: How many of the last targets it reproduces already.
        """
        windows = history_windows(
            self.backbone,
            messages,
            length=self.config.history_window,
            segments=self.state.segments,
            known=known_messages,
        )
        return self._compiler.compile(windows, targets, start=start, known=known_targets, progress=progress)

    def read(self, requests: Sequence[Request], store: StateStore) -> Generator[None, None, list[Clue]]:
        """Write a clue for each query from its state; what was read before is not read again.

        A clue depends on nothing but state and prompt, which are its key.
        """
        keys = [(info.key, (info.state_id, prompt_for(query))) for info, query in requests]
        found = {key: clue for key in keys if (clue := self._clues.get(*key)) is not None}
        missing = {key: request for key, request in zip(keys, requests, strict=True) if key not in found}
        missing = dict(sorted(missing.items(), key=lambda one: one[1][0].state_id))  # rows of a state side by side
        for batch in self._batches(missing):
            clues = yield from self._read_batch([missing[key] for key in batch], store)
            found |= zip(batch, clues, strict=True)
            for key, clue in zip(batch, clues, strict=True):
                self._clues.put(*key, clue)
        return [found[key] for key in keys]

    def _batches(self, requests: Mapping[_ClueKey, Request]) -> list[list[_ClueKey]]:
        """Split requests, by key, into batches that fit the lanes and ``READ_ROWS``."""
        batches, states = list[list[_ClueKey]](), set[str]()
        for key, (info, _) in requests.items():
            full = not batches or len(batches[-1]) == READ_ROWS
            if full or len(states | {info.state_id}) > len(self._read_lanes):
                batches.append([])
                states = set[str]()
            batches[-1].append(key)
            states.add(info.state_id)
        return batches

    def _read_batch(self, requests: Sequence[Request], store: StateStore) -> Generator[None, None, list[Clue]]:
        prompts = [prompt_tokens(self.backbone, query) for _, query in requests]
        lane_of = dict(zip(dict.fromkeys(info.state_id for info, _ in requests), self._read_lanes, strict=False))
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

    def check_query(self, query: str) -> None:
        """Refuse a query that cannot be read.

        :raises InvalidInput: If it is too long.
        """
        prompt_tokens(self.backbone, query)

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
        resident = ResidentState(vector.to(self.bank.device, self.bank.dtype), taught)
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
                tensors = load_file(store.adapter(info))
            except (SafetensorError, OSError) as error:
                raise StateCorrupt(f"the adapter file of state {info.state_id} cannot be read: {error}") from error
            # joining them copies them out of the map of the file, which may be changed or cut from here on
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
