# SPDX-License-Identifier: BSD-3-Clause
"""Speed of HOOMD-blue's HPMC in several simultaneous processes, the peer of the benchmark systems.

Each process has one system. The processes make their systems one after the other, because HPMC
tunes the launch parameters of its kernels by timing them, which needs an idle device. Before each
run the processes wait for each other, and then all of them run for the same time. The start of the
processes is not measured.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import util
from multiprocessing import connection
from typing import Any

from benchmarks.disk_variants import HPMC_NSELECT, hpmc, melted_engines
from benchmarks.fluids import multi_process_service
from manymove import devices
from manymove.bench.harness import Row, Variant
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.spheres import HardSpheres

START = 120.0  # seconds that one process may take to start
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
    """

    particles: int
    packing_fraction: float
    kind: type[HardDisks] | type[HardSpheres]
    device: str
    equilibrate: int
    seed: int

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
        return hpmc(engine, self.seed + process, (*nselect, 2 * nselect[-1]))[0]


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
        variants = processes.time(repeats, seconds)
    found = []
    for variant in variants:
        row = variant.result()
        del row["sweeps_per_repeat"]  # a run has a length in seconds
        row |= {"systems": count, "particles": systems.particles, "program": variant.name}
        row |= {"variant": f"HPMC{how}, nselect {row['nselect']}", "processes": count}
        found.append(row)
    return found


class Processes(AbstractContextManager["Processes"]):
    """Processes that run the same variants at the same time, and end with the block.

    Args:
        make: picklable function that returns the variants of the process whose index it takes.
        count: number of processes.
        environment: environment variables of the processes in addition to those of this one.

    Raises:
        ValueError: the number of processes is not positive.
        RuntimeError: a process ended or did not answer in time. An error of `make` or of a variant
            is raised here, too.
    """

    def __init__(
        self,
        make: Callable[[int], Sequence[Variant]],
        count: int,
        environment: Mapping[str, str],
    ) -> None:
        if count < 1:
            raise ValueError(f"the number of processes must be positive, got {count}")
        context = multiprocessing.get_context("spawn")  # a GPU does not survive a fork
        turn, meeting = context.Lock(), context.Barrier(count)
        self._pipes: list[connection.Connection] = []
        self._started: list[Any] = []
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            for index in range(count):
                mine, its = context.Pipe()
                process = context.Process(
                    target=_serve, args=(make, index, turn, meeting, its), daemon=True
                )
                process.start()
                its.close()
                self._pipes.append(mine)
                self._started.append(process)
            self._about = self._answers(START * count)[0]
        except BaseException:
            self._end()
            raise
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

    def __exit__(self, *error: object) -> None:
        self._end()

    def run(self, variant: int, seconds: float) -> tuple[int, int]:
        """Run a variant in all processes.

        Args:
            variant: index of the variant.
            seconds: time for which each process starts further calls of the variant.

        Returns:
            sums of the trial moves and of the accepted moves of all processes.

        Raises:
            RuntimeError: a process ended or did not answer in time.
        """
        for pipe in self._pipes:
            pipe.send((variant, seconds))
        counts = self._answers(10 * seconds + START)
        return sum(trials for trials, _ in counts), sum(accepted for _, accepted in counts)

    def time(self, repeats: int, seconds: float) -> list[Variant]:
        """Time each variant `repeats` times for `seconds` in all processes, alternating."""
        variants = [
            Variant(name, lambda _, k=k: self.run(k, seconds), settings)
            for k, (name, settings) in enumerate(self._about)
        ]
        for k in range(len(variants)):
            self.run(k, seconds)  # chooses the length of a call
        for _ in range(repeats):
            for variant in variants:
                variant.time()
        return variants

    def _answers(self, limit: float) -> list[Any]:
        """One message of each process."""
        until = time.monotonic() + limit
        found: dict[Any, Any] = {}
        while len(found) < len(self._pipes):
            silent = [pipe for pipe in self._pipes if pipe not in found]
            ready = connection.wait(silent, max(0.0, until - time.monotonic()))
            if not ready:
                raise RuntimeError(f"{len(silent)} processes did not answer within {limit:.0f} s")
            for pipe in ready:
                try:
                    found[pipe] = pipe.recv()
                except EOFError:
                    process = self._started[self._pipes.index(pipe)]
                    process.join(5)
                    raise RuntimeError(
                        f"one of {len(self._pipes)} processes ended with exit code "
                        f"{process.exitcode}"
                    ) from None
                if isinstance(found[pipe], Exception):
                    raise found[pipe]
        return [found[pipe] for pipe in self._pipes]

    def _end(self) -> None:
        for process in self._started:
            process.kill()
        for process in self._started:
            process.join()
        for pipe in self._pipes:
            pipe.close()


def _serve(
    make: Callable[[int], Sequence[Variant]],
    index: int,
    turn: Any,
    meeting: Any,
    pipe: connection.Connection,
) -> None:
    """The work of a process, which makes its variants and runs them on request."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    try:
        with turn:
            variants = make(index)
        pipe.send([(variant.name, variant.settings) for variant in variants])
        while True:
            which, seconds = pipe.recv()
            meeting.wait(START)
            pipe.send(_run_for(variants[which], seconds))
    except (EOFError, BrokenPipeError):
        return
    except (ImportError, ValueError) as error:
        pipe.send(type(error)(str(error)))
    except Exception as error:
        pipe.send(RuntimeError(f"{type(error).__name__}: {error}"))


def _run_for(variant: Variant, seconds: float) -> tuple[int, int]:
    """Numbers of trial moves and accepted moves in this time; short calls are lengthened."""
    trials = accepted = 0
    until = time.monotonic() + seconds
    while (began := time.monotonic()) < until:
        more, more_accepted = variant.run(variant.sweeps)
        trials, accepted = trials + more, accepted + more_accepted
        if time.monotonic() - began < seconds / CALLS:
            variant.sweeps *= 2
    return trials, accepted
