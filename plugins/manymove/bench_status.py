# SPDX-License-Identifier: BSD-3-Clause
"""The status of what a benchmark has measured, by the mechanism of `manymove.report`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from manymove import report

SHORTEST = 0.2  # seconds that a timed run should take
WIDTH = 16  # of the column: "timing too short"


def of_timing(seconds: float) -> list[str]:
    """What is wrong with a benchmark whose shortest timed run took so many seconds."""
    if seconds >= SHORTEST:
        return []
    return [
        f"timing too short: a timed run took {seconds:.2g} s; {SHORTEST:g} s are needed: raise "
        "--seconds"
    ]


def status(row: dict[str, Any]) -> str:
    """A row in its table; files of earlier versions have none."""
    return report.status({"complete": True, **row}) if "warnings" in row else "not recorded"


def print_warnings(rows: Sequence[dict[str, Any]]) -> None:
    """The lines below a table: what its rows warn of, each once."""
    for text in dict.fromkeys(text for row in rows for text in row.get("warnings", ())):
        print(f"warning: {text}")
