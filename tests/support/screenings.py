# SPDX-License-Identifier: BSD-3-Clause
"""Screenings of frameworks with a few atoms, so that a structure takes about a second."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from adsorption_model import cif

from manymove import cli

ATOMS = "Si1 Si 0.1 0.1 0.1 1\nO1 O 0.28 0.1 0.1 1\nO2 O 0.1 0.28 0.1 1"
SPEED = "--cutoff 4 --grid-spacing 0.25 --device cpu --threads 1"
SHORT = "--systems 10 --steps 100 --equilibrate 10 --target-error 0.5 --isotherm 1,10"
GAS = "--adsorbates CH4 --force-field TraPPE-zeo --temperature 300"
OF_ISOTHERM = [*GAS.split(), *SHORT.split(), *SPEED.split(), "--trial-positions", "1", "--quiet"]
OPTIONS = [*OF_ISOTHERM, "--insertions", "50", "--samples", "20"]


def write(folder: Path, name: str, edge: float = 9.0, atoms: str = ATOMS) -> Path:
    """Write a cubic framework."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.cif"
    path.write_text(cif(atoms, (edge, edge, edge)))
    return path


def two_frameworks(folder: Path) -> Path:
    """Make a folder of two frameworks."""
    write(folder, "wide", 10.0)
    write(folder, "narrow", 8.5)
    return folder


def screened(collection, output, *words) -> int:
    """The exit code of a screening with a single thread."""
    return cli.run(["screen", str(collection), *OPTIONS, "--output", str(output), *words])


def rows(output) -> list[dict[str, str]]:
    """The rows of the table."""
    with open(output / "screen.csv", newline="") as file:
        return list(csv.DictReader(file))


def results(output, name) -> dict:
    """The results of a structure."""
    return json.loads((output / "structures" / name / "structure.json").read_text())
