import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import IdentityConflict, InvalidInput, MissingIdentity
from pss_integrations.identity import UNSET, PartialIdentity, current, pss_session, require, resolve
from pss_integrations.types import SessionKey

IDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


def seen() -> SessionKey | None:
    return resolve(current())


def test_nothing_said_is_nobody() -> None:
    assert resolve() is None
    assert resolve(PartialIdentity(), current()) is None


@pytest.mark.parametrize(
    "source", [PartialIdentity(user_id="ada"), PartialIdentity(user_id=None), PartialIdentity(session_id="s")]
)
def test_half_an_identity_is_not_completed(source: PartialIdentity) -> None:
    assert resolve(source) is None


def test_later_sources_fill_what_earlier_ones_left_open() -> None:
    assert resolve(PartialIdentity(user_id="ada"), PartialIdentity(session_id="s")) == SessionKey("ada", "s")


def test_a_user_that_is_said_to_be_none_is_a_value() -> None:
    assert resolve(PartialIdentity(None, "s")) == SessionKey(None, "s")
    with pytest.raises(IdentityConflict, match="user_id"):
        resolve(PartialIdentity(None, "s"), PartialIdentity("None", "s"))


def test_a_session_of_none_is_unset() -> None:
    assert resolve(PartialIdentity("ada", None), PartialIdentity(session_id="s")) == SessionKey("ada", "s")


@given(IDS, IDS, st.permutations([(0, 1), (1, 0), (1, 1), (0, 0)]))
def test_the_order_of_agreeing_sources_does_not_matter(user: str, session: str, shape: list) -> None:
    sources = [PartialIdentity(user if u else UNSET, session if s else UNSET) for u, s in shape]
    assert resolve(*sources) == SessionKey(user, session)


@given(IDS, IDS, IDS)
def test_sources_that_disagree_raise_in_either_order(one: str, other: str, session: str) -> None:
    if one == other:
        assert resolve(PartialIdentity(one, session), PartialIdentity(other)) == SessionKey(one, session)
        return
    for pair in ((one, other), (other, one)):
        with pytest.raises(IdentityConflict):
            resolve(*(PartialIdentity(user, session) for user in pair))


@pytest.mark.parametrize(("one", "other"), [("john-doe", "john_doe"), ("foo", "foobar"), ("%", "x"), ("*", "x")])
def test_ids_match_exactly_or_not_at_all(one: str, other: str) -> None:
    with pytest.raises(IdentityConflict):
        resolve(PartialIdentity(one, "s"), PartialIdentity(other, "s"))
    with pytest.raises(IdentityConflict):
        resolve(PartialIdentity("ada", one), PartialIdentity("ada", other))


def test_a_conflict_names_its_sources() -> None:
    with pytest.raises(IdentityConflict, match="metadata and pss_session name different session_ids"):
        resolve(PartialIdentity("ada", "1", "metadata"), PartialIdentity("ada", "2", "pss_session"))


def test_unusable_ids_raise() -> None:
    with pytest.raises(MissingIdentity):
        resolve(PartialIdentity("", "s"))
    with pytest.raises(InvalidInput, match="must be a string"):
        resolve(PartialIdentity(7, "s"))  # type: ignore[arg-type]


def test_from_mapping_tells_absent_from_none() -> None:
    assert PartialIdentity.from_mapping({}, "x") == PartialIdentity(UNSET, UNSET)
    assert PartialIdentity.from_mapping({"user_id": None}, "x") == PartialIdentity(None, UNSET)


def test_require_says_what_to_give() -> None:
    assert require(SessionKey("ada", "s")) == SessionKey("ada", "s")
    with pytest.raises(MissingIdentity, match="pss_session"):
        require(None)


def test_the_session_ends_with_its_block() -> None:
    with pss_session(user_id="ada", session_id="outer") as outer:
        with pss_session(user_id=None, session_id="inner"):
            assert seen() == SessionKey(None, "inner")
        assert seen() == outer
    assert seen() is None


def leave_by_an_error() -> None:
    with pss_session(user_id="ada", session_id="s"):
        raise RuntimeError


def test_the_session_ends_with_an_error_too() -> None:
    with pytest.raises(RuntimeError):
        leave_by_an_error()
    assert seen() is None


def test_both_ids_must_be_said_by_name() -> None:
    with pytest.raises(TypeError):
        pss_session(session_id="s")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        pss_session("ada", "s")  # type: ignore[misc]


def test_an_empty_id_is_refused_at_the_door() -> None:
    with pytest.raises(MissingIdentity), pss_session(user_id="ada", session_id=""):
        pass


async def test_concurrent_tasks_see_their_own_session_also_in_to_thread() -> None:
    async def one(name: str) -> list[SessionKey | None]:
        with pss_session(user_id=name, session_id="s"):
            await asyncio.sleep(0)
            return [seen(), await asyncio.to_thread(seen)]

    for name, keys in zip("abc", await asyncio.gather(*map(one, "abc")), strict=True):
        assert keys == [SessionKey(name, "s")] * 2


def test_a_plain_executor_needs_a_copied_context() -> None:
    with ThreadPoolExecutor(1) as pool, pss_session(user_id="ada", session_id="s"):
        assert pool.submit(seen).result() is None
        assert pool.submit(copy_context().run, seen).result() == SessionKey("ada", "s")
