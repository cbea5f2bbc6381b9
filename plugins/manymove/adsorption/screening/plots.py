# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a screening."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manymove.adsorption.loadings import UNITS
from manymove.adsorption.screening.results import Rows, ranked, ranking_columns
from manymove.adsorption.screening.settings import Screening
from manymove.jobs.figures import hollow, new_panels, write_picture

_RANKED, _ISOTHERMS = 15, 6  # structures in the panels
_BINS = 20  # largest number of bins of the histogram
_TICKS = 6  # largest number of pressures with labels at the axis


def screen(path: str | Path, table: Sequence[Rows], screening: Screening) -> None:
    """Picture of a screening: the histogram of the ranked value, the best structures, and their
    isotherms. Points whose status is not "ok" are hollow, and the bars of structures with blocked
    pockets are hatched.

    Args:
        path: path of the PNG file.
        table: rows of all structures.
        screening: settings of the screening.
    """
    value, error, label = ranking_columns(screening)
    best = ranked(table, screening)
    figure, panels = new_panels((13.0, 4.2), (1, 3))
    histogram, bars, isotherms = panels[0]
    values = np.array([row[value] for row in best])
    spread = values.min() > 0 and values.max() > 30 * values.min()
    bins: Any = min(_BINS, 1 + math.ceil(math.log2(len(values))))  # rule of Sturges
    if spread:  # the values cover orders of magnitude
        bins = np.geomspace(values.min(), values.max(), _BINS)
    histogram.hist(values, bins=bins, color="C0", edgecolor="white")
    histogram.yaxis.get_major_locator().set_params(integer=True)
    histogram.set(xlabel=label, ylabel="structures", xscale="log" if spread else "linear")
    top = best[:_RANKED]
    names = [row["structure"] for row in top]
    patches = bars.barh(names, [row[value] for row in top], xerr=[row[error] for row in top],
                        color="C0", ecolor="0.3", capsize=2)  # fmt: skip
    bars.invert_yaxis()
    bars.set(xlabel=label, title=f"best of {len(best)}")
    blocked = [bar for bar, row in zip(patches, top, strict=True) if row["pockets"] > 0]
    for bar in blocked:
        bar.set(hatch="///", edgecolor="white")
    if blocked:
        bars.legend(blocked[:1], ["with blocked pockets"], fontsize=7)
    _isotherms(isotherms, table, names[:_ISOTHERMS], screening)
    kinds = ", ".join(one.name for one in screening.adsorbates)
    figure.suptitle(f"{kinds}, {screening.options['temperature']:g} K", fontsize=10)
    write_picture(path, figure, dpi=150)


def _isotherms(
    axes: Any, table: Sequence[Rows], names: Sequence[str], screening: Screening
) -> None:
    panel, first, unit = axes, screening.adsorbates[0].name, UNITS[screening.unit]
    of_name = {rows[0]["structure"]: rows for rows in table}
    for k, name in enumerate(names):
        own = [row for row in of_name[name] if row["adsorbate"] == first]
        own.sort(key=lambda row: row["pressure_bar"])
        x, y, spread = (
            [row[key] for row in own]
            for key in ("pressure_bar", f"loading_{unit}", f"loading_error_{unit}")
        )
        panel.errorbar(x, y, np.nan_to_num(spread), fmt="o-", ms=4, lw=0.8, capsize=2,
                       color=f"C{k}", label=name)  # fmt: skip
        hollow(panel, x, y, [row["status"] != "ok" for row in own], "o", f"C{k}")
    panel.set(xlabel="pressure (bar)", ylabel=f"loading of {first} ({screening.unit})",
              xscale="log", title="isotherms of the best")  # fmt: skip
    if len(screening.isotherm) <= _TICKS:
        panel.set_xticks(screening.isotherm, [f"{p:g}" for p in screening.isotherm])
        panel.minorticks_off()
    panel.legend(fontsize=7)
