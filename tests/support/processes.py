# SPDX-License-Identifier: BSD-3-Clause
"""Commands that run in processes of their own: their ranks, their ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from commands import CLEAN

WAIT = 60  # seconds
LIMIT = 2  # seconds, MANYMOVE_TIMEOUT
SOON = 20  # seconds on a busy machine, well below the default of 60


def arguments(command: str, options: str, folder: Path) -> list[str]:
    return [command, *options.split(), "--device", "cpu", "--threads", "1", "--quiet",
            "--output", str(folder)]  # fmt: skip


def start(launcher: list[str], words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*launcher, *words],
        env=CLEAN,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ranks_of(launcher: int, name: bytes) -> list[int]:
    """The processes of a job: those of this name below the launcher, in the order of their start,
    without what they have started."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            parents[int(entry.name)] = (int(fields[1]), words[0].endswith(name))

    def below(pid: int) -> bool:
        while pid in parents and pid != launcher:
            pid = parents[pid][0]
        return pid == launcher

    return sorted(pid for pid, (_, named) in parents.items() if named and below(pid))


def until(condition, job: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert job.poll() is None, job.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def ends(job: subprocess.Popen[str]) -> str:
    """What it said; it ends in time and with an error."""
    began = time.monotonic()
    try:
        said, _ = job.communicate(timeout=WAIT)
    except subprocess.TimeoutExpired:
        job.kill()
        raise
    assert time.monotonic() - began < WAIT
    assert job.returncode != 0
    return said


class Job:
    """A command of several ranks."""

    def __init__(self, command: list[str], name: bytes, environment: dict[str, str]) -> None:
        self.name = name
        self.process = subprocess.Popen(
            command,
            env={**environment, "MANYMOVE_TIMEOUT": str(LIMIT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def send(self, number: int, last_only: bool = False) -> None:
        for pid in ranks_of(self.process.pid, self.name)[-1 if last_only else 0 :]:
            os.kill(pid, number)
            time.sleep(0.2)  # schedulers do not reach all hosts at once

    def suspend(self) -> None:
        """All ranks, for longer than the limit."""
        self.send(signal.SIGSTOP)
        time.sleep(LIMIT + 2)
        self.send(signal.SIGCONT)

    def end(self, seconds: float) -> str:
        try:
            said, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            for pid in ranks_of(self.process.pid, self.name):
                os.kill(pid, signal.SIGKILL)
            self.process.kill()
            raise
        return said
