"""Speed of many small DPD fluids at the same time: `python -m benchmarks fluids`.

The fluids share a device in four ways: as `manymove.Replicas` in the threads of one process, as
`-partition` of one LAMMPS, and as a LAMMPS for each fluid, without and with NVIDIA's multi-process
service (the way "mps"). All melt their fluid, wait for each other and make the same number of
steps. The time is that from the first beginning to the last end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.dpd_ranks import MELT, script
from benchmarks.dpd_variants import Case
from manymove import DPDFluid, Replicas
from manymove.bench import status
from manymove.bench.harness import STATUS, Report, Table, check, spread
from manymove.devices import on_gpu
from manymove.lammps import host

WAYS = ("replicas", "partition", "processes", "mps")
COLUMNS = (
    ("systems", ">7", "systems"),
    ("particles", ">9", "particles"),
    ("way", "<10", "variant"),
    ("MPS", ">8.4g", "million_particle_steps_per_second"),
    ("spread", ">6.1%", spread("million_particle_steps_per_second")),
    STATUS,
)
CALIBRATION = 500  # steps
LIMIT = 300.0  # seconds of a run
# Waits until all systems have come here, and writes the time.
MEET = """touch ready.$1
while [ "$(ls ready.* | wc -l)" -lt {systems} ]; do sleep 0.05; done
date +%s.%N > began.$1
"""
Run = Callable[[int], float]


def run(
    *,
    systems: Sequence[int] = (1, 16, 64),
    particles: int = 10_000,
    ways: Sequence[str] = WAYS,
    device: str = "auto",
    precision: str = "mixed",
    skin: float = 0.3,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None = None,
) -> dict[str, Any]:
    """Time each number of systems in each way, print a table, and write the JSON file after each.

    The arguments are the options of the command.

    Returns:
        the content of the JSON file.

    Raises:
        ValueError: an argument is out of range, or a way is unknown.
        RuntimeError: nothing could be measured, because LAMMPS, its MPI or the service is missing
            or fails. A way that fails beside others is named in the table's last lines instead.
    """
    check(repeats, seconds)
    if unknown := [way for way in ways if way not in WAYS]:
        raise ValueError(f"--ways is {unknown[0]}; it must be one of {', '.join(WAYS)}")
    on_device = "cuda" if on_gpu(device) else "cpu"
    if on_device == "cpu":
        ways = [way for way in ways if way != "mps"]
    case = Case(particles, 3.0, 1.0, 0.005, (skin,), 1.0, seed)
    report = Report(Table(COLUMNS), json_file, precision=precision, skin=skin, device=on_device)
    failed: list[str] = []
    measured = False
    for count in systems:
        for way in ways:
            steps = CALIBRATION
            try:
                with _started(way, case, count, on_device, precision) as timed:
                    steps = max(steps, round(steps * seconds / timed(steps)))
                    times = [timed(steps) for _ in range(repeats)]
            except RuntimeError as error:
                failed.append(f"{count} systems, {way}: {error}")
                continue
            measured = True
            rates = [1e-6 * count * particles * steps / took for took in times]
            report.add(
                [
                    {
                        "systems": count,
                        "particles": particles,
                        "variant": way,
                        "million_particle_steps_per_second": median(rates),
                        "lowest": min(rates),
                        "highest": max(rates),
                        "repeats": repeats,
                        "steps": steps,
                        "warnings": status.of_timing(min(times)),
                    }
                ]
            )
    found = report.end()
    if failed and not measured:
        raise RuntimeError(failed[0])
    for why in failed:
        print(f"not measured: {why}")
    return found


@contextlib.contextmanager
def _started(way: str, case: Case, count: int, device: str, precision: str) -> Iterator[Run]:
    """A function that returns the time in seconds of a number of steps of all systems."""
    if way == "replicas":
        own = {"timestep": case.timestep, "precision": precision}
        make = partial(DPDFluid.random, case.particles, case.density, **own)
        replicas = Replicas(make, count, seed=case.seed, device=device)
        replicas.run(MELT)
        yield partial(_time_of_replicas, replicas)
        return
    inputs = [
        script(
            Case(case.particles, 3.0, 1.0, 0.005, case.skins, 1.0, case.seed + i),
            1,
            1,
            "manymove/verlet device cuda" if device == "cuda" else "verlet",
            case.skins[0],
            precision,
        )
        for i in range(count)
    ]
    with multi_process_service() if way == "mps" else contextlib.nullcontext({}) as more:
        yield partial(_time_of_lammps, way, inputs, {**host.environment(), **more})


def _time_of_replicas(replicas: Replicas, steps: int) -> float:
    began = time.perf_counter()
    replicas.run(steps)
    return time.perf_counter() - began


def _time_of_lammps(
    way: str, inputs: Sequence[str], environment: Mapping[str, str], steps: int
) -> float:
    """The time of new processes, which melt their fluids first."""
    count = len(inputs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "meet.sh").write_text(MEET.format(systems=count))
        (folder / "end.sh").write_text("date +%s.%N > ended.$1\n")
        for i, text in enumerate(inputs):
            (folder / f"in.{i}").write_text(
                f"{text}thermo 0\nrun {MELT}\nshell sh meet.sh {i}\n"
                f"run {steps} pre no post no\nshell sh end.sh {i}\n"
            )
        quiet = ["-screen", "none"]
        if way == "partition":
            worlds = " ".join(str(i) for i in range(count))
            (folder / "in").write_text(f"variable i world {worlds}\ninclude in.${{i}}\n")
            if count == 1:
                (folder / "in").write_text("include in.0\n")
            split = ["-partition", f"{count}x1"] if count > 1 else []
            commands = [[*host.command(count), *split, "-in", "in", *quiet]]
        else:
            logs = [["-in", f"in.{i}", "-log", f"log.{i}"] for i in range(count)]
            commands = [[*host.command(), *log, *quiet] for log in logs]
        _run_all(commands, folder, environment)
        begin, end = (
            [float(file.read_text()) for file in folder.glob(name)]
            for name in ("began.*", "ended.*")
        )
        if len(end) < count:
            logs_of = sorted(folder.glob("log.*"))
            tail = logs_of[-1].read_text()[-500:] if logs_of else ""
            raise RuntimeError(f"LAMMPS ended early ({way}, {count} systems): {tail}")
        return max(end) - min(begin)


def _run_all(
    commands: Sequence[Sequence[str]], folder: Path, environment: Mapping[str, str]
) -> None:
    """Start all commands and wait for them; none is left behind."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            started.append(
                subprocess.Popen(
                    command,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
        until = time.monotonic() + LIMIT
        for process in started:
            process.wait(timeout=max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(f"LAMMPS has not ended after {LIMIT:.0f} s") from late
    finally:
        for process in started:
            process.kill()
            process.wait()


@contextlib.contextmanager
def multi_process_service() -> Iterator[dict[str, str]]:
    """The environment of processes that use an MPS of their own, which ends with the block."""
    control = shutil.which("nvidia-cuda-mps-control")
    if control is None:
        raise RuntimeError("nvidia-cuda-mps-control was not found: leave mps out of --ways")
    with tempfile.TemporaryDirectory() as folder:
        places = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        everything = {**os.environ, **places}
        subprocess.run([control, "-d"], env=everything, check=True, timeout=30)
        try:
            yield places
        finally:
            subprocess.run([control], input=b"quit\n", env=everything, check=False, timeout=60)
