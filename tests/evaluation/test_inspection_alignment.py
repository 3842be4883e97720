import json
import math

import pytest
from embedders import GivenEmbedder, WordEmbedder
from inspected import probe, record

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.inspection.alignment import align
from pss_integrations.evaluation.record import RunRecord

DEGREES = {"gold": 0.0, "query": 90.0, "right clue": 30.0, "wrong clue": 120.0, "babble": 180.0}


def angles(text: str) -> tuple[float, float]:
    """Points in the plane; the length says nothing."""
    angle = math.radians(DEGREES[text])
    return 3 * math.cos(angle), 3 * math.sin(angle)


def run(sessions: int = 6, correct: str = "right clue") -> RunRecord:
    clues = {"correct": correct, "matched_wrong": "wrong clue", "shuffled": "babble", "zero": " "}
    return record({f"{number}": [probe("query", clues), probe("null", clues, [])] for number in range(sessions)})


def golds(sessions: int = 6) -> dict[tuple[str, str], str]:
    return {(f"{number}", query): "gold" for number in range(sessions) for query in ("query", "null")}


def test_progress_is_how_much_nearer_the_clue_is_to_the_gold_rewrite_than_the_query() -> None:
    found = align(run(), golds(), GivenEmbedder(angles, 2))
    assert (found.probes, found.sessions, found.embedder) == (6, 6, "given")
    cosines = {name: one.value for name, one in found.cosines.items()}
    assert cosines == pytest.approx(
        {"raw": 0, "correct": math.cos(math.pi / 6), "matched_wrong": -0.5, "shuffled": -1, "zero": 0}, abs=1e-6
    )
    assert found.progress["matched_wrong"].value == pytest.approx(-0.5)
    assert found.progress["zero"].value == 0, "a blank clue leaves the query alone"
    assert list(found.family.comparisons) == ["raw", "matched_wrong", "shuffled"]
    assert found.family.comparisons["raw"].difference.value == pytest.approx(found.progress["correct"].value)
    assert found.family.comparisons["shuffled"].p_holm == pytest.approx(3 * 2 / 2**6)
    json.dumps(found.to_dict())


def test_a_clue_of_another_session_makes_no_progress() -> None:
    found = align(run(correct="wrong clue"), golds(), GivenEmbedder(angles, 2))
    assert found.progress["correct"].value == pytest.approx(-0.5)
    assert not found.family.passed


def test_the_unit_is_the_session_and_each_text_is_embedded_once() -> None:
    clues = {"correct": "heron kit"}
    asked = {"a": [probe("one", clues), probe("two", clues), probe("three", clues)], "b": [probe("one", clues)]}
    embedder = WordEmbedder()
    rewrites = {("a", "one"): "heron kit", ("a", "two"): "heron kit", ("a", "three"): "", ("b", "one"): "crane"}
    found = align(record(asked), rewrites, embedder)
    assert found.probes == 3
    assert sorted(embedder.embedded) == ["crane", "heron kit", "one", "two"]
    apart = align(record({**asked, "a": asked["a"][:1]}), rewrites, WordEmbedder())
    assert found.cosines["correct"].value == pytest.approx(apart.cosines["correct"].value)


def test_what_cannot_be_aligned_is_said() -> None:
    with pytest.raises(InvalidInput, match="nothing to align"):
        align(run(), {}, WordEmbedder())
    with pytest.raises(InvalidInput, match="two sessions"):
        align(run(1), golds(), GivenEmbedder(angles, 2))
