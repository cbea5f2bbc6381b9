# SPDX-License-Identifier: BSD-3-Clause
"""A binary mixture of hard disks: pressure, partial contact values, and a picture of the disks.

Equal numbers of disks with the diameters 1 and 1.4 do not crystallize. The pressure is compared
with the equation of state of Santos, Yuste and Lopez de Haro (Mol. Phys. 96, 1, 1999).

    python binary_disks.py --disks 16384 --sweeps 50000
    python binary_disks.py --draw out/binary_disks/summary.json
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure

from manymove import HardDisks, Mixture, script
from manymove.analysis.notation import with_error
from manymove.analysis.sphere_reference import mixture_pressure

DIAMETERS = np.array([1.0, 1.4])
PACKING_FRACTIONS = [0.2, 0.3, 0.4, 0.5, 0.55, 0.6]
SHOWN = 12.0  # edge of the part of the box that is drawn, in small diameters


def measure(phi: float, options: argparse.Namespace) -> dict[str, Any]:
    disks = HardDisks.random(
        options.disks, phi, seed=options.seed, device=options.device,
        diameter=Mixture(np.arange(options.disks) % 2, (DIAMETERS[:, None] + DIAMETERS) / 2),
        max_displacement=0.1 / phi,
    )  # fmt: skip
    disks.run(options.equilibrate)
    disks.sample_pressure(every=1, record=max(20, options.sweeps / 256))
    disks.run(options.sweeps)
    near = (np.abs(disks.positions) < SHOWN / 2 + 1).all(axis=1)
    return {
        "packing_fraction": phi,
        "pressure": disks.pressure_average.value,
        "pressure_error": disks.pressure_average.error,
        "literature": mixture_pressure(phi, disks.diameters, 2),
        "contact_values": [[*pair, g.value, g.error] for pair, g in disks.contact_values.items()],
        "acceptance": disks.acceptance,
        "max_overlap": disks.max_overlap(),
        "state_hash": disks.state_hash,
        "positions": np.round(disks.positions[near], 3).tolist(),
        "diameters": disks.diameters[near].tolist(),
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    for phi in options.packing_fractions:
        result = measure(phi, options)
        results.append(result)
        report = script.save(options, {"results": results})
        value = with_error(result["pressure"], result["pressure_error"])
        print(f"{phi:.3f}  P* {value}  literature {result['literature']:.5g}", flush=True)
    return report


def draw(report: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(11.0, 3.6), layout="constrained")
    panels = figure.subplots(1, 3, squeeze=False)
    rows, axes = report["results"], panels[0]
    phi = [row["packing_fraction"] for row in rows]
    axes[0].plot(phi, [row["literature"] for row in rows], label="Santos et al.")
    pressures = [row["pressure"] for row in rows]
    axes[0].errorbar(
        phi, pressures, [row["pressure_error"] for row in rows], fmt="ko", ms=4, label="this run"
    )
    axes[0].set(xlabel=r"packing fraction $\phi$", ylabel=r"$P^* = \beta P \overline{d^2}$")
    for k, name in enumerate(("small-small", "small-large", "large-large")):
        values = np.array([row["contact_values"][k][2:] for row in rows])
        axes[1].errorbar(phi, *values.T, fmt="o-", ms=4, label=name)
    axes[1].set(xlabel=r"packing fraction $\phi$", ylabel="contact value")
    sizes = np.array(rows[-1]["diameters"])
    disks = EllipseCollection(
        sizes, sizes, np.zeros_like(sizes), units="xy", offsets=rows[-1]["positions"],
        offset_transform=axes[2].transData, facecolors=np.where(sizes > 1.2, "C3", "C0"),
    )  # fmt: skip
    axes[2].add_collection(disks)
    limits = (-SHOWN / 2, SHOWN / 2)
    axes[2].set(xlim=limits, ylim=limits, aspect="equal", xticks=[], yticks=[])
    axes[2].set_title(rf"$\phi$ = {phi[-1]:g}", fontsize=10)
    for panel in axes[:2]:
        panel.legend(fontsize=8)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--disks", 16384)
    parser.option("--packing-fractions", PACKING_FRACTIONS)
    parser.option("--sweeps", 50_000)
    parser.option("--equilibrate", 5000)
    quick = {"disks": 1024, "packing_fractions": [0.3, 0.5], "sweeps": 1000, "equilibrate": 200}
    options = script.parse(parser, "binary_disks", quick, draw=draw)
    script.fractions(options, "packing_fractions")
    script.picture(options, draw(run(options)))


if __name__ == "__main__":
    script.run_script(main)
