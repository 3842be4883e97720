"""Records of measurements whose result is plain data: with all that it depends on, and never overwritten."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pss_integrations.evaluation.record import installed_versions, run_folder, this_machine


def plain_record(kind: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """Put a result together with when and where it was made.

    :param kind: What was measured; names the record's format and its folder.
    :param result: What JSON can hold.
    """
    return {
        "format": f"pss-{kind}-1",
        "kind": kind,
        "created_at": datetime.now(UTC).isoformat(),
        "versions": installed_versions(),
        "machine": this_machine(),
        **result,
    }


def save_plain(record: Mapping[str, Any], directory: Path) -> Path:
    """Write ``<directory>/<kind>-<time>/run.json`` and return the folder.

    :raises InvalidInput: If that run is already there.
    """
    folder = run_folder(directory, record["kind"], datetime.fromisoformat(record["created_at"]))
    (folder / "run.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return folder
