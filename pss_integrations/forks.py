"""What a forked process must not share with the one that it comes from."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """Holds threads, locks or connections."""

    def after_fork(self) -> None:
        """Make them anew; called in the child."""
        ...


_OPEN = WeakSet[Forkable]()


def renew_after_fork(holder: Forkable) -> None:
    """Call :meth:`Forkable.after_fork` in each process that is forked while the holder is in use."""
    _OPEN.add(holder)


def _renew() -> None:
    for holder in _OPEN:
        holder.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
