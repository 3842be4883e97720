"""What holds of reciprocal rank fusion for any rankings."""

from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.retrieval import reciprocal_rank_fusion

names = st.sampled_from("abcdefg")
rankings = st.lists(st.lists(names, max_size=7), max_size=5)
distinct = st.lists(names, min_size=2, max_size=7, unique=True)


def fuse(lists: list[list[str]], weights: list[float] | None = None) -> list[tuple[str, float]]:
    return reciprocal_rank_fusion(lists, key=str, weights=weights)


@st.composite
def weighted(draw: st.DrawFn) -> list[tuple[list[str], float]]:
    lists = draw(rankings)
    weights = draw(st.lists(st.floats(0, 100, allow_subnormal=False), min_size=len(lists), max_size=len(lists)))
    return list(zip(lists, weights, strict=True))


def split(pairs: list[tuple[list[str], float]]) -> tuple[list[list[str]], list[float]]:
    return [ranking for ranking, _ in pairs], [weight for _, weight in pairs]


@given(st.data(), weighted())
def test_the_order_of_the_rankings_does_not_matter(data: st.DataObject, pairs: list[tuple[list[str], float]]) -> None:
    assert fuse(*split(pairs)) == fuse(*split(data.draw(st.permutations(pairs))))


@given(weighted(), st.integers(-8, 8))
def test_scaling_all_weights_keeps_the_order(pairs: list[tuple[list[str], float]], power: int) -> None:
    lists, weights = split(pairs)
    scaled = fuse(lists, [weight * 2.0**power for weight in weights])
    assert [name for name, _ in scaled] == [name for name, _ in fuse(lists, weights)]


@given(weighted())
def test_the_result_is_the_union_of_the_rankings_that_count(pairs: list[tuple[list[str], float]]) -> None:
    found = [name for name, _ in fuse(*split(pairs))]
    assert sorted(found) == sorted({name for ranking, weight in pairs if weight for name in ranking})


@given(rankings, st.integers(1, 10))
def test_k_gives_the_start_of_the_whole_result(lists: list[list[str]], k: int) -> None:
    assert reciprocal_rank_fusion(lists, key=str, k=k) == fuse(lists)[:k]


@given(st.data(), rankings, distinct)
def test_moving_a_document_up_never_lowers_its_score(
    data: st.DataObject, others: list[list[str]], ranking: list[str]
) -> None:
    old = data.draw(st.integers(0, len(ranking) - 1))
    new = data.draw(st.integers(0, old))
    name = ranking[old]
    moved = [other for other in ranking if other != name]
    moved.insert(new, name)
    assert dict(fuse([moved, *others]))[name] >= dict(fuse([ranking, *others]))[name]
