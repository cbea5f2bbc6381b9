# SPDX-License-Identifier: BSD-3-Clause
"""The picture of `manymove dpd`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from manymove.dpd.model import QUANTITIES
from manymove.jobs.figures import draw_records, new_panels, write_picture

LABELS = {
    "temperature": "temperature, $kT$",
    "pressure": "pressure",
    "potential_energy": "potential energy\nper particle",
}


def thermo(path: str | Path, records: np.ndarray, summary: dict[str, Any]) -> None:
    """Picture of temperature, pressure and potential energy against steps.

    Args:
        path: path of the PNG file.
        records: the measured rows of thermo.csv, with the field "step" and the fields `QUANTITIES`.
        summary: summary of the run.
    """
    figure, panels = new_panels((8.4, 6.6), (len(QUANTITIES), 1), sharex=True)
    for axes, name in zip(panels[:, 0], QUANTITIES, strict=True):
        mean = summary[name], summary[f"{name}_error"]
        draw_records(axes, [(records["step"], records[name])], mean)
        axes.set_ylabel(LABELS[name])
    first, last = panels[0, 0], panels[-1, 0]
    low, high = first.get_ylim()
    set_ = summary["set_temperature"]
    first.axhline(set_, color="C3", ls="--", lw=1, label=f"set {set_:g}")
    first.set_ylim(min(low, 2 * set_ - high), max(high, 2 * set_ - low))
    for axes in panels[:, 0]:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1), markerscale=3)
    last.set_xlabel("steps since the start")
    first.set_title(
        f"{summary['N']:,} dissipative particles, density {summary['density']:g}, "
        f"a = {summary['a']:g}, $\\gamma$ = {summary['gamma']:g}",
        fontsize=10,
    )
    write_picture(path, figure, dpi=150)
