"""Many stored states: a state that is not in memory, manifests and lists of them, and what stays resident.

Only the caches of this package are emptied between measurements; the files lie in the system's page cache.
"""

from __future__ import annotations

import os
import tempfile
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.bench import SEED, Tell, Timing, session_targets, timed
from pss_integrations.evaluation.bench_shapes import qwen_7b
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.engine import Engine
from pss_integrations.states.field_targets import FieldTargets
from pss_integrations.states.manager import StateManager
from pss_integrations.states.manifest import BackboneInfo, Cursor, StateInfo, TargetInfo, WriteInfo
from pss_integrations.states.store import ADAPTER, CURRENT, MANIFEST, StateStore
from pss_integrations.types import SessionKey

_USER_STATES: Final = 100
_PAGE: Final = 100
_LARGE_STATES: Final = 4
_TINY: Final = Qwen2Config(
    hidden_size=32,
    intermediate_size=64,
    num_attention_heads=4,
    num_key_value_heads=2,
    num_hidden_layers=1,
    vocab_size=257,
)
_LANE: Final = 1
_AGE_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class _Stored:
    """States of one shape in a directory, and an engine for them that holds two."""

    root: Path
    engine: Engine
    keys: Sequence[SessionKey]
    info: StateInfo


def bench_memory(*, quick: bool, tell: Tell) -> dict[str, Any]:
    """Bind, look up and list among 10,000 states of 100 users, and bind states of the size of Qwen2.5-7B's.

    Manifests are as long as those of a PSS-320 session whose 28 targets are kept. Times are in milliseconds.

    :param quick: 1,000 states of 10 users, and fewer repeats.
    """
    count, repeats = (1_000, 20) if quick else (10_000, 200)
    with tempfile.TemporaryDirectory() as folder:
        tell(f"writing {count} states")
        small = _small_states(Path(folder) / "small", count)
        tell("listing and binding them")
        picked = small.keys[:: len(small.keys) // repeats]
        result: dict[str, Any] = {
            "states": count,
            "users": count // _USER_STATES,
            "manifest_bytes": len(small.info.model_dump_json(indent=2)),
            "page_cache": "warm",
            "list": _lists(small, repeats=3 if quick else 10),
            "info_ms": _info(small.root, picked).to_dict(),
            "small": _binds(small, picked),
        }
        tell(f"binding {_LARGE_STATES} states of the paper's size")
        large = _large_states(Path(folder) / "large")
        result["large"] = _binds(large, [*large.keys] * (2 if quick else 5))
        result["resident"] = _resident(large)
    return result


def _binds(stored: _Stored, keys: Sequence[SessionKey]) -> dict[str, Any]:
    """From a key to a state that lies in a lane: for the first time in a process, and when it has left memory since."""
    again = StateStore(stored.root)
    for key in keys:
        again.adapter(again.info(key))
    cold = [_bind(stored.engine, StateStore(stored.root), key) for key in keys]
    return {
        "state_mebibytes": round(stored.info.adapter_bytes / 2**20, 3),
        "cold_bind_ms": Timing(tuple(cold)).to_dict(),
        "checked_before_ms": Timing(tuple(_bind(stored.engine, again, key) for key in keys)).to_dict(),
    }


def _bind(engine: Engine, store: StateStore, key: SessionKey) -> float:
    def work() -> None:
        engine.bank.bind(_LANE, engine.vector(store.info(key), store))

    engine.forget(key)
    _, seconds = timed(work)
    engine.bank.unbind(_LANE)
    return 1000 * seconds


def _info(root: Path, keys: Sequence[SessionKey]) -> Timing:
    store = StateStore(root)
    return Timing(tuple(1000 * timed(lambda key=key: store.info(key))[1] for key in keys))


def _lists(stored: _Stored, *, repeats: int) -> dict[str, Any]:
    """Lists of new managers, and the whole list twice of the same one."""
    key = stored.keys[len(stored.keys) // 2]
    before = _rss()
    with StateManager(stored.root) as manager:
        everything = [1000 * timed(manager.list)[1] for _ in range(1 + repeats)]
        grown = _growth(before)

    def of_new(work: Callable[[StateManager], object]) -> dict[str, float]:
        def once() -> float:
            with StateManager(stored.root) as manager:
                return 1000 * timed(lambda: work(manager))[1]

        return Timing(tuple(once() for _ in range(repeats))).to_dict()

    return {
        "one_user_ms": of_new(lambda manager: manager.list(user_id=key.user_id)),
        "page_of_100_ms": of_new(lambda manager: manager.list(limit=_PAGE, after=key)),
        "all_first_ms": round(everything[0], 1),
        "all_again_ms": Timing(tuple(everything[1:])).to_dict(),
        "rss_growth_mebibytes": grown,
    }


def _resident(stored: _Stored) -> dict[str, Any]:
    """Load more states than may stay, and count the bytes of those that did."""
    limit = int(2.5 * stored.engine.bank.state_bytes)
    backbone, state = stored.engine.backbone, stored.engine.state
    engine = Engine(backbone, state, CompileConfig(), read_lanes=1, resident_bytes=limit)
    store, before = StateStore(stored.root), _rss()
    loaded = [weakref.ref(engine.vector(store.info(key), store)) for key in stored.keys]
    kept = [vector for one in loaded if (vector := one()) is not None]
    engine.close()
    return {
        "limit_bytes": limit,
        "held_bytes": sum(vector.untyped_storage().nbytes() for vector in kept),
        "loaded_states": len(loaded),
        "held_states": len(kept),
        "rss_growth_mebibytes": _growth(before),
    }


def _small_states(root: Path, count: int) -> _Stored:
    engine = _engine(_TINY, StateConfig(rank=1, alpha=2, layers=1))
    users = count // _USER_STATES
    keys = [SessionKey(f"user-{at % users}", f"session-{at // users}") for at in range(count)]
    adapter = engine.adapter_file(torch.zeros(engine.bank.layout.numel))
    info = _manifest(engine, keys[0], adapter)
    for key in keys:
        _write(root, info.model_copy(update={"user_id": key.user_id, "session_id": key.session_id}), adapter)
    return _Stored(root, engine, keys, info)


def _large_states(root: Path) -> _Stored:
    engine = _engine(qwen_7b(layers=8, vocabulary=1024), StateConfig())
    keys = [SessionKey("ada", f"session-{at}") for at in range(_LARGE_STATES)]
    generator = torch.Generator().manual_seed(SEED)
    vectors = (torch.randn(engine.bank.layout.numel, generator=generator).bfloat16() for _ in keys)
    adapters = list(map(engine.adapter_file, vectors))
    infos = [_manifest(engine, key, adapter) for key, adapter in zip(keys, adapters, strict=True)]
    for info, adapter in zip(infos, adapters, strict=True):
        _write(root, info, adapter)
    return _Stored(root, engine, keys, infos[0])


def _write(root: Path, info: StateInfo, adapter: bytes) -> None:
    """Put a state where the store finds it, as if written an hour ago, and without waiting for the disk."""
    info = info.model_copy(update={"state_id": info.content_id()})
    home, then = StateStore(root).home(info.key), time.time() - _AGE_SECONDS
    directory = home / info.state_id
    directory.mkdir(parents=True)
    (home / CURRENT).write_text(info.state_id, encoding="ascii")
    for name, data in ((ADAPTER, adapter), (MANIFEST, info.model_dump_json(indent=2).encode())):
        (directory / name).write_bytes(data)
        os.utime(directory / name, (then, then))


def _engine(shape: Qwen2Config, state: StateConfig) -> Engine:
    """The base weights are allocated and never touched: a state is not read here, only loaded."""
    with torch.device("meta"):
        model: Any = Qwen2ForCausalLM(shape)
    name = f"random-{shape.hidden_size}"
    backbone = Backbone(model.bfloat16().to_empty(device="cpu"), _tokenizer(), name=name, fingerprint=name)
    return Engine(backbone, state, CompileConfig(), read_lanes=1, resident_bytes=0)


def _tokenizer() -> PreTrainedTokenizerFast:
    """A token for each byte."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")


def _manifest(engine: Engine, key: SessionKey, adapter: bytes) -> StateInfo:
    """The manifest of a state that was never written, but for its file."""
    session = pss320.generate(1, seed=SEED).sessions[0]
    targets = session_targets(session)
    losses = tuple(4 / (step + 1) for step in range(24))
    return StateInfo(
        user_id=key.user_id,
        session_id=key.session_id,
        backbone=BackboneInfo(name=engine.backbone.name, fingerprint=engine.backbone.fingerprint),
        state=engine.state.to_dict(),
        compile=engine.config.to_dict(),
        cursor=Cursor.after(session.messages),
        targets=TargetInfo.of(FieldTargets(session.fields), targets, engine.config.keep_text),
        write=WriteInfo(
            history_tokens=0,
            windows=1,
            window_tokens=engine.backbone.context_length,
            history_losses=losses[:2],
            target_losses=losses,
            reproduced=0,
            confirmed=False,
            steps=0,
            seconds=0.0,
            versions={},
        ),
        adapter_sha256=sha256(adapter).hexdigest(),
        adapter_bytes=len(adapter),
        created_at=datetime.now(UTC),
    )


def _rss() -> int | None:
    """Bytes of this process in memory, where the system tells them."""
    try:
        return int(Path("/proc/self/status").read_text(encoding="ascii").split("VmRSS:")[1].split()[0]) << 10
    except OSError:
        return None


def _growth(before: int | None) -> float | None:
    """How much more memory this process has now, in MiB."""
    now = _rss()
    return None if before is None or now is None else round((now - before) / 2**20, 1)
