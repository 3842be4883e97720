"""Greedy decoding, with and without drafts, on tiny random backbones."""

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import FAMILIES, tiny_backbone

from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import StateConfig
from pss_integrations.states.lora import LoraBank
from pss_integrations.states.reader import Decoded, Drafter, clue_tokens, decode, prompt_tokens
from pss_integrations.states.steps import finish

LONGEST = 14
QUERIES = ["now?", "and before that, which one?", "hm", "what was it?"]
BACKBONE = tiny_backbone(seed=3)
PROMPTS = [prompt_tokens(BACKBONE, query) for query in QUERIES]


def bank_of(backbone: Backbone) -> LoraBank:
    """A bank with two random states."""
    bank = LoraBank(backbone.model, StateConfig(layers=2), 2)
    generator = torch.Generator().manual_seed(1)
    for lane in (0, 1):
        bank.bind(lane, torch.randn(bank.layout.numel, generator=generator) * 0.05)
    return bank


BANK = bank_of(BACKBONE)


def read(
    lanes: Sequence[int], prompts: Sequence[list[int]], drafters: Sequence[Drafter] | None = None
) -> list[Decoded]:
    return finish(decode(BACKBONE, BANK, lanes, prompts, LONGEST, drafters))


def alone(lane: int, prompt: list[int]) -> Decoded:
    return read([lane], [prompt])[0]


def knows(tokens: Sequence[int], *, wrong_at: int | None = None) -> Drafter:
    """Guesses these tokens, one of which may be wrong."""
    known = [token + (at == wrong_at) for at, token in enumerate(tokens)]
    return lambda so_far: [known[len(so_far) :]]


def test_greedy_decoding_takes_the_likeliest_token_each_time() -> None:
    found = alone(0, PROMPTS[0])
    ids = list(PROMPTS[0])
    with torch.inference_mode(), BANK.use(0):
        for token, logprob in zip(found.tokens, found.logprobs, strict=False):
            scores = torch.log_softmax(BACKBONE.model(torch.tensor([ids])).logits[0, -1], dim=-1)
            assert (token, logprob) == (int(scores.argmax()), pytest.approx(scores.max().item(), abs=1e-4))
            ids.append(token)
    assert found.passes == len(found.logprobs) <= LONGEST


def test_a_batch_gives_what_single_rows_give() -> None:
    lanes = [0, 1, -1, 0]
    for one, lane, prompt in zip(read(lanes, PROMPTS), lanes, PROMPTS, strict=True):
        assert one.tokens == alone(lane, prompt).tokens


@pytest.mark.parametrize("query", range(len(QUERIES)))
def test_a_right_guess_makes_the_whole_read_one_pass(query: int) -> None:
    plain = alone(0, PROMPTS[query])
    (drafted,) = read([0], [PROMPTS[query]], [knows(plain.tokens)])
    assert (drafted.tokens, drafted.finished) == (plain.tokens, plain.finished)
    assert drafted.logprobs == pytest.approx(plain.logprobs, abs=1e-3)
    assert drafted.passes == 1


@pytest.mark.parametrize("wrong_at", range(4))
def test_a_guess_is_kept_up_to_its_first_wrong_token(wrong_at: int) -> None:
    plain = alone(0, PROMPTS[0])
    drafter = knows(plain.tokens, wrong_at=wrong_at)
    (drafted,) = read([0], [PROMPTS[0]], [drafter])
    assert drafted.tokens == plain.tokens
    assert drafted.passes == 2


def test_a_guess_longer_than_the_clue_may_be_adds_nothing() -> None:
    plain = alone(0, PROMPTS[0])
    (drafted,) = read([0], [PROMPTS[0]], [knows([*plain.tokens, *range(40)])])
    assert drafted.tokens == plain.tokens
    assert len(drafted.logprobs) <= LONGEST


@st.composite
def drafters(draw: st.DrawFn, row: int) -> Drafter:
    """Guesses that are right, wrong, changing, too long or none, as they come."""
    truth = alone(row % 2, PROMPTS[row]).tokens
    noise = draw(st.lists(st.integers(0, 259), max_size=20))
    corrupt = draw(st.lists(st.integers(0, LONGEST), max_size=3))
    known = [noise[at % len(noise)] if at in corrupt and noise else token for at, token in enumerate(truth)]
    kind = draw(st.sampled_from(["known", "noise", "both", "branches", "none"]))
    return {
        "known": lambda tokens: [known[len(tokens) :]],
        "noise": lambda tokens: [noise],
        "both": lambda tokens: [noise, [*known[len(tokens) :], *noise]],
        "branches": lambda tokens: [known[len(tokens) :][:3] + noise, noise, known[len(tokens) :], noise[1:]],
        "none": lambda tokens: (),
    }[kind]


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_whatever_is_guessed_the_text_is_that_of_plain_decoding(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(QUERIES) - 1), min_size=1, max_size=4))
    lanes = [row % 2 for row in rows]
    found = read(lanes, [PROMPTS[row] for row in rows], [data.draw(drafters(row)) for row in rows])
    for one, lane, row in zip(found, lanes, rows, strict=True):
        plain = alone(lane, PROMPTS[row])
        assert (one.tokens, one.finished) == (plain.tokens, plain.finished)
        assert one.logprobs == pytest.approx(plain.logprobs, abs=1e-3)
        assert one.passes <= plain.passes


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_decodes_the_same_with_and_without_drafts(family: str) -> None:
    backbone = tiny_backbone(family, seed=5)
    bank = bank_of(backbone)
    prompts = [prompt_tokens(backbone, query) for query in QUERIES]
    lanes = [0, 1, 0, 1]
    plain = finish(decode(backbone, bank, lanes, prompts, LONGEST))
    guesses = [knows(one.tokens, wrong_at=at) for at, one in enumerate(plain)]
    drafted = finish(decode(backbone, bank, lanes, prompts, LONGEST, guesses))
    assert [one.tokens for one in drafted] == [one.tokens for one in plain]


@pytest.mark.parametrize("query", range(len(QUERIES)))
def test_in_reduced_precision_near_ties_depend_neither_on_guesses_nor_on_the_batch(
    query: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone = Backbone(tiny_backbone(seed=3).model.bfloat16(), BACKBONE.tokenizer, name="half")
    bank = bank_of(backbone)
    monkeypatch.setattr("pss_integrations.states.reader._TIE", 1e9)  # now every pair of tokens is a tie
    lanes = [0, 1, 0, 1]
    plain = finish(decode(backbone, bank, [lanes[query]], [PROMPTS[query]], LONGEST))[0]
    assert plain.passes == 2 * len(plain.logprobs)
    guesses = [knows(plain.tokens, wrong_at=row) for row in range(4)]
    together = finish(decode(backbone, bank, lanes, PROMPTS, LONGEST, guesses))[query]
    assert (together.tokens, together.logprobs) == (plain.tokens, plain.logprobs)


@pytest.mark.parametrize("window", [16, 64, 200])
def test_a_sliding_window_is_kept_with_drafts_and_without(window: int) -> None:
    backbone = tiny_backbone("mistral", seed=5, sliding_window=window)
    bank = bank_of(backbone)
    prompts = [prompt_tokens(backbone, query) for query in QUERIES]
    for lane, prompt in zip([0, 1, 0, 1], prompts, strict=True):
        ids = list(prompt)
        with torch.inference_mode(), bank.use(lane):
            while len(ids) < len(prompt) + LONGEST and (not ids[len(prompt) :] or ids[-1] != backbone.end_token):
                ids.append(int(backbone.model(torch.tensor([ids])).logits[0, -1].argmax()))
        expected = [token for token in ids[len(prompt) :] if token != backbone.end_token]
        noise = [[9, 8, 7], [*expected[:3], 1, 2], expected[1:]]
        for drafter in (None, [knows(expected, wrong_at=2)], [lambda so_far, noise=noise: noise]):
            found = finish(decode(backbone, bank, [lane], [prompt], LONGEST, drafter))[0]
            assert found.tokens == expected


def test_a_clue_that_spells_the_end_token_is_read_as_it_was_written() -> None:
    tokens = clue_tokens(BACKBONE, "Heron <end> kit-9")
    assert tokens.count(BACKBONE.end_token) == 1
    assert BACKBONE.decode(tokens[:-1]).strip() == "Heron <end> kit-9"


def test_all_branches_are_verified_in_one_pass() -> None:
    plain = alone(0, PROMPTS[0])
    right = plain.tokens
    branches = [[*right[:2], 1, 2], [*right[:5], 3], [4], right]
    (drafted,) = read([0], [PROMPTS[0]], [lambda so_far: branches if not so_far else ()])
    assert (drafted.tokens, drafted.passes) == (right, 1)


def test_a_row_that_ends_early_leaves_the_others_as_they_are() -> None:
    plain = [alone(0, prompt) for prompt in PROMPTS]
    guesses = [knows(one.tokens) if at == 0 else knows(()) for at, one in enumerate(plain)]
    together = read([0] * len(PROMPTS), PROMPTS, guesses)
    assert [one.tokens for one in together] == [one.tokens for one in plain]
    assert together[0].passes == 1
