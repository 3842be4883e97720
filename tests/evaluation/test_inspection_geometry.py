import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.inspection.geometry import cosine_distances, neighbourhood, principal_components

SEEDS = st.integers(0, 2**32 - 1)


def points(seed: int, count: int = 12) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    labels = rng.choice(list("abc"), count).tolist()
    labels[:2] = "ab"
    return rng.normal(size=(count, 5)), labels


def silhouette(distances: np.ndarray, labels: list[str]) -> float:
    """By the definition, one state after another."""
    each = []
    for at, label in enumerate(labels):
        by_label = {
            name: [distances[at, other] for other, of in enumerate(labels) if of == name and other != at]
            for name in set(labels)
        }
        own = by_label.pop(label)
        other = min(float(np.mean(some)) for some in by_label.values())
        each.append((other - np.mean(own)) / max(other, np.mean(own)) if own else 0.0)
    return float(np.mean(each))


@settings(deadline=None)
@given(SEEDS)
def test_the_silhouette_is_that_of_the_definition(seed: int) -> None:
    prints, labels = points(seed)
    assert neighbourhood(prints, labels).silhouette == pytest.approx(silhouette(cosine_distances(prints), labels))


@settings(deadline=None)
@given(SEEDS, st.lists(st.floats(0.01, 100), min_size=12, max_size=12))
def test_only_directions_and_equality_of_labels_matter(seed: int, lengths: list[float]) -> None:
    prints, labels = points(seed)
    longer = prints * np.array(lengths)[:, None]
    renamed = [{"a": "z", "b": "y", "c": "x"}[label] for label in labels]
    one, other = neighbourhood(prints, labels).to_dict(), neighbourhood(longer, renamed).to_dict()
    assert one == pytest.approx(other)


def test_states_that_lie_by_label_are_told_from_states_that_do_not() -> None:
    rng = np.random.default_rng(0)
    labels = ["a", "b"] * 20
    apart = rng.normal(size=(40, 8)) * 0.1 + np.eye(8)[[0, 1] * 20]
    found = neighbourhood(apart, labels)
    assert found.silhouette > 0.9
    assert found.same == 1
    assert found.chance == pytest.approx(19 / 39)
    mixed = neighbourhood(rng.normal(size=(40, 8)), labels)
    assert abs(mixed.silhouette) < 0.1
    json.dumps(found.to_dict())


def test_the_only_state_of_a_label_counts_nothing_and_has_no_like_neighbour() -> None:
    found = neighbourhood([[1, 0], [1, 0.1], [0, 1]], ["a", "a", "b"])
    assert found.same == pytest.approx(2 / 3)
    assert found.chance == pytest.approx((1 + 1 + 0) / 3 / 2)


def test_what_has_no_direction_or_no_two_labels_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"no direction: \[1\]"):
        neighbourhood([[1, 0], [0, 0]], ["a", "b"])
    for labels in (["a", "a"], ["a", "b", "b"]):
        with pytest.raises(InvalidInput, match="one for each of 2 states, and two or more"):
            neighbourhood([[1, 0], [0, 1]], labels)
    with pytest.raises(InvalidInput, match="2 components"):
        principal_components([[1.0, 0.0]])


@settings(deadline=None)
@given(SEEDS)
def test_components_are_in_order_and_do_not_depend_on_the_axes(seed: int) -> None:
    prints, _ = points(seed)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 5))).Q
    found, shares = principal_components(prints)
    assert 1 >= shares[0] >= shares[1] >= 0
    np.testing.assert_allclose(found, principal_components(prints @ turn)[0], atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-9)


def test_states_that_are_all_alike_lie_on_one_point() -> None:
    found, shares = principal_components(np.ones((3, 4)))
    np.testing.assert_allclose(found, 0, atol=1e-9)
    assert np.isfinite(shares).all()
