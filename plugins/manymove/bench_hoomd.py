"""Speed of hard disks inside HOOMD-blue: `manymove bench hoomd`.

The standalone engine, the component hoomd.manymove, the Python-only path manymove.hoomd and
HOOMD-blue's own hpmc.integrate.Sphere start from the same melted configuration and are timed in
turn. Each counts its own trial moves; reading the counters waits for the GPU.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from importlib import util
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from manymove import bench, bench_status, devices
from manymove.bench import Variant
from manymove.harddisk import HardDisks
from manymove.report import write_json

if TYPE_CHECKING:
    import hoomd

GPU_SIZES = [65536, 1048576]
CPU_SIZES = [16384]
SWEEPS_PER_STEP = [16, 4]  # of the component
PYTHON_SWEEPS_PER_STEP = 16
HPMC_NSELECT = [8, 16, 32]
# HPMC moves uniformly in a disk, we in a square: with this ratio of radius to half edge the mean
# square displacements are equal.
DISK_TO_SQUARE = math.sqrt(4 / 3)
TUNING_SECONDS = 30.0  # at most, for HPMC's choice of kernel parameters


def run(
    *,
    sizes: Sequence[int] | None,
    packing_fraction: float,
    device: str,
    threads: int | None,
    max_displacement: float | None,
    melt: int,
    repeats: int,
    seconds: float,
    decorrelation: int,
    seed: int,
    json_file: Path | None,
) -> dict[str, Any]:
    """Time every size, print a table, write the JSON file.

    Args:
        sizes: numbers of disks; None for the usual ones of the device.
        packing_fraction: of all, up to 0.72.
        device: "auto", "cpu", "cuda" or "cuda:<index>".
        threads: of our CPU engines; None for their choice. HPMC has one rank.
        max_displacement: along an axis; None for the engine's choice.
        melt: sweeps from the random packing before anything is timed.
        repeats: timed runs per variant, at least 3.
        seconds: least length of a timed run.
        decorrelation: sweeps run for the autocorrelation time of the global psi_6 of the standalone
            engine and of HPMC at its best; 0 leaves it out.
        seed: of packing, engines and simulations.
        json_file: where the results go; None for nowhere.

    Returns:
        what the JSON file holds.

    Raises:
        ImportError: HOOMD-blue is not installed.
        ValueError: an argument is out of range, or a GPU is asked for and HOOMD-blue has none.
    """
    bench.check(repeats, seconds, melt, decorrelation)
    if util.find_spec("hoomd") is None:
        raise ImportError(
            "bench hoomd needs HOOMD-blue, which is not installed here; `manymove bench disks` "
            "times the standalone engine"
        )
    import hoomd

    on_gpu = devices.on_gpu(device)
    if on_gpu and not hoomd.version.gpu_enabled:
        raise ValueError(
            f"this HOOMD-blue {hoomd.version.version} is built without GPU: use --device cpu"
        )
    rows: list[dict[str, Any]] = []
    absent: dict[str, str] = {}
    print(HEADER)
    for N in sizes or (GPU_SIZES if on_gpu else CPU_SIZES):
        (engine,) = bench.melted_engines(
            N, packing_fraction, device, [threads], max_displacement, None, melt, seed
        )
        variants = [bench.standalone(engine)]
        variants[0].name = f"standalone, {variants[0].name}"
        psi6: dict[int, Callable[[], complex]] = {0: engine.psi6}
        for make in (component, python_only, hpmc):
            try:
                made, others_psi6 = make(engine, seed)
            except ImportError as error:
                absent[make.__name__] = str(error)
                continue
            if others_psi6 is not None:
                psi6 |= dict.fromkeys(range(len(variants), len(variants) + len(made)), others_psi6)
            variants += made
        bench.time_in_turn(variants, repeats, seconds)
        results = [{"particles": N, **variant.result()} for variant in variants]
        rates = [result["trial_moves_per_second"] for result in results]
        best = max((k for k in psi6 if k > 0), key=lambda k: rates[k], default=None)
        for variant, result in zip(variants, results, strict=True):
            result |= _ratio("standalone", variant, variants[0])
            if best is not None:
                result |= _ratio("hpmc", variant, variants[best])
        if decorrelation:
            for k in (0,) if best is None else (0, best):
                bench.add_decorrelation(results[k], variants[k], psi6[k], decorrelation)
        for result in results:
            print(_row(result))
        rows += results
    bench_status.print_warnings(rows)
    for reason in absent.values():
        print(f"left out: {reason}")
    report = {
        **bench.machine(),
        "packing_fraction": packing_fraction,
        "melt": melt,
        "results": rows,
        "absent": absent,
    }
    if json_file is not None:
        write_json(json_file, report)
    return report


def _ratio(name: str, variant: Variant, other: Variant) -> dict[str, Any]:
    """Of the rates, one ratio per round: their median and extremes."""
    ratios = [a / b for a, b in zip(variant.rates, other.rates, strict=True)]
    key = f"ratio_to_{name}"
    return {key: median(ratios), f"{key}_lowest": min(ratios), f"{key}_highest": max(ratios)}


HEADER = (
    f"{'disks':>9}  {'variant':<44} {'moves/s':>9}  {'spread':>6}  {'accepted':>8}  "
    f"{'status':<{bench_status.WIDTH}}  {'/ standalone':<24}  / HPMC at its best"
)


def _row(result: dict[str, Any]) -> str:
    rate = result["trial_moves_per_second"]
    spread = (result["highest"] - result["lowest"]) / 2 / rate
    line = (
        f"{result['particles']:>9}  {result['variant']:<44} {rate:>9.3g}  {spread:>6.1%}  "
        f"{result['acceptance']:>8.2%}  {bench_status.status(result):<{bench_status.WIDTH}}"
    )
    for key in ("ratio_to_standalone", "ratio_to_hpmc"):
        if key in result:
            extremes = f"({result[f'{key}_lowest']:.3g} to {result[f'{key}_highest']:.3g})"
            line += f"  {f'{result[key]:.3g} {extremes}':<24}"
    if "decorrelation_sweeps" in result:
        line += (
            f"  psi_6 decorrelates in {result['decorrelation_sweeps']:.3g} sweeps, "
            f"{result['decorrelation_seconds']:.3g} s"
        )
    return line.rstrip()


# Each returns its variants and, where it is not the engine's chain, how to measure psi_6.
Made = tuple[list[Variant], "Callable[[], complex] | None"]


def component(engine: HardDisks, seed: int) -> Made:
    """hoomd.manymove.HardDisks."""
    try:
        import hoomd.manymove
    except ModuleNotFoundError as error:
        if error.name != "hoomd.manymove":
            raise
        raise ImportError("hoomd.manymove is not installed (see hoomd_ext/README.md)") from None

    def variant(sweeps_per_step: int) -> Variant:
        simulation = _simulation(engine, seed)
        integrator = hoomd.manymove.HardDisks(
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


def python_only(engine: HardDisks, seed: int) -> Made:
    """manymove.hoomd.HardDisks."""
    import hoomd

    import manymove.hoomd

    simulation = _simulation(engine, seed)
    disks = manymove.hoomd.HardDisks(
        engine.diameter,
        d=engine.max_displacement,
        nselect=engine.moves_per_cell,
        sweeps_per_step=PYTHON_SWEEPS_PER_STEP,
        threads=engine.threads,
    )
    simulation.operations.updaters.append(
        hoomd.update.CustomUpdater(hoomd.trigger.Periodic(1), disks)
    )
    settings = {
        "max_displacement": engine.max_displacement,
        "nselect": disks.nselect,
        "sweeps_per_step": PYTHON_SWEEPS_PER_STEP,
        "threads": engine.threads,
    }
    return [
        _variant(
            f"manymove.hoomd, {PYTHON_SWEEPS_PER_STEP} sweeps a step",
            simulation,
            lambda: disks.translate_moves,
            disks.nselect * PYTHON_SWEEPS_PER_STEP,
            settings,
        )
    ], None


def hpmc(engine: HardDisks, seed: int, nselect: Sequence[int] = HPMC_NSELECT) -> Made:
    """hoomd.hpmc.integrate.Sphere, once per value of nselect."""
    try:
        import hoomd.hpmc
    except ModuleNotFoundError as error:
        if error.name not in ("hoomd", "hoomd.hpmc"):
            raise
        raise ImportError("this HOOMD-blue has no hpmc") from None

    simulation = _simulation(engine, seed)
    d = DISK_TO_SQUARE * engine.max_displacement
    sphere = hoomd.hpmc.integrate.Sphere(default_d=d)
    # A rounded float32 position must not count as an overlap: HPMC would then refuse its moves.
    sphere.shape["disk"] = {"diameter": engine.diameter * (1 - 1e-5)}
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

    def psi6() -> complex:
        positions = simulation.state.get_snapshot().particles.position[:, :2]
        present = HardDisks(
            np.ascontiguousarray(positions, dtype=np.float64),
            engine.box,
            engine.diameter,
            seed=seed,
            device=engine.device,
            threads=engine.threads,
        )
        return present.psi6()

    return [variant(moves) for moves in nselect], psi6


def _variant(
    name: str,
    simulation: hoomd.Simulation,
    translate_moves: Callable[[], tuple[int, int]],
    moves_per_step: int,
    settings: dict[str, Any],
    before: Callable[[], None] = lambda: None,
) -> Variant:
    """A simulation as something to time.

    Args:
        name: in the table.
        simulation: to run.
        translate_moves: accepted and rejected since the start of the last run; waits for the GPU.
        moves_per_step: of a disk, about: what turns sweeps into steps.
        settings: for the JSON file.
        before: called before each run.
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


def _simulation(engine: HardDisks, seed: int) -> hoomd.Simulation:
    """The disks of an engine in HOOMD-blue, on the same device if it can use that."""
    import hoomd

    if engine.device == "cpu" or not hoomd.version.gpu_enabled:
        device = hoomd.device.CPU()
    else:
        index = int(engine.device.removeprefix("cuda:"))
        one_gpu = int(hoomd.version.version.split(".")[0]) >= 5
        device = hoomd.device.GPU(**({"gpu_id": index} if one_gpu else {"gpu_ids": [index]}))
    simulation = hoomd.Simulation(device=device, seed=seed % 65536)
    snapshot = hoomd.Snapshot()
    snapshot.configuration.box = [*engine.box, 0, 0, 0, 0]
    snapshot.particles.N = engine.N
    snapshot.particles.types = ["disk"]
    snapshot.particles.position[:, :2] = engine.positions
    simulation.create_state_from_snapshot(snapshot)
    return simulation
