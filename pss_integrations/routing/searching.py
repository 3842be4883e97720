"""What is searched under a router: what it says of itself, and how it is searched for a wording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pss_integrations.protocols import ExpandingSearcher, Searcher
from pss_integrations.routing.router import RouterOptions
from pss_integrations.routing.wording import Wording
from pss_integrations.types import Hit

_KNOWN = ("kind", "vocabulary", "index_id")


def router_options(searched: object, given: Mapping[str, Any]) -> RouterOptions:
    """Return the options of a router around something: those given, else what an index of ours says of itself.

    :param searched: An index, or anything else, which says nothing.
    :param given: Options by name; ``None`` leaves one open.
    """
    said = {name: value for name, value in given.items() if value is not None}
    known = _KNOWN if isinstance(searched, ExpandingSearcher) else ("index_id",)
    # What was given is not asked for: it may be costly to make.
    own = {name: value for name in known if name not in said and (value := getattr(searched, name, None)) is not None}
    return cast("RouterOptions", own | said)


def find(searcher: Searcher, wording: Wording, k: int) -> list[Hit]:
    """Search for a wording; in an index of ours query and added text weigh as the wording says.

    :param k: The most hits to return, a positive int.
    """
    if wording.query and isinstance(searcher, ExpandingSearcher):
        return searcher.search_expanded(wording.query, wording.added, k, query_weight=wording.weight)
    return searcher.search(wording.text, k)
