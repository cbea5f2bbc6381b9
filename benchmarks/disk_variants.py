# SPDX-License-Identifier: BSD-3-Clause
"""Variants of hard disks and spheres: the standalone engine, the component hoomd.manymove, the
updater of manymove.hoomd and HOOMD-blue's hpmc.integrate.Sphere.

Each variant counts its own trial moves; reading the counters waits for the GPU.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from manymove.analysis.autocorrelation import autocorrelation_time
from manymove.bench.harness import Variant
from manymove.hard_particles.copies import copies_of, random_sphere_packing, replicate
from manymove.hard_particles.packing import random_packing
from manymove.hard_particles.particles import HardParticles
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.spheres import HardSpheres
from manymove.jobs.report import too_short
from manymove.settings import Grid

if TYPE_CHECKING:
    import hoomd

SAMPLES = 2000  # of psi_6 for the autocorrelation time
SWEEPS_PER_STEP = [16, 4]  # of the component
PYTHON_SWEEPS_PER_STEP = 16
HPMC_NSELECT = {2: (8, 16, 32), 3: (4, 8, 16)}  # by the number of dimensions
# HPMC moves are uniform in a disk or a ball, ours in a square or a cube. With this ratio of radius
# to half edge, by the number of dimensions, the mean square displacements are equal.
BALL_TO_CUBE = {2: math.sqrt(4 / 3), 3: math.sqrt(5 / 3)}
TUNING_SECONDS = 30.0  # maximum, for HPMC's choice of kernel parameters


def melted_engines(
    N: int,
    packing_fraction: float,
    device: str,
    threads: Sequence[int | None],
    max_displacement: float | None,
    moves_per_cell: int | None,
    equilibrate: int,
    seed: int,
    kind: type[HardDisks] | type[HardSpheres] = HardDisks,
) -> list[Any]:
    """One engine per number of threads, all with the same melted configuration."""

    def engine(positions: np.ndarray, count: int | None) -> HardDisks | HardSpheres:
        return kind(
            positions,
            box,
            max_displacement=max_displacement,
            grid=Grid(moves_per_cell),
            seed=seed,
            device=device,
            threads=count,
        )

    positions, box = (
        random_packing(N, packing_fraction, seed=seed)
        if kind is HardDisks
        else random_sphere_packing(N, packing_fraction, seed=seed, device=device)
    )
    melted = engine(positions, None)
    if equilibrate:
        melted.run(equilibrate)
    return [engine(melted.positions, count) for count in threads]


def check_ratio(mixture_ratio: float | None) -> None:
    """Raises a ValueError if the ratio of two diameters is not in the range."""
    if mixture_ratio is not None and not 0.4 <= mixture_ratio < 1:
        raise ValueError(f"--mixture-ratio must be from 0.4 to 1, got {mixture_ratio}")


def melted_mixture(
    of_one_size: HardSpheres, packing_fraction: float, ratio: float, equilibrate: int, seed: int
) -> HardSpheres:
    """A melted equimolar mixture of spheres of two diameters, with the settings of an engine of
    spheres of one size, whose diameter is the larger one of the mixture."""
    N, device, copies = of_one_size.N, of_one_size.device, copies_of(of_one_size.N)
    diameters = np.where(np.arange(N // copies**3) % 2, 1.0, ratio)
    part = HardSpheres.random(
        len(diameters), packing_fraction, diameter=diameters, seed=seed, device=device
    )
    positions, (lx, ly, lz) = replicate(part.positions, part.box, 3 * (copies,))
    mixture = HardSpheres(
        positions,
        (lx, ly, lz),
        diameter=np.tile(diameters, N // len(diameters)),
        max_displacement=of_one_size.max_displacement,
        grid=Grid(moves_per_cell=of_one_size.moves_per_cell),
        seed=seed,
        device=device,
        threads=of_one_size.threads,
    )
    mixture.run(equilibrate)
    return mixture


def add_decorrelation(
    result: dict[str, Any],
    variant: Variant,
    slow: Callable[[], np.ndarray],
    sweeps: int,
    quantity: str = "psi_6",
) -> None:
    """Add the integrated autocorrelation time of slow quantities in sweeps and seconds to a row,
    with the length of the run, and a warning if the run is too short.

    Args:
        result: row of the variant, to which keys are added.
        variant: variant that runs the particles.
        slow: returns the slow quantities of the present configuration, complex (K,).
        sweeps: length of the run.
        quantity: name of the slow quantities.
    """
    N, rate = result["particles"], result["trial_moves_per_second"]
    interval = max(1, sweeps // SAMPLES)
    series, times, trial_moves = [], [], 0
    for _ in range(max(10, sweeps // interval)):
        trial_moves += variant.run(interval)[0]
        series.append(slow())
        times.append(trial_moves / N)
        if times[-1] > sweeps and len(times) >= 10:
            break
    between = (times[-1] - times[0]) / (len(times) - 1)
    tau = autocorrelation_time(np.array(series), between)
    length = times[-1] - times[0]
    result |= {
        "decorrelation_of": quantity,
        "decorrelation_sweeps": tau,
        "decorrelation_seconds": tau * N / rate,
        "decorrelation_run_sweeps": length,
    }
    result["warnings"] = result["warnings"] + too_short(
        length, "sweeps", quantity, tau, "--decorrelation"
    )


def decorrelation_words(row: dict[str, Any]) -> list[str]:
    """The result of `add_decorrelation` for a table."""
    if "decorrelation_sweeps" not in row:
        return []
    sweeps, seconds = row["decorrelation_sweeps"], row["decorrelation_seconds"]
    what, verb = row["decorrelation_of"], "decorrelate"
    return [
        f"{what} {verb}{'' if what.endswith('s') else 's'} in {sweeps:.3g} sweeps, {seconds:.3g} s"
    ]


def standalone(engine: HardParticles, what: str = "") -> Variant:
    def run(sweeps: int) -> tuple[int, int]:
        trial, accepted = engine.trial_moves, engine.accepted_moves
        engine.run(sweeps)
        return engine.trial_moves - trial, engine.accepted_moves - accepted

    name = f"{engine.device}"
    if engine.device == "cpu":
        name += f", {engine.threads} thread{'s' if engine.threads != 1 else ''}"
    return Variant(
        name + what,
        run,
        {
            "device": engine.device,
            "device_name": engine.device_name,
            "threads": engine.threads,
            "max_displacement": engine.max_displacement,
            "moves_per_cell": engine.moves_per_cell,
        },
    )


# Each returns its variants and, for other chains than the engine's, a function that returns the
# present positions.
Made = tuple[list[Variant], "Callable[[], np.ndarray] | None"]


def slow_quantities_of(
    engine: HardDisks | HardSpheres, positions: Callable[[], np.ndarray], seed: int
) -> Callable[[], np.ndarray]:
    """A function that returns the slow quantities of other positions of the engine's particles."""

    def slow() -> np.ndarray:
        present = type(engine)(
            positions(),
            engine.box,
            engine.diameter,
            seed=seed,
            device=engine.device,
            threads=engine.threads,
        )
        return present.slow_quantities()

    return slow


def component(engine: HardDisks | HardSpheres, seed: int) -> Made:
    """hoomd.manymove.HardDisks or HardSpheres."""
    try:
        import hoomd.manymove
    except ModuleNotFoundError as error:
        if error.name != "hoomd.manymove":
            raise
        raise ImportError("hoomd.manymove is not installed (see hoomd_ext/README.md)") from None

    def variant(sweeps_per_step: int) -> Variant:
        simulation = _simulation(engine, seed)
        integrator = getattr(hoomd.manymove, type(engine).__name__)(
            default_d=engine.max_displacement,
            nselect=engine.moves_per_cell,
            sweeps_per_step=sweeps_per_step,
            threads=engine.threads,
        )
        integrator.shape["disk"] = {"diameter": engine.diameter}
        simulation.operations.integrator = integrator
        return _variant(
            f"hoomd.manymove, {sweeps_per_step} sweeps a step",
            simulation,
            lambda: integrator.translate_moves,
            integrator.nselect * sweeps_per_step,
            {
                "max_displacement": engine.max_displacement,
                "nselect": integrator.nselect,
                "sweeps_per_step": sweeps_per_step,
                "threads": engine.threads,
            },
        )

    return [variant(sweeps) for sweeps in SWEEPS_PER_STEP], None


def python_only(engine: HardDisks | HardSpheres, seed: int) -> Made:
    """manymove.hoomd.HardDisksUpdater or HardSpheresUpdater."""
    import hoomd

    import manymove.hoomd

    simulation = _simulation(engine, seed)
    updater = getattr(manymove.hoomd, f"{type(engine).__name__}Updater")(
        engine.diameter,
        d=engine.max_displacement,
        nselect=engine.moves_per_cell,
        sweeps_per_step=PYTHON_SWEEPS_PER_STEP,
        threads=engine.threads,
    )
    simulation.operations.updaters.append(
        hoomd.update.CustomUpdater(hoomd.trigger.Periodic(1), updater)
    )
    settings = {
        "max_displacement": engine.max_displacement,
        "nselect": updater.nselect,
        "sweeps_per_step": PYTHON_SWEEPS_PER_STEP,
        "threads": engine.threads,
    }
    return [
        _variant(
            f"manymove.hoomd, {PYTHON_SWEEPS_PER_STEP} sweeps a step",
            simulation,
            lambda: updater.translate_moves,
            updater.nselect * PYTHON_SWEEPS_PER_STEP,
            settings,
        )
    ], None


def hpmc(
    engine: HardDisks | HardSpheres,
    seed: int,
    nselect: Sequence[int] | None = None,
    well: tuple[float, float] | None = None,
) -> Made:
    """hoomd.hpmc.integrate.Sphere, once per value of nselect.

    Args:
        engine: particles, box and displacement.
        seed: seed of the simulation.
        nselect: numbers of moves per particle and time step.
        well: range of a square well in units of length and its energy in kT.
    """
    if nselect is None:
        nselect = HPMC_NSELECT[len(engine.box)]
    try:
        import hoomd.hpmc
    except ModuleNotFoundError as error:
        if error.name not in ("hoomd", "hoomd.hpmc"):
            raise
        raise ImportError("this HOOMD-blue has no hpmc") from None

    simulation = _simulation(engine, seed)
    d = BALL_TO_CUBE[len(engine.box)] * engine.max_displacement
    sphere = hoomd.hpmc.integrate.Sphere(default_d=d)
    # A rounded float32 position must not count as an overlap, because HPMC would refuse its moves.
    sphere.shape["disk"] = {"diameter": engine.diameter * (1 - 1e-5)}
    if well:
        step = hoomd.hpmc.pair.Step()
        step.params[("disk", "disk")] = {"r": [well[0]], "epsilon": [well[1]]}
        sphere.pair_potentials = [step]
    simulation.operations.integrator = sphere
    simulation.run(0)
    began = time.perf_counter()
    while (
        not simulation.operations.is_tuning_complete
        and time.perf_counter() - began < TUNING_SECONDS
    ):
        simulation.run(100)

    def variant(moves: int) -> Variant:
        def select() -> None:
            sphere.nselect = moves

        name = f"HPMC (HOOMD-blue {hoomd.version.version}), nselect {moves}"
        if isinstance(simulation.device, hoomd.device.CPU):
            name += ", 1 rank"
        settings = {"max_displacement": d, "nselect": moves}
        return _variant(name, simulation, lambda: sphere.translate_moves, moves, settings, select)

    def positions() -> np.ndarray:
        found = simulation.state.get_snapshot().particles.position[:, : len(engine.box)]
        return np.ascontiguousarray(found, dtype=np.float64)

    return [variant(moves) for moves in nselect], positions


def _variant(
    name: str,
    simulation: hoomd.Simulation,
    translate_moves: Callable[[], tuple[int, int]],
    moves_per_step: int,
    settings: dict[str, Any],
    before: Callable[[], None] = lambda: None,
) -> Variant:
    """A variant that runs a simulation.

    Args:
        name: name in the table.
        simulation: simulation to run.
        translate_moves: function that returns the accepted and rejected moves since the start of
            the last run, and waits for the GPU.
        moves_per_step: approximate number of moves of a disk per step, which converts sweeps into
            steps.
        settings: settings for the JSON file.
        before: function that is called before each run.
    """

    import hoomd

    def run(sweeps: int) -> tuple[int, int]:
        before()
        simulation.run(max(1, sweeps // moves_per_step))
        accepted, rejected = translate_moves()
        return accepted + rejected, accepted

    device = "cuda" if isinstance(simulation.device, hoomd.device.GPU) else "cpu"
    settings = {"device": device, **settings}
    return Variant(name, run, settings, sweeps=moves_per_step, shortest=moves_per_step)


def _simulation(engine: HardDisks | HardSpheres, seed: int) -> hoomd.Simulation:
    """The particles of an engine in HOOMD-blue, on the same device if HOOMD-blue supports it."""
    import hoomd

    if engine.device == "cpu" or not hoomd.version.gpu_enabled:
        device = hoomd.device.CPU()
    else:
        index = int(engine.device.removeprefix("cuda:"))
        one_gpu = int(hoomd.version.version.split(".")[0]) >= 5
        device = hoomd.device.GPU(**({"gpu_id": index} if one_gpu else {"gpu_ids": [index]}))
    simulation = hoomd.Simulation(device=device, seed=seed % 65536)
    snapshot = hoomd.Snapshot()
    flat = 3 - len(engine.box)
    snapshot.configuration.box = [*engine.box, *flat * [0], 0, 0, 0]
    snapshot.particles.N = engine.N
    snapshot.particles.types = ["disk"]
    snapshot.particles.position[:] = np.pad(engine.positions, ((0, 0), (0, flat)))
    simulation.create_state_from_snapshot(snapshot)
    return simulation
