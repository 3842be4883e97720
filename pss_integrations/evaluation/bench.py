"""Speed of the engine as ratios measured side by side in one run: several repeats, median and spread."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
import transformers
from torch import nn

from pss_integrations.evaluation import krecords, pss320
from pss_integrations.evaluation.peft_reference import PeftLoop, quiet_peft
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.engine import Engine
from pss_integrations.states.field_targets import FieldTargets
from pss_integrations.states.lora import LoraBank
from pss_integrations.states.optimizer import initial_vector
from pss_integrations.states.reader import decode, prompt_tokens
from pss_integrations.types import ClueTarget

ResultT = TypeVar("ResultT")
Tell = Callable[[str], None]

_SEED = 7
_QUERY = "what was the setting before we switched?"
_CLUE_TOKENS = 24
_SESSIONS = 8
_QWEN_7B = transformers.Qwen2Config(
    hidden_size=3584,
    intermediate_size=18944,
    num_attention_heads=28,
    num_key_value_heads=4,
    num_hidden_layers=8,  # those that a state adapts; the vocabulary does not matter here
    vocab_size=1024,
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Repeated measurements, in milliseconds."""

    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of the runs."""
        return statistics.median(self.runs)

    def to_dict(self) -> dict[str, float]:
        """Median, least and most."""
        return {"median": round(self.median, 2), "min": round(min(self.runs), 2), "max": round(max(self.runs), 2)}


def bench_compile(load: Callable[[], Backbone], *, quick: bool, tell: Tell) -> dict[str, Any]:
    """Compile steps against a plain PEFT loop, and the time of whole compiles (issue 1 of 8).

    :param load: Loads the backbone; called twice, since PEFT changes the model it wraps.
    :param quick: Fewer repeats, and no 16-record state.
    :param tell: Told what is measured next.
    """
    session = pss320.generate(1, seed=_SEED).sessions[0]
    targets = FieldTargets(session.fields).build(session.messages)
    result: dict[str, Any] = _steps_against_peft(load, targets, repeats=2 if quick else 5, tell=tell)
    tell(f"one session of {len(targets)} targets")
    engine = new_engine(load(), CompileConfig())
    result["session"] = _whole(engine, lambda: engine.compile(session.messages, targets))
    if not quick:
        group = krecords.generate(16, seed=_SEED).groups[0]
        tell(f"16 records, {len(group.targets)} targets")
        result["records_16"] = _whole(engine, lambda: engine.compile(group.messages, group.targets))
    return result


def _steps_against_peft(
    load: Callable[[], Backbone], targets: Sequence[ClueTarget], *, repeats: int, tell: Tell
) -> dict[str, Any]:
    plain = [ClueTarget(target.request, target.clue) for target in targets]
    epochs = 2
    config = replace(CompileConfig(), history_steps=0, max_epochs=epochs, min_epochs=epochs, margin=1e9)
    engine = new_engine(load(), config)
    loop = PeftLoop(load(), engine.adapter_config())
    start = engine.bank.layout.matrices(initial_vector(engine.bank.layout, config.seed))
    ours, theirs = list[float](), list[float]()
    for repeat in range(repeats + 1):  # the first one warms up
        tell(f"compile steps against PEFT, {repeat} of {repeats}")
        mine = finish(engine.compile([], plain))
        other = loop.run(start, plain, config, epochs=epochs)
        if repeat:
            ours.append(1000 * mine.seconds / mine.steps)
            theirs.append(1000 * other.seconds / other.steps)
    engine.close()
    return {
        "ratio_vs_peft": round(statistics.median(t / o for o, t in zip(ours, theirs, strict=True)), 2),
        "step_ms": Timing(tuple(ours)).to_dict(),
        "peft_step_ms": Timing(tuple(theirs)).to_dict(),
        "dtype": str(engine.backbone.dtype).removeprefix("torch."),
        "batch_size": config.batch_size,
    }


def _whole(engine: Engine, work: Callable[[], Generator[None, None, Any]]) -> dict[str, Any]:
    result = finish(work())
    return {
        "seconds": round(result.seconds, 1),
        "targets": result.targets,
        "reproduced": result.reproduced,
        "confirmed": result.confirmed,
        "steps": result.steps,
        "history_tokens": result.history_tokens,
    }


class _Endless(Backbone):
    """Never ends a clue, so that every read generates the same number of tokens."""

    @property
    def end_token(self) -> int:
        return -1


def bench_read(load: Callable[[], Backbone], *, quick: bool, tell: Tell) -> dict[str, Any]:
    """Reads of eight sessions in one batch against one at a time, and bind and unload of a 44 MiB state.

    The states are random, and every read generates 24 tokens.
    """
    repeats = 3 if quick else 7
    loaded = load()
    endless = _Endless(loaded.model, loaded.tokenizer, name=loaded.name, fingerprint=loaded.fingerprint)
    engine = new_engine(endless, CompileConfig())
    generator = torch.Generator().manual_seed(_SEED)
    lanes = list(range(1, _SESSIONS + 1))
    for lane in lanes:
        engine.bank.bind(lane, torch.randn(engine.bank.layout.numel, generator=generator) * 0.01)
    prompts = [prompt_tokens(engine.backbone, _QUERY)] * _SESSIONS

    def together() -> None:
        finish(decode(engine.backbone, engine.bank, lanes, prompts, _CLUE_TOKENS))

    def apart() -> None:
        for lane, prompt in zip(lanes, prompts, strict=True):
            finish(decode(engine.backbone, engine.bank, [lane], [prompt], _CLUE_TOKENS))

    tell(f"reads of {_SESSIONS} sessions")
    batch, single = _compare(together, apart, repeats)
    tell("bind and unload of a 44 MiB state")
    return {
        "ratio_batched_8": _ratio(single, batch),
        "batch_of_8_ms": batch.to_dict(),
        "one_at_a_time_ms": single.to_dict(),
        "read_ms": round(single.median / _SESSIONS, 1),
        "bind": bench_bind(repeats=repeats),
    }


def bench_bind(*, repeats: int) -> dict[str, Any]:
    """Bind plus unload of a state with the paper's Qwen shapes against PEFT's load_adapter and delete_adapter.

    The base weights are allocated and never touched: neither side reads them.
    """
    from peft import LoraConfig, get_peft_model
    from safetensors.torch import save_file

    bank = LoraBank(_qwen(), StateConfig(), lanes=1)
    vector = torch.randn(bank.layout.numel, generator=torch.Generator().manual_seed(_SEED)).bfloat16()
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
            bind, peft = _compare(ours, theirs, repeats)
    return {
        "mebibytes": round(vector.numel() * 2 / 2**20, 1),
        "bind_unload_ms": bind.to_dict(),
        "peft_load_delete_ms": peft.to_dict(),
        "ratio_vs_peft": _ratio(peft, bind),
    }


def _qwen() -> nn.Module:
    with torch.device("meta"):
        model: Any = transformers.Qwen2ForCausalLM(_QWEN_7B)
    return model.bfloat16().to_empty(device="cpu")


def new_engine(backbone: Backbone, config: CompileConfig) -> Engine:
    """An engine of the default shape with a lane for each of eight sessions."""
    return Engine(backbone, StateConfig(), config, read_lanes=_SESSIONS, resident_bytes=0)


def finish(work: Generator[None, None, ResultT]) -> ResultT:
    """Run work to its end, without a scheduler."""
    while True:
        try:
            next(work)
        except StopIteration as stop:
            return stop.value


def _compare(one: Callable[[], None], other: Callable[[], None], repeats: int) -> tuple[Timing, Timing]:
    """Time two things in turn; a first round of each warms up."""
    times = tuple(list[float]() for _ in range(2))
    for repeat in range(repeats + 1):
        for work, into in zip((one, other), times, strict=True):
            begun = time.perf_counter()
            work()
            if repeat:
                into.append(1000 * (time.perf_counter() - begun))
    return Timing(tuple(times[0])), Timing(tuple(times[1]))


def _ratio(slow: Timing, fast: Timing) -> float:
    return round(statistics.median(s / f for s, f in zip(slow.runs, fast.runs, strict=True)), 2)
