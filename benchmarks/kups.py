"""kUPS as a peer of `python -m benchmarks adsorption --merit`.

N. Gao et al., kUPS, a universal particle simulation toolkit (2026), github.com/cusp-ai-oss/kups.
kUPS needs Python 3.12 and JAX. Therefore it runs in a separate process, `benchmarks/kups_run.py`,
with the Python that the environment variable MANYMOVE_KUPS names, or else with this Python if kUPS
is installed in it. kUPS gets the framework, the charges, the parameters, the cutoff, the fugacity
and the shares of moves of our engine, and chooses Ewald's parameters itself. An insertion has one
trial position and one orientation, because kUPS has no multiple trials.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graspa import PRECISION, cif, laws
from benchmarks.series import Series
from manymove.adsorption.charges import Given
from manymove.adsorption.force_field import ForceField
from manymove.adsorption.frameworks import Framework
from manymove.adsorption.molecules import Molecule
from manymove.analysis.notation import Estimate
from manymove.jobs.report import drifting

PYTHON = "MANYMOVE_KUPS"
REMEDY = f"install it with `pip install kups[cuda]`, or set {PYTHON} to a Python that has it"
_PROGRAM = Path(__file__).with_name("kups_run.py")
_LEAST_STEPS = 200  # steps in a cycle, after which the numbers of molecules are stored
_MANY = 16  # smallest number of systems whose error follows from their spread


def python() -> str | None:
    """The Python in which kUPS is installed; None if there is none.

    Raises:
        ValueError: the environment variable does not name a file.
    """
    path = os.environ.get(PYTHON)
    if path:
        if not Path(path).is_file():
            raise ValueError(f"{PYTHON} is {path}, which is not a file")
        return path
    return sys.executable if installed() else None


def installed() -> bool:
    """Whether this Python has kUPS."""
    return importlib.util.find_spec("kups") is not None


@dataclass(frozen=True)
class Batch:
    """Open systems that kUPS has advanced together.

    Attributes:
        numbers: number of molecules of each system after each cycle, float64 (cycles, systems).
        steps: number of steps of each system in a cycle.
        seconds: wall time of the cycles, without start, compilation and equilibration.
        acceptance: share of accepted insertions and deletions.
        about: further entries of the JSON file, as the program reports them.
    """

    numbers: np.ndarray
    steps: int
    seconds: float
    acceptance: float
    about: dict[str, Any]

    @property
    def series(self) -> Series:
        """The mean number of molecules of the systems."""
        cycles = len(self.numbers)
        steps = np.full(cycles, float(self.steps))
        return Series(self.numbers.mean(axis=1), steps, self.seconds, self.acceptance)

    @property
    def loading(self) -> Estimate:
        """Mean number of molecules in a system with its standard error.

        The error of few systems is that of the series of their mean. The error of many is that of
        the means of the systems. These are not independent: in a step all systems try an
        insertion, or all try a deletion, and each accepts with the probability a (`acceptance`).
        A change of the number has the variance p a with the probability p of an exchange, and the
        covariance of two systems is p a^2, so that their numbers have the correlation a. With the
        variance s^2 of the S means around their average, which is (1 - a) times that of one, the
        squared error is s^2 (1 + (S - 1) a) / ((1 - a) S).
        """
        count = self.numbers.shape[1]
        if count < _MANY:
            return self.series.loading
        return Estimate(float(self.numbers.mean()), self._error(self.numbers.mean(axis=0)))

    def _error(self, means: np.ndarray) -> float:
        count, a = len(means), self.acceptance
        return math.sqrt(means.var(ddof=1) * (1 + (count - 1) * a) / ((1 - a) * count))

    def _drift(self, name: str) -> list[str]:
        """The warning of a loading that differs in the two halves of the run."""
        if self.numbers.shape[1] < _MANY:
            return []
        first, second = (half.mean(axis=0) for half in np.array_split(self.numbers, 2))
        changes = Estimate(float((second - first).mean()), self._error(second - first))
        return drifting("steps", f"the loading of {name}", changes, " molecules")

    def row(self) -> dict[str, Any]:
        """The row of the table and of the JSON file, as `Series.row` has it."""
        count = self.numbers.shape[1]
        name = f"kUPS {self.about['version']}, {count} system{'s' * (count > 1)}"
        row = self.series.row(name, self.about["device"])
        rate = row["steps_per_second"] * count
        rates = ("trial_states_per_second", "steps_per_second", "lowest", "highest")
        row |= dict.fromkeys(rates, rate)
        row |= self.about | {"systems": count}
        if count >= _MANY:
            loading = self.loading
            merit = 1 / (loading.error**2 * self.seconds) if loading.error > 0 else math.nan
            row |= {
                "loading_molecules": loading.value,
                "loading_error_molecules": loading.error,
                "loading_error_of_series_molecules": row["loading_error_molecules"],
                "figure_of_merit": merit,
                "optimal_merit": merit,
                "warnings": self._drift(name),
            }
        steps = row["measured_steps"] * count
        row["merit_per_step"] = row["figure_of_merit"] * self.seconds / steps
        return row


def batch(
    python: str,
    *,
    framework: Framework,
    molecule: Molecule,
    force_field: ForceField,
    cells: tuple[int, int, int],
    temperature: float,
    fugacity: float,
    cutoff: float,
    molecules: int,
    room: int,
    exchange: float,
    reinsertion: float,
    systems: int,
    seconds: float,
    seed: int,
    charges: Given = None,
) -> Batch:
    """Numbers of molecules of open systems that kUPS advances together.

    Args:
        python: the Python in which kUPS is installed, see `python`.
        framework, molecule, force_field, cells, temperature, fugacity, cutoff: the system, in the
            units of `Adsorption`.
        molecules: number of molecules at the start, at random positions; those that overlap with
            the framework leave in the equilibration.
        room: largest number of molecules for which a system has memory at the start.
        exchange, reinsertion: shares of these moves; the others are displacements and rotations.
        systems: number of systems.
        seconds: duration of the measurement, after an equilibration of half of it.
        seed: seed of its random numbers.
        charges: argument `framework_charges` of `Adsorption`.

    Raises:
        RuntimeError: the program failed.
        ValueError: kUPS does not have such a system.
    """
    if force_field.potential != "truncated":
        raise ValueError("the comparison with kUPS needs a truncated potential")
    rest = 1.0 - exchange - reinsertion
    turning = rest / 2 if len(molecule.sites) > 1 else 0.0
    steps = max(_LEAST_STEPS, room)
    system = {
        "cells": list(cells),
        "temperature": temperature,
        "fugacity": fugacity,
        "cutoff": cutoff,
        "precision": PRECISION,
        "molecules": molecules,
        "room": max(1, room - molecules),
        "steps": steps,
        "systems": systems,
        "seconds": seconds,
        "equilibrate": seconds / 2,
        "seed": seed % 2**31 or 1,
        "shares": {
            "translation": rest - turning,
            "rotation": turning,
            "reinsertion": reinsertion,
            "exchange": exchange,
        },
        "sites": [
            {"label": site.label, "position": site.position, "charge": site.charge}
            for site in molecule.sites
        ],
        "laws": laws(framework, molecule, force_field),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # kUPS looks parameters up by the labels of the file.
        text = cif(framework, force_field, charges, numbered=False)
        (folder / "framework.cif").write_text(text)
        system["cif"] = str(folder / "framework.cif")
        (folder / "system.json").write_text(json.dumps(system))
        report = folder / "report.json"
        # With -P the folder of the program is not searched for modules: this one is named kups.
        command = [python, "-P", str(_PROGRAM), str(folder / "system.json"), str(report)]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode or not report.is_file():
            end = "\n".join(f"{done.stdout}\n{done.stderr}".strip().splitlines()[-8:])
            raise RuntimeError(f"kUPS printed no measurement; its last lines:\n{end}")
        return read_report(json.loads(report.read_text()), steps)


def read_report(report: dict[str, Any], steps: int) -> Batch:
    """The measurement in the report of `kups_run.py`, whose cycles have that many steps."""
    own = ("numbers", "seconds", "acceptance")
    about = {name: value for name, value in report.items() if name not in own}
    numbers = np.array(report["numbers"], dtype=float)
    return Batch(numbers, steps, report["seconds"], report["acceptance"], about)
