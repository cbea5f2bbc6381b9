# SPDX-License-Identifier: BSD-3-Clause
"""Two sizes of hard spheres in HOOMD-blue, with hoomd.manymove and with hoomd.hpmc.

Makes a random mixture, equilibrates, records the pressure, prints its mean and draws it against the
time step, next to the equation of state of Boublik and of Mansoori et al.

    python run.py --integrator manymove
    python run.py --integrator updater manymove hpmc --device gpu
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from manymove import HardSpheres, script
from manymove.analysis.sphere_reference import mixture_pressure

if TYPE_CHECKING:  # a picture of a record needs no HOOMD-blue
    import hoomd

DIAMETERS = {"A": 1.0, "B": 1.4}
BLOCKS = 16
Pressure = Callable[[], float]


def mixture(particles: int, packing_fraction: float, seed: int) -> hoomd.Snapshot:
    """A snapshot of spheres at random positions, half of them of each type."""
    import hoomd

    typeid = np.arange(particles) % len(DIAMETERS)
    sizes = np.array([*DIAMETERS.values()])[typeid]
    start = HardSpheres.random(particles, packing_fraction, seed=seed, diameter=sizes)
    snapshot = hoomd.Snapshot()
    snapshot.configuration.box = [*start.box, 0, 0, 0]
    snapshot.particles.N = particles
    snapshot.particles.types = list(DIAMETERS)
    snapshot.particles.typeid[:] = typeid
    snapshot.particles.position[:] = start.positions
    return snapshot


def attach_manymove(simulation: hoomd.Simulation, d: float) -> tuple[object, Pressure]:
    import hoomd.manymove

    mc = hoomd.manymove.HardSpheres(default_d=d, nselect=4, sweeps_per_step=4)
    for name, diameter in DIAMETERS.items():
        mc.shape[name] = dict(diameter=diameter)
    simulation.operations.integrator = mc
    return mc, lambda: mc.betaP


def attach_updater(simulation: hoomd.Simulation, d: float) -> tuple[object, Pressure]:
    """The same without a compiler."""
    import hoomd

    import manymove.hoomd

    mc = manymove.hoomd.HardSpheresUpdater(DIAMETERS, d=d, nselect=4, sweeps_per_step=4)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, mc))
    return mc, lambda: mc.betaP


def attach_hpmc(simulation: hoomd.Simulation, d: float) -> tuple[object, Pressure]:
    """About as many trial moves per sphere in a step."""
    import hoomd.hpmc

    # Our moves fill a cube, theirs a ball: the same mean square displacement.
    mc = hoomd.hpmc.integrate.Sphere(default_d=d * math.sqrt(5 / 3), nselect=8)
    for name, diameter in DIAMETERS.items():
        mc.shape[name] = dict(diameter=diameter)
    simulation.operations.integrator = mc
    sdf = hoomd.hpmc.compute.SDF(xmax=0.02, dx=1e-4)
    simulation.operations.computes.append(sdf)
    return mc, lambda: sdf.betaP


ATTACH = {"manymove": attach_manymove, "updater": attach_updater, "hpmc": attach_hpmc}


def simulate(name: str, start: hoomd.Snapshot, options: argparse.Namespace) -> dict:
    """Equilibrate, then record the pressure: means of blocks, their mean and its error."""
    import hoomd

    devices = {"cpu": hoomd.device.CPU, "gpu": hoomd.device.GPU, "auto": hoomd.device.auto_select}
    simulation = hoomd.Simulation(device=devices[options.device](), seed=options.seed)
    simulation.create_state_from_snapshot(start)
    mc, pressure = ATTACH[name](simulation, options.displacement)
    simulation.run(options.equilibrate)
    steps, series, moves = [], [], [0, 0]
    began = time.perf_counter()
    for _ in range(options.steps // options.period):
        simulation.run(options.period)
        moves = [total + part for total, part in zip(moves, mc.translate_moves, strict=True)]
        steps.append(simulation.timestep)
        series.append(pressure())
    seconds = time.perf_counter() - began
    blocks = [float(block.mean()) for block in np.array_split(series, BLOCKS)]
    mean, error = float(np.mean(blocks)), float(np.std(blocks, ddof=1) / math.sqrt(BLOCKS))
    print(
        f"{name:>9}: beta P = {mean:.3f}({round(1000 * error)}), acceptance "
        f"{moves[0] / sum(moves):.3f}, {sum(moves) / seconds:.3g} moves/s with the pressures"
    )
    ends = [int(block[-1]) for block in np.array_split(steps, BLOCKS)]
    return {"mean": mean, "error": error, "steps": ends, "blocks": blocks}


def draw(records: list[dict]) -> Figure:
    """The blocks of each run against the time step, a panel for each record."""
    figure = Figure(figsize=(6.5 * len(records), 4), layout="constrained")
    for record, axes in zip(
        records, figure.subplots(1, len(records), squeeze=False).flat, strict=True
    ):
        for name, found in record["pressure"].items():
            mean, error = found["mean"], found["error"]
            label = f"{name}: {mean:.3f}({round(1000 * error)})"
            (line,) = axes.plot(found["steps"], found["blocks"], "o-", ms=4, label=label)
            axes.axhspan(mean - error, mean + error, color=line.get_color(), alpha=0.2)
        axes.axhline(record["expected"], color="C3", ls="--", lw=1, label="equation of state")
        axes.set(xlabel="time step", ylabel="pressure $\\beta P$")
        axes.set_title(
            f"{record['particles']:,} spheres, diameters 1 and 1.4, packing fraction "
            f"{record['packing_fraction']:g}, seed {record['seed']}",
            fontsize=9,
        )
        axes.legend()
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--integrator", ["updater"], choices=[*ATTACH])
    parser.option("--particles", 1000)
    parser.option("--packing-fraction", 0.4)
    parser.option("--displacement", 0.14, "Maximum trial displacement along each axis.")
    parser.option("--equilibrate", 200, "Steps before the record.")
    parser.option("--steps", 2000, "Steps with the record.")
    parser.option("--period", 2, "Steps between two pressures.")
    parser.option("--device", "auto", choices=["auto", "cpu", "gpu"])
    quick = {"particles": 256, "equilibrate": 50, "steps": 100}
    options = script.parse(parser, "hoomd_hard_spheres", quick, draw_all=draw)
    if options.steps // options.period < BLOCKS:
        parser.error(f"--steps must be at least {BLOCKS} times --period")
    modules = {"manymove": "hoomd.manymove", "updater": "manymove.hoomd", "hpmc": "hoomd.hpmc"}
    script.need(parser, "hoomd", *(modules[name] for name in options.integrator))
    start = mixture(options.particles, options.packing_fraction, options.seed)
    sizes = np.array([*DIAMETERS.values()])[start.particles.typeid]
    expected = mixture_pressure(options.packing_fraction, sizes, 3) / np.mean(sizes**3)
    print(f"equation of state: beta P = {expected:.3f}")
    found = {name: simulate(name, start, options) for name in options.integrator}
    script.picture(
        options, draw([script.save(options, {"pressure": found, "expected": float(expected)})])
    )


if __name__ == "__main__":
    script.run_script(main)
