"""What holds of the belief index for any beliefs and queries, against a reference written from the rules."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.beliefs.index import Match, ScopeIndex, search_indexes, why_not
from pss_integrations.beliefs.names import lexemes, name_key
from pss_integrations.beliefs.query import clean_query
from pss_integrations.beliefs.schema import Belief
from pss_integrations.text import normalise

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SCOPES = ("user:universal", "domain:code", "project:x")
SIGNS = "bcd1 "

words = st.text("bcd", min_size=1, max_size=5) | st.text("bcd1", min_size=1, max_size=4)
names = st.lists(words, min_size=1, max_size=3).map(" ".join) | st.sampled_from(
    ["bcdbc", "bcdb1 cdb", "bcd cbd", "!!!"]
)
texts = st.lists(words, min_size=1, max_size=6).map(" ".join)


@st.composite
def beliefs(draw: st.DrawFn, number: int) -> Belief:
    return Belief(
        id=f"b{number}",
        type="entity",
        canonical_name=draw(names),
        aliases=tuple(draw(st.lists(names, max_size=3))),
        content=draw(texts),
        why_it_matters=draw(st.none() | texts),
        scopes=tuple(draw(st.lists(st.sampled_from(SCOPES), min_size=1, unique=True))),
        last_reinforced_at=NOW,
        created_at=NOW,
        updated_at=NOW,
    )


@st.composite
def stores(draw: st.DrawFn) -> list[Belief]:
    return [draw(beliefs(number)) for number in range(draw(st.integers(1, 5)))]


@st.composite
def queries(draw: st.DrawFn, found: Sequence[Belief]) -> str:
    """Draw words, names of the beliefs, and such names written otherwise or with an edit."""
    named = st.sampled_from([name for belief in found for name in belief.names])
    otherwise = named.map(unspaced) | named.map("{}1".format) | named.map(" ".join)
    parts = draw(
        st.lists(named | otherwise | named.flatmap(lambda name: st.sampled_from(edited(name))) | texts, max_size=3)
    )
    return " ".join(parts)


def edited(text: str) -> list[str]:
    """Return what one edit makes of a text: a character left out, put in, replaced or swapped with the next."""
    splits = [(text[:at], text[at:]) for at in range(len(text) + 1)]
    left_out = [a + b[1:] for a, b in splits if b]
    put_in = [a + sign + b for a, b in splits for sign in SIGNS]
    replaced = [a + sign + b[1:] for a, b in splits if b for sign in SIGNS]
    swapped = [a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1]
    return [*left_out, *put_in, *replaced, *swapped]


def index_of(found: Sequence[Belief]) -> ScopeIndex:
    index = ScopeIndex()
    for belief in found:
        index.put(belief)
    return index


def find(found: Sequence[Belief], query: str) -> list[Match]:
    return search_indexes([index_of(found)], query)


# -- the reference -------------------------------------------------------------------------------------------


Place = tuple[int, int, str]


def stretches(query: str) -> Iterator[Place]:
    """Yield all runs of words: where they begin and end, and the words."""
    tokens = query.split()
    for start in range(len(tokens)):
        for end in range(start + 1, len(tokens) + 1):
            yield start, end, " ".join(tokens[start:end])


def numbered(text: str) -> list[str]:
    return [token for token in text.split() if "1" in token]


def unspaced(text: str) -> str:
    """Return a text without its spaces, but for those between digits."""
    return re.sub(r"(?<!1) | (?!1)", "", text)


def is_variant(name: str, there: str) -> bool:
    last = there.split()[-1]
    bare = last.rstrip("1")
    readings = {unspaced(there)}
    if 3 <= len(bare) < len(last):
        readings.add(unspaced(there)[: len(bare) - len(last)])
    return there != name and len(there.split()) <= 4 and len(unspaced(name)) >= 3 and unspaced(name) in readings


def is_slip(name: str, there: str) -> bool:
    if len(name) < 5 or there not in edited(name) or there[:2] != name[:2] or numbered(there) != numbered(name):
        return False
    return len(name) > 5 or len(there) != 5 or sorted(there) == sorted(name)


def admitted(found: Sequence[Belief], query: str) -> dict[str, set[tuple[str, int]]]:
    """Return the names of each belief that the query holds, with the edits."""
    places = [*stretches(query)]
    names = {belief.id: {name for name in belief.names if name != "!!!"} for belief in found}
    written = {belief_id: set[Place]() for belief_id in names}
    matches: dict[str, set[tuple[str, int]]] = {}
    for belief_id, own in names.items():
        others = {name for other_id, theirs in names.items() if other_id != belief_id for name in theirs}
        for name in own:
            if there := {
                one for one in places if one[2] == name or (one[2] not in others and is_variant(name, one[2]))
            }:
                written[belief_id] |= there
                matches.setdefault(belief_id, set()).add((name, 0))
    for belief_id, own in names.items():
        taken = [place for other_id, theirs in written.items() if other_id != belief_id for place in theirs]
        for name in own - {name for name, _ in matches.get(belief_id, ())}:
            if any(is_slip(name, one[2]) and not any(covers(other, one) for other in taken) for one in places):
                matches.setdefault(belief_id, set()).add((name, 1))
    return matches


def covers(place: Place, other: Place) -> bool:
    return place[0] <= other[0] and other[1] <= place[1]


@given(st.data(), stores())
def test_the_admitted_are_those_of_the_reference(data: st.DataObject, found: list[Belief]) -> None:
    query = " ".join(data.draw(queries(found)).replace("!", " ").split())
    matches = find(found, query)
    assert {match.belief_id: {(name.name, name.edits) for name in match.names} for match in matches} == admitted(
        found, query
    )


@given(st.data(), stores())
def test_the_order_is_by_score_then_id_and_scores_are_above_0(data: st.DataObject, found: list[Belief]) -> None:
    matches = find(found, data.draw(queries(found)))
    assert matches == sorted(matches, key=lambda match: (-match.score, match.belief_id))
    assert all(match.score > 0 for match in matches)


@given(st.data(), stores(), st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=12))
def test_putting_and_removing_in_any_order_leaves_a_fresh_index(
    data: st.DataObject, found: list[Belief], changes: list[tuple[bool, int]]
) -> None:
    index, held = ScopeIndex(), dict[str, Belief]()
    for is_put, number in changes:
        belief = data.draw(beliefs(number)) if number >= len(found) else found[number]
        if is_put:
            index.put(belief)
            held[belief.id] = belief
        else:
            index.remove(belief.id)
            held.pop(belief.id, None)
    query = data.draw(queries(found))
    assert len(index) == len(held)
    assert search_indexes([index], query) == find(sorted(held.values(), key=lambda belief: belief.id), query)


@given(st.data(), stores())
def test_an_emptied_index_finds_nothing(data: st.DataObject, found: list[Belief]) -> None:
    index = index_of(found)
    for belief in data.draw(st.permutations(found)):
        index.remove(belief.id)
    assert len(index) == 0
    assert search_indexes([index], data.draw(queries(found))) == []


@given(st.data(), stores())
def test_several_scopes_are_searched_like_one_index_of_their_beliefs(data: st.DataObject, found: list[Belief]) -> None:
    asked = data.draw(st.lists(st.sampled_from(SCOPES), unique=True))
    query = data.draw(queries(found))
    indexes = {scope: index_of([belief for belief in found if scope in belief.scopes]) for scope in SCOPES}
    within = [belief for belief in found if not set(asked).isdisjoint(belief.scopes)]
    assert search_indexes([indexes[scope] for scope in asked], query) == find(within, query)


@given(st.data(), stores(), st.lists(names, max_size=4))
def test_more_aliases_never_lower_a_belief_that_an_old_name_finds(
    data: st.DataObject, found: list[Belief], more: list[str]
) -> None:
    query = data.draw(queries(found))
    before = [match.belief_id for match in find(found, query)]
    for belief in found:
        if belief.id in before:
            richer = belief.revised(aliases=(*belief.aliases, *more))
            after = [match.belief_id for match in find([richer if one is belief else one for one in found], query)]
            ahead = set(before[: before.index(belief.id)])
            assert set(after[: after.index(belief.id)]) <= ahead


@given(st.data(), stores())
def test_why_not_has_an_answer_for_each_belief(data: st.DataObject, found: list[Belief]) -> None:
    query = data.draw(queries(found))
    assert all(why_not(belief, query) for belief in found)


@given(st.text())
def test_a_key_is_its_own_key(name: str) -> None:
    assert name_key(name_key(name)) == name_key(name)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=50).filter(normalise), st.text())
def test_no_text_is_too_odd(name: str, query: str) -> None:
    belief = Belief(
        id="b",
        type="entity",
        canonical_name=name,
        content=name,
        scopes=SCOPES[:1],
        last_reinforced_at=NOW,
        created_at=NOW,
        updated_at=NOW,
    )
    assert [match.belief_id for match in find([belief], name)] == ["b"] * bool(lexemes(name))
    assert find([belief], clean_query(query)) or why_not(belief, clean_query(query))
