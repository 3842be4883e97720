"""Who may read and write whose beliefs: users their own, and a team's as far as it was granted to them."""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, insert, select

from pss_integrations.beliefs.principals import RIGHTS, Principal, Right
from pss_integrations.beliefs.tables import grants
from pss_integrations.errors import AccessDenied, InvalidInput


def check(connection: Connection, principal: Principal, actor: Principal | None, need: Right) -> Principal:
    """Return who acts, if they may.

    :param actor: The user who acts; for a user's own beliefs it need not be said.
    :raises AccessDenied: If they may not, or it is not said who acts for a team.
    """
    if principal.kind == "user":
        if actor in (None, principal):
            return principal
        raise AccessDenied(f"{actor} has no right to the beliefs of {principal}")
    if not isinstance(actor, Principal) or actor.kind != "user":
        raise AccessDenied(f"the beliefs of {principal} need an actor: say which user reads or writes them")
    right = _right(connection, principal, actor)
    if right is None or RIGHTS.index(right) < RIGHTS.index(need):
        raise AccessDenied(f"{actor} may not {need} the beliefs of {principal}")
    return actor


def grant(connection: Connection, team: Principal, user: Principal, right: Right | None, actor: Principal) -> None:
    """Give a user a right to a team's beliefs, or take it (``None``); whoever comes first to a team is its admin.

    :raises AccessDenied: If the actor is no admin of the team.
    :raises InvalidInput: If the right is unknown, or the team would be left without an admin.
    """
    if team.kind != "team" or user.kind != "user":
        raise InvalidInput("rights are granted to a user, to the beliefs of a team")
    if right is not None and right not in RIGHTS:
        raise InvalidInput(f"unknown right {right!r}: use {', '.join(RIGHTS)}")
    first = not connection.execute(select(func.count()).where(grants.c.team == team.id)).scalar()
    if not (first and user == actor and right == "admin"):
        check(connection, team, actor, "admin")
    connection.execute(delete(grants).where(grants.c.team == team.id, grants.c.user == user.id))
    if right is not None:
        connection.execute(insert(grants).values(team=team.id, user=user.id, right=right))
    admins = select(func.count()).where(grants.c.team == team.id, grants.c.right == "admin")
    if not connection.execute(admins).scalar():
        raise InvalidInput(f"{team} would be left without an admin: name another one first")


def _right(connection: Connection, team: Principal, user: Principal) -> Right | None:
    return connection.execute(select(grants.c.right).where(grants.c.team == team.id, grants.c.user == user.id)).scalar()
