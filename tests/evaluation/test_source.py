import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny import MESSAGES, TARGETS, tiny_backbone

from pss_integrations.evaluation.source import CachedStates
from pss_integrations.states.compiler import CompileProgress
from pss_integrations.states.config import CompileConfig
from pss_integrations.types import Message

BACKBONE = tiny_backbone(num_hidden_layers=9)
CHATS = [(Message("system", "Rewrite it."), Message("user", f"Question: {query}")) for query in ("now?", "before?")]
QUERIES = ["now?", "before?", "and then?"]


def source(directory: Path, *, events: list[CompileProgress] | None = None, **config: float) -> CachedStates:
    chosen = CompileConfig(max_epochs=3, max_clue_tokens=12, **config)
    return CachedStates(BACKBONE, chosen, directory, events.append if events is not None else None)


def test_the_same_state_is_never_written_twice(tmp_path: Path) -> None:
    events = list[CompileProgress]()
    first = source(tmp_path, events=events).compile(MESSAGES, TARGETS)
    told = len(events)
    assert told
    again = source(tmp_path, events=events).compile(MESSAGES, TARGETS)
    assert len(events) == told
    assert torch.equal(first.vector, again.vector)
    assert (first.digest, first.record) == (again.digest, again.record)


def test_another_input_gives_another_state(tmp_path: Path) -> None:
    one = source(tmp_path)
    digests = {
        one.compile(MESSAGES, TARGETS).digest,
        one.compile(MESSAGES[::-1], TARGETS).digest,
        one.compile((), TARGETS).digest,
        one.compile(MESSAGES, ()).digest,
        one.compile(MESSAGES, TARGETS[:1]).digest,
        source(tmp_path, seed=1).compile(MESSAGES, TARGETS).digest,
    }
    assert len(digests) == 6


def test_a_compile_that_was_stopped_leaves_nothing_and_is_done_anew(tmp_path: Path) -> None:
    def stop(event: CompileProgress) -> None:
        raise KeyboardInterrupt

    stopped = CachedStates(BACKBONE, CompileConfig(max_epochs=3), tmp_path, stop)
    with pytest.raises(KeyboardInterrupt):
        stopped.compile(MESSAGES, TARGETS)
    assert not list(tmp_path.rglob("*.safetensors"))
    whole = CachedStates(BACKBONE, CompileConfig(max_epochs=3), tmp_path).compile(MESSAGES, TARGETS)
    assert whole.record["targets"] == len(TARGETS)


def test_shuffling_keeps_each_factors_entries_and_loses_their_places(tmp_path: Path) -> None:
    one = source(tmp_path)
    state = one.compile(MESSAGES, TARGETS)
    shuffled = one.shuffle(state)
    before, after = (one.engine.bank.layout.matrices(vector) for vector in (state.vector, shuffled.vector))
    for key, factor in before.items():
        assert torch.equal(factor.flatten().sort().values, after[key].flatten().sort().values)
    assert not torch.equal(state.vector, shuffled.vector)
    assert torch.equal(shuffled.vector, one.shuffle(state).vector)


def test_a_batch_of_reads_gives_what_single_reads_give(tmp_path: Path) -> None:
    one = source(tmp_path)
    states = [one.compile(MESSAGES, TARGETS), one.zero(), one.compile(MESSAGES[:1], TARGETS[:1])]
    together = one.read([(state, QUERIES) for state in states])
    apart = [source(tmp_path / "apart").read([(state, [query])])[0][0] for state in states for query in QUERIES]
    assert [clue.text for clues in together for clue in clues] == [clue.text for clue in apart]


def test_more_states_than_lanes_are_read_in_turn(tmp_path: Path) -> None:
    one = source(tmp_path)
    states = [one.compile(MESSAGES, ()), one.zero()] * 6
    clues = [[clue.text for clue in some] for some in one.read([(state, QUERIES[:1]) for state in states])]
    assert len(clues) == 12
    assert clues[0::2] == [clues[0]] * 6
    assert clues[1::2] == [clues[1]] * 6


def test_clues_are_kept(tmp_path: Path) -> None:
    one = source(tmp_path)
    asked = [(one.zero(), QUERIES)]
    first = one.read(asked)
    kept = list(tmp_path.glob("*/reads/*.json"))
    assert len(kept) == 1
    kept[0].write_text(kept[0].read_text().replace(f'"state_id":"{one.zero().digest}"', '"state_id":"kept"'))
    assert [[replace(clue, state_id=one.zero().digest) for clue in clues] for clues in one.read(asked)] == first
    assert {clue.state_id for clue in one.read(asked)[0]} == {"kept"}


def test_answers_are_kept_and_say_the_same_with_a_state_bound(tmp_path: Path) -> None:
    one = source(tmp_path)
    first = one.generate(CHATS)
    assert [clue.state_id for clue in first] == ["", ""]
    (kept,) = tmp_path.glob("*/answers/*.json")
    kept.write_text(kept.read_text().replace('"state_id":""', '"state_id":"kept"'))
    assert {clue.state_id for clue in source(tmp_path).generate(CHATS)} == {"kept"}
    kept.unlink()
    one.engine.bank.bind(1, one.compile(MESSAGES, TARGETS).vector)
    assert one.generate(CHATS) == first
    one.engine.bank.unbind(1)


def test_a_chat_fits_where_it_leaves_room_for_an_answer(tmp_path: Path) -> None:
    assert source(tmp_path).fits(CHATS[0])
    assert not source(tmp_path).fits((CHATS[0][0], Message("user", "x" * BACKBONE.context_length)))


def test_no_lane_stays_bound_and_nothing_is_invented(tmp_path: Path) -> None:
    one = source(tmp_path)
    state = one.compile(MESSAGES, TARGETS)
    one.read([(state, QUERIES)])
    assert not any(one.engine.bank.bound)
    assert math.isfinite(state.vector.float().norm().item())
    assert one.read([]) == []
