"""The memory that a long history takes: a compile of 30,000 tokens with random weights of half a billion parameters."""

from __future__ import annotations

import resource
import sys
from typing import Any, Final

from transformers import Qwen2Config

from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.bench import SEED, Tell, history, timed
from pss_integrations.evaluation.bench_shapes import random_backbone
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.engine import Engine
from pss_integrations.states.steps import finish

TOKENS: Final = 30_000
_RSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024


def qwen_half_b() -> Qwen2Config:
    """The shape of Qwen2.5-0.5B."""
    return Qwen2Config(
        hidden_size=896,
        intermediate_size=4864,
        num_attention_heads=14,
        num_key_value_heads=2,
        num_hidden_layers=24,
        vocab_size=151_936,
        max_position_embeddings=32_768,
        tie_word_embeddings=True,
    )


def bench_long_history(shape: Qwen2Config, tokenizer: Any, *, tokens: int = TOKENS, tell: Tell) -> dict[str, Any]:
    """Compile one pass over a long history, and no targets: with random weights there is nothing to reproduce.

    :param shape: The backbone's shape; its vocabulary is at least the tokenizer's.
    :return: ``peak_gib`` is the most memory of the whole process, from its start on.
    """
    backbone = random_backbone(shape, tokenizer, "cpu")
    messages = history(backbone, tokens, pss320.generate(tokens // 300, seed=SEED).sessions)
    state = StateConfig(layers=min(StateConfig().layers, shape.num_hidden_layers))
    engine = Engine(backbone, state, CompileConfig(history_steps=1), read_lanes=1, resident_bytes=0)
    tell(f"compiling a history of {tokens} tokens")
    result, seconds = timed(lambda: finish(engine.compile(messages, [])))
    engine.close()
    return {
        "parameters": sum(parameter.numel() for parameter in backbone.model.parameters()),
        "history_tokens": result.history_tokens,
        "windows": result.windows,
        "seconds": round(seconds, 1),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT / 2**30, 2),
    }
