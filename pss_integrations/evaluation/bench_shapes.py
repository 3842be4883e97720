"""Compile, bind and read at the size of the paper's backbone, with random weights that are made on the device."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.bench import (
    CLUE_TOKENS,
    SEED,
    Endless,
    Tell,
    Timing,
    session_targets,
    timed,
)
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.engine import Engine
from pss_integrations.states.reader import decode, prompt_tokens
from pss_integrations.states.steps import finish

PAPER_WRITE_SECONDS: Final = 29.03
"""PSS, section F.6: one rank-32 state of Qwen2.5-7B."""
PAPER_READ_SECONDS: Final = 1.341
"""PSS, section V.5."""
_EPOCHS: Final = 12
_LANE: Final = 1


def qwen_7b(*, layers: int = 28, vocabulary: int = 152064) -> Qwen2Config:
    """The shape of Qwen2.5-7B.

    :raises InvalidInput: If ``layers`` is below 1.
    """
    if layers < 1:
        raise InvalidInput(f"a backbone has at least 1 layer, got {layers}")
    return Qwen2Config(
        hidden_size=3584,
        intermediate_size=18944,
        num_attention_heads=28,
        num_key_value_heads=4,
        num_hidden_layers=layers,
        vocab_size=vocabulary,
        max_position_embeddings=32768,
    )


def bench_shapes(shape: Qwen2Config, tokenizer: Any, *, device: str, quick: bool, tell: Tell) -> dict[str, Any]:
    """Time the work of one session. Nothing that is read makes sense: the weights are random, BF16.

    A random backbone may reproduce nothing, so the compile takes a fixed number of passes over the targets.

    :param shape: The backbone's shape, such as :func:`qwen_7b`; its vocabulary is at least the tokenizer's.
    :param device: ``"cuda"``, ``"mps"`` or ``"cpu"``.
    :param quick: One compile and three reads.
    :raises InvalidInput: If there is no such device, or the vocabulary is too small.
    """
    place = _device(device)
    if len(tokenizer) > shape.vocab_size:
        raise InvalidInput(f"the tokenizer has {len(tokenizer)} tokens, the shape has room for {shape.vocab_size}")
    tell(f"making a random backbone of {shape.num_hidden_layers} layers on {place}")
    backbone = random_backbone(shape, tokenizer, place)
    config = replace(CompileConfig(), max_epochs=_EPOCHS, min_epochs=_EPOCHS)
    state = StateConfig(layers=min(StateConfig().layers, shape.num_hidden_layers))
    engine = Engine(backbone, state, config, read_lanes=1, resident_bytes=0)
    session = pss320.generate(1, seed=SEED).sessions[0]
    targets = session_targets(session)
    tell(f"compiling {len(targets)} targets, {_EPOCHS} passes over them")
    runs = [
        _synchronised(place, lambda: finish(engine.compile(session.messages, targets)))
        for _ in range(2 if quick else 4)
    ][1:]  # the first one warms up
    compiled = runs[-1][0]
    tell("binding and reading")
    bind, read = _bind_and_read(engine, compiled.vector, place, repeats=3 if quick else 20)
    engine.close()
    return {
        "device": torch.cuda.get_device_name(place) if place.type == "cuda" else str(place),
        "layers": shape.num_hidden_layers,
        "parameters": sum(parameter.numel() for parameter in backbone.model.parameters()),
        "state_mebibytes": round(engine.bank.layout.numel * 2 / 2**20, 2),
        "targets": compiled.targets,
        "steps": compiled.steps,
        "history_tokens": compiled.history_tokens,
        "compile_seconds": Timing(tuple(seconds for _, seconds in runs)).to_dict(),
        "paper_compile_seconds": PAPER_WRITE_SECONDS,
        "bind_unload_ms": bind.to_dict(),
        "clue_tokens": CLUE_TOKENS,
        "read_ms": read.to_dict(),
        "read_seconds": round(statistics.median(read.runs) / 1000, 3),
        "paper_read_seconds": PAPER_READ_SECONDS,
    }


def _device(name: str) -> torch.device:
    try:
        place = torch.device(name)
        torch.zeros(1, device=place)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
        raise InvalidInput(f"there is no device {name!r} here: run this where torch finds it, or use cpu") from error
    return place


def random_backbone(shape: Qwen2Config, tokenizer: Any, place: torch.device | str) -> Backbone:
    """A backbone of random BF16 weights, made where they are needed."""
    torch.manual_seed(SEED)
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(place):
            model = Qwen2ForCausalLM(shape)
    finally:
        torch.set_default_dtype(usual)
    # hashing 15 GB would take longer than what is measured
    return Backbone(model, tokenizer, name="random-qwen2", fingerprint=f"random {SEED}")


def _bind_and_read(engine: Engine, vector: torch.Tensor, place: torch.device, *, repeats: int) -> tuple[Timing, Timing]:
    """Bind and unload from the machine's memory, and reads of 24 tokens, in milliseconds; a first one warms up."""
    endless = Endless(engine.backbone)
    prompt = prompt_tokens(endless, "what was the setting before we switched?")

    def bind() -> None:
        engine.bank.bind(_LANE, vector)
        engine.bank.unbind(_LANE)

    def read() -> None:
        finish(decode(endless, engine.bank, [_LANE], [prompt], CLUE_TOKENS))

    binds = [_synchronised(place, bind)[1] for _ in range(repeats + 1)]
    engine.bank.bind(_LANE, vector)
    reads = [_synchronised(place, read)[1] for _ in range(repeats + 1)]
    engine.bank.unbind(_LANE)
    first, second = (tuple(1000 * seconds for seconds in times[1:]) for times in (binds, reads))
    return Timing(first), Timing(second)


def _synchronised(place: torch.device, work: Callable[[], Any]) -> tuple[Any, float]:
    """Time something, with all that it left to the device."""

    def whole() -> Any:
        result = work()
        if place.type != "cpu":
            torch.accelerator.synchronize()
        return result

    return timed(whole)
