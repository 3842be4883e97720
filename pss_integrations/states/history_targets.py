"""Clue targets from nothing but the messages: what they name, and what superseded what (PSS, section 2.3)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import chain, islice, zip_longest

from pss_integrations.errors import InvalidInput
from pss_integrations.states.cues import hyphenated_values, named_values, quantities, spelled_out
from pss_integrations.states.field_targets import change_targets, pair_targets, scope_targets, theme_targets
from pss_integrations.states.focus import RARE_WORDS, labels_in, named_last, said_last
from pss_integrations.states.ledger import Change, Standing
from pss_integrations.states.supersession import read_standing
from pss_integrations.states.targets import DEFAULT_TRUSTED_ROLES, check_roles, clue_of, latest, says
from pss_integrations.text import content_words, identifiers, names, normalise
from pss_integrations.types import ClueTarget, Message, Role
from pss_integrations.vocabulary import Vocabulary

# What is asked in a conversation about a person, an event, a place or a thing, without naming it.
_FOLLOW_UPS = (
    "when did it happen?",
    "who was he?",
    "tell me more about that",
    "Where did this take place?",
    "what happened next?",
    "Why did she do that?",
    "do they have it too?",
    "how much is it",
    "Was anyone else involved?",
    "how did that turn out",
    "Is it any good?",
    "what else should I know about them",
    "and what came of it?",
    "What did people say about this one?",
)
# What is asked about one thing that changed, among others that did.
_NOW = ("which {name} do we use now?", "what is the {name} now?", "current {name}, please")
_BEFORE = ("which {name} did we use before?", "what was the {name} before?", "former {name}, please")
_WHO_NOW = ("who is {name} now?", "current {name}, please")
_WHO_BEFORE = ("who was {name} before?", "former {name}, please")
_ROLE = re.compile(r"on-?call|owner|lead|author|contact|maintainer|reviewer|manager|assignee|guide|host|chair|head")
_CHANGES_USED = 6  # of the things that changed, the latest
_NAMES_GUESSED = 3  # for a follow-up, where no vocabulary tells names from noise
_FOLLOW_UPS_USED, _SCOPE_USED, _OTHER_USED, _PAIR_USED = 12, 9, 3, 2  # requests per clue
_SMALL_TALK = frozenset("fine good great nice cool bye goodbye morning evening afternoon welcome okay alright".split())
_MAX_TERM = 48  # characters; longer ones are addresses and hashes, which nobody searches for
_OURS = re.compile(r"\b(?:my|our) (?:new |own )?([^\W\d_]{3,})", re.IGNORECASE)
_ABOUT = re.compile(
    r"\b(?:about|called|named|project|planning|working on|trip to|visit to|travel(?:ling)? to)(?: the| our| my| a)? $|"
    r"^\W*(?:the )?$",
    re.IGNORECASE,
)
_IS_OURS = re.compile(r",? (?:is|are)? ?(?:our|my|the|an?)\b", re.IGNORECASE)
_WORD = re.compile(r"\w(?:[\w.'\u2019&@+#-]*[\w+#])?")


@dataclass(frozen=True)
class HistoryTargets:
    """Targets from nothing but the messages of trusted roles; of system messages, only what labels the topic.

    Where the history states values (versions, checkpoints, owners), the targets are those of
    :class:`~pss_integrations.states.field_targets.FieldTargets`: what is in force, what it superseded, what
    changed. The order of the messages decides which is which. Any other history is a conversation: follow-up
    questions give its topic line ("Topic: ...") and the names said last, questions about the whole its main
    names; without names, its content words. Cue words are English.

    :param trusted_roles: Roles whose messages are read; see
        :data:`~pss_integrations.states.targets.DEFAULT_TRUSTED_ROLES`.
    :param vocabulary: Names that count, best the :class:`~pss_integrations.vocabulary.Vocabulary` of the index that
        is searched, which also knows rare words. Without it, names are guessed from capitals and quotes, which also
        gives garbage; so three names are kept for a follow-up then, and one with it.
    :param max_targets: The most targets; every clue keeps about the same number of requests.
    :raises InvalidInput: If a role is unknown, the vocabulary is a string or ``max_targets`` is not positive.
    """

    name: str = field(default="history", init=False)
    _: KW_ONLY
    trusted_roles: frozenset[Role] = DEFAULT_TRUSTED_ROLES
    vocabulary: Collection[str] | None = None
    max_targets: int = 24

    def __post_init__(self) -> None:
        check_roles(self.trusted_roles)
        self._listed()
        if self.max_targets < 1:
            raise InvalidInput(f"max_targets must be at least 1, got {self.max_targets}")

    def build(self, messages: Sequence[Message]) -> list[ClueTarget]:
        """Return the targets; none if no trusted message has a word of content."""
        trusted = [message for message in messages if message.role in self.trusted_roles]
        labels = labels_in(message.text for message in trusted)
        texts = [spelled_out(message.text) for message in trusted if message.role != "system"]
        listed = self._listed()
        terms = _guessed(texts) if listed is None else list(map(listed.names_in, texts))
        measured = chain.from_iterable(map(quantities, texts)) if listed is None else ()
        standing = read_standing(texts, [*chain.from_iterable(terms), *measured])
        if standing.active or standing.archived:
            targets = _project_targets(labels, terms, texts, standing)
        else:
            focus = (
                [*labels, *_recent(terms)[:_NAMES_GUESSED]]
                if listed is None
                else named_last(trusted, listed) or listed.rare_words(said_last(trusted), RARE_WORDS)
            )
            targets = _conversation_targets(labels, terms, texts, standing, focus)
        return _spread(latest(targets), self.max_targets)

    def _listed(self) -> Vocabulary | None:
        given = self.vocabulary
        return Vocabulary(given) if given is not None and not isinstance(given, Vocabulary) else given


def _project_targets(
    labels: Sequence[str], terms: Sequence[list[str]], texts: Sequence[str], standing: Standing
) -> list[ClueTarget]:
    subject = labels or _subject(terms, texts, standing)
    # Without a superseded value it may as well be a conversation that happens to state one.
    follow_ups = [] if standing.archived else _follow_ups([*subject, *standing.active.values()])
    several = standing.changes if len(standing.changes) > 1 else ()
    scopes = scope_targets(subject, standing.active, standing.archived, _SCOPE_USED)
    if several:
        fields = {*standing.active, *standing.archived}
        scopes = [
            target for target in scopes if not any(name.casefold() in target.request.casefold() for name in fields)
        ]
    changed = change_targets(subject, standing.active, standing.archived, _OTHER_USED)
    if several:  # value by value: an old one, what it runs and the new one may be too long for one part of a clue
        clue = clue_of([*subject, *chain.from_iterable((*change.old, *change.new) for change in several)])
        changed = [replace(target, clue=clue) for target in changed]
    return [
        *scopes,
        *chain.from_iterable(_one_change(subject[:1], change) for change in several[-_CHANGES_USED:]),
        *changed,
        *pair_targets(subject, standing.pairs, _PAIR_USED),
        *theme_targets(subject, _OTHER_USED),
        *follow_ups,
    ]


def _one_change(subject: Sequence[str], change: Change) -> list[ClueTarget]:
    """Return requests for one thing that changed: by its name, else by what it was or is."""
    new, old = (_change_clue(subject, change.name, values) for values in (change.new, change.old))
    is_role = change.name is not None and _ROLE.fullmatch(change.name) is not None
    now, before = (_WHO_NOW, _WHO_BEFORE) if is_role else (_NOW, _BEFORE)
    return [
        *_asked(now, change.name or f"replacement for {change.old[-1]}", new, old),
        *_asked(before, change.name or f"forerunner of {(change.new or change.old)[-1]}", old, new),
    ]


def _change_clue(subject: Sequence[str], name: str | None, values: Sequence[str]) -> str:
    is_said = name is not None and any(says(value, name) for value in values)
    return clue_of([*subject, *([] if is_said or name is None else [name]), *values]) if values else ""


def _asked(forms: Sequence[str], name: str, clue: str, conflict: str) -> list[ClueTarget]:
    conflicts = (conflict,) if conflict not in ("", clue) else ()
    return [ClueTarget(form.format(name=name), clue, conflicts) for form in forms] if clue else []


def _subject(terms: Sequence[list[str]], texts: Sequence[str], standing: Standing) -> list[str]:
    """Return at most two names that the session is about, else the noun it calls its own ("my garden")."""
    changing = [*standing.active.values(), *standing.archived.values()]
    in_values = {word for value in changing for word in normalise(value).split()}
    # What has a version, or no capital, needs more than one mention to be what all is about.
    owners = {term.rsplit(" ", count)[0] for said in terms for term in said if _has_digit(term) for count in (1, 2)}
    named = {
        name: weight
        for name, weight in _salient(terms, texts).items()
        if weight > (1 if name[0].isupper() and name not in owners else 2)
        and not _has_digit(name)
        and not {*normalise(name).split()} <= in_values
    }
    # Who goes with the session is not its subject, unless nothing is named more.
    most = max(named.values(), default=0)
    subject = [name for name, weight in named.items() if weight * 2 > most and name not in standing.pairs.values()]
    if named:
        return (subject or [*named])[:2]
    said = [content_words(text) for text in texts]
    counts = {
        word: sum(word in words for words in said) for text in texts for word in map(normalise, _OURS.findall(text))
    }
    return [word for word in sorted(counts, key=lambda word: -counts[word]) if word not in in_values][:1]


def _conversation_targets(
    labels: Sequence[str],
    terms: Sequence[list[str]],
    texts: Sequence[str],
    standing: Standing,
    focus: Sequence[str],
) -> list[ClueTarget]:
    subject = [*labels, *islice(_salient(terms, texts), 3)]
    if not (subject or focus):
        words = [[word for word in content_words(text) if word not in _SMALL_TALK] for text in texts]
        subject, focus = [*islice(_salient(words, texts), 6)], _recent(words)[:6]
    return [
        *theme_targets(subject, 2 * _OTHER_USED),
        *pair_targets(subject[:2], standing.pairs, _PAIR_USED),
        *_follow_ups(focus),
    ]


def _follow_ups(parts: Sequence[str]) -> list[ClueTarget]:
    clue = clue_of(parts)
    return [ClueTarget(request, clue) for request in _FOLLOW_UPS[:_FOLLOW_UPS_USED]] if clue else []


def _guessed(texts: Sequence[str]) -> list[list[str]]:
    """Return what each text names; a name that one text makes sure is one in every other."""
    found = [[*identifiers(text), *names(text), *hyphenated_values(text), *named_values(text)] for text in texts]
    sure = {term for terms in found for term in terms if term[0].isupper() and term.isalpha()}
    return [
        sorted(
            {term for term in (*terms, *(sure & _words(text))) if len(term) <= _MAX_TERM},
            key=lambda term: (text.find(term), term),
        )
        for text, terms in zip(texts, found, strict=True)
    ]


def _words(text: str) -> set[str]:
    """Return the words as they are spelled, a possessive without its ending."""
    return {re.sub(r"['\u2019]s$", "", word) for word in _WORD.findall(text)}


def _salient(terms: Sequence[list[str]], texts: Sequence[str]) -> dict[str, int]:
    """Return the terms, the most salient first, with the number of messages that mention each.

    What the first message with terms mentions counts one more, and two where a text says that it is about
    it; so a late mention in passing comes last.
    """
    weight: dict[str, int] = {}
    spelling: dict[str, str] = {}
    opening = next((number for number, said in enumerate(terms) if said), 0)
    for number, (said, text) in enumerate(zip(terms, texts, strict=True)):
        for folded, term in {normalise(term): term for term in filter(_has_letter, said)}.items():
            weight[folded] = weight.get(folded, 0) + 1 + (number == opening) + 2 * _is_topic(term, text)
            spelling.setdefault(folded, term)
    return {spelling[folded]: weight[folded] for folded in sorted(weight, key=lambda folded: -weight[folded])}


def _is_topic(term: str, text: str) -> bool:
    """Whether the text says that it is about the term: "about X", "our trip to X", "X is our service"."""
    at = text.find(term)
    opens = _ABOUT.search(text[max(0, at - 40) : at])
    return opens is not None and (opens[0].strip() != "" or _IS_OURS.match(text, at + len(term)) is not None)


def _recent(terms: Sequence[list[str]]) -> list[str]:
    """Return the terms of all messages, the last mentioned first."""
    kept: dict[str, str] = {}
    for term in filter(_has_letter, chain.from_iterable(reversed(said) for said in reversed(terms))):
        kept.setdefault(normalise(term), term)
    return list(kept.values())


def _spread(targets: Sequence[ClueTarget], most: int) -> list[ClueTarget]:
    """Return at most ``most`` targets, taken from each clue in turn."""
    by_clue: dict[str, list[ClueTarget]] = {}
    for target in targets:
        by_clue.setdefault(target.clue, []).append(target)
    turns = chain.from_iterable(zip_longest(*by_clue.values()))
    return [target for target in turns if target is not None][:most]


def _has_letter(term: str) -> bool:
    return any(map(str.isalpha, term))


def _has_digit(term: str) -> bool:
    return any(map(str.isdecimal, term))
