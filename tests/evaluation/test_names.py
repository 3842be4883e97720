import re
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.names import Names

SHAPES = {
    "project": r"[A-Z][a-z]+ [A-Z][a-z]+",
    "configuration": r"[a-z]+-[a-z]+",
    "version": r"v[1-9]\.\d{1,2}\.\d",
    "checkpoint": r"ckpt-\d{4}",
    "route": r"[a-z]{2}-[a-z]+-\d/[a-z]+",
}


@pytest.mark.parametrize("kind", SHAPES)
@given(seed=st.integers())
def test_names_have_their_shape_and_are_never_drawn_twice(kind: str, seed: int) -> None:
    names = Names(Random(seed))
    drawn = [getattr(names, kind)() for _ in range(50)]
    assert all(re.fullmatch(SHAPES[kind], name) for name in drawn)
    assert len(set(drawn)) == 50


def test_no_name_is_the_beginning_of_another() -> None:
    names = Names(Random(3))
    for draw in (names.version, names.checkpoint, names.route):
        drawn = sorted(draw() for _ in range(1500))
        assert not any(after.startswith(name) for name, after in pairwise(drawn))


@pytest.mark.parametrize("kind", [*SHAPES, "person"])
def test_even_and_odd_cohorts_share_no_name(kind: str) -> None:
    even, odd = Names(Random(1), cohort=2), Names(Random(1), cohort=3)
    assert {getattr(even, kind)() for _ in range(400)}.isdisjoint(getattr(odd, kind)() for _ in range(400))


def test_thousands_of_projects_share_no_word() -> None:
    names = Names(Random(4))
    words = [word for _ in range(3000) for word in names.project().split()]
    assert len(set(words)) == 6000


def test_running_out_of_names_is_an_error_and_not_an_endless_loop() -> None:
    names = Names(Random(5))
    with pytest.raises(InvalidInput, match="fewer"):
        [names.checkpoint() for _ in range(10_000)]
