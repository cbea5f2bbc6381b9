# SPDX-License-Identifier: BSD-3-Clause
"""Pair correlation functions of the 3:-1 electrolyte: Figure 12, and the chains of section 5.

The chains of the paper have 1,048,576 ions and about 2,000 sweeps on each of two GPUs. Ions within
ten bare Debye lengths of the wall are not counted. The other figures of section 5 analyze the same
chains with --run.

    python figure_12.py --ions 1048576 --equilibrate 20 --method tree --margins 10 0
    python figure_13.py --run out/figure_12
    python figure_14.py --run out/figure_12
    python debye_length.py --run out/figure_12
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
import trivalent
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis import blocking_error

NAMES = ("+3 +3", "+3 -1", "-1 -1")
DRAWN_TO = 120.0  # angstrom


def analyzed(options: argparse.Namespace, found: list[trivalent.Chain]) -> dict[str, Any]:
    """g in bins of 2 angstrom with its errors, and the energy per ion."""
    correlations = [one.correlations[options.margins[0]] for one in found]
    r, g = trivalent.coarse(correlations)
    samples = np.array(trivalent.samples_of(correlations))
    errors = samples.std(axis=0, ddof=1) / math.sqrt(len(samples))
    energy, error = None, None
    if found[0].energies.size:
        energy = float(np.mean([one.energies.mean() for one in found]))
        squares = [blocking_error(one.energies)[0] ** 2 for one in found]
        error = math.sqrt(sum(squares)) / len(found)
    return {
        "energy": energy, "energy_error": error,
        "densities": trivalent.pooled_densities(correlations).tolist(),
        "interior_ions": np.mean([one.interior for one in correlations], axis=0).tolist(),
        "r": r.tolist(), "g": g.tolist(), "g_errors": errors.tolist(),
    }  # fmt: skip


def rows(options: argparse.Namespace, result: dict[str, Any]) -> list[dict[str, Any]]:
    size, length = trivalent.size_of(options), trivalent.length_of(options)
    r, g, errors = (np.array(result[key]) for key in ("r", "g", "g_errors"))
    most = int(g[1].argmax())
    found = [
        script.compared(
            f"largest $g(r)$ of {NAMES[1]}, in the bin of {trivalent.DRAWN:g} Å at {r[most]:g} Å",
            (float(g[1, most]), float(errors[1, most])), None, size, length,
        )
    ]  # fmt: skip
    for at in (25.0, 51.0):
        k = int(np.argmin(np.abs(r - at)))
        found += [
            script.compared(
                f"$g(r)$ of {name} at {r[k]:g} Å", (float(row[k]), float(e[k])), None, size, length
            )
            for name, row, e in zip(NAMES, g, errors, strict=True)
        ]
    if result["energy"] is not None:
        energy = (result["energy"], result["energy_error"])
        found.append(script.compared("energy per ion (kT)", energy, None, size, length))
    return found


def draw(result: dict[str, Any]) -> Figure:
    """g(r) of the three pairs."""
    r, g = np.array(result["r"]), np.array(result["g"])
    figure = Figure(figsize=(5.6, 4), layout="constrained")
    axes = figure.add_subplot()
    near = r < DRAWN_TO
    for row, name in zip(g, NAMES, strict=True):
        axes.plot(r[near], row[near], label=name)
    axes.set(
        xlabel="distance r (Å)", ylabel="pair correlation function g(r)", ylim=(0, 4),
        title=trivalent.title(result),
    )  # fmt: skip
    axes.title.set_fontsize(8)
    axes.legend()
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    trivalent.arguments(parser)
    options = script.parse(parser, "figure_12", trivalent.QUICK, draw=draw)
    found = trivalent.chains(options)
    result = {**trivalent.described(found), **analyzed(options, found)}
    summary = script.save(options, {**result, "rows": rows(options, result)})
    for row in summary["rows"]:
        print(f"{row['quantity']}: {row['ours'][0]:.5f}")
    script.picture(options, draw(summary))


if __name__ == "__main__":
    script.run_script(main)
