"""A session's history as windows of tokens that fit the backbone's context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pss_integrations.states.backbone import Backbone
from pss_integrations.types import Message


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of history that fits the context: the first ``past`` tokens are only attended to."""

    tokens: tuple[int, ...]
    past: int
    segment: int = 0


def history_windows(
    backbone: Backbone, messages: Sequence[Message], *, length: int, segments: int = 1, known: int = 0
) -> list[Window]:
    """Cut a session into windows of at most ``length`` tokens, each attending to as much of the past as fits.

    :param known: How many of the first messages were compiled before and are only attended to.
    :param segments: Consecutive parts of the new messages, each for an adapter of its own.
    """
    length = min(length, backbone.context_length)
    tokens, starts = list[int](), list[int]()
    for message in messages:
        starts.append(len(tokens))
        tokens += backbone.encode(f"{message.role}: {message.text.strip()}\n")
    starts.append(len(tokens))
    new = len(messages) - known
    bounds = [starts[known + new * part // segments] for part in range(segments + 1)]
    windows = list[Window]()
    for segment, (start, end) in enumerate(pairwise(bounds)):
        at = start
        while at < end:
            # the first window may be all new text; later ones give half their length to the past
            step = length if at == 0 else length // 2
            stop = min(at + step, end)
            begin = max(0, stop - length)
            windows.append(Window(tuple(tokens[begin:stop]), at - begin, segment))
            at = stop
    return [window for window in windows if len(window.tokens) > max(1, window.past)]
