"""What the guard may look at: the query, what was added to it, and what both found. Nothing that only an answer tells.

All are numbers, so that a certificate can weigh them; counts and shares, so that they mean the same for every searcher.
Scores of a searcher enter as relative gaps alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean

from pss_integrations.retrieval.index import searched_text
from pss_integrations.routing.rules import refers_back
from pss_integrations.routing.wording import is_exact
from pss_integrations.text import content_words, identifiers, names, tokenize
from pss_integrations.types import Clue, Hit
from pss_integrations.vocabulary import Vocabulary

FEATURES_VERSION = 1
"""Count up when a feature is added, dropped, or means something else: a certificate holds for one version."""

QUERY_FEATURES = frozenset({"words", "scope", "refers", "asks", "foreign"})
"""Those that the query alone tells."""
TOP = 5
"""So many hits of a search are looked at."""
_ASKS = re.compile(
    r"""
    \? | \A\W*(?:(?: and | but | so | ok | okay | also | hey | hi | well )\W+)*
      (?: who | whom | whose | what | which | when | where | why | how
        | is | are | was | were | do(?!\s+(?: it | that | this | so )\b) | does | did | has | have | had | can | could
        | will | would | should | tell | show | list | find | explain | describe | remind | give )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What only the session knows, though nothing was said before that it refers to: no reference back for the rule.
_SHARED = re.compile(r"\b(?:our|ours|us|current|currently|present|former|in\s+use|in\s+force)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Features:
    """What is observable of a query and of one candidate for it.

    :param words: Content words of the query.
    :param scope: Names and identifiers in the query.
    :param refers: 1.0 if the query refers back ("it", "the previous one"), or to what is shared ("our", "in use").
    :param asks: 1.0 if it asks for something.
    :param foreign: Share of its letters that are not Latin.
    :param raw_coverage: Share of its content words, by rarity, that the best raw hit holds.
    :param added: Tokens that the candidate adds.
    :param exact: 1.0 if it adds an identifier with a letter and a digit in it, such as a version.
    :param coverage: Share of the query's content words that the best hit of the candidate holds.
    :param grounding: Share of the added tokens that the best hit of the candidate holds.
    :param support: The same of both at once: the better of a hit's two shares never makes up for the worse.
    :param overlap: Share of the candidate's hits that the raw search found, too.
    :param raw_gap: Lead of the first raw hit over the last that is looked at, relative to it; 0 without scores.
    :param gap: The same of the candidate.
    :param logprob: Mean log-probability of a clue's tokens; 0 for a card.
    :param least_logprob: That of its least sure token.
    :param agreement: Share of the clue's tokens that the session is known to have said; 1 for a card.
    :param behind: Messages since the compile; 0 where that is not known.
    """

    words: float
    scope: float
    refers: float
    asks: float
    foreign: float
    raw_coverage: float = 0.0
    added: float = 0.0
    exact: float = 0.0
    coverage: float = 0.0
    grounding: float = 0.0
    support: float = 0.0
    overlap: float = 0.0
    raw_gap: float = 0.0
    gap: float = 0.0
    logprob: float = 0.0
    least_logprob: float = 0.0
    agreement: float = 1.0
    behind: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """Return the numbers by name."""
        return asdict(self)


def of_query(query: str) -> Features:
    """Return what can be said before anything is searched."""
    letters = [char for char in query if char.isalpha()]
    return Features(
        words=len(set(content_words(query))),
        scope=len({*names(query), *identifiers(query)}),
        refers=float(refers_back(query) or _SHARED.search(query) is not None),
        asks=float(_ASKS.search(query) is not None),
        foreign=sum(not _is_latin(char) for char in letters) / len(letters) if letters else 0.0,
    )


def with_raw(features: Features, query: str, raw: Sequence[Hit], vocabulary: Vocabulary | None) -> Features:
    """Add what the raw search found."""
    wanted = _weighed(content_words(query), vocabulary)
    return replace(
        features,
        raw_coverage=max((_share(wanted, said) for said in map(_tokens, raw[:TOP])), default=0.0),
        raw_gap=_gap(raw[:TOP]),
    )


def with_candidate(
    features: Features, query: str, added: str, hits: Sequence[Hit], raw: Sequence[Hit], vocabulary: Vocabulary | None
) -> Features:
    """Add what a candidate adds to the query, and what that found."""
    top = [*map(_tokens, hits[:TOP])]
    wanted, given = _weighed(content_words(query), vocabulary), _weighed(added.split(), vocabulary)
    shares = [(_share(wanted, said), _share(given, said)) for said in top]
    known = {hit.doc_id for hit in raw[:TOP]}
    return replace(
        features,
        added=len(given),
        exact=float(is_exact(added)),
        coverage=max((covered for covered, _ in shares), default=0.0),
        grounding=max((grounded for _, grounded in shares), default=0.0),
        support=max(map(min, shares), default=0.0),
        overlap=fmean(hit.doc_id in known for hit in hits[:TOP]) if hits else 0.0,
        gap=_gap(hits[:TOP]),
    )


def with_clue(features: Features, clue: Clue, said: Collection[str], behind: int | None) -> Features:
    """Add how sure a state was of its clue.

    :param said: Tokens that the session is known to have said.
    :param behind: Messages since the compile, if known.
    """
    tokens = set(tokenize(clue.text))
    return replace(
        features,
        logprob=clue.mean_logprob,
        least_logprob=min(clue.logprobs, default=0.0),
        agreement=len(tokens & set(said)) / len(tokens) if tokens and said else 1.0,
        behind=float(behind or 0),
    )


def _weighed(words: Sequence[str], vocabulary: Vocabulary | None) -> dict[str, float]:
    """Token to how much it says; a word that no document holds says most."""
    tokens = {token for word in words for token in tokenize(word)}
    return {token: 1.0 if vocabulary is None else vocabulary.surprise(token) for token in tokens}


def _share(wanted: dict[str, float], said: Collection[str]) -> float:
    """Share of the wanted weight that was said; 0 if nothing is wanted, which is no support."""
    total = sum(wanted.values())
    return sum(weight for token, weight in wanted.items() if token in said) / total if total else 0.0


def _tokens(hit: Hit) -> set[str]:
    return set(tokenize(searched_text(hit.passage)))


def _gap(hits: Sequence[Hit]) -> float:
    if len(hits) < 2 or not hits[0].score or all(hit.score == 1 / rank for rank, hit in enumerate(hits, start=1)):
        return 0.0  # one over the rank stands for scores that are not there
    return min(1.0, abs((hits[0].score - hits[-1].score) / hits[0].score))


def _is_latin(char: str) -> bool:
    return char < "\u0250" or "\u1e00" <= char <= "\u1eff"
