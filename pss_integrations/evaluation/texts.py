"""The texts that are compared beside clues, one for each probe of a session. Adding one is adding a line to the table.

================  ====================================================================================
parsed            what the messages state in so many words, without a model
select_bm25       of the records that a state is taught the one that fits, by words
select_dense      the same by meaning; needs an embedder
select_messages   the messages of the history that fit, by words
fixed_readout     one clue of the right state for every question
rewrite_history   rewritten by the backbone from all messages; this and the next three need a generator
rewrite_base      rewritten from the question alone
rewrite_bank      rewritten from the records
rewrite_readout   rewritten from the fixed readout
external          rewritten by a function of the caller's
================  ====================================================================================

Controls with the information of the targets are ``target_card``, one text in the length of a usual clue, and
``select_bm25`` and ``select_dense``, for each question a clue itself, chosen without a state (PSS, section V.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pss_integrations.evaluation import rewriting, selectors
from pss_integrations.evaluation.controls import Cast, Made
from pss_integrations.evaluation.tools import Tool


@dataclass(frozen=True, slots=True)
class TextSource:
    """Where the texts of an arm come from.

    :param make: Makes those of the session at a position; called only for arms that are run.
    :param tool: What it cannot do without.
    :param taught: As for :class:`~pss_integrations.evaluation.turns.Arm`.
    :param state: The state that it reads, a key of :data:`~pss_integrations.evaluation.controls.STATES`.
    """

    make: Callable[[Cast, int], Made]
    tool: Tool | None = None
    state: str | None = None
    taught: bool = False


TEXTS: Mapping[str, TextSource] = {
    "parsed": TextSource(selectors.parsed),
    "select_bm25": TextSource(selectors.select_bm25, taught=True),
    "select_dense": TextSource(selectors.select_dense, "embedder", taught=True),
    "select_messages": TextSource(selectors.select_messages),
    "fixed_readout": TextSource(rewriting.fixed_readout, state="correct"),
    "rewrite_history": TextSource(rewriting.rewrite_history, "generator"),
    "rewrite_base": TextSource(rewriting.rewrite_base, "generator"),
    "rewrite_bank": TextSource(rewriting.rewrite_bank, "generator", taught=True),
    "rewrite_readout": TextSource(rewriting.rewrite_readout, "generator", "correct"),
    "external": TextSource(rewriting.external, "external"),
}
"""Sources of texts by name."""
