# SPDX-License-Identifier: BSD-3-Clause
"""Programs in separate processes, which tests start, wait for and end."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from commands import CLEAN, MPIEXEC
from documents import SUPPORT

PYTHON = os.path.basename(sys.executable).encode()
WAIT = 60  # seconds
LIMIT = 2  # seconds, MANYMOVE_TIMEOUT
SOON = 20  # seconds on a busy machine, well below the default of 60
LIMITED = {"MANYMOVE_TIMEOUT": str(LIMIT)}


def run(command: Iterable[object], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end. The test fails if the program hangs. The environment is that at the
    start of the tests unless `env` is given."""
    defaults = {"env": CLEAN, "capture_output": True, "text": True, "timeout": 300}
    return subprocess.run([*map(str, command)], **{**defaults, **options})


def with_support(environment: Mapping[str, str] = CLEAN) -> dict[str, str]:
    """An environment in which scripts import from this folder."""
    path = os.pathsep.join(filter(None, [str(SUPPORT), environment.get("PYTHONPATH")]))
    return {**environment, "PYTHONPATH": path}


def start(command: Iterable[object], **options: Any) -> subprocess.Popen[str]:
    """Start a program, whose standard output includes its errors."""
    defaults = {"env": CLEAN, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([*map(str, command)], **{**defaults, **options})


def until(
    condition: Callable[[], object],
    process: subprocess.Popen[str],
    seconds: float = WAIT,
    interval: float = 0.02,
) -> None:
    """Wait for a condition that a running process will fulfill."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(interval)


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler of a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (number - 1) & 1)


def programs() -> dict[int, tuple[int, bytes]]:
    """The parent and the program of each process of this machine."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                program = (entry / "cmdline").read_bytes().partition(b"\0")[0]
            except OSError:
                continue
            found[int(entry.name)] = (int(fields[1]), program)
    return found


def remove_segments() -> None:
    """Remove the shared memory of killed processes that had no launcher. MPICH names it after the
    process, and a later process with the same number would hang at its start."""
    most = int(Path("/proc/sys/kernel/pid_max").read_text())
    for file in Path("/dev/shm").glob("mpich_shm_*_0"):
        number = int(file.name.split("_")[2], 16)  # a random one under a launcher
        if number <= most and not Path(f"/proc/{number}").exists():
            file.unlink(missing_ok=True)


class Job:
    """A program on several ranks.

    Args:
        command: command with its launcher.
        name: end of the name of the program that the ranks execute.
        options: options of `start`.
    """

    def __init__(self, command: Iterable[object], name: bytes = PYTHON, **options: Any) -> None:
        self.name = name
        self.process = start(command, **options)

    def until(self, condition: Callable[[], object]) -> None:
        until(condition, self.process)

    def ranks(self) -> list[int]:
        """The processes of this name below the launcher, in the order of their start."""
        every = programs()

        def below(pid: int) -> bool:
            while pid in every and pid != self.process.pid:
                pid = every[pid][0]
            return pid == self.process.pid

        named = (pid for pid, (_, program) in every.items() if program.endswith(self.name))
        return sorted(pid for pid in named if below(pid))

    def send(self, number: int, last_only: bool = False) -> None:
        for pid in self.ranks()[-1 if last_only else 0 :]:
            os.kill(pid, number)
            time.sleep(0.2)  # schedulers do not reach all hosts at once

    def suspend(self, seconds: float = LIMIT + 2) -> None:
        """Suspend all ranks for longer than the limit."""
        self.send(signal.SIGSTOP)
        time.sleep(seconds)
        assert self.process.poll() is None
        self.send(signal.SIGCONT)

    def end(self, seconds: float = WAIT, text: str | None = None) -> str:
        """Wait until the job has ended, or has written the text, and return its output. The test
        fails if this takes longer. All ranks have ended afterwards."""
        deadline, ranks = time.monotonic() + seconds, set()
        try:
            while True:
                ranks.update(self.ranks())
                try:
                    return self.process.communicate(timeout=0.5)[0]
                except subprocess.TimeoutExpired as late:
                    said = (late.output or b"").decode()
                    if text is not None and text in said:
                        return said
                    if time.monotonic() > deadline:
                        raise
        finally:
            self.process.kill()
            left = programs()
            for pid in ranks & left.keys():
                if left[pid][1].endswith(self.name):
                    os.kill(pid, signal.SIGKILL)

    def success(self, seconds: float = 100) -> str:
        """Output of the job; the test fails if the job ends with an error."""
        said = self.end(seconds)
        assert self.process.returncode == 0, said
        return said

    def failure(self, seconds: float = WAIT) -> str:
        """Output of the job; the test fails if the job does not end with an error."""
        said = self.end(seconds)
        assert self.process.returncode != 0, said
        return said


# In a shell, the number of a rank that MPICH or Open MPI has started.
RANK = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"


@functools.cache
def _options() -> list[str]:
    """Open MPI refuses root and more ranks than cores, unless it is told otherwise."""
    said = run([MPIEXEC, "--version"], timeout=60).stdout if MPIEXEC else ""
    return ["--allow-run-as-root", "--oversubscribe"] if "Open MPI" in said else []


def on_ranks(ranks: int) -> list[str | None]:
    """The launcher. A test that uses it is skipped if `MPIEXEC` is None."""
    return [MPIEXEC, *_options(), "-n", str(ranks)]


def found_together(
    program: str,
    ranks: int,
    tasks: Sequence[str],
    folder: Path,
    fails: bool = True,
    **environment: object,
) -> dict[str, list[Any]]:
    """What each rank of a program of this folder has written, by task; the program may end with an
    error unless `fails` is false."""
    variables = {name: str(value) for name, value in environment.items()}
    command = [*on_ranks(ranks), sys.executable, SUPPORT / program, ",".join(tasks), folder]
    end = run(command, env={**CLEAN, **variables})
    assert fails or end.returncode == 0, end.stdout + end.stderr
    files = {task: [folder / f"{task}-{rank}.json" for rank in range(ranks)] for task in tasks}
    assert all(file.exists() for of in files.values() for file in of), end.stdout + end.stderr
    return {task: [json.loads(file.read_text()) for file in of] for task, of in files.items()}


def found(program: str, ranks: int, task: str, folder: Path, **options: Any) -> list[Any]:
    """What each rank of a program of this folder has written in one task."""
    return found_together(program, ranks, [task], folder, **options)[task]


# The commands on each rank, one after the other.
COMMANDS = """
import contextlib, io, json, sys
from mpi4py import MPI
from manymove.cli import run

ends = []
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        ends.append((run(words), said.getvalue()))
every = MPI.COMM_WORLD.gather(ends)
if MPI.COMM_WORLD.rank == 0:
    print(json.dumps(every))
"""


def run_together(ranks: int, commands: Iterable[Iterable[object]]) -> list[tuple[int, str]]:
    """The exit code of each command `manymove ...` in one job of several ranks, and what its first
    rank says on standard error. The other ranks have the same exit code and say nothing."""
    words = json.dumps([[*map(str, command)] for command in commands])
    end = run([*on_ranks(ranks), sys.executable, "-c", COMMANDS, words])
    assert end.returncode == 0, end.stdout + end.stderr
    first, *others = json.loads(end.stdout.splitlines()[-1])
    assert all(each == [[code, ""] for code, _ in first] for each in others), others
    return [tuple(each) for each in first]
