"""Speed of hoomd.manymove.HardDisks on the ranks of this launch, for the benchmark scaling:
`mpiexec -n R python -m benchmarks.hoomd_ranks REQUEST FILE`, both JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import ranks
from manymove import _core
from manymove.bench import harness
from manymove.info import record
from manymove.jobs.report import write_json

SWEEPS_PER_STEP = 256  # positions are exchanged once a step
MELT = 4  # steps, in all
LATTICE = 2000  # sweeps of the small system that is copied


def measure(
    *, particles: int, device: str, packing_fraction: float, repeats: int, seconds: float, seed: int
) -> dict[str, Any] | None:
    """The result of one size on all ranks; None on ranks after the first.

    Args:
        particles: total number of disks.
        device: "cpu" or "cuda"; the local rank determines the GPU.

    Raises:
        ImportError: HOOMD-blue, its MPI or the component is missing.
    """
    import hoomd
    import hoomd.manymove
    from mpi4py import MPI

    from manymove.jobs.world import World

    if not hoomd.version.mpi_enabled:
        raise ImportError("this HOOMD-blue is built without MPI")
    world = World.of(MPI.COMM_WORLD)
    communicator = hoomd.communicator.Communicator()
    if device == "cuda":
        index = world.device("cuda").removeprefix("cuda").removeprefix(":")
        where = hoomd.device.GPU([int(index or 0)], communicator=communicator)
    else:
        where = hoomd.device.CPU(communicator=communicator)
    simulation = hoomd.Simulation(device=where, seed=seed % 65536)
    snapshot = hoomd.Snapshot(communicator)
    if communicator.rank == 0:
        settings = {"seed": seed, "device": world.device(device)}
        positions, box = ranks.melted(particles, packing_fraction, settings, LATTICE)
        snapshot.configuration.box = [*box, 0, 0, 0, 0]
        snapshot.particles.N = len(positions)
        snapshot.particles.types = ["disk"]
        snapshot.particles.position[:, :2] = positions
    simulation.create_state_from_snapshot(snapshot)
    disks = hoomd.manymove.HardDisks(sweeps_per_step=SWEEPS_PER_STEP, threads=1)
    disks.shape["disk"] = {"diameter": 1.0}
    simulation.operations.integrator = disks

    def run(sweeps: int) -> tuple[int, int]:
        simulation.run(max(1, sweeps // SWEEPS_PER_STEP))
        accepted, rejected = disks.translate_moves  # waits for all ranks
        return accepted + rejected, accepted

    simulation.run(MELT)
    name = f"hoomd.manymove, HOOMD-blue {hoomd.version.version}"
    variant = harness.Variant(
        name, run, {"device": device}, sweeps=SWEEPS_PER_STEP, shortest=SWEEPS_PER_STEP
    )
    variant.calibrate(seconds, world.communicator.bcast)
    for _ in range(repeats):
        variant.time()
    overlaps = disks.overlaps
    if overlaps:
        raise RuntimeError(f"{overlaps} disks overlap at the end")
    if communicator.rank > 0:
        return None
    gpus = _core.cuda_devices() if device == "cuda" else []
    return {
        **variant.result(),
        "particles": int(simulation.state.N_particles),
        "ranks": communicator.num_ranks,
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
