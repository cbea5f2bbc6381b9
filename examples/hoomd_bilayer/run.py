"""A lipid bilayer in HOOMD-blue: the same simulation with hoomd.manymove and with hoomd.md.

Lipids with three head beads and two tails of four beads form a flat membrane in water. The script
equilibrates, measures the tension, the edge of the box normal to the membrane times the difference
of the normal and the lateral pressure, and writes a trajectory.

    python run.py --integrator both
    python run.py --edge 24 --height 20 --device gpu
"""

from __future__ import annotations

import argparse
import math
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis.notation import with_error

if TYPE_CHECKING:  # a picture of a record needs none of them
    import hoomd

BLOCKS = 16
HEADS, TAIL = 3, 4
BEADS = HEADS + 2 * TAIL
# Chains of a lipid: the heads, and each tail with the head that it begins at.
TAILS = (list(range(3, 3 + TAIL)), list(range(3 + TAIL, BEADS)))
CHAINS = ([0, 1, 2], [1, *TAILS[0]], [2, *TAILS[1]])
BONDS = [pair for chain in CHAINS for pair in pairwise(chain)]
ANGLES = [
    triple for chain in CHAINS[1:] for triple in zip(chain, chain[1:], chain[2:], strict=False)
]
# A. Grafmueller, J. Shillcock and R. Lipowsky, Biophys. J. 96, 2658 (2009), and their k_2.
REPULSION = {
    ("H", "H"): 30.0, ("H", "T"): 35.0, ("H", "W"): 30.0,
    ("T", "T"): 10.0, ("T", "W"): 75.0, ("W", "W"): 25.0,
}  # fmt: skip
BOND, LENGTH, BENDING = 128.0, 0.5, 15.0


def write_membrane(path: Path, options: argparse.Namespace) -> None:
    """Two leaflets of stretched lipids on a grid, and water at a total density of three."""
    import gsd.hoomd

    rng = np.random.default_rng(options.seed)
    edge, height = options.edge, options.height
    lipids = round(edge**2 / options.area)  # of a leaflet
    rows = math.ceil(math.sqrt(lipids))
    z = np.concatenate(([3.1, 2.7, 2.7], *2 * [0.45 * (TAIL - 0.5 - np.arange(TAIL))]))
    x = np.concatenate(([0.0, -0.2, 0.2], TAIL * [-0.2], TAIL * [0.2]))
    leaflets = []
    for side in (1, -1):
        place = rng.choice(rows**2, lipids, replace=False)[:, None]
        turn = rng.uniform(0, 2 * math.pi, (lipids, 1))
        at = (np.stack((place % rows, place // rows), 2) + 0.5) * (edge / rows)
        beads = np.stack(
            (x * np.cos(turn), x * np.sin(turn), np.broadcast_to(side * z, (lipids, BEADS))), 2
        )
        beads[..., :2] += at - edge / 2
        leaflets.append(beads.reshape(-1, 3))
    water = round(3 * edge**2 * height) - 2 * lipids * BEADS
    depth = rng.uniform(3.4, height - 3.4, water)  # from the middle, through the periodic face
    rest = np.column_stack((rng.uniform(-0.5, 0.5, (water, 2)) * edge, depth))
    box = np.array((edge, edge, height))
    position = np.concatenate((*leaflets, rest))
    image = np.rint(position / box).astype(int)
    frame = gsd.hoomd.Frame()
    frame.configuration.box = [*box, 0, 0, 0]
    particles = frame.particles
    particles.N = len(position)
    particles.types = ["H", "T", "W"]
    particles.typeid = np.concatenate(
        (np.tile(HEADS * [0] + 2 * TAIL * [1], 2 * lipids), np.full(water, 2))
    )
    particles.position, particles.image = position - image * box, image
    particles.velocity = rng.standard_normal((particles.N, 3))
    particles.velocity -= particles.velocity.mean(axis=0)
    starts = BEADS * np.arange(2 * lipids)[:, None, None]
    frame.bonds.types, frame.angles.types = ["lipid"], ["tail"]
    frame.bonds.group = (starts + np.array(BONDS)).reshape(-1, 2)
    frame.angles.group = (starts + np.array(ANGLES)).reshape(-1, 3)
    frame.bonds.N, frame.angles.N = len(frame.bonds.group), len(frame.angles.group)
    with gsd.hoomd.open(str(path), "w") as file:
        file.append(frame)


def bonded_forces() -> list:
    """Bonds of the lipids, and angles that keep their tails straight."""
    import hoomd.md

    bonds, angles = hoomd.md.bond.Harmonic(), hoomd.md.angle.Harmonic()
    bonds.params["lipid"] = dict(k=BOND, r0=LENGTH)
    angles.params["tail"] = dict(k=BENDING, t0=math.pi)
    return [bonds, angles]


def attach_manymove(simulation: hoomd.Simulation):
    import hoomd.manymove

    dpd = hoomd.manymove.DPD(
        dt=0.01, kT=1.0, default_r_cut=1.0, forces=bonded_forces(), exclusions=()
    )
    for types, repulsion in REPULSION.items():
        dpd.params[types] = dict(A=repulsion, gamma=4.5)
    simulation.operations.integrator = dpd
    return dpd


def attach_md(simulation: hoomd.Simulation):
    import hoomd.md

    dpd = hoomd.md.pair.DPD(hoomd.md.nlist.Cell(0.4, exclusions=()), kT=1.0, default_r_cut=1.0)
    for types, repulsion in REPULSION.items():
        dpd.params[types] = dict(A=repulsion, gamma=4.5)
    simulation.operations.integrator = hoomd.md.Integrator(
        dt=0.01,
        methods=[hoomd.md.methods.ConstantVolume(hoomd.filter.All())],
        forces=[dpd, *bonded_forces()],
    )
    return simulation.operations.integrator


ATTACH = {"manymove": attach_manymove, "md": attach_md}


def simulate(name: str, start: Path, options: argparse.Namespace) -> dict:
    """Equilibrate, and measure the tension and the temperature."""
    import hoomd
    import hoomd.md

    devices = {"cpu": hoomd.device.CPU, "gpu": hoomd.device.GPU, "auto": hoomd.device.auto_select}
    simulation = hoomd.Simulation(device=devices[options.device](), seed=options.seed)
    simulation.create_state_from_gsd(str(start))
    integrator = ATTACH[name](simulation)
    thermo = hoomd.md.compute.ThermodynamicQuantities(hoomd.filter.All())
    simulation.operations.computes.append(thermo)
    simulation.always_compute_pressure = True
    integrator.dt = 0.001  # beads of the start are close to each other
    simulation.run(1000)
    integrator.dt = 0.01
    simulation.run(options.equilibrate)
    frames = hoomd.trigger.Periodic(max(1, options.steps // 10), phase=simulation.timestep)
    trajectory = hoomd.write.GSD(frames, str(options.output / f"{name}.gsd"), mode="wb")
    simulation.operations.writers.append(trajectory)
    rows = []
    began = time.perf_counter()
    for _ in range(options.steps // options.period):
        simulation.run(options.period)
        xx, _, _, yy, _, zz = thermo.pressure_tensor
        rows.append((options.height * (zz - (xx + yy) / 2), thermo.kinetic_temperature))
    seconds = time.perf_counter() - began
    trajectory.flush()
    tension, temperature = np.array(rows).T
    blocks = np.array([block.mean() for block in np.array_split(tension, BLOCKS)])
    result = {
        "tension": tension.mean(),
        "error": blocks.std(ddof=1) / math.sqrt(BLOCKS),
        "blocks": blocks.tolist(),
        "temperature": temperature.mean(),
    }
    print(
        f"{name:>9}: tension {with_error(result['tension'], result['error'])}, temperature "
        f"{result['temperature']:.3f}, {seconds:.1f} s with the measurements"
    )
    return result


def draw(records: list[dict]) -> Figure:
    """The blocks of each run, means and errors."""
    figure = Figure(figsize=(5 * len(records), 4), layout="constrained")
    (panels,) = figure.subplots(1, len(records), squeeze=False)
    for record, axes in zip(records, panels, strict=True):
        for name, found in record["runs"].items():
            mean, error = found["tension"], found["error"]
            (line,) = axes.plot(
                found["blocks"], "o-", ms=4, label=f"{name}: {mean:.2f}({error:.2f})"
            )
            axes.axhspan(mean - error, mean + error, color=line.get_color(), alpha=0.2)
        axes.set(xlabel="block", ylabel="tension ($kT / r_c^2$)")
        axes.set_title(f"{record['area']:g} $r_c^2$ per lipid, edge {record['edge']:g}", fontsize=9)
        axes.legend()
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--integrator", "manymove", choices=[*ATTACH, "both"])
    parser.option("--area", 1.31, "Area per lipid.")
    parser.option("--edge", 9.0, "Edge of the membrane.")
    parser.option("--height", 14.0, "Height of the box.")
    parser.option("--equilibrate", 4000, "Steps before the measurement.")
    parser.option("--steps", 20000, "Steps of the measurement.")
    parser.option("--period", 20, "Steps between two pressures.")
    parser.option("--device", "auto", choices=["auto", "cpu", "gpu"])
    quick = {"edge": 7.0, "height": 11.0, "equilibrate": 100, "steps": 640}
    options = script.parse(parser, "hoomd_bilayer", quick, draw_all=draw)
    script.at_least(options, period=1, area=0.5, edge=4, height=8)
    if options.steps // options.period < BLOCKS:
        parser.error(f"--steps must be at least {BLOCKS} times --period")
    names = list(ATTACH) if options.integrator == "both" else [options.integrator]
    script.need(parser, "hoomd", "hoomd.md", *(f"hoomd.{name}" for name in names), "gsd")
    start = options.output / "start.gsd"
    write_membrane(start, options)
    runs = {name: simulate(name, start, options) for name in names}
    if len(runs) == 2:
        ours, theirs = runs.values()
        difference = ours["tension"] - theirs["tension"]
        errors = difference / math.hypot(ours["error"], theirs["error"])
        print(f"difference {difference:.2f}, {abs(errors):.1f} joint errors")
    script.picture(options, draw([script.save(options, {"runs": runs})]))


if __name__ == "__main__":
    script.run_script(main)
