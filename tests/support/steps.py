# SPDX-License-Identifier: BSD-3-Clause
"""Steps of the scripts that try manymove as a user does: each is a command with a log and a line
that reports its result."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

REPORT = re.compile(r"(?:passed|failed|skipped|error).* in [\d.]+")


@dataclass(frozen=True)
class Step:
    """The result of a command.

    Attributes:
        ok: whether its exit code was 0.
        output: standard output and errors.
        counts: the last line of pytest, or an empty text.
    """

    ok: bool
    output: str
    counts: str


class Steps:
    """Runs steps and reports them.

    Args:
        source: folder of the repository in which the steps run.
        folder: where the logs and environments go. What an earlier run left there is removed.

    Raises:
        FileExistsError: the folder has files that are not of an earlier run.
    """

    _MARK = ".steps"

    def __init__(self, source: Path, folder: Path) -> None:
        if folder.exists():
            if any(folder.iterdir()) and not (folder / self._MARK).exists():
                raise FileExistsError(f"{folder} has other files: move them or name another folder")
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        (folder / self._MARK).touch()
        self.source, self.folder = source, folder
        self.failed: list[str] = []
        self._began = time.monotonic()
        self._steps = 0
        self._environment = dict(os.environ)
        for name in ("VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS", "MAKELEVEL"):
            self._environment.pop(name, None)

    def step(self, name: str, command: str, bin: Path | None = None, **variables: object) -> Step:
        """Run a command of the shell, with the programs of an environment first."""
        environment = self._environment | {key: str(value) for key, value in variables.items()}
        if bin is not None:
            environment["PATH"] = f"{bin}{os.pathsep}{environment['PATH']}"
        self._steps += 1
        log = self.folder / f"{self._steps:02}-{re.sub(r'[^a-z]+', '-', name.lower())}.log"
        began, processor = time.monotonic(), processor_time()
        with log.open("w") as output:
            done = subprocess.run(
                ["bash", "-euc", command],
                cwd=self.source,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        seconds, processor = time.monotonic() - began, processor_time() - processor
        text = log.read_text(errors="replace")
        lines = text.splitlines()
        counts = next((line.strip("= ") for line in reversed(lines) if REPORT.search(line)), "")
        result = "FAILED" if done.returncode else "ok"
        times = f"{seconds:5.0f} s ({processor:.0f} s of processor time)"
        print(f"{result:6} {times:34} {name}{': ' if counts else ''}{counts}")
        shown = lines[-20:] if done.returncode else []
        shown += sorted({line for line in lines if line.startswith("SKIPPED")} - set(shown))
        for line in shown:
            print(f"       {line}")
        sys.stdout.flush()
        if done.returncode:
            self.failed.append(name)
        return Step(not done.returncode, text, counts)

    def environment(self, name: str, python: str = "") -> Path:
        """The programs of a new environment with pip, made as the Makefile makes its own."""
        folder = self.folder / name
        choice = f" PYTHON={python}" if python else ""
        self.step(f"{name}: environment", f"make VENV={folder}{choice} {folder}/.pip")
        return folder / "bin"

    def tests(self, name: str, selection: list[str], bin: Path, **variables: object) -> Step:
        words = " ".join(f"'{word}'" for word in selection)
        return self.step(name, f"python -m pytest -q {words}", bin, **variables)

    def summary(self, title: str) -> int:
        """Print what failed; the exit code of the script."""
        minutes = (time.monotonic() - self._began) / 60
        count = f"{self._steps} steps in {minutes:.1f} minutes"
        count += f" ({processor_time() / 60:.1f} minutes of processor time)"
        print(
            f"{title}: {count}; failed: {', '.join(self.failed) or 'none'}. Output: {self.folder}"
        )
        return bool(self.failed)


def processor_time() -> float:
    """Seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def has_gpu() -> bool:
    """Whether CUDA can be compiled and used here."""
    if not (shutil.which("nvcc") and shutil.which("nvidia-smi")):
        return False
    return not subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode
