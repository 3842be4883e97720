from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.states.drafts import Drafts, taught_clues

PAIRS = [
    ("which one now?", "abcdef"),
    ("which one before?", "abXYZ"),
    ("and at present?", "abcdef"),
    ("who runs it?", "owner"),
]


def tokens_of(clue: str) -> list[int]:
    return list(map(ord, clue))


def all_drafted(query: str, so_far: str = "") -> list[str]:
    branches = Drafts(taught_clues(PAIRS, tokens_of), query)(tokens_of(so_far))
    return ["".join(map(chr, branch)) for branch in branches]


def drafted(query: str, so_far: str = "") -> str:
    return (all_drafted(query, so_far) or [""])[0]


def test_each_distinct_clue_is_kept_once_with_all_its_requests() -> None:
    taught = taught_clues(PAIRS, tokens_of)
    assert ["".join(map(chr, one.tokens)) for one in taught] == ["abcdef", "abXYZ", "owner"]
    assert [len(one.requests) for one in taught] == [2, 1, 1]


def test_the_clue_whose_request_is_most_alike_comes_first() -> None:
    assert drafted("which one did we use before") == "abXYZ"
    assert drafted("who runs it these days") == "owner"


def test_without_any_likeness_the_clue_that_was_taught_most_comes_first() -> None:
    assert drafted("zzz") == "abcdef"


def test_after_a_miss_the_clue_that_begins_as_written_goes_on() -> None:
    assert drafted("who runs it?", "ab") == "cdef"
    assert drafted("who runs it?", "abX") == "YZ"


def test_a_clue_that_holds_the_last_tokens_goes_on_even_if_it_begins_otherwise() -> None:
    assert drafted("zzz", "??bcd") == "ef"
    assert drafted("zzz", "??cd") == ""


def test_a_whole_clue_is_followed_by_nothing() -> None:
    assert drafted("zzz", "abcdef") == ""


def test_without_clues_nothing_is_guessed() -> None:
    assert not Drafts((), "anything")([])


@given(st.text(max_size=20), st.lists(st.integers(0, 300), max_size=12))
def test_a_guess_is_always_the_end_of_a_clue(query: str, so_far: list[int]) -> None:
    clues = [tuple(tokens_of(clue)) for _, clue in PAIRS]
    for guess in Drafts(taught_clues(PAIRS, tokens_of), query)(so_far):
        assert any(clue[len(clue) - len(guess) :] == tuple(guess) for clue in clues)


def test_all_clues_that_begin_as_written_are_guessed() -> None:
    assert all_drafted("which one did we use before", "ab") == ["XYZ", "cdef"]
