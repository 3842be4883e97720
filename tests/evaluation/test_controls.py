from oracle import Oracle

from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.controls import STATES, Cast
from pss_integrations.evaluation.subjects import from_pss320
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.types import ClueTarget, Message


class Noting(Oracle):
    """Notes what each state is written from; a state is that."""

    def compile(self, messages, targets):
        return tuple(messages), tuple(targets)


def cast() -> Cast:
    return Cast(from_pss320(pss320.generate(4, seed=0).sessions), Noting(), HistoryTargets())


def written(name: str, number: int = 0) -> tuple[tuple[Message, ...], tuple[ClueTarget, ...]]:
    return STATES[name](cast(), number)


def test_the_matched_wrong_state_is_the_correct_one_of_another_session() -> None:
    assert written("matched_wrong") == written("correct", 1) != written("correct")
    assert written("matched_wrong", 3) == written("correct", 0)


def test_target_only_and_history_only_are_the_two_halves_of_correct() -> None:
    messages, targets = written("correct")
    assert written("target_only") == ((), targets)
    assert written("history_only") == (messages, ())


def test_reordered_has_the_same_messages_and_targets_of_their_new_order() -> None:
    messages, _ = written("correct")
    reordered, parsed = written("reordered")
    assert sorted(map(repr, reordered)) == sorted(map(repr, messages))
    assert reordered != messages
    assert list(parsed) == HistoryTargets().build(reordered)
    assert written("reordered") == (reordered, parsed)


def test_history_targets_is_the_partner_of_reordered() -> None:
    messages, _ = written("correct")
    assert written("history_targets") == (messages, tuple(HistoryTargets().build(messages)))


def test_a_session_without_targets_has_no_state() -> None:
    subject = cast().subjects[0]
    small_talk = Message("user", "...")
    bare = type(subject)(subject.session_id, subject.group, (small_talk,), (), subject.asked, 0)
    for name in ("correct", "matched_wrong", "shuffled", "target_only", "history_targets", "reordered"):
        assert STATES[name](Cast([bare], Noting(), HistoryTargets()), 0) is None, name
