import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput, StateMismatch
from pss_integrations.retrieval import BM25Index
from pss_integrations.routing.shadow import EXAMPLES, asked, is_underspecified, shadow
from pss_integrations.routing.shadow_report import Latency, overlap
from pss_integrations.types import ROLES, ROUTES, Hit, Message, Passage, SessionKey

ADA, BOB = SessionKey("ada", "s"), SessionKey(None, "s")
INDEX = BM25Index(
    [
        Passage("heron-9", "Heron runs on kit-9 with two bolts.", "Heron kits"),
        Passage("heron-7", "Heron kit-7 is retired.", "Heron kits"),
        Passage("crane", "Crane needs an inspection before it runs."),
        Passage("how", "How many bolts does it need? Ask the yard."),
    ]
)
CHAT = [
    Message("user", "Let us plan Heron on kit-9."),
    Message("assistant", "Fine."),
    Message("user", "how many bolts does it need?"),
    Message("assistant", "Two."),
    Message("user", "How is retry_limit set in Kestrel v2.4?"),
]
FOLLOW_UP, ON_ITS_OWN = 2, 4
CLUE = "Heron kit-7 retired"


class Failing:
    """Finds what the index finds, but for queries with a word."""

    def __init__(self, word: str) -> None:
        self.word = word

    def search(self, query: str, k: int) -> list[Hit]:
        if self.word in query:
            raise TimeoutError("private: " + query)
        return INDEX.search(query, k)


def test_what_was_asked_are_the_users_messages_but_for_the_first() -> None:
    assert asked(CHAT) == [2, 4]
    assert asked(CHAT[:2]) == asked([]) == asked([Message("assistant", "Hello?")] * 3) == []


@pytest.mark.parametrize(
    ("query", "is_one"),
    [
        ("how many bolts does it need?", True),
        ("use the previous one", True),
        ("How is retry_limit set in Kestrel v2.4?", False),
        ("thanks a lot", False),
        ("  ", False),
    ],
)
def test_underspecified(query: str, is_one: bool) -> None:
    assert is_underspecified(query) is is_one


def test_without_a_state_there_are_raw_and_card(make_reader: Callable[..., Any]) -> None:
    reader = make_reader({ADA: CLUE})
    for given_reader in (None, reader):
        report = shadow([(BOB, CHAT)], INDEX, given_reader)
        follow_up, on_its_own = report.queries
        assert [one.position for one in report.queries] == [FOLLOW_UP, ON_ITS_OWN]
        assert (follow_up.route, follow_up.reason, set(follow_up.found)) == ("card", "card", {"raw", "card"})
        assert (follow_up.searches, follow_up.generations) == (2, 0)
        assert (on_its_own.route, on_its_own.reason, set(on_its_own.found)) == ("raw", "self_contained", {"raw"})
        assert (report.sessions, report.with_state) == (1, 0)


def test_with_a_state_the_clue_is_tried_too(make_reader: Callable[..., Any]) -> None:
    report = shadow([(ADA, CHAT), (BOB, CHAT)], INDEX, make_reader({ADA: CLUE}))
    follow_up = report.queries[0]
    assert follow_up.key == ADA
    assert (set(follow_up.found), follow_up.searches, follow_up.generations) == ({"raw", "card", "pss"}, 3, 1)
    assert follow_up.found["raw"][0] == "how"
    assert (report.with_state, report.generations_per_query) == (1, 0.25)
    assert report.searches_per_query == (3 + 1 + 2 + 1) / 4
    assert [(one.routes, one.compared) for one in report.differences] == [
        (("raw", "card"), 2),
        (("raw", "pss"), 1),
        (("card", "pss"), 1),
    ]


def test_nobodys_session_is_never_looked_up(make_reader: Callable[..., Any]) -> None:
    reader = make_reader({ADA: CLUE})
    (one, _) = shadow([(None, CHAT)], INDEX, reader).queries
    assert (one.key, one.route) == (None, "card")
    assert reader.calls == []


def test_the_history_is_what_was_said_before(make_reader: Callable[..., Any]) -> None:
    later = [*CHAT[:3], Message("user", "Now plan Crane, is it inspected?")]
    assert shadow([(ADA, CHAT[:3])], INDEX).queries[0].found == shadow([(ADA, later)], INDEX).queries[0].found


def test_queries_that_the_state_knew_are_told_apart(make_reader: Callable[..., Any]) -> None:
    report = shadow([(ADA, CHAT)], INDEX, make_reader({ADA: CLUE}, compiled=3))
    assert [one.in_hindsight for one in report.queries] == [True, False]
    report = shadow([(ADA, CHAT)], INDEX, make_reader({ADA: CLUE}, compiled=3), routes=("raw", "card"))
    assert (report.with_state, [one.in_hindsight for one in report.queries]) == (0, [False, False])


def test_a_failing_search_is_counted_and_the_replay_goes_on() -> None:
    chat = [*CHAT, Message("user", "and the flag?")]
    report = shadow([(ADA, chat)], Failing("bolts"))
    failed, on_its_own, last = report.queries
    assert (failed.route, failed.reason, failed.found) == (None, "failed", {})
    assert report.failures == {"raw: TimeoutError": 1}
    assert (len(report.answered), report.to_dict()["failed"]) == (2, 1)
    assert (on_its_own.route, last.route) == ("raw", "card")
    assert "private" not in json.dumps(report.to_dict())


def test_a_failing_search_of_a_card_leaves_raw() -> None:
    (one,) = shadow([(ADA, CHAT[:3])], Failing("Heron")).queries
    assert (one.route, one.reason, one.failures) == ("raw", "search_failed", {"card": "TimeoutError"})


def test_a_state_that_cannot_be_read_is_counted(make_reader: Callable[..., Any]) -> None:
    report = shadow([(ADA, CHAT)], INDEX, make_reader({ADA: CLUE}, error=StateMismatch("another backbone")))
    assert report.failures == {"router: StateMismatch": 1}
    assert report.reasons == {"failed": 1, "self_contained": 1}
    assert (report.raw_latency, report.routes["raw"]) != (None, 0)


def test_examples_are_those_that_differ_most_in_order(make_reader: Callable[..., Any]) -> None:
    keys = [SessionKey("ada", f"s{number:02}") for number in range(EXAMPLES + 5)]
    chat = CHAT[:3]
    sessions = [(key, chat) for key in reversed(keys)]
    report = shadow(sessions, INDEX, make_reader({keys[7]: "Crane inspection"}))
    shown = [one.replayed.key for one in report.examples]
    assert shown == [keys[7], *(key for key in keys if key != keys[7])][:EXAMPLES]
    assert shown == [
        one.replayed.key for one in shadow(sessions, INDEX, make_reader({keys[7]: "Crane inspection"})).examples
    ]


def test_as_many_are_searched_for_as_are_compared() -> None:
    class Counting(Failing):
        def search(self, query: str, k: int) -> list[Hit]:
            asked_for.append(k)
            return super().search(query, k)

    asked_for = list[int]()
    shadow([(ADA, CHAT)], Counting("fails"), k=2)
    assert set(asked_for) == {2}


def test_an_example_says_what_was_added_and_found(make_reader: Callable[..., Any]) -> None:
    (example,) = shadow([(ADA, CHAT)], INDEX, make_reader({ADA: CLUE}), k=1).examples
    assert example.query == CHAT[FOLLOW_UP].text
    assert "kit-9" in example.added["card"]
    assert CLUE in example.added["pss"]
    assert [(hit.doc_id, hit.title) for hit in example.found["raw"]] == [
        ("how", "How many bolts does it need? Ask the yard.")
    ]
    assert example.found["pss"][0].title == "Heron kits"


def test_without_examples_no_text_is_kept(make_reader: Callable[..., Any]) -> None:
    report = shadow([(ADA, CHAT)], INDEX, make_reader({ADA: CLUE}), examples=False)
    assert report.examples == ()
    told = json.dumps(report.to_dict()) + repr(report)
    assert not any(text in told for text in ("bolts", "kit-9", "Heron", CLUE, "retired"))


def test_empty_chats() -> None:
    for sessions in ([], [(ADA, [])], [(ADA, [Message("assistant", "Hello?"), Message("assistant", "Still there?")])]):
        report = shadow(sessions, INDEX)
        assert (report.sessions, report.queries, report.examples) == (len(sessions), (), ())
        assert report.to_dict()["added_latency_ms"] is None
        assert report.searches_per_query == 0


@pytest.mark.parametrize(
    "sessions", [[CHAT], [(ADA, "text")], [("ada", CHAT)], [(ADA, ["text"])], [(ADA, CHAT, 3)], [None]]
)
def test_what_is_no_session_is_refused(sessions: Any) -> None:
    with pytest.raises(InvalidInput, match="session 0 must be a pair"):
        shadow(sessions, INDEX)


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"routes": ("raw", "all")}, {"routes": ("pss",)}, {"composition": "sum"}]
)
def test_bad_options_are_refused_before_anything_is_read(options: dict[str, Any]) -> None:
    def sessions() -> Any:
        raise AssertionError("read")
        yield

    with pytest.raises(InvalidInput):
        shadow(sessions(), INDEX, **options)


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    INDEX.save(tmp_path / "index")
    before = digest(tmp_path)
    shadow([(ADA, CHAT)], BM25Index.load(tmp_path / "index"))
    assert digest(tmp_path) == before


def digest(directory: Path) -> str:
    files = sorted(file for file in directory.rglob("*") if file.is_file())
    return hashlib.sha256(
        repr([(file, file.read_bytes(), file.stat().st_mtime_ns) for file in files]).encode()
    ).hexdigest()


def test_progress_counts_the_queries() -> None:
    done = list[int]()
    shadow([(ADA, CHAT), (BOB, CHAT)], INDEX, progress=done.append)
    assert done == [1, 2, 3, 4]


def test_the_percentile_is_by_nearest_rank() -> None:
    assert Latency.of([]) is None
    assert Latency.of([0.003]) == Latency(3.0, 3.0)
    assert Latency.of([number / 8 for number in range(20, 0, -1)]) == Latency(1312.5, 2375.0)


@given(st.lists(st.sampled_from("abcdef")), st.lists(st.sampled_from("abcdef")))
def test_overlap_is_a_share_and_symmetric(first: list[str], second: list[str]) -> None:
    assert overlap(first, second) == overlap(second, first)
    assert 0 <= overlap(first, second) <= 1
    assert (overlap(first, second) == 1) == ({*first} == {*second})


TEXTS = st.sampled_from(
    ["", "Heron", "how many bolts does it need?", "and Crane?", "the same again", "thanks", "fails", "Kestrel v2.4?"]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
CHATS = st.lists(st.builds(Message, st.sampled_from(ROLES), TEXTS), max_size=8)


@given(st.lists(st.tuples(st.sampled_from([ADA, BOB, None]), CHATS), max_size=4), st.integers(1, 6))
def test_counts_add_up(make_reader: Callable[..., Any], sessions: list[Any], k: int) -> None:
    report = shadow(sessions, Failing("fails"), make_reader({ADA: CLUE}), k=k)
    told = report.to_dict()
    queries = sum(max(0, sum(one.role == "user" for one in chat) - 1) for _, chat in sessions)
    assert told["queries"] == len(told["replayed"]) == queries == sum(told["reasons"].values())
    assert told["queries"] == sum(told["routes"].values()) + told["failed"]
    assert sum(one.searches for one in report.queries) == sum(
        len(one.found) + sum(what in ROUTES for what in one.failures) for one in report.queries
    )
    assert all(len(found) <= k for one in report.queries for found in one.found.values())
    assert all(0 <= one["first"] <= one["compared"] and one["any"] <= one["compared"] for one in told["differences"])
    assert len(report.examples) == min(
        EXAMPLES, sum(one.route is not None and one.distance > 0 for one in report.queries)
    )
