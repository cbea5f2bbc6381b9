"""Hard disks in HOOMD-blue: the same simulation with hoomd.manymove and with hoomd.hpmc.

Starts from a GSD file, or from a lattice that it writes itself, equilibrates, logs the pressure to
HDF5 and to the frames of a GSD trajectory, prints its mean and draws it against the time step.

    python run.py --integrator both
    python run.py start.gsd --integrator manymove --steps 20000 --device gpu
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis import virial_pressure

if TYPE_CHECKING:  # a picture of a record needs none of them
    import h5py
    import hoomd

DIAMETER = 1.0
BLOCKS = 16


def write_lattice(path: Path, particles: int, packing_fraction: float) -> None:
    """A hexagonal lattice of about so many disks, which melts below a packing fraction of 0.7."""
    import gsd.hoomd

    columns = 2 * round(math.sqrt(particles * math.sqrt(0.75)) / 2)
    rows = 2 * round(particles / columns / 2)
    spacing = DIAMETER * math.sqrt(math.pi / (2 * math.sqrt(3) * packing_fraction))
    i, j = (index.ravel() for index in np.meshgrid(np.arange(columns), np.arange(rows)))
    fractions = np.column_stack(((i + 0.5 * (j % 2) + 0.25) / columns, (j + 0.5) / rows)) - 0.5
    box = spacing * np.array([columns, rows * math.sqrt(0.75)])
    frame = gsd.hoomd.Frame()
    frame.configuration.box = [*box, 0, 0, 0, 0]
    frame.configuration.dimensions = 2
    frame.particles.N = rows * columns
    frame.particles.types = ["A"]
    frame.particles.position = np.column_stack((fractions * box, np.zeros(rows * columns)))
    with gsd.hoomd.open(str(path), "w") as file:
        file.append(frame)


def attach_manymove(simulation: hoomd.Simulation, d: float, logger: hoomd.logging.Logger):
    """About 14 trial moves per disk in a step at these densities."""
    import hoomd.manymove

    mc = hoomd.manymove.HardDisks(default_d=d, nselect=4, sweeps_per_step=4)
    for name in simulation.state.particle_types:
        mc.shape[name] = dict(diameter=DIAMETER)
    simulation.operations.integrator = mc
    logger.add(mc, quantities=["betaP", "translate_moves"])
    return mc


def attach_hpmc(simulation: hoomd.Simulation, d: float, logger: hoomd.logging.Logger):
    """16 trial moves per disk in a step on a CPU, about as many on a GPU."""
    import hoomd.hpmc

    # Our moves fill a square, theirs a disk: the same mean square displacement.
    mc = hoomd.hpmc.integrate.Sphere(default_d=d * math.sqrt(4 / 3), nselect=16)
    for name in simulation.state.particle_types:
        mc.shape[name] = dict(diameter=DIAMETER)
    simulation.operations.integrator = mc
    sdf = hoomd.hpmc.compute.SDF(xmax=0.02 * DIAMETER, dx=1e-4 * DIAMETER)
    simulation.operations.computes.append(sdf)
    logger.add(sdf, quantities=["betaP"])
    logger.add(mc, quantities=["translate_moves"])
    return mc


ATTACH = {"manymove": attach_manymove, "hpmc": attach_hpmc}


def simulate(name: str, start: Path, options: argparse.Namespace) -> None:
    """Equilibrate, then log the pressure into NAME.h5 and NAME.gsd."""
    import hoomd

    devices = {"cpu": hoomd.device.CPU, "gpu": hoomd.device.GPU, "auto": hoomd.device.auto_select}
    simulation = hoomd.Simulation(device=devices[options.device](), seed=options.seed)
    simulation.create_state_from_gsd(str(start))
    logger = hoomd.logging.Logger(categories=["scalar", "sequence"])
    logger.add(simulation, quantities=["timestep"])
    mc = ATTACH[name](simulation, options.displacement * DIAMETER, logger)
    simulation.run(options.equilibrate)

    every = hoomd.trigger.Periodic(options.period, phase=simulation.timestep)
    log = hoomd.write.HDF5Log(every, options.output / f"{name}.h5", logger, mode="w")
    frames = hoomd.trigger.Periodic(max(1, options.steps // 10), phase=simulation.timestep)
    trajectory = hoomd.write.GSD(
        frames, str(options.output / f"{name}.gsd"), mode="wb", logger=logger
    )
    simulation.operations.writers.extend([log, trajectory])
    began = time.perf_counter()
    simulation.run(options.steps)
    accepted, rejected = mc.translate_moves  # reading them waits for a GPU
    seconds = time.perf_counter() - began
    for writer in (log, trajectory):
        writer.flush()
    moves = accepted + rejected
    print(
        f"{name:>9}: {moves / simulation.state.N_particles:.0f} trial moves per disk in "
        f"{seconds:.1f} s with the logs, {moves / seconds:.3g} moves/s, "
        f"acceptance {accepted / moves:.3f}"
    )


def logged(path: Path, name: str) -> np.ndarray:
    """Means over blocks of a logged quantity, wherever in the file it is."""
    import h5py

    found = []

    def collect(key: str, item: h5py.HLObject) -> None:
        if key.endswith(f"/{name}"):
            found.append(item[:])

    with h5py.File(path, "r") as file:
        file["hoomd-data"].visititems(collect)
    (series,) = found
    return np.array([block.mean() for block in np.array_split(series, BLOCKS)])


def report(names: list[str], options: argparse.Namespace) -> None:
    """Print the mean pressures, with their errors from the blocks, and draw the blocks."""
    record, results = {"pressure": {}}, []
    for name in names:
        log = options.output / f"{name}.h5"
        steps, pressures = logged(log, "timestep"), logged(log, "betaP") * DIAMETER**2
        mean, error = pressures.mean(), pressures.std(ddof=1) / math.sqrt(BLOCKS)
        results.append((mean, error))
        print(f"{name:>9}: P* = {mean:.3f}({round(1000 * error)})")
        blocks = {"steps": steps.tolist(), "blocks": pressures.tolist()}
        record["pressure"][name] = {"mean": mean, "error": error, **blocks}
    if len(results) == 2:
        (ours, our_error), (theirs, their_error) = results
        joint = math.hypot(our_error, their_error)
        print(f"difference {ours - theirs:.4f}, {abs(ours - theirs) / joint:.1f} joint errors")
    options.start = options.start and str(options.start)
    script.picture(options, draw([script.save(options, record)]))


def draw(records: list[dict]) -> Figure:
    """The blocks of each run against the time step, a panel for each run, means and errors."""
    columns = min(4, len(records))
    rows = -(-len(records) // columns)
    figure = Figure(figsize=(2 + 4 * columns, 4 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flat
    for record, axes in zip(records, panels, strict=False):  # some panels may stay empty
        for name, found in record["pressure"].items():
            mean, error = found["mean"], found["error"]
            label = f"{name}: {mean:.3f}({round(1000 * error)})"
            (line,) = axes.plot(found["steps"], found["blocks"], "o-", ms=4, label=label)
            axes.axhspan(mean - error, mean + error, color=line.get_color(), alpha=0.2)
        axes.set(xlabel="time step", ylabel="pressure $P^* = \\beta P d^2$")
        if (exact := virial_pressure(record["packing_fraction"])) is not None:
            axes.axhline(exact[0], color="C3", ls="--", lw=1, label="virial series")
        axes.set_title(
            f"{record['particles']:,} disks, packing fraction {record['packing_fraction']:g}, "
            f"seed {record['seed']}",
            fontsize=9,
        )
        axes.legend()
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.add_argument("start", nargs="?", type=Path, help="GSD file; a lattice is made without")
    parser.option("--integrator", "manymove", choices=[*ATTACH, "both"])
    parser.option("--particles", 1024, "Number of disks of the lattice.")
    parser.option("--packing-fraction", 0.65, "Packing fraction of the lattice.")
    parser.option("--displacement", 0.16, "Maximum trial displacement in diameters.")
    parser.option("--equilibrate", 2000, "Steps before the log.")
    parser.option("--steps", 4000, "Steps with the log.")
    parser.option("--period", 5, "Steps between two pressures.")
    parser.option("--device", "auto", choices=["auto", "cpu", "gpu"])
    quick = {"particles": 256, "equilibrate": 100, "steps": 200}
    options = script.parse(parser, "hoomd_hard_disks", quick)
    if options.draw:
        records = [run for record in script.read(options) for run in record.get("runs", [record])]
        script.picture(options, draw(records))
        return
    script.at_least(options, period=1)
    if options.steps // options.period < BLOCKS:
        parser.error(f"--steps must be at least {BLOCKS} times --period")

    names = list(ATTACH) if options.integrator == "both" else [options.integrator]
    script.need(parser, "hoomd", *(f"hoomd.{name}" for name in names), "gsd", "h5py")
    if options.particles < 4:
        parser.error(f"--particles must be at least 4, got {options.particles}")
    start = options.start
    if start is not None and not start.is_file():
        parser.error(f"--start: there is no file {start}")
    if start is not None and start.resolve() in [
        (options.output / f"{name}.gsd").resolve() for name in names
    ]:
        parser.error(f"{start} would be replaced by the trajectory: choose another --output")

    if start is None:
        start = options.output / "start.gsd"
        write_lattice(start, options.particles, options.packing_fraction)
    for name in names:
        simulate(name, start, options)
    report(names, options)


if __name__ == "__main__":
    script.run_script(main)
