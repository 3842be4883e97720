"""Where states and beliefs lie."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home_dir() -> Path:
    """``PSS_HOME``, or the user's data directory."""
    named = os.environ.get("PSS_HOME")
    return Path(named).expanduser() if named else platformdirs.user_data_path("pss-integrations", appauthor=False)
