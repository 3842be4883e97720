"""What a guard is calibrated on: requests that a session answers, and those that it cannot, all without a label."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from typing import Final

from pss_integrations.errors import InvalidInput
from pss_integrations.routing.features import of_query
from pss_integrations.routing.rules import is_self_contained
from pss_integrations.states.targets import TargetBuilder, folded
from pss_integrations.text import tokenize
from pss_integrations.types import Message, SessionKey

POSITIVE: Final = "positive"
NAMED_ELSEWHERE: Final = "named_elsewhere"
"""Kind of null: another session's request, with what it is about spelled out, of which this session said nothing."""

_REQUESTS = 4  # of a session


@dataclass(frozen=True, slots=True)
class Request:
    """What may be asked in a session, and what it means there.

    :param query: The words.
    :param clue: What they mean.
    :param messages: What was said before.
    """

    query: str
    clue: str
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class AskedSession:
    """A session and what may be asked in it.

    :param key: Whose it is, if that is known.
    :param name: Tells it from every other session.
    :param requests: At most four that pass the deterministic rules, taken by chance, which is the same every time.
    """

    key: SessionKey | None
    name: str
    messages: Sequence[Message]
    requests: Sequence[Request]

    @classmethod
    def of(
        cls, key: SessionKey | None, messages: Sequence[Message], builder: TargetBuilder, taught: Collection[str] = ()
    ) -> AskedSession:
        """Take the user's own questions, each with the target that stands for a request at that point.

        In a session where the user asked nothing that needs it, the builder's own requests are taken.

        :param taught: Requests that the session's state was compiled with: they come last.
        """
        name = name_of(key, messages)
        asked = [*islice(_questions(name, messages, builder), _REQUESTS)]
        return cls(key, name, messages, asked or _targets(name, messages, builder, taught)[:_REQUESTS])


def name_of(key: SessionKey | None, messages: Sequence[Message]) -> str:
    """What tells a session from every other: its key, or what was said in it."""
    return key.digest if key else content_of(messages)


def content_of(messages: Sequence[Message]) -> str:
    """What tells a conversation from every other, whoever had it: a digest of what was said."""
    return _chance(*(text for one in messages for text in (one.role, one.text))).hex()


def packaged_nulls() -> dict[str, list[str]]:
    """Return texts that hardly any session answers, by kind: off-topic, unsupported, chatter, and so on."""
    return json.loads(files("pss_integrations.routing").joinpath("nulls.json").read_text(encoding="utf-8"))


def shuffled_nulls(texts_by_kind: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return what passes the deterministic rules, each text once, in an order of chance that is the same every time.

    :raises InvalidInput: If a kind has the name of one that is built, or its texts are no strings, or one string.
    """
    return {kind: _shuffled(kind, texts) for kind, texts in texts_by_kind.items()}


def named_elsewhere(sessions: Iterable[AskedSession]) -> Iterator[tuple[AskedSession, str]]:
    """Yield for each session a request of another one, which no third one gets, as long as there is one."""
    known = [*sessions]
    left = {other.name: spelled for other in known if (spelled := spelled_out(other))}
    for session in known:
        said = said_in(session.messages)
        for other, (query, clue) in left.items():
            if other != session.name and not is_named(clue, said):
                yield session, query
                del left[other]
                break


def spelled_out(session: AskedSession) -> tuple[str, str] | None:
    """Return a request that names what it is about, and what that is; ``None`` if the session has none."""
    spelled = ((f"{one.clue}: {one.query}", one.clue) for one in session.requests)
    return next((both for both in spelled if _passes_rules(both[0])), None)


def said_in(messages: Iterable[Message]) -> set[str]:
    """Return the tokens of a session."""
    return {token for message in messages for token in tokenize(message.text)}


def is_named(clue: str, said: Collection[str]) -> bool:
    """Whether every token of a clue was said: "Rosewood Inn" is not named where "Alder Inn" is."""
    return all(token in said for token in tokenize(clue))


def _questions(name: str, messages: Sequence[Message], builder: TargetBuilder) -> Iterator[Request]:
    asked = [at for at, one in enumerate(messages) if at and one.role == "user" and _is_question(one.text)]
    for at in sorted(asked, key=lambda at: _chance(name, str(at))):
        clues = Counter(target.clue for target in builder.build(messages[:at]))
        if clues:  # what most requests would mean at this point
            yield Request(messages[at].text, clues.most_common(1)[0][0], messages[:at])


def _targets(name: str, messages: Sequence[Message], builder: TargetBuilder, taught: Collection[str]) -> list[Request]:
    known = {*map(folded, taught)}
    asked = [target for target in builder.build(messages) if _passes_rules(target.request)]
    asked.sort(key=lambda target: (folded(target.request) in known, _chance(name, target.request)))
    return [Request(target.request, target.clue, messages) for target in asked]


def _shuffled(kind: str, texts: Iterable[str]) -> list[str]:
    if kind in (POSITIVE, NAMED_ELSEWHERE):
        raise InvalidInput(f"{kind!r} is built from the sessions: give nulls of your own another name")
    given: list[object] = [*texts]
    if isinstance(texts, str) or not all(isinstance(text, str) for text in given):
        raise InvalidInput(f"nulls of kind {kind!r} must be a list of strings")
    return sorted(filter(_passes_rules, dict.fromkeys(map(str, given))), key=lambda text: _chance(kind, text))


def _is_question(text: str) -> bool:
    return bool(of_query(text).asks) and _passes_rules(text)


def _passes_rules(query: str) -> bool:
    return bool(query.strip()) and not is_self_contained(query)


def _chance(*parts: str) -> bytes:
    return hashlib.sha256(json.dumps(parts).encode()).digest()
