"""Speed of hoomd.manymove.HardDisks and HardSpheres on MPI ranks:
`mpiexec -n R python -m benchmarks hoomd`, and for the benchmark scaling
`mpiexec -n R python -m benchmarks.hoomd_ranks REQUEST FILE`, both JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ranks
from benchmarks.disk_variants import standalone
from manymove import _core
from manymove.bench import harness
from manymove.hard_particles.copies import replicate
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.spheres import HardSpheres
from manymove.info import record
from manymove.jobs.ranks import Ranks
from manymove.jobs.report import write_json
from manymove.jobs.world import World
from manymove.settings import Grid

SWEEPS_PER_STEP = 256  # of the benchmark scaling; positions are exchanged once per step
SWEEPS = (16, 4, 1)  # of the benchmark hoomd
SIZES = {HardDisks: 65536, HardSpheres: 32768}
MELT = 4  # steps, in all
LATTICE = 2000  # sweeps of the small system that is copied


class Component:
    """A simulation of the component on all ranks, or on this one alone.

    Args:
        world: all ranks.
        device: "cpu" or "cuda"; the local rank determines the GPU.
        seed: seed of the simulation.
        found: positions and box on rank 0, None on the others.
        kind: HardDisks or HardSpheres.
        strips: whether the domains are strips along y or slabs along z, as those of the engine;
            otherwise HOOMD-blue chooses them.
        alone: whether this rank has a simulation of its own.
        settings: further parameters of the integrator.

    Raises:
        ImportError: HOOMD-blue, its MPI or the component is missing.
    """

    def __init__(
        self,
        world: World,
        device: str,
        seed: int,
        found: tuple[np.ndarray, tuple[float, ...]] | None,
        kind: ranks.Kind,
        *,
        strips: bool,
        alone: bool = False,
        **settings: Any,
    ) -> None:
        import hoomd
        import hoomd.manymove

        if not hoomd.version.mpi_enabled:
            raise ImportError("this HOOMD-blue is built without MPI")
        from mpi4py import MPI

        communicator = hoomd.communicator.Communicator(MPI.COMM_SELF if alone else None)
        if device == "cuda":
            index = world.device("cuda").removeprefix("cuda").removeprefix(":")
            where = hoomd.device.GPU([int(index or 0)], communicator=communicator)
        else:
            where = hoomd.device.CPU(communicator=communicator)
        self.simulation = hoomd.Simulation(device=where, seed=seed % 65536)
        snapshot = hoomd.Snapshot(communicator)
        if found is not None:
            positions, box = found
            snapshot.configuration.box = [*box, *[0] * (6 - len(box))]
            snapshot.particles.N = len(positions)
            snapshot.particles.types = ["disk"]
            snapshot.particles.position[:, : len(box)] = positions
        along = (1, communicator.num_ranks) if kind is HardDisks else (1, 1, communicator.num_ranks)
        decomposition = (*along, 1)[:3] if strips else (None, None, None)
        self.simulation.create_state_from_snapshot(snapshot, decomposition)
        self.particles = getattr(hoomd.manymove, kind.__name__)(**settings)
        self.particles.shape["disk"] = {"diameter": 1.0}
        self.simulation.operations.integrator = self.particles

    def run(self, sweeps: int) -> tuple[int, int]:
        """Trial and accepted moves of at least one step."""
        self.simulation.run(max(1, sweeps // self.particles.sweeps_per_step))
        accepted, rejected = self.particles.translate_moves  # waits for all ranks
        return accepted + rejected, accepted

    def costs(self) -> dict[str, float]:
        """Average costs of a step of the last run: on this rank the seconds of the step, and in
        them those of the sweeps, of the exchange of positions and of HOOMD-blue's migration, and of
        all ranks the messages and bytes of the exchange and the particles that migrated."""
        costs = dict(self.particles._cpp_obj.exchange_costs)
        steps = costs.pop("steps")
        return {f"{name}_per_step": value / max(1, steps) for name, value in costs.items()}


def run(
    world: World,
    *,
    spheres: bool,
    sizes: Any,
    sweeps_per_step: Any,
    weak: bool,
    packing_fraction: float | None,
    device: str,
    threads: int | None,
    max_displacement: float | None,
    equilibrate: int = 200,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None,
) -> dict[str, Any]:
    """Time every size on all ranks, print a table, and write the JSON file after each size.

    The engine alone on these ranks and the component with each number of sweeps a step are timed in
    turn, the latter with strips as domains and with the domains that HOOMD-blue chooses. In weak
    scaling a size is that of a rank, domains are strips, and the same variants are timed on rank 0
    alone.

    The arguments are `world`, all ranks, and the options of the command.

    Returns:
        the content of the JSON file.

    Raises:
        ImportError: HOOMD-blue, its MPI or the component is missing.
        ValueError: an argument is out of range.
    """
    harness.check(repeats, seconds, equilibrate, 0)
    kind = HardSpheres if spheres else HardDisks
    packing_fraction = packing_fraction or {HardDisks: 0.698, HardSpheres: 0.5}[kind]
    everyone = Ranks.of(world.communicator)
    about = {"packing_fraction": packing_fraction, "melt": equilibrate, "world": world.size}
    report = harness.Report(_table(kind, weak), json_file, silent=world.rank > 0, **about)
    where = world.device(device)
    settings = {"max_displacement": max_displacement, "grid": Grid(None), "seed": seed}
    settings |= {"device": where, "threads": threads or 1}
    for N in sizes or [SIZES[kind]]:
        found = everyone.together(
            lambda N=N: ranks.melted(N, packing_fraction, settings, equilibrate, kind)[:2]
            if world.rank == 0
            else None,
            patient=True,
        )
        timed: list[_Timed] = []
        for count in (1, world.size) if weak else (world.size,):
            blocks = (*[1] * (kind._DIMENSIONS - 1), count if weak else 1)
            make = partial(
                _of_ranks, world, count, found, blocks, kind, settings, sweeps_per_step or SWEEPS,
                (True,) if weak else (True, False),
            )  # fmt: skip
            timed += everyone.together(make, patient=True)
        for each in timed:
            on_one = partial(each.variant.calibrate, seconds) if each.variant else lambda: None
            if each.ranks == 1:
                everyone.together(on_one, patient=True)
            else:
                each.variant.calibrate(seconds, everyone.first)
        for _ in range(repeats):
            for each in timed:
                # Also a barrier, so that all ranks begin together.
                everyone.together(each.variant.time if each.variant else lambda: None, patient=True)
        report.add(_rows(timed))
    return report.end()


@dataclass
class _Timed:
    """A variant on a number of ranks: None on the others. The component is None for the engine."""

    ranks: int
    particles: int
    variant: harness.Variant | None = None
    component: Component | None = None


def _of_ranks(
    world: World,
    count: int,
    found: tuple[np.ndarray, tuple[float, ...]] | None,
    blocks: tuple[int, ...],
    kind: ranks.Kind,
    settings: dict[str, Any],
    sweeps_per_step: Sequence[int],
    all_strips: Sequence[bool],
) -> list[_Timed]:
    """The engine and then the component, on the first rank or on all ranks."""
    alone = count == 1
    if alone and world.rank > 0:
        return [_Timed(count, 0) for _ in range(1 + len(all_strips) * len(sweeps_per_step))]
    start = replicate(*found, blocks) if found else (None, None)
    shared = None if alone else Ranks.of(world.communicator)
    box = shared.first(start[1]) if shared else start[1]
    engine = kind(start[0], box, comm=None if alone else world.communicator, **settings)
    first = standalone(engine)
    first.name = f"standalone, {first.name}"
    timed = [_Timed(count, engine.N, first)]
    device = "cpu" if settings["device"] == "cpu" else "cuda"
    common = {"default_d": engine.max_displacement, "nselect": engine.moves_per_cell}
    for strips in all_strips:
        for sweeps in sweeps_per_step:
            about = {"sweeps_per_step": sweeps, "domains": "strips" if strips else "default"}
            made = Component(
                world, device, settings["seed"], start if found else None, kind, strips=strips,
                alone=alone, sweeps_per_step=sweeps, threads=settings["threads"], **common,
            )  # fmt: skip
            made.run(1)  # starts the device, which takes longer than many timed runs
            name = f"hoomd.manymove, {sweeps} sweeps a step, {about['domains']}"
            # The beginning of a run is taken off: HOOMD-blue migrates all particles there.
            variant = harness.Variant(name, made.run, about, sweeps=sweeps, shortest=sweeps)
            timed.append(_Timed(count, engine.N, variant, made))
    return timed


def _rows(timed: Sequence[_Timed]) -> list[dict[str, Any]]:
    """The results of one size, with the parts of a step in the last timed run; none on ranks after
    the first. All ranks call this together."""
    rows: list[dict[str, Any]] = []
    for each in timed:
        costs = each.component.costs() if each.component and each.ranks > 1 else {}
        if not timed[0].particles:
            continue  # not the first rank
        variant, engine = each.variant, next(t.variant for t in timed if t.ranks == each.ranks)
        row = {"particles": each.particles, "ranks": each.ranks, **variant.result(), **costs}
        row["ratio_to_standalone"] = float(np.median(np.divide(variant.rates, engine.rates)))
        if costs:
            parts = ("sweep", "exchange", "migration")
            row["rest_seconds_per_step"] = row["seconds_per_step"] - sum(
                row[f"{part}_seconds_per_step"] for part in parts
            )
        if timed[0].ranks == 1:
            alone = timed[len(rows) % (len(timed) // 2)].variant
            rates = np.divide(variant.rates, alone.rates)
            row["weak_efficiency"] = float(np.median(rates)) / each.ranks
        rows.append(row)
    return rows


def _table(kind: ranks.Kind, weak: bool) -> harness.Table:
    def of(key: str, scale: float = 1.0) -> Any:
        return lambda row: f"{row[key] * scale:.4g}" if key in row else ""

    particles = "disks" if kind is HardDisks else "spheres"
    parts = ("sweeps", "exchange", "migration", "rest")
    return harness.Table(
        (
            (particles, ">9", "particles"),
            ("variant", "<44", "variant"),
            ("ranks", ">5", "ranks"),
            ("moves/s", ">9.3g", "trial_moves_per_second"),
            ("spread", ">6.1%", harness.spread("trial_moves_per_second")),
            ("/ standalone", ">12.3g", "ratio_to_standalone"),
            *([("efficiency", ">10.1%", "weak_efficiency")] if weak else []),
            ("step ms", ">8", of("seconds_per_step", 1e3)),
            *(
                (f"{part} ms", ">12", of(f"{part.removesuffix('s')}_seconds_per_step", 1e3))
                for part in parts
            ),
            ("messages", ">8", of("messages_per_step")),
            ("bytes", ">9", of("bytes_per_step")),
            ("migrated", ">8", of("migrated_per_step")),
            harness.STATUS,
        )
    )


def measure(
    *, particles: int, device: str, packing_fraction: float, repeats: int, seconds: float, seed: int
) -> dict[str, Any] | None:
    """The result of one size of disks on all ranks; None on ranks after the first.

    Args:
        particles: total number of disks.
        device: "cpu" or "cuda"; the local rank determines the GPU.

    Raises:
        ImportError: HOOMD-blue, its MPI or the component is missing.
    """
    import hoomd
    from mpi4py import MPI

    world = World.of(MPI.COMM_WORLD)
    settings = {"seed": seed, "device": world.device(device)}
    found = None
    if world.rank == 0:
        found = ranks.melted(particles, packing_fraction, settings, LATTICE)[:2]
    component = Component(
        world, device, seed, found, HardDisks, strips=True,
        sweeps_per_step=SWEEPS_PER_STEP, threads=1,
    )  # fmt: skip
    component.simulation.run(MELT)
    name = f"hoomd.manymove, HOOMD-blue {hoomd.version.version}"
    variant = harness.Variant(
        name,
        component.run,
        {"device": device},
        sweeps=SWEEPS_PER_STEP,
        shortest=SWEEPS_PER_STEP,
    )
    variant.calibrate(seconds, world.communicator.bcast)
    for _ in range(repeats):
        variant.time()
    overlaps = component.particles.overlaps
    if overlaps:
        raise RuntimeError(f"{overlaps} disks overlap at the end")
    if world.rank > 0:
        return None
    gpus = _core.cuda_devices() if device == "cuda" else []
    return {
        **variant.result(),
        "particles": int(component.simulation.state.N_particles),
        "ranks": world.size,
        "sweeps_per_step": SWEEPS_PER_STEP,
        "device_name": gpus[0]["name"] if gpus else f"CPU ({_core.simd_level()}, 1 thread)",
    }


def main(request: str, file: str) -> int:
    try:
        result = measure(**json.loads(request))
    except (ImportError, RuntimeError, ValueError) as error:
        print(f"benchmarks: error: {error}", file=sys.stderr)
        return 2
    if result is not None:
        write_json(Path(file), {**record(), "results": [result]})
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
