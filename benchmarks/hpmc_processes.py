# SPDX-License-Identifier: BSD-3-Clause
"""Speed of HOOMD-blue's HPMC in several simultaneous processes, the peer of the benchmarks systems
and interactions.

Each process has one system. The processes make their systems one after the other, because HPMC
tunes the launch parameters of its kernels by timing them, which needs an idle device. Before each
run the processes wait for each other, and then all of them run for the same time. The start of the
processes is not measured.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import util
from typing import Any

from benchmarks.disk_variants import HPMC_NSELECT, hpmc, melted_engines
from benchmarks.fluids import multi_process_service
from benchmarks.simultaneous import START, Processes, summed
from manymove import devices
from manymove.bench.harness import Row, Variant
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.spheres import HardSpheres

CALLS = 50  # approximate number of calls of a variant in a run


@dataclass(frozen=True)
class Systems:
    """The systems of all processes, with a seed for each.

    Attributes:
        particles: number of particles of a system.
        packing_fraction: packing fraction.
        kind: HardDisks or HardSpheres.
        device: "auto", "cpu", "cuda" or "cuda:<index>".
        equilibrate: length of the equilibration in sweeps of the standalone engine.
        seed: seed of the first process; process k adds k.
        well: range of a square well in units of length and its energy in kT.
    """

    particles: int
    packing_fraction: float
    kind: type[HardDisks] | type[HardSpheres]
    device: str
    equilibrate: int
    seed: int
    well: tuple[float, float] | None = None

    def hpmc(self, process: int) -> list[Variant]:
        """HPMC of a process, one variant for each nselect."""
        (engine,) = melted_engines(
            self.particles,
            self.packing_fraction,
            self.device,
            [1],
            None,
            None,
            self.equilibrate,
            self.seed + process,
            self.kind,
        )
        nselect = HPMC_NSELECT[len(engine.box)]
        return hpmc(engine, self.seed + process, (*nselect, 2 * nselect[-1]), self.well)[0]


def require_hpmc(counts: Sequence[int], device: str) -> None:
    """Check that HPMC can run in these numbers of processes on a device.

    Raises:
        ImportError: HOOMD-blue is not installed or has no HPMC.
        ValueError: a number is not positive, or the device is a GPU and this HOOMD-blue has none.
    """
    if wrong := [count for count in counts if count < 1]:
        raise ValueError(f"--hpmc is {wrong[0]}; the number of processes must be positive")
    if util.find_spec("hoomd") is None:
        raise ImportError("--hpmc needs HOOMD-blue, which is not installed here")
    import hoomd

    if not hoomd.version.hpmc_built:
        raise ImportError("this HOOMD-blue has no hpmc")
    if devices.on_gpu(device) and not hoomd.version.gpu_enabled:
        raise ValueError(
            f"this HOOMD-blue {hoomd.version.version} is built without GPU: use --device cpu"
        )


def rows(systems: Systems, count: int, repeats: int, seconds: float) -> list[Row]:
    """Time HPMC in simultaneous processes, on a GPU also with NVIDIA's multi-process service.

    Args:
        systems: systems of the processes.
        count: number of processes, each with one system.
        repeats: number of timed runs for each nselect.
        seconds: length of a timed run in seconds.

    Returns:
        the rows of the table, one for each nselect. If the service is missing or fails, the rows
        with it are left out, and the reason is printed.

    Raises:
        RuntimeError: a process failed.
    """
    found = _rows("", systems, count, repeats, seconds, {})
    if devices.on_gpu(systems.device):
        try:
            with multi_process_service() as service:
                found += _rows(" with MPS", systems, count, repeats, seconds, service)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            print(f"not measured: {count} processes of HPMC with MPS: {error}")
    return found


def _rows(
    how: str,
    systems: Systems,
    count: int,
    repeats: int,
    seconds: float,
    environment: Mapping[str, str],
) -> list[Row]:
    with Processes(systems.hpmc, count, environment) as processes:
        variants = timed(processes, repeats, seconds)
    found = []
    for variant in variants:
        row = variant.result()
        del row["sweeps_per_repeat"]  # a run has a length in seconds
        row |= {"systems": count, "particles": systems.particles, "program": variant.name}
        row |= {"variant": f"HPMC{how}, nselect {row['nselect']}", "processes": count}
        found.append(row)
    return found


def timed(processes: Processes, repeats: int, seconds: float) -> list[Variant]:
    """Time each variant `repeats` times in all processes, alternating.

    Args:
        processes: processes with the same list of variants.
        repeats: number of timed runs of a variant.
        seconds: time for which each process starts further calls of the variant in a run.

    Raises:
        RuntimeError: a process ended or did not answer in time.
    """

    def run(k: int) -> tuple[int, int]:
        return summed(processes.call(_run_for, k, seconds, limit=10 * seconds + START))

    variants = [
        Variant(name, lambda _, k=k: run(k), settings)
        for k, (name, settings) in enumerate(processes.call(_about)[0])
    ]
    for k in range(len(variants)):
        run(k)  # chooses the length of a call
    for _ in range(repeats):
        for variant in variants:
            variant.time()
    return variants


def _about(variants: Sequence[Variant]) -> list[tuple[str, dict[str, Any]]]:
    return [(variant.name, variant.settings) for variant in variants]


def _run_for(variants: Sequence[Variant], which: int, seconds: float) -> tuple[int, int]:
    """Numbers of trial moves and accepted moves in this time; short calls are lengthened."""
    variant = variants[which]
    trials = accepted = 0
    until = time.monotonic() + seconds
    while (began := time.monotonic()) < until:
        more, more_accepted = variant.run(variant.sweeps)
        trials, accepted = trials + more, accepted + more_accepted
        if time.monotonic() - began < seconds / CALLS:
            variant.sweeps *= 2
    return trials, accepted
