import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import krecords, wording
from pss_integrations.evaluation.krecords import KRecords, Record, RecordGroup
from pss_integrations.retrieval import BM25Index
from pss_integrations.text import tokenize

sizes_and_seeds = given(k=st.integers(1, 6), groups=st.integers(1, 3), seed=st.integers())


@pytest.fixture(scope="module")
def sixteen() -> KRecords:
    return krecords.generate(seed=1)


def record_of(request: str, group: RecordGroup) -> Record:
    return next(record for record in group.records if record.handle in request)


def test_the_same_seed_gives_the_same_records() -> None:
    assert krecords.generate(4, seed=7) == krecords.generate(4, seed=7)
    assert krecords.generate(4, seed=7) != krecords.generate(4, seed=8)


def test_sizes(sixteen: KRecords) -> None:
    (group,) = sixteen.groups
    assert len(group.records) == 16
    assert len(group.targets) == 16 * 8
    assert len(group.probes) == 16 * 3
    assert len(sixteen.passages) == 656


@sizes_and_seeds
@settings(max_examples=25, deadline=None)
def test_no_passage_holds_a_word_of_any_handle(k: int, groups: int, seed: int) -> None:
    made = krecords.generate(k, groups=groups, seed=seed)
    handles = {word for group in made.groups for record in group.records for word in tokenize(record.handle)}
    for passage in made.passages:
        assert handles.isdisjoint(tokenize(f"{passage.title} {passage.text}"))


@sizes_and_seeds
@settings(max_examples=25, deadline=None)
def test_ids_handles_and_clues_are_unique(k: int, groups: int, seed: int) -> None:
    made = krecords.generate(k, groups=groups, seed=seed)
    records = [record for group in made.groups for record in group.records]
    for values in (
        [passage.doc_id for passage in made.passages],
        [group.key for group in made.groups],
        [record.handle for record in records],
        [record.deployment.clue for record in records],
    ):
        assert len(set(values)) == len(values)
    for group in made.groups:
        assert len({record.handle.split()[0] for record in group.records}) == len(group.records)


@sizes_and_seeds
@settings(max_examples=25, deadline=None)
def test_requests_name_their_record_and_nothing_that_only_the_session_knows(k: int, groups: int, seed: int) -> None:
    made = krecords.generate(k, groups=groups, seed=seed)
    for group in made.groups:
        written = {target.request for target in group.targets}
        asked = {probe.query for probe in group.probes}
        assert len(written) == 8 * len(group.records)
        assert len(asked) == 3 * len(group.records)
        assert written.isdisjoint(asked)
        for request in written | asked:
            facts = record_of(request, group).deployment
            assert not any(fact in request for fact in (facts.project, facts.version, facts.checkpoint, facts.route))


def test_probes_use_other_templates_than_writing_requests() -> None:
    words = wording.load("krecords")
    assert {one.lower() for one in words["writing"]}.isdisjoint(one.lower() for one in words["probes"])


@sizes_and_seeds
@settings(max_examples=25, deadline=None)
def test_evidence_is_the_one_passage_with_the_records_checkpoint(k: int, groups: int, seed: int) -> None:
    made = krecords.generate(k, groups=groups, seed=seed)
    texts = {passage.doc_id: f"{passage.title} {passage.text}" for passage in made.passages}
    for group in made.groups:
        for probe in group.probes:
            facts = record_of(probe.query, group).deployment
            holders = {doc_id for doc_id, text in texts.items() if facts.checkpoint in text}
            assert probe.evidence == (holders,)
            (doc_id,) = holders
            assert all(fact in texts[doc_id] for fact in (facts.project, facts.version, facts.route))
            assert probe.gold_rewrite == facts.clue


@sizes_and_seeds
@settings(max_examples=25, deadline=None)
def test_conflicts_are_clues_of_other_records(k: int, groups: int, seed: int) -> None:
    made = krecords.generate(k, groups=groups, seed=seed)
    for group in made.groups:
        clues = {record.deployment.clue for record in group.records}
        for target in group.targets:
            assert target.clue == record_of(target.request, group).deployment.clue
            assert len(set(target.conflicts)) == min(2, len(clues) - 1)
            assert set(target.conflicts) <= clues - {target.clue}


@sizes_and_seeds
@settings(max_examples=25, deadline=None)
def test_the_history_mentions_each_record_once_or_twice(k: int, groups: int, seed: int) -> None:
    made = krecords.generate(k, groups=groups, seed=seed)
    for group in made.groups:
        said = [message.text for message in group.messages if message.role == "user"]
        for record in group.records:
            mentions = [text for text in said if record.handle in text]
            assert 1 <= len(mentions) <= 2
            facts = record.deployment
            together = " ".join(mentions)
            assert all(one in together for one in (facts.project, facts.version, facts.checkpoint, facts.route))


def test_bm25_needs_the_right_record(sixteen: KRecords, all_recall) -> None:
    (group,) = sixteen.groups
    index = BM25Index(sixteen.passages)
    everything = " ".join(record.deployment.clue for record in group.records)

    def ask(query) -> float:
        return all_recall(index, [(query(probe), probe.evidence) for probe in group.probes])

    assert ask(lambda probe: probe.query) < 0.1
    assert ask(lambda probe: probe.gold_rewrite) == 1.0
    assert ask(lambda _: everything) < 0.5
    assert ask(lambda probe: record_of(probe.query, group).deployment.project) < 0.75


@pytest.mark.parametrize(("k", "groups"), [(0, 1), (1, 0), (-3, 1), (49, 1), (1, 17)])
def test_sizes_out_of_range_are_refused(k: int, groups: int) -> None:
    with pytest.raises(InvalidInput, match=r"at (least|most)"):
        krecords.generate(k, groups=groups, seed=1)


def test_a_single_record_has_no_conflicts() -> None:
    (group,) = krecords.generate(1, seed=1).groups
    assert all(target.conflicts == () for target in group.targets)


def test_smaller_sessions_of_one_pool_begin_larger_ones() -> None:
    small, large = (krecords.generate(k, groups=2, seed=4, of=6) for k in (2, 6))
    assert small.passages == large.passages
    for one, other in zip(small.groups, large.groups, strict=True):
        assert one.records == other.records[:2]
        assert len(one.probes) == 2 * 3
    assert krecords.generate(6, groups=2, seed=4) == large


def test_a_pool_cannot_hold_fewer_records_than_a_session() -> None:
    with pytest.raises(InvalidInput, match="cannot hold"):
        krecords.generate(4, seed=0, of=3)
