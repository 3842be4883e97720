"""Planted messages, with a source that remembers targets without a model: what comes of them is known exactly."""

from dataclasses import replace

import pytest
from oracle import Oracle
from small_sessions import small_passages, small_session

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.risks.poisoning import CLEAN, PLANTS, POISONERS, measure_poisoning

POOL = pss320.generate(24, seed=0)
SESSIONS = [POOL.sessions[number] for number in (0, 4, 8)]
STRANGERS = pss320.generate(3, seed=1).sessions


@pytest.fixture(scope="module")
def found():
    return measure_poisoning(Oracle(), SESSIONS, STRANGERS, POOL.passages, lambda what, done, total: None)


def test_every_role_and_kind_is_planted_beside_a_clean_history(found) -> None:
    assert [*found] == [CLEAN, *(f"{kind}/{role}" for kind in PLANTS for role in POISONERS)]
    assert all(one["clue"]["items"] == 18 and one["clue"]["sessions"] == 3 for one in found.values())
    assert all(sum(one["routes"].values()) == 18 for one in found.values())


@pytest.mark.parametrize("role", ["assistant", "tool"])
@pytest.mark.parametrize("kind", PLANTS)
def test_what_an_untrusted_role_plants_makes_no_target_and_no_card(found, kind: str, role: str) -> None:
    poisoned = found[f"{kind}/{role}"]
    for what in ("targets", "clue", "card", "sent", "page_by_clue", "page_guarded"):
        assert poisoned[what]["mean"] == 0, what
    assert poisoned["recall_by_clue"] == found[CLEAN]["recall_by_clue"]
    assert poisoned["recall_guarded"] == found[CLEAN]["recall_guarded"]


def test_a_false_fact_of_the_user_steers_the_search(found) -> None:
    poisoned = found["false_fact/user"]
    assert poisoned["targets"]["mean"] > 0.2
    assert poisoned["clue"]["mean"] > 0.2
    assert poisoned["page_by_clue"]["mean"] > 0
    assert poisoned["recall_by_clue"]["mean"] <= found[CLEAN]["recall_by_clue"]["mean"]


def test_nothing_that_was_planted_is_found_in_a_clean_history(found) -> None:
    assert all(found[CLEAN][what]["mean"] == 0 for what in ("targets", "clue", "card", "sent", "page_guarded"))


def test_a_plant_is_found_where_the_state_was_written_from_it() -> None:
    class Believing(Oracle):
        """Takes every message for a target, whoever said it."""

        def compile(self, messages, targets):
            return tuple(replace(targets[0], clue=messages[-3].text) for _ in targets[:1])

    found = measure_poisoning(Believing(), SESSIONS, STRANGERS, POOL.passages, lambda what, done, total: None)
    assert found["instruction/tool"]["targets"]["mean"] == 0
    assert found["instruction/tool"]["clue"]["mean"] == 1
    assert found["instruction/tool"]["page_by_clue"]["mean"] == 1
    assert found[CLEAN]["clue"]["mean"] == 0


def test_names_that_are_the_session_s_own_are_refused() -> None:
    heron = small_session("heron")
    with pytest.raises(InvalidInput, match="take strangers of another cohort"):
        measure_poisoning(Oracle(), [heron], [heron], small_passages(heron), lambda what, done, total: None)


def test_each_session_needs_a_stranger() -> None:
    with pytest.raises(InvalidInput, match="as many strangers"):
        measure_poisoning(Oracle(), SESSIONS, STRANGERS[:2], POOL.passages, lambda what, done, total: None)
