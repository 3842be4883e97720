"""The words generated benchmarks are made of: one TOML file per subject, to which a phrasing is added as a line."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def load(name: str) -> dict[str, Any]:
    """Return the content of ``<name>.toml``. It is shared: do not change it."""
    return tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
