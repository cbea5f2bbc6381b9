"""Viscosity inside HOOMD-blue: the decay of shear waves with hoomd.manymove and with hoomd.md.

Four standing waves are added to the velocities of a fluid in equilibrium: two waves of the velocity
along x and two of the velocity along z. Their wave vectors are along y, and their lengths are the
edge of the box and half of it. No wave transports another one, because no velocity along y is
added. The amplitudes decay as exp(-eta k^2 t / rho), where eta is the viscosity, rho the density
and k the wave number.

    python in_hoomd.py
    python in_hoomd.py --runs 16 --device gpu
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis.notation import with_error

if TYPE_CHECKING:  # --draw works without HOOMD-blue
    import hoomd

DENSITY, REPULSION, FRICTION, DT = 3.0, 25.0, 4.5, 0.01
WAVES = (1, 2)  # numbers of wavelengths in the edge of the box
ALONG = [0, 2]  # axes of the velocities
SETTLED, FAINT = 0.5, 0.15  # first time of a fit, and fraction of the first amplitude that ends it


def attach_manymove(simulation: hoomd.Simulation) -> None:
    import hoomd.manymove

    dpd = hoomd.manymove.DPD(DT, kT=1.0, default_r_cut=1.0)
    dpd.params[("A", "A")] = dict(A=REPULSION, gamma=FRICTION)
    simulation.operations.integrator = dpd


def attach_md(simulation: hoomd.Simulation) -> None:
    import hoomd.md

    dpd = hoomd.md.pair.DPD(hoomd.md.nlist.Cell(0.4), kT=1.0, default_r_cut=1.0)
    dpd.params[("A", "A")] = dict(A=REPULSION, gamma=FRICTION)
    simulation.operations.integrator = hoomd.md.Integrator(
        DT, methods=[hoomd.md.methods.ConstantVolume(hoomd.filter.All())], forces=[dpd]
    )


ATTACH = {"manymove": attach_manymove, "md": attach_md}


def waves(particles, edge: float) -> np.ndarray:
    """The waves at the positions of the particles: [wave number][N]."""
    return np.sin(np.multiply.outer(WAVES, 2 * np.pi / edge * particles.position[:, 1]))


def decay(name: str, seed: int, options: argparse.Namespace) -> np.ndarray:
    """Amplitudes of the waves of one run: [wave number][axis][time]."""
    import hoomd

    class Measure(hoomd.custom.Action):
        def __init__(self) -> None:
            self.found: list[np.ndarray] = []

        def act(self, timestep: int) -> None:
            particles = self._state.get_snapshot().particles
            sums = waves(particles, options.edge) @ particles.velocity[:, ALONG]
            self.found.append(2 * sums / particles.N)

    devices = {"cpu": hoomd.device.CPU, "gpu": hoomd.device.GPU, "auto": hoomd.device.auto_select}
    rng = np.random.default_rng(seed)
    snapshot = hoomd.Snapshot()
    particles = snapshot.particles
    particles.N = round(DENSITY * options.edge**3)
    particles.types = ["A"]
    snapshot.configuration.box = [*3 * [options.edge], 0, 0, 0]
    particles.position[:] = options.edge * (rng.random((particles.N, 3)) - 0.5)
    velocity = rng.standard_normal((particles.N, 3))
    particles.velocity[:] = velocity - velocity.mean(axis=0)
    simulation = hoomd.Simulation(device=devices[options.device](), seed=seed)
    simulation.create_state_from_snapshot(snapshot)
    ATTACH[name](simulation)
    simulation.run(options.equilibrate)
    snapshot = simulation.state.get_snapshot()
    added = waves(snapshot.particles, options.edge).sum(axis=0)
    for axis in ALONG:
        snapshot.particles.velocity[:, axis] += options.amplitude * (added - added.mean())
    simulation.state.set_snapshot(snapshot)
    measure = Measure()
    trigger = hoomd.trigger.Periodic(options.period, phase=simulation.timestep)
    simulation.operations.writers.append(hoomd.write.CustomWriter(trigger, measure))
    simulation.run(options.steps)
    return np.moveaxis(measure.found, 0, 2)


def viscosity(amplitudes: np.ndarray, times: np.ndarray, wave: int, edge: float) -> float:
    """The viscosity from the slope of the logarithm of a mean amplitude. The weight of a point is
    the squared amplitude, because the thermal noise of an amplitude does not depend on it."""
    within = (times >= SETTLED) & (amplitudes >= FAINT * amplitudes[0])
    last = np.argmin(within[times >= SETTLED]) or within.sum()  # until the first faint amplitude
    t, a = times[times >= SETTLED][:last], amplitudes[times >= SETTLED][:last]
    slope, _ = np.polyfit(t, np.log(a), 1, w=a)
    return -slope * DENSITY / (2 * np.pi * wave / edge) ** 2


def with_jackknife(samples: np.ndarray, *arguments) -> tuple[float, float]:
    """The viscosity from the mean of samples [sample][time], and its standard error."""
    count = len(samples)
    others = (samples.sum(axis=0) - samples) / (count - 1)
    values = np.array([viscosity(each, *arguments) for each in others])
    error = math.sqrt((count - 1) * values.var())
    return viscosity(samples.mean(axis=0), *arguments), error


def measure(name: str, options: argparse.Namespace) -> dict:
    """Run an integrator --runs times, and fit a viscosity to the mean decay of each wave number."""
    runs = [decay(name, options.seed + run, options) for run in range(options.runs)]
    samples = np.concatenate(runs, axis=1)
    times = DT * options.period * np.arange(1, samples.shape[2] + 1)
    found = [with_jackknife(samples[k], times, wave, options.edge) for k, wave in enumerate(WAVES)]
    result = {
        "times": times.tolist(),
        "amplitudes": samples.mean(axis=1).tolist(),
        "amplitude_errors": (samples.std(axis=1, ddof=1) / math.sqrt(samples.shape[1])).tolist(),
        "viscosities": [value for value, _ in found],
        "errors": [error for _, error in found],
    }
    print(f"{name:>9}: viscosity", ", ".join(with_error(*each) for each in found))
    return result


def waves_in_box(number: int) -> str:
    return f"{number} wave{'s' if number > 1 else ''} in the box"


def draw(records: list[dict]) -> Figure:
    """The decays of each record, and the viscosities in the legend."""
    figure = Figure(figsize=(5 * len(records), 4), layout="constrained")
    (panels,) = figure.subplots(1, len(records), squeeze=False)
    for record, axes in zip(records, panels, strict=True):
        for name, found in record["results"].items():
            for k, wave in enumerate(WAVES):
                text = with_error(found["viscosities"][k], found["errors"][k])
                axes.errorbar(
                    found["times"], found["amplitudes"][k], found["amplitude_errors"][k],
                    fmt="o-", ms=3, lw=0.5, label=f"{name}, {waves_in_box(wave)}: {text}",
                )  # fmt: skip
        axes.set(xlabel="time", ylabel="amplitude of the velocity", yscale="log")
        axes.set_ylim(0.5 * FAINT * record["amplitude"], None)
        axes.legend(fontsize=7, title="viscosity")
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--runs", 64, "Number of runs of each integrator.")
    parser.option("--edge", 8.0, "Edge of the cubic box.")
    parser.option("--amplitude", 0.8, "Amplitude of a new wave.")
    parser.option("--equilibrate", 300, "Steps before the waves.")
    parser.option("--steps", 500, "Steps of a decay.")
    parser.option("--period", 10, "Steps of an interval.")
    parser.option("--seed", 1, "Seed of the first run.")
    parser.option("--device", "auto", choices=["auto", "cpu", "gpu"])
    quick = {"runs": 2, "edge": 6.0, "equilibrate": 100, "steps": 120}
    options = script.parse(parser, "viscosity_in_hoomd", quick, draw_all=draw)
    script.at_least(options, runs=2, edge=4, steps=100, period=1, equilibrate=0)
    if options.amplitude <= 0:
        parser.error("--amplitude must be positive")
    script.need(parser, "hoomd", "hoomd.md", "hoomd.manymove")
    results = {name: measure(name, options) for name in ATTACH}
    ours, theirs = results.values()
    for k, wave in enumerate(WAVES):
        difference = ours["viscosities"][k] - theirs["viscosities"][k]
        errors = difference / math.hypot(ours["errors"][k], theirs["errors"][k])
        text = f"difference {difference:.3f}, {abs(errors):.1f} joint errors"
        print(f"{waves_in_box(wave)}: {text}")
    script.picture(options, draw([script.save(options, {"results": results})]))


if __name__ == "__main__":
    script.run_script(main)
