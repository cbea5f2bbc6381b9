# SPDX-License-Identifier: BSD-3-Clause
"""Warnings and status of the rows of benchmarks, as `manymove.jobs.report` has them for runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from manymove.jobs import report

SHORTEST = 0.2  # seconds that a timed run should take
WIDTH = 16  # of the column: "timing too short"


def of_timing(seconds: float) -> list[str]:
    """The warning of a benchmark whose shortest timed run took this time in seconds, if any."""
    if seconds >= SHORTEST:
        return []
    return [
        f"timing too short: a timed run took {seconds:.2g} s; {SHORTEST:g} s are needed: raise "
        "--seconds"
    ]


def status(row: dict[str, Any]) -> str:
    """The status of a row in its table. Rows of files of earlier versions have no warnings."""
    return report.status({"complete": True, **row}) if "warnings" in row else "not recorded"


def print_warnings(rows: Sequence[dict[str, Any]]) -> None:
    """Print the warnings of the rows below their table, each once."""
    for text in dict.fromkeys(text for row in rows for text in row.get("warnings", ())):
        print(f"warning: {text}")
