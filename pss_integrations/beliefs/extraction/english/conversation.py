"""What holds in a conversation, statement by statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from pss_integrations.beliefs.extraction.english.answers import (
    answered,
    approved,
    carried_out,
    chosen,
    purpose,
    settles,
    topic,
)
from pss_integrations.beliefs.extraction.english.beginnings import beginning
from pss_integrations.beliefs.extraction.english.changes import CHANGES
from pss_integrations.beliefs.extraction.english.claims import Claim, Rule
from pss_integrations.beliefs.extraction.english.clauses import clause, sentence, without_version
from pss_integrations.beliefs.extraction.english.corrections import corrected, takes_back
from pss_integrations.beliefs.extraction.english.decisions import DECISIONS
from pss_integrations.beliefs.extraction.english.elided import with_subject
from pss_integrations.beliefs.extraction.english.general import general
from pss_integrations.beliefs.extraction.english.grammar import PASSING
from pss_integrations.beliefs.extraction.english.leanings import LEANINGS
from pss_integrations.beliefs.extraction.english.pronouns import spelled_out
from pss_integrations.beliefs.extraction.english.prose import Sentence, sentences
from pss_integrations.beliefs.extraction.english.questions import QUESTIONS, disagreement, labelled
from pss_integrations.beliefs.extraction.english.rewrites import in_plain_order
from pss_integrations.beliefs.extraction.english.standing import STANDING
from pss_integrations.beliefs.extraction.english.suggestions import (
    Suggestion,
    picked,
    seeks,
    short_answer,
    suggestion,
    taken_up,
)
from pss_integrations.beliefs.extraction.english.tastes import TASTES
from pss_integrations.beliefs.extraction.english.vetoes import begins_fiction, is_joke, is_stated, is_undecided
from pss_integrations.beliefs.extraction.observation import Answer, Gone, Observation
from pss_integrations.beliefs.names import name_key
from pss_integrations.beliefs.schema import BeliefType, NewBelief, Provenance
from pss_integrations.types import Message, Role

_RULES: tuple[tuple[Rule, Callable[[re.Match[str], Sentence], bool]], ...] = (
    *((rule, is_undecided) for rule in QUESTIONS),
    *((rule, is_stated) for family in (CHANGES, DECISIONS, TASTES, LEANINGS, STANDING) for rule in family),
)
_NOW = re.compile(r"\b(?:now|these days|instead)\b", re.IGNORECASE)
_INFERRED = 0.5  # confidence in what an assistant or a tool says about the user
_USED: tuple[BeliefType, ...] = ("decision", "entity")


@dataclass(frozen=True, slots=True)
class _Held:
    claim: Claim
    message: Message


class Conversation:
    """Hears messages in order, and keeps what holds after each.

    :param roles: Whose messages are read.
    """

    def __init__(self, roles: frozenset[Role]) -> None:
        self._roles = roles
        self._held: list[_Held] = []
        self._gone: dict[str, Gone] = {}
        self._answered: dict[str, Claim] = {}
        self._asked: tuple[Sentence, ...] = ()
        self._suggested: Suggestion | None = None
        self._before = ""
        self._latest: Claim | None = None  # of this message of the user or the one before
        self._newest: Claim | None = None  # of this one

    def hear(self, message: Message) -> None:
        """Take in one message."""
        spoken = sentences(message.text)
        if message.role == "user":
            self._latest, self._newest = self._newest, None
        if message.role in self._roles and not is_joke(message.text):
            self._read(spoken if message.role == "user" else _of_the_user(spoken), message)
        if message.role == "user":
            self._asked, self._suggested, self._before = spoken, None, ""
        elif message.role == "assistant":
            self._suggested, self._before = suggestion(message.text, self._asked), message.text

    def observation(self, scopes: tuple[str, ...]) -> Observation:
        """What holds now."""
        beliefs = {(one.claim.type, one.claim.name): _belief(one, scopes) for one in self._held}
        return Observation(
            tuple(beliefs.values()),
            tuple(self._gone.values()),
            tuple(Answer(asked, beliefs.get((claim.type, claim.name))) for asked, claim in self._answered.items()),
        )

    # -- sentence by sentence

    def _read(self, spoken: tuple[Sentence, ...], message: Message) -> None:
        previous: Sentence | None = None
        for one in spoken:
            if begins_fiction(one):
                return
            self._read_sentence(one, previous, message)
            previous = one

    def _read_sentence(self, spoken: Sentence, previous: Sentence | None, message: Message) -> None:
        claims = [one.claim for one in self._held]
        if message.role != "user":
            self._infer(spoken, message)
        elif not spoken.asks and (change := corrected(spoken.text, claims, self._latest)):
            self._exchange(*change, message)
        elif reply := self._reply(spoken, previous):
            self._add(reply, message)
        else:
            for plain in in_plain_order(with_subject(spelled_out(spoken, previous))):
                for claim in _folded(_claims(plain), plain):
                    self._state(beginning(claim, plain.text, message.created_at), plain, message)

    def _infer(self, spoken: Sentence, message: Message) -> None:
        """Keep what is said of the user, unless there is something about it already."""
        for claim in _claims(spoken):
            if not any(_is_over(one.claim, claim) for one in self._held):
                self._held.append(_Held(claim, message))

    def _reply(self, spoken: Sentence, previous: Sentence | None) -> Claim | None:
        """What a sentence says only together with what was said before it."""
        if self._suggested and (decision := taken_up(spoken, self._suggested)):
            return decision
        questions = [one.claim for one in self._held if one.claim.type == "open_question"]
        answers = (read(spoken, one) for one in questions for read in (carried_out, approved, chosen, answered))
        if decision := next(filter(None, answers), None):
            return decision
        asked = [one.content for one in questions]
        was_asked = asked or any(one.asks or seeks(one) for one in self._asked)
        if was_asked and (decision := picked(spoken, self._before, " . ".join(asked))):
            return decision
        if previous is None and (answer := short_answer(self._before, spoken)):
            return answer
        return labelled(previous, spoken) or disagreement(previous, spoken)

    def _state(self, claim: Claim, spoken: Sentence, message: Message) -> None:
        latest = self._latest
        if latest and _is_other_choice(latest, claim) and takes_back(spoken.text):
            self._drop(lambda held: held is latest)
            claim = replace(claim, replaces=(*claim.replaces, latest.name))
        self._add(claim, message)

    def _add(self, claim: Claim, message: Message) -> None:
        if claim.type == "open_question":
            self._answered.pop(claim.name, None)
        else:
            claim = self._answering(claim)
        self._drop(lambda held: _is_over(held, claim))
        if claim.ends:
            types: tuple[BeliefType, ...] = ("preference",) if claim.type == "preference" else _USED
            self._gone[claim.name] = Gone(claim.name, types)
        else:
            self._gone.pop(claim.name, None)
        self._held.append(_Held(claim, message))
        self._latest = self._newest = claim

    def _answering(self, claim: Claim) -> Claim:
        """Close the question that a decision answers; it is named by what the question was about, too."""
        questions = [one.claim for one in self._held if one.claim.type == "open_question"]
        if claim.kind not in ("decide", "change", "use") or not questions:
            return claim
        is_verdict = claim.content.startswith("Decided")
        for question in reversed(questions):
            if settles(claim, question) or (is_verdict and question is questions[-1]):
                self._drop(lambda held, question=question: held is question)
                claim = _about(claim, question)
                self._answered[question.name] = claim
                break
        return claim

    def _exchange(self, old: Claim, new: Claim, message: Message) -> None:
        self._drop(lambda held: held is old)
        self._held.append(_Held(new, message))
        self._latest = self._newest = new

    def _drop(self, is_over: Callable[[Claim], bool]) -> None:
        self._held = [one for one in self._held if not is_over(one.claim)]


def _claims(spoken: Sentence) -> Iterator[Claim]:
    """What a sentence claims, in order; where two rules match in one place, the first has it."""
    taken: list[tuple[int, int, Claim]] = []
    for rule, stands in _RULES:
        for found in rule.head.finditer(spoken.text):
            start, end = found.span()
            if any(start < after and before < end for before, after, _ in taken) or not stands(found, spoken):
                continue
            claim = rule.read(found, spoken.text[end:])
            if claim and not (claim.kind in ("use", "taste") and PASSING.search(spoken.text)):
                settled = len(clause(spoken.text[end:]).text) if claim.content.startswith("Decided") else 0
                taken.append((start, end + settled, claim))
    taken += [
        (start, start + 1, claim) for start, claim in general(spoken, [(start, claim) for start, _, claim in taken])
    ]
    reasons = [(end, spoken.text.find(claim.why, end) + len(claim.why)) for _, end, claim in taken if claim.why]
    for start, _, claim in sorted(taken, key=lambda one: one[0]):
        if not any(begin <= start < end for begin, end in reasons):  # a reason is told with what it explains
            yield claim


def _folded(claims: Iterable[Claim], spoken: Sentence) -> Iterator[Claim]:
    """One claim of "X is retired, alerts come from Y now": what is there now takes the place of what ended."""
    stated = [*claims]
    if len(stated) == 2 and stated[0].ends and stated[1].kind in ("use", "fact") and _NOW.search(spoken.text):
        stated = [replace(stated[1], replaces=(*stated[1].replaces, stated[0].value))]
    yield from stated


def _is_over(held: Claim, claim: Claim) -> bool:
    """Whether a claim takes the place of an earlier one: about the same thing, or about what is given up or ended."""
    if name_key(held.name) == name_key(claim.name) and (
        held.type == claim.type or (held.type in _USED and claim.type in _USED)
    ):
        return True
    if held.type == "open_question" or ("preference" in (held.type, claim.type) and held.type != claim.type):
        return False
    given_up = {name_key(name) for name in claim.replaces}
    is_ended = claim.ends and name_key(claim.value) in {name_key(held.name), name_key(held.value)}
    return is_ended or not held.keys.isdisjoint(given_up)


def _is_other_choice(latest: Claim, claim: Claim) -> bool:
    """Whether a claim may correct the one before it: of the same kind, and for the same purpose if both tell theirs."""
    if latest.kind != claim.kind or claim.kind == "fact" or claim.ends:
        return False
    has_purpose = all(name_key(one.name) != name_key(without_version(one.value)) for one in (latest, claim))
    return not has_purpose or not latest.keys.isdisjoint(claim.keys)


def _about(claim: Claim, question: Claim) -> Claim:
    """Name what a decision is about, unless it says so itself."""
    aliases, added = tuple(dict.fromkeys((*claim.aliases, *topic(question)))), purpose(question)
    says_so = (
        claim.kind != "decide" or claim.content.startswith("Decided to ") or added.lower() in claim.content.lower()
    )
    content = claim.content if says_so else sentence(claim.content.rstrip("."), added)
    return replace(claim, aliases=aliases, content=content)


def _belief(held: _Held, scopes: tuple[str, ...]) -> NewBelief:
    role = held.message.role
    source = role if role in ("user", "assistant") else "tool"
    confidence = 1.0 if source == "user" else _INFERRED
    return held.claim.belief(scopes, Provenance(source=source, turn_id=held.message.id), confidence)


_YOU = {"you are": "we are", "you": "we", "your": "our", "i": "they", "we": "they", "my": "their", "our": "their"}
_YOU_WORD = re.compile(r"\b(?:you are|you|your|i|we|my|our)\b", re.IGNORECASE)


def _of_the_user(spoken: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
    """What others say of the user, as the user would say it; what they say of themselves is of no interest."""
    return tuple(replace(one, text=_YOU_WORD.sub(lambda found: _YOU[found[0].lower()], one.text)) for one in spoken)
