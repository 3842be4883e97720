from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from cohort import NAMES, PASSAGES, chat, chats

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval import BM25Index
from pss_integrations.routing import Certificate, Router
from pss_integrations.routing.calibration import Calibration, calibrate
from pss_integrations.routing.learn_then_test import upper_bound
from pss_integrations.routing.probes import (
    NAMED_ELSEWHERE,
    POSITIVE,
    AskedSession,
    named_elsewhere,
    packaged_nulls,
    shuffled_nulls,
)
from pss_integrations.routing.rules import is_self_contained
from pss_integrations.routing.searching import find, router_options
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.types import Hit, Message, SessionKey
from pss_integrations.vocabulary import Vocabulary

COUNT = 80
INNS = Vocabulary(["Alder Inn", "Rosewood Inn"])


@pytest.fixture(scope="module")
def index() -> BM25Index:
    return BM25Index(PASSAGES)


def calibrated(index: BM25Index, sessions: Sequence[Any], reader: Any = None, **given: Any) -> Calibration:
    return calibrate(sessions, index, reader, k=5, **given)


@pytest.fixture(scope="module")
def result(index: BM25Index) -> Calibration:
    return calibrated(index, chats(COUNT))


def router(index: BM25Index, certificate: Certificate, **given: Any) -> Router[Hit]:
    options = {**router_options(index, {"certificate": certificate}), **given}
    return Router[Hit](None, hit=lambda hit: hit, rescore=lambda hit, _: hit, **options)


def test_the_certificate_says_what_it_was_made_of(index: BM25Index, result: Calibration) -> None:
    certificate = result.certificate
    assert certificate is not None
    assert certificate.binding is not None
    assert (certificate.binding.index_id, certificate.binding.engine) == (index.index_id, None)
    assert (certificate.max_activation, certificate.confidence) == (0.05, 0.95)
    assert set(certificate.nulls) == {*packaged_nulls(), NAMED_ELSEWHERE}
    assert {certificate.nulls[kind].sessions for kind in packaged_nulls()} == {COUNT}
    assert 59 <= certificate.nulls[NAMED_ELSEWHERE].sessions <= COUNT
    for one in certificate.nulls.values():
        assert upper_bound(one.activated, one.sessions, 0.95) <= 0.05
    assert result.missing == {}


def test_each_session_is_asked_one_null_of_a_kind(result: Calibration) -> None:
    nulls = [(probe.kind, probe.session) for probe in result.probes if probe.kind != POSITIVE]
    assert len(nulls) == len(set(nulls)) == sum(one.sessions for one in result.certificate.nulls.values())


def test_the_gain_is_retained_and_new_sessions_have_it(index: BM25Index, result: Calibration) -> None:
    assert result.certificate is not None
    assert result.retained > 0.5
    guarded = router(index, result.certificate)
    for name in NAMES[COUNT:]:
        routed = guarded.route(
            "is parking free there?", None, lambda wording, _: find(index, wording, 5), messages=chat(name)[:3]
        )
        assert (routed.route, routed.calibrated) == ("card", True)
        assert routed.passages[0].doc_id == f"{name}/parking"
        left = guarded.route(
            "how do I get wax out of a carpet?", None, lambda wording, _: find(index, wording, 5), messages=chat(name)
        )
        assert (left.route, left.reason) == ("raw", "guarded")


def test_looser_thresholds_retain_and_activate_more(result: Calibration) -> None:
    limits = sorted(probe.score for probe in result.probes)
    strict, loose = limits[-1], limits[0]
    assert result.retained_from(loose) == 1.0
    assert set(result.activated_from(loose).values()) == {1.0}
    assert sum(result.activated_from(strict).values()) <= sum(result.activated_from(loose).values())


def test_the_same_sessions_in_any_order_give_the_same_certificate(index: BM25Index, result: Calibration) -> None:
    again = calibrated(index, chats(COUNT)[::-1])
    assert again.certificate is not None
    assert again.certificate.model_dump(exclude={"created_at"}) == result.certificate.model_dump(exclude={"created_at"})


def test_round_trip_binding_and_edits(index: BM25Index, result: Calibration, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    result.certificate.save(path)
    loaded = Certificate.load(path)
    assert loaded == result.certificate.model_copy(update={"digest": result.certificate.content_digest()})
    elsewhere = router(index, loaded, index_id="another")
    with pytest.warns(UserWarning, match="going on with the built-in one"):
        routed = elsewhere.route("is it free?", None, lambda wording, _: find(index, wording, 5), messages=chat("x"))
    assert not routed.calibrated
    path.write_text(path.read_text().replace('"max_activation": 0.05', '"max_activation": 0.01'))
    with pytest.raises(InvalidInput, match="edited"):
        Certificate.load(path)


@pytest.mark.parametrize(("count", "lacking"), [(0, 59), (30, 29), (58, 1)])
def test_too_few_sessions_promise_nothing_and_say_how_many_are_missing(
    index: BM25Index, count: int, lacking: int
) -> None:
    found = calibrated(index, chats(count))
    assert (found.certificate, found.probes, found.retained) == (None, (), 0.0)
    assert {found.missing[kind] for kind in (*packaged_nulls(), NAMED_ELSEWHERE)} == {lacking}
    assert found.missing.get(POSITIVE, 0) == max(0, 20 - count)


def test_own_nulls_are_a_kind_like_any_other(index: BM25Index) -> None:
    own = {"weather": [f"will rain number {count} spoil it?" for count in range(40)]}
    found = calibrated(index, chats(COUNT), nulls=own)
    assert set(found.sessions) == {POSITIVE, "weather", NAMED_ELSEWHERE}
    assert found.sessions["weather"] == 40
    assert found.missing == found.missing_texts == {"weather": 19}


def test_states_are_read_and_bind_the_certificate(index: BM25Index, make_reader: Any) -> None:
    sessions = chats(COUNT)
    reader = make_reader({key: key.session_id for key, _ in sessions[:70]})
    found = calibrated(index, sessions, reader)
    assert found.skipped == COUNT - 70
    assert found.certificate is not None
    assert found.certificate.binding.engine == "fake engine"
    assert {"logprob", "least_logprob"} & set(found.certificate.weights)
    assert {call[1] for call in reader.calls} == {key for key, _ in sessions[:70]}


def test_states_of_two_engines_are_refused_before_anything_is_read(index: BM25Index, make_reader: Any) -> None:
    reader = make_reader({key: "clue" for key, _ in chats(3)})
    reader.engine_of = lambda key: key.session_id
    with pytest.raises(InvalidInput, match="3 backbones or configurations"):
        calibrated(index, chats(3), reader)
    assert reader.calls == []


def test_repeated_sessions_count_once(index: BM25Index) -> None:
    nameless = [(None, messages) for _, messages in chats(5)]
    assert calibrated(index, [*nameless, *nameless]).sessions["off_topic"] == 5
    assert calibrated(index, [*nameless, *nameless]).skipped == 5


def test_one_conversation_under_several_keys_is_one_session(index: BM25Index, make_reader: Any) -> None:
    copies = [(SessionKey("bob", f"copy of {key.session_id}"), messages) for key, messages in chats(5)]
    nameless = [(None, messages) for _, messages in chats(5)]
    given = [*chats(5), *copies, *nameless]
    found = calibrated(index, given)
    assert (found.sessions["off_topic"], found.skipped) == (5, 10)
    reader = make_reader({key: key.session_id for key, _ in copies})
    assert calibrated(index, given, reader).sessions["off_topic"] == 5  # the copy that has a state


def test_promises_that_the_texts_are_too_few_for_say_so(index: BM25Index) -> None:
    found = calibrated(index, chats(5), max_activation=0.005)
    texts = shuffled_nulls(packaged_nulls())
    assert found.missing_texts == {kind: 598 - len(texts[kind]) for kind in texts}
    assert found.missing["off_topic"] == 593
    assert calibrated(index, chats(5)).missing_texts == {}


def test_progress_ends_with_all(index: BM25Index) -> None:
    seen: list[tuple[int, int]] = []
    calibrated(index, chats(4), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"k": 0}, "k must be"),
        ({"max_activation": 0}, "max_activation"),
        ({"confidence": 1.0}, "confidence"),
        ({"nulls": {"positive": ["x"]}}, "another name"),
        ({"nulls": {"own": "one string"}}, "list of strings"),
        ({"nulls": {"own": [1]}}, "list of strings"),
        ({"routes": ("card", "magic")}, "magic"),
    ],
)
def test_bad_input_is_refused_before_any_search(index: BM25Index, given: Mapping[str, Any], said: str) -> None:
    class Unsearched(BM25Index):
        def search(self, query: str, k: int) -> list[Hit]:
            raise AssertionError("nothing may be searched")

    with pytest.raises(InvalidInput, match=said):
        calibrate(chats(2), Unsearched(PASSAGES), **given)


def test_what_cannot_be_told_from_another_index_gets_no_certificate(index: BM25Index) -> None:
    class Wrapped:
        def search(self, query: str, k: int) -> list[Hit]:
            raise AssertionError("nothing may be searched")

    with pytest.raises(InvalidInput, match="index_id"):
        calibrate(chats(2), Wrapped())


def test_any_searcher_with_an_index_id_is_calibrated() -> None:
    class Wrapped:
        index_id = "a retriever of somebody's"
        search = BM25Index(PASSAGES).search

    made = calibrate(chats(COUNT), Wrapped(), k=5, vocabulary=NAMES).certificate
    assert made is not None
    assert made.binding is not None
    assert made.binding.index_id == Wrapped.index_id


# --- what is asked


def asked(name: str, messages: Sequence[Message], **given: Any) -> AskedSession:
    builder = HistoryTargets(vocabulary=NAMES, max_targets=64)
    return AskedSession.of(SessionKey(None, name), messages, builder, **given)


def test_own_questions_come_with_what_they_mean_there() -> None:
    session = asked("s", [*chat("Amber Lodge"), *chat("Birch Court")])
    for one in session.requests:
        assert not is_self_contained(one.query)
        assert one.clue == ("Amber Lodge" if len(one.messages) <= 7 else "Birch Court")
        assert one.query not in [message.text for message in one.messages[-1:]]
    assert len(session.requests) == 4


def test_where_nothing_is_asked_the_requests_that_were_not_taught_come_first() -> None:
    messages = [Message("user", "I am looking at Amber Lodge.")]
    taught = [target.request for target in HistoryTargets(vocabulary=NAMES, max_targets=64).build(messages)][:10]
    session = asked("s", messages, taught=taught)
    assert session.requests
    assert not {one.query for one in session.requests} & set(taught)
    assert not asked("s", [Message("assistant", "Hello")]).requests


def test_another_sessions_request_names_what_this_one_never_said() -> None:
    sessions = [asked(name, chat(name)) for name in NAMES[::11]]
    pairs = [*named_elsewhere(sessions)]
    assert len(pairs) == len({query for _, query in pairs}) == len(sessions)
    for session, query in pairs:
        named = query.partition(":")[0]
        assert named in NAMES
        assert all(named not in message.text for message in session.messages)


def test_titles_that_share_a_word_are_told_apart() -> None:
    alder, rosewood = (AskedSession.of(None, chat(name), HistoryTargets(vocabulary=INNS)) for name in sorted(INNS))
    pairs = [(session.name, query.partition(":")[0]) for session, query in named_elsewhere([alder, rosewood])]
    assert pairs == [(alder.name, "rosewood inn"), (rosewood.name, "alder inn")]
    both = AskedSession.of(None, [*chat("Alder Inn"), *chat("Rosewood Inn")], HistoryTargets(vocabulary=INNS))
    assert both.name not in [session.name for session, _ in named_elsewhere([both, alder])]


def test_packaged_nulls_are_enough_for_one_activation_of_each_kind() -> None:
    texts = shuffled_nulls(packaged_nulls())
    assert set(texts) == {"off_topic", "unsupported", "chatter", "conflict", "other_session"}
    for kind, left in texts.items():
        assert len(left) == len(set(left)) >= 93, kind
        assert not any(map(is_self_contained, left))
    every = [text for left in texts.values() for text in left]
    assert len(every) == len(set(every))
