from itertools import takewhile
from pathlib import Path

import pytest
import torch
from tiny import MESSAGES, TARGETS, tiny_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.answering.reader import BaseReader, Request
from pss_integrations.evaluation.answering.reads import KeptAnswers
from pss_integrations.evaluation.peft_reference import generate
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.states.config import CompileConfig
from pss_integrations.types import Passage

BACKBONE = tiny_backbone(num_hidden_layers=9)
PASSAGES = (Passage("a", "It runs on kit-9.", "Heron"), Passage("b", "Nothing else is known.", ""))
REQUESTS = [Request(question, PASSAGES[:count]) for question in ("now?", "and before that?") for count in (2, 1, 0)]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> CachedStates:
    config = CompileConfig(max_epochs=3, max_clue_tokens=12)
    return CachedStates(BACKBONE, config, tmp_path_factory.mktemp("states"))


@pytest.fixture(scope="module")
def reader(source: CachedStates) -> BaseReader:
    return BaseReader(BACKBONE, source.engine.bank)


def test_the_prompt_numbers_the_passages_and_ends_where_the_answer_begins(reader: BaseReader) -> None:
    text = BACKBONE.decode(reader.prompt(Request("and\n now?", PASSAGES)))
    passages = "Passages:\n[1] Heron\nIt runs on kit-9.\n\n[2] Nothing else is known.\n\n"
    assert text.endswith(f"\n\n{passages}Question: and now?\nShort answer:")


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_prompt_never_exceeds_its_bound_and_keeps_a_part_of_everything(source: CachedStates, count: int) -> None:
    reader = BaseReader(BACKBONE, source.engine.bank, max_prompt=400)
    passages = tuple(Passage(str(number), f"{number} is {'long ' * 200}") for number in range(count))
    prompt = reader.prompt(Request(f"why {'so ' * 200}?", passages))
    text = BACKBONE.decode(prompt)
    assert len(prompt) <= 400
    assert all(f"] {number} is long" in text for number in range(count))
    assert "Question: why so" in text


def test_a_prompt_never_exceeds_what_the_context_leaves_beside_the_answer(source: CachedStates) -> None:
    reader = BaseReader(BACKBONE, source.engine.bank, max_tokens=100)
    prompt = reader.prompt(Request("why?", (Passage("a", "long " * 500),) * 3))
    assert 0 <= BACKBONE.context_length - 100 - len(prompt) < 40


def test_more_passages_than_a_prompt_has_room_for_are_refused(reader: BaseReader) -> None:
    with pytest.raises(InvalidInput, match="no room for 99 passages"):
        reader("why?", (PASSAGES * 50)[:99])


def test_an_answer_is_what_the_model_alone_generates(reader: BaseReader) -> None:
    bare = tiny_backbone(num_hidden_layers=9)
    (newline,) = bare.encode("\n")
    for request in REQUESTS:
        (tokens,) = generate(bare.model, bare, [reader.prompt(request)], 32)
        line = bare.decode(list(takewhile(lambda token: token not in (newline, bare.end_token), tokens)))
        assert reader(request.question, request.passages) == next(iter(line.strip().splitlines()), "").strip()


def test_an_answer_ends_where_the_model_ends_it(source: CachedStates, reader: BaseReader) -> None:
    ending = tiny_backbone(num_hidden_layers=9)
    (tokens,) = generate(ending.model, ending, [reader.prompt(REQUESTS[0])], 4)
    ending.tokenizer.eos_token = ending.tokenizer.convert_ids_to_tokens(tokens[-1])
    answer = BaseReader(ending, source.engine.bank)(REQUESTS[0].question, REQUESTS[0].passages)
    assert answer == BACKBONE.decode(tokens[: tokens.index(tokens[-1])]).strip()
    assert len(answer) < len(reader(REQUESTS[0].question, REQUESTS[0].passages))


def test_a_batch_of_answers_is_what_single_ones_are(reader: BaseReader) -> None:
    twice = REQUESTS * 2
    assert reader.read_batch(twice) == [reader(one.question, one.passages) for one in twice]


def test_no_answer_is_read_while_any_lane_is_bound(source: CachedStates, reader: BaseReader) -> None:
    state = source.compile(MESSAGES, TARGETS)
    last = len(source.engine.bank.bound) - 1
    source.engine.bank.bind(last, state.vector)
    try:
        for refused in (reader, reader.with_state(state)):
            with pytest.raises(InvalidInput, match=rf"lanes \[{last}\] of the bank hold a state"):
                refused("now?", PASSAGES)
    finally:
        source.engine.bank.unbind(last)


def test_the_base_model_is_bitwise_the_same_before_and_after_reads_with_and_without_states(
    source: CachedStates, reader: BaseReader
) -> None:
    bare = tiny_backbone(num_hidden_layers=9)
    with torch.inference_mode():
        before = reader.base_digest()
        plain = [reader(one.question, one.passages) for one in REQUESTS]
    state = source.compile(MESSAGES, TARGETS)
    source.read([(state, ["now?"])])
    bound = reader.with_state(state).read_batch(REQUESTS)
    assert reader.base_digest() == before == BaseReader(bare, source.engine.bank).base_digest()
    assert [reader(one.question, one.passages) for one in REQUESTS] == plain
    assert bound != plain
    assert not any(source.engine.bank.bound)


def test_another_model_has_another_digest(source: CachedStates, reader: BaseReader) -> None:
    other = tiny_backbone(num_hidden_layers=9, seed=1)
    assert BaseReader(other, source.engine.bank).base_digest() != reader.base_digest()


def test_the_state_of_zeros_answers_as_no_state_does(source: CachedStates, reader: BaseReader) -> None:
    assert reader.with_state(source.zero()).read_batch(REQUESTS) == reader.read_batch(REQUESTS)


def test_a_read_under_a_state_that_fails_leaves_nothing_bound(source: CachedStates, reader: BaseReader) -> None:
    with pytest.raises(InvalidInput, match="no room"):
        reader.with_state(source.zero())("why?", PASSAGES * 50)
    assert not any(source.engine.bank.bound)


def test_answers_are_kept_apart_by_reader_and_state(source: CachedStates, reader: BaseReader, tmp_path: Path) -> None:
    kept = KeptAnswers(reader, reader.describe(), tmp_path)
    states = [source.compile(MESSAGES, TARGETS), source.compile(MESSAGES[:1], TARGETS[:1])]
    readers = [kept, *(kept.with_state(state) for state in states)]
    first = [one.read(REQUESTS) for one in readers]
    assert len(list(tmp_path.rglob("*.json"))) == len(readers) * len(REQUESTS)
    assert [one.read(REQUESTS) for one in readers] == first
    assert first[0] != first[1]
    other = BaseReader(BACKBONE, source.engine.bank, max_tokens=3)
    short = KeptAnswers(other, other.describe(), tmp_path).read(REQUESTS)
    assert all(len(short[one]) <= 3 for one in REQUESTS)
