"""Long runs: nothing lost, energy, momentum and overlaps right, memory flat.

`python long_runs.py disks|electrolyte|adsorption|dpd [--device cuda] [--scale 1.0]` prints a line
of JSON. A scale below 1 shortens the run. `memory_MB` is the memory of the process and
`gpu_memory_MB` that of the whole card, at the start, at the end and between.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from manymove import Adsorption, Electrolyte, HardDisks, Sphere, _core
from manymove.analysis.ions import Salt
from manymove.hard_particles.packing import random_packing
from manymove.lammps import host

PARTS = 4


class Watch:
    """Time and memory of a run."""

    def __init__(self, device: str) -> None:
        self._gpu = device.startswith("cuda")
        self._began = time.monotonic()
        self._memory: list[tuple[int, int]] = []

    def look(self, process: str = "self") -> None:
        status = Path(f"/proc/{process}/status").read_text()
        own = next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line) // 1000
        ask = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        gpu = subprocess.run(ask, capture_output=True, check=True).stdout if self._gpu else b"0"
        self._memory.append((own, int(gpu.split()[0])))

    def report(self) -> dict:
        few = [
            self._memory[k] for k in np.linspace(0, len(self._memory) - 1, PARTS + 1).astype(int)
        ]
        return {
            "memory_MB": [own for own, _ in few],
            "gpu_memory_MB": [gpu for _, gpu in few],
            "seconds": time.monotonic() - self._began,
        }


def closest(positions: np.ndarray, box: np.ndarray | None = None) -> float:
    """Smallest distance of two centers, in float64, by code that is not ours."""
    from scipy.spatial import cKDTree

    return float(cKDTree(positions, boxsize=box).query(positions, k=2)[0][:, 1].min())


def disks(device: str, scale: float) -> dict:
    positions, box = random_packing(int(1_048_576 * min(1, 10 * scale)), 0.698, seed=1)
    run = HardDisks(positions, box, seed=1, device=device)
    run.run(100 * scale)
    watch = Watch(device)
    watch.look()
    for _ in range(PARTS):
        run.run(1_000_000 * scale / PARTS)
        watch.look()
    memory = watch.report()
    places = np.mod(run.positions + np.array(box) / 2, box)
    return memory | {
        "particles": run.N,
        "sweeps": run.sweeps,
        "acceptance": run.acceptance,
        "max_overlap": run.max_overlap(),
        "closest": closest(places, np.array(box)),
        "different_positions": len(np.unique(places, axis=0)),
    }


def electrolyte(device: str, scale: float, precision: str) -> dict:
    ions = int(100_000 * min(1, 10 * scale)) // 4 * 4
    salt = Salt.of(ions, (3, -1), (7.5, 7.5))
    radius = (3 * ions / salt.density(28.53, 7.117) / 4 / math.pi) ** (1 / 3)
    run = Electrolyte.random(
        salt, box=Sphere(radius), bjerrum_length=7.117, seed=1, device=device, precision=precision
    )
    run.run(20)
    watch = Watch(device)
    watch.look()
    for _ in range(PARTS):
        run.run(int(1000 * scale) // PARTS)
        watch.look()
    positions = run.positions
    return watch.report() | {
        "ions": run.N,
        "precision": precision,
        "sweeps": run.sweeps,
        "acceptance": run.acceptance,
        "energy_per_ion": run.energy / run.N,
        "energy_drift": run.energy_drift(),
        "max_overlap": run.max_overlap(),
        "closest": closest(positions),
        "outermost": float(np.sqrt((positions**2).sum(axis=1)).max()),
        "radius": radius,
        "ions_by_species": np.bincount(run.types).tolist(),
    }


def adsorption(device: str, scale: float) -> dict:
    run = Adsorption("MFI", 32, systems=max(8, int(4224 * scale)), seed=1, device=device)
    run.equilibrate(int(20_000 * scale))
    run.run(int(100 * scale))
    watch, before, energies = Watch(device), run.counts.copy(), []
    watch.look()
    for _ in range(PARTS):
        run.run(int(1_000_000 * scale) // PARTS)
        watch.look()
        energies.append(float(np.mean(run.energies)))
    return watch.report() | {
        "systems": run.systems,
        "proposals": run.proposals,
        "steps": run.steps,
        "trial_states": run.trial_states,
        "acceptance": run.acceptance,
        "energies_K": energies,
        "energy_drift": run.energy_drift(),
        "molecules": int(run.counts.sum()),
        "as_many_as_before": bool((run.counts == before).all()),
        "on_hills": run.on_hills(),
    }


FLUID = """
units lj
comm_modify vel yes
region box block 0 {L} 0 {L} 0 {L}
create_box 1 box
create_atoms 1 random {particles} 1 box
mass 1 1.0
velocity all create 1.0 1 loop geom mom yes
pair_style manymove/dpd 1.0 1.0 4711
pair_coeff 1 1 25 4.5
neighbor 0.35 bin
run_style manymove/verlet device {device}
fix 1 all nve
timestep 0.001
run 1000
timestep 0.01
variable px equal vcm(all,x)
variable py equal vcm(all,y)
variable pz equal vcm(all,z)
thermo_style custom step atoms temp press pe v_px v_py v_pz
thermo_modify lost error format float %.10g
thermo {every}
run {steps}
"""


def dpd(device: str, scale: float) -> dict:
    particles, steps = int(100_000 * min(1, 10 * scale)), int(1_000_000 * scale)
    script = FLUID.format(
        L=(particles / 3) ** (1 / 3),
        particles=particles,
        device=device,
        every=steps // 20,
        steps=steps,
    )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in").write_text(script)
        watch = Watch(device)
        with open(Path(folder) / "screen", "w") as screen:
            process = subprocess.Popen(
                [*host.command(), "-in", "in", "-log", "none", "-nocite"],
                cwd=folder,
                env={**host.environment(), "OMP_NUM_THREADS": "1"},
                stdout=screen,
                stderr=subprocess.STDOUT,
            )
            time.sleep(6 * min(1, scale))
            while process.poll() is None:
                with contextlib.suppress(OSError, StopIteration):  # it has just ended
                    watch.look(str(process.pid))
                time.sleep(2 * min(1, scale))
        output = (Path(folder) / "screen").read_text()
    if process.returncode or "Loop time" not in output:
        raise RuntimeError(output[-2000:])
    lines = output.rpartition("Step")[2].splitlines()[1:]
    rows = [line.split() for line in lines[: next(k for k, t in enumerate(lines) if "Loop" in t)]]
    _, atoms, temperature, pressure, energy, *velocity = np.array(rows, dtype=float).T
    return watch.report() | {
        "particles": particles,
        "steps": steps,
        "atoms": [int(atoms.min()), int(atoms.max())],
        "temperature": [temperature[1:].min(), temperature[1:].mean(), temperature[1:].max()],
        "pressure": [pressure[1:].min(), pressure[1:].mean(), pressure[1:].max()],
        "energy_per_particle": [energy[1:].min(), energy[1:].mean(), energy[1:].max()],
        "largest_mean_velocity": float(np.abs(velocity).max()),
        "said": [line for line in output.splitlines() if "manymove" in line or "WARN" in line],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", choices=["disks", "electrolyte", "adsorption", "dpd"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--precision", default="mixed", help="of the electrolyte")
    given = parser.parse_args()
    more = {"precision": given.precision} if given.run == "electrolyte" else {}
    result = globals()[given.run](given.device, given.scale, **more)
    gpus = [gpu["name"] for gpu in _core.cuda_devices()]
    print(json.dumps({"run": given.run, "device": given.device, "gpus": gpus} | result))


if __name__ == "__main__":
    main()
