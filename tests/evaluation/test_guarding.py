from collections import Counter

import pytest
from oracle import Oracle

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import guarding, pss320, suites
from pss_integrations.evaluation.analysis import activations, nulls, scores, summary
from pss_integrations.evaluation.guarding import GUARD_ARMS, NULL, CohortReader, run_guard, with_nulls
from pss_integrations.evaluation.report import markdown
from pss_integrations.evaluation.subjects import from_pss320
from pss_integrations.evaluation.suites import Setup
from pss_integrations.routing import probes
from pss_integrations.routing.probes import is_named, said_in
from pss_integrations.states.targets import folded
from pss_integrations.vocabulary import Vocabulary


def setup(*searchers: str) -> Setup:
    return Setup(Oracle(), dict.fromkeys(searchers, suites.bm25), {}, lambda what, done, total: None)


@pytest.fixture
def small_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarding, "POOL", 80)


@pytest.fixture(scope="module")
def sessions() -> tuple[pss320.BenchmarkSession, ...]:
    return pss320.generate(40, seed=0).sessions


def test_no_text_of_the_test_is_one_of_the_calibration() -> None:
    used = {folded(text) for texts in probes.packaged_nulls().values() for text in texts}
    kept = [folded(text) for texts in guarding.packaged_nulls().values() for text in texts]
    assert used.isdisjoint(kept)
    assert len(set(kept)) == len(kept)
    assert guarding.packaged_nulls().keys() == probes.packaged_nulls().keys()


def test_both_have_enough_of_each_kind_for_320_sessions() -> None:
    for texts in (probes.packaged_nulls(), guarding.packaged_nulls()):
        assert min(map(len, texts.values())) >= 320


def test_each_session_is_asked_five_texts_of_each_kind_and_no_other_gets_them(sessions) -> None:
    chosen, others = sessions[:3], sessions[3:]
    asked = with_nulls(from_pss320(chosen), chosen, others, Vocabulary([]))
    given = [[one.probe for one in subject.asked if one.probe.category.startswith(NULL)] for subject in asked]
    assert all(set(Counter(probe.category for probe in some).values()) == {5} for some in given)
    assert len({probe.query for some in given for probe in some}) == 3 * 6 * 5
    assert not any(probe.evidence for some in given for probe in some)
    assert [subject.asked[:6] for subject in asked] == [subject.asked for subject in from_pss320(chosen)]


def test_a_request_of_another_session_names_what_this_one_never_said(sessions) -> None:
    chosen, others = sessions[:1], sessions[1:]
    (subject,) = with_nulls(from_pss320(chosen), chosen, others, Vocabulary([]))
    queries = [one.probe.query for one in subject.asked if one.probe.category == NULL + "named elsewhere"]
    assert queries
    assert not any(is_named(query.partition(":")[0], said_in(chosen[0].messages)) for query in queries)


def test_the_certificate_holds_where_it_is_tested_and_the_report_says_what_it_let_through(small_pools: None) -> None:
    record, made = run_guard(setup("bm25"), cohort=70, sessions=3, skip=2, seed=0)
    assert record.arms == list(GUARD_ARMS)
    assert record.config["certificate"]["nulls"]["off_topic"] == {"sessions": 70, "activated": 0}
    assert made.certificate is not None
    assert made.certificate.binding is not None
    assert made.certificate.binding.engine == "evaluation"
    assert [session.session_id for session in record.sessions] == [
        one.key.session_id for one in pss320.generate(80, seed=0).split("test")[2:5]
    ]
    assert activations(record, "guarded", NULL + "off topic").texts == 15
    assert summary(record)["activated"]["guarded"].keys() == set(nulls(record))
    assert scores(record, "bm25", "oracle_route").mean >= scores(record, "bm25", "guarded").mean
    assert "| null, off topic | 15 | " in markdown(record)


@pytest.mark.parametrize(
    ("searchers", "cohort", "tested", "skip", "said"),
    [
        (("bm25", "minilm"), 70, 3, 0, "give one, not 2"),
        (("bm25",), 81, 3, 0, "test sessions"),
        (("bm25",), 70, 3, 62, "test sessions"),
        (("bm25",), 70, 1, 0, "test sessions"),
        (("bm25",), 58, 3, 0, "too few"),
    ],
)
def test_what_promises_nothing_is_refused(
    small_pools: None, searchers: tuple[str, ...], cohort: int, tested: int, skip: int, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        run_guard(setup(*searchers), cohort=cohort, sessions=tested, skip=skip, seed=0)


def test_a_cohort_is_read_at_once_and_each_request_once(sessions) -> None:
    class Counted(Oracle):
        rows = 0

        def read(self, requests):
            self.rows += sum(len(queries) for _, queries in requests)
            return super().read(requests)

    source = Counted()
    reader = CohortReader(source, {sessions[0].key: from_pss320(sessions[:1])[0]})
    asked = [(sessions[0].key, "and before?"), (sessions[0].key, "and now?"), (sessions[0].key, "and before?")]
    clues = reader.read_batch(asked)
    assert clues[0] == clues[2] == reader.read(*asked[0])
    assert source.rows == 2
