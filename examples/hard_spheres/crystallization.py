# SPDX-License-Identifier: BSD-3-Clause
"""A metastable fluid of hard spheres crystallizes: pressure and share of crystalline spheres.

Between freezing and melting both phases are metastable. At a packing fraction of 0.54 the barrier
is low: the fluid nucleates many crystals, and the pressure falls from that of the fluid towards
that of the crystal. A sphere counts as crystalline if at least eight of its neighbors have a
similar orientation of their bonds: the normalized product of the vectors q_6m is above 0.7, with
neighbors up to 1.4 diameters (freud.order.SolidLiquid). The mean square displacement between two
points of the curves gives the unit of time in which nucleation rates are compared, d^2 / (6 D) with
the diffusion coefficient D of the fluid.

    python crystallization.py --spheres 100000 --sweeps 1000000
    python crystallization.py --draw out/crystallization/summary.json
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import HardSpheres, random_sphere_packing, script
from manymove.analysis.notation import with_error
from manymove.analysis.sphere_reference import fluid_factor, solid_factor

REACH = 1.4  # of a bond, in diameters
ALIKE = 0.7  # product of the vectors q_6m of two neighbors
CONNECTIONS = 8  # neighbors that are alike, of a crystalline sphere


def crystalline(positions: np.ndarray, box: tuple[float, ...]) -> float:
    """Share of the spheres that are crystalline."""
    import freud

    finder = freud.order.SolidLiquid(l=6, q_threshold=ALIKE, solid_threshold=CONNECTIONS)
    system = (freud.box.Box(*box), positions.astype(np.float32))
    finder.compute(system, neighbors={"r_max": REACH, "exclude_ii": True})
    return float((finder.num_connections >= CONNECTIONS).mean())


def run(options: argparse.Namespace) -> dict[str, Any]:
    phi = options.packing_fraction
    spheres = HardSpheres(
        *random_sphere_packing(options.spheres, phi, seed=options.seed, device=options.device),
        seed=options.seed,
        device=options.device,
        max_displacement=0.06,
    )
    every = options.sweeps / options.points
    rows: list[dict[str, float]] = []
    per_density = 6 * phi / np.pi
    report: dict[str, Any] = {}
    before, sweeps = spheres.positions, spheres.sweeps
    for _ in range(options.points):
        spheres.sample_pressure(every=100, record=max(100, every / 32))
        spheres.run(every)
        box, now = np.array(spheres.box), spheres.positions
        moved = now - before
        moved -= np.rint(moved / box) * box
        rows.append(
            {
                "sweeps": spheres.sweeps,
                "diffusion": float((moved**2).sum(axis=1).mean() / 6 / (spheres.sweeps - sweeps)),
                "pressure": spheres.pressure_average.value,
                "pressure_error": spheres.pressure_average.error,
                "crystalline": crystalline(now, spheres.box),
            }
        )
        before, sweeps = now, spheres.sweeps
        report = script.save(
            options,
            {
                "fluid": per_density * fluid_factor(phi),
                "crystal": per_density * solid_factor(phi),
                "rows": rows,
                "trial_moves_per_second": spheres.trial_moves / spheres.seconds,
                "state_hash": spheres.state_hash,
            },
        )
        last = rows[-1]
        print(
            f"{last['sweeps']:12,.0f} sweeps  "
            f"P* {with_error(last['pressure'], last['pressure_error'])}  "
            f"crystalline {last['crystalline']:.1%}  D {last['diffusion']:.3g} d^2 a sweep",
            flush=True,
        )
    return report


def draw(report: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(6.4, 5.4), layout="constrained")
    panels = figure.subplots(2, 1, squeeze=False, sharex=True)
    above, below = panels[:, 0]
    sweeps, pressure, share = (
        [row[key] for row in report["rows"]] for key in ("sweeps", "pressure", "crystalline")
    )
    above.plot(sweeps, pressure, "o-", ms=3)
    above.axhline(report["fluid"], color="C0", lw=1, ls="--", label="fluid, Kolafa et al.")
    above.axhline(report["crystal"], color="C3", lw=1, ls="--", label="FCC crystal, Speedy")
    title = f"{report['spheres']:,} hard spheres, packing fraction {report['packing_fraction']:g}"
    above.set(ylabel=r"$P^* = \beta P d^3$", title=title)
    above.legend(fontsize=8)
    below.plot(sweeps, share, "o-", ms=3)
    below.set(xlabel="sweeps", ylabel="crystalline share", ylim=(0, 1))
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--spheres", 100_000)
    parser.option("--packing-fraction", 0.54)
    parser.option("--sweeps", 1_000_000, type=float)
    parser.option("--points", 30, "Number of points of the curves.")
    quick = {"spheres": 1500, "sweeps": 4000, "points": 4}
    options = script.parse(parser, "crystallization", quick, draw=draw)
    script.at_least(options, points=1)
    script.need(parser, "freud")
    script.picture(options, draw(run(options)))


if __name__ == "__main__":
    script.run_script(main)
