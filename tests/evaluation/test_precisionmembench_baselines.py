from pathlib import Path

import pytest
from embedders import WordEmbedder
from garden import KITCHEN, belief, case, only, write
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.beliefs import Belief
from pss_integrations.beliefs.recall import Recall
from pss_integrations.evaluation.precisionmembench import Case, load_benchmark, read_belief
from pss_integrations.evaluation.precisionmembench_baselines import (
    Ranking,
    Setting,
    bm25_rankings,
    cosine_rankings,
    fused_rankings,
    tune,
)
from pss_integrations.evaluation.precisionmembench_replay import Asked, replay


@pytest.fixture
def asked(tmp_path: Path) -> list[Asked]:
    return [*replay(load_benchmark(write(tmp_path)))]


def test_baselines_see_the_same_live_beliefs_of_the_same_user_in_the_same_scopes(asked: list[Asked]) -> None:
    words, vectors = bm25_rankings(asked), cosine_rankings(asked, WordEmbedder())
    for one, ranking in [*zip(asked, words, strict=True), *zip(asked, vectors, strict=True)]:
        found = {belief.id for belief, _ in ranking}
        assert found <= {"compost", "pond", "shears", "dill", "frogs", "fence", "feeds", "bath"}
        assert ("dill" in found) <= (KITCHEN in one.case.scopes)
        assert [score for _, score in ranking] == sorted((score for _, score in ranking), reverse=True)
        assert bool(found) <= bool(one.case.query.strip())


def test_baselines_follow_relations_and_keep_to_the_limits(asked: list[Asked]) -> None:
    by_name = {one.case.name: one for one in asked}
    relation, budget = by_name["relation"], by_name["budget"]
    beliefs = {one.id: one for one in relation.beliefs}
    _, (found, nothing) = tune([relation, budget], [[(beliefs["feeds"], 1.0)], [(beliefs["compost"], 1.0)]])
    assert (found.returned, found.passed) == (("feeds", "pond"), True)
    assert (nothing.returned, nothing.passed) == ((), True)


SCORES = st.lists(st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.9]), max_size=4), min_size=3, max_size=3)


@given(SCORES)
def test_tuning_finds_the_best_of_all_cuts(many: list[list[float]]) -> None:
    wanted = (only("a"), only(), only("b", "c"))
    beliefs = [read_belief(belief(name, name))[1] for name in "abcd"]
    cases = [Case.model_validate(case("x", "", {"relevantBeliefs": one})) for one in wanted]
    asked = [Asked(one, tuple(beliefs), 20, Recall((), (), (), ())) for one in cases]
    rankings = [list(zip(beliefs, sorted(scores, reverse=True), strict=False)) for scores in many]

    def passed(k: int, threshold: float) -> int:
        cut = [Setting(k, threshold).cut(ranking) for ranking in rankings]
        kept = [{one.id for one, _ in ranking} for ranking in cut]
        return sum(one == set(gold["shouldOnlyInclude"]) for one, gold in zip(kept, wanted, strict=True))

    _, verdicts = tune(asked, rankings)
    thresholds = {score for scores in many for score in scores} | {1.0 if not any(many) else 0.1}
    assert sum(one.passed for one in verdicts) == max(passed(k, t) for k in range(1, 5) for t in thresholds)


def test_fused_rankings_put_first_what_both_find() -> None:
    a, b, c = (read_belief(belief(name, name))[1] for name in "abc")

    def ranking(*found: Belief) -> Ranking:
        return [(one, 1.0) for one in found]

    ((fused, *_), nothing) = fused_rankings([ranking(a, b), []], [ranking(b, c), []])
    assert fused[0] == b
    assert nothing == []
