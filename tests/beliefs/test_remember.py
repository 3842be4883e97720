import pytest
from belief_making import ADA, ATLAS, BOB, live, new

from pss_integrations.beliefs import BeliefStore, Principal
from pss_integrations.beliefs.extraction import Answer, NewAliases, Observation, RuleExtractor, remember
from pss_integrations.errors import InvalidInput
from pss_integrations.types import Message


def hear(store: BeliefStore, text: str) -> list[str]:
    """Outcomes of what one message of a user says."""
    observation = RuleExtractor().extract([Message("user", text)], [ATLAS])
    return [result.outcome for result in remember(store, ADA, [ATLAS], observation)]


def contents(store: BeliefStore) -> list[str]:
    return [one.content for one in live(store)]


def test_nothing_observed_changes_nothing(store):
    assert remember(store, ADA, [ATLAS], Observation()) == ()
    with pytest.raises(InvalidInput, match="no scope"):
        remember(store, ADA, [], Observation())


def test_what_was_given_up_in_an_earlier_conversation_is_superseded(store):
    assert hear(store, "We use Marlin.") == ["created"]
    assert hear(store, "We switched from Marlin to Vespera.") == ["superseded"]
    [belief] = live(store)
    assert (belief.content, belief.version) == ("Switched to Vespera.", 2)
    assert {"marlin", "Marlin"} & set(belief.aliases)


def test_both_ways_of_telling_a_change_end_the_old_one(store):
    hear(store, "We use Marlin. Our crew uses Atlas.")
    hear(store, "We moved to Vespera from Marlin.")
    assert "Uses Marlin." not in contents(store)


def test_a_use_for_something_else_stays(store):
    hear(store, "We use Redis for sessions.")
    hear(store, "We use Redis for the cache.")
    hear(store, "We no longer use Redis for sessions.")
    assert contents(store) == ["Uses Redis for the cache.", "No longer uses Redis for sessions."]


def test_what_was_taken_up_before_is_superseded_only_where_it_is_clear(store):
    hear(store, "We use Redis for sessions. We use Redis for the cache.")
    hear(store, "We replaced Redis with Valkey.")
    assert contents(store) == ["Uses Redis for sessions.", "Uses Redis for the cache.", "Uses Valkey."]


def test_an_end_is_remembered_and_ends_a_fact_of_another_type(store):
    hear(store, "Our database is Marlin.")
    hear(store, "We use Marlin.")
    assert hear(store, "We no longer use Marlin.") == ["superseded"]
    assert contents(store) == ["No longer uses Marlin."]


def test_no_longer_liking_ends_no_use(store):
    hear(store, "I use Vim. I like Vim.")
    hear(store, "I no longer like Vim.")
    assert contents(store) == ["Uses Vim.", "No longer likes Vim."]


def test_a_change_to_something_known_ends_the_old_one(store):
    hear(store, "We use Marlin. We use Vespera.")
    hear(store, "We replaced Marlin with Vespera.")
    assert contents(store) == ["Uses Vespera."]


def test_an_inferred_change_supersedes_nothing(store):
    store.put(ADA, new("marlin", "Uses Marlin."))
    guess = new("vespera", "Uses Vespera.", replaces=("marlin",), source="assistant")
    assert [one.outcome for one in remember(store, ADA, [ATLAS], Observation((guess,)))] == ["created"]
    assert contents(store) == ["Uses Marlin.", "Uses Vespera."]


def test_an_answered_question_is_closed_by_its_name(store):
    hear(store, "We haven't decided whether to charge for wrapping. I'm torn between tea and coffee.")
    [asked, other] = live(store)
    remember(store, ADA, [ATLAS], Observation(answers=(Answer(asked.canonical_name), Answer("no such question"))))
    assert live(store) == [other]
    assert store.get(ADA, asked.id).resolved_at is not None


def test_aliases_are_learned_where_one_belief_is_meant(store):
    hear(store, "We use Marlin.")
    remember(store, ADA, [ATLAS], Observation(aliases=(NewAliases("marlin", ("the big fish",)),)))
    assert "the big fish" in live(store)[0].aliases


def test_repetition_reinforces(store):
    hear(store, "We use Marlin for mail.")
    assert hear(store, "we use Marlin for mail") == ["reinforced"]
    assert live(store)[0].reinforcement_count == 2


def test_a_team_needs_an_actor(store):
    team = Principal.team("kiln")
    store.grant(team, BOB, "admin", actor=BOB)
    observation = RuleExtractor().extract([Message("user", "We use Marlin. Our kiln runs on Vespera.")], [ATLAS])
    assert len(remember(store, team, [ATLAS], observation, actor=BOB)) == 2


def test_what_is_known_under_another_name_or_as_another_type_is_retracted_for_what_replaces_it(store):
    hear(store, "Our database is Marlin. We use Fluvial for mail.")
    hear(store, "We switched from Marlin to Vespera. We replaced Fluvial with Foliant.")
    assert contents(store) == ["Switched to Vespera.", "Uses Foliant."]


def test_a_reason_is_put_into_the_content(store):
    hear(store, "We chose Marlin because it is small.")
    [belief] = live(store)
    assert (belief.content, belief.why_it_matters) == ("Chose Marlin because it is small.", None)
