# SPDX-License-Identifier: BSD-3-Clause
"""Methane in MFI as in J. Kim, J. M. Rodgers, M. Athènes, B. Smit, J. Chem. Theory Comput. 7, 3208
(2011): the runs that the scripts of this folder share.

In the code of this folder, "the paper" is this article.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from manymove import Adsorption, EnergyGrid, Interactions, Molecules, Steps, script

BOX = np.array([40.044, 39.798, 26.766])  # angstrom, section 2.1
PROPOSALS = (32, 64, 128, 256, 512)
LOADINGS = (32, 64, 96, 128)
RELAXATION = 1000  # steps of mdp per molecule
# Steps of all systems to which standard deviations are scaled: one million of the paper's 14
# systems (section 5.2).
REFERENCE_STEPS = 14e6


def add_options(parser: script.Parser, systems: int = 16896) -> None:
    """The options that all runs of methane have."""
    parser.option(
        "--systems",
        systems,
        "Number of systems of pmc; other methods have a fraction of it (default %(default)s).",
    )
    parser.option("--relax", 1.0, "Length of the equilibration relative to the default.")
    parser.option("--loadings", LOADINGS, "Numbers of molecules in a system.")
    parser.option(
        "--precision",
        "double",
        "Precision of the energies (default: as in the paper).",
        choices=("mixed", "double"),
    )
    parser.option("--spacing", 0.08, "Spacing of the grid of framework energies in angstrom.")
    parser.option("--interpolation", "linear", choices=("linear", "cubic"))
    parser.option("--device", "auto")
    parser.option("--seed", 1)


def laws(options: argparse.Namespace) -> Interactions:
    """Interactions with the precision and the grid of the options."""
    grid = EnergyGrid(options.spacing, options.interpolation)
    return Interactions(precision=options.precision, grid=grid)


def equilibrated(molecules: int, options: argparse.Namespace, framework: Any = "MFI",
                 systems: int | None = None, **settings: Any) -> np.ndarray:  # fmt: skip
    """Positions (systems, molecules, 3) in angstrom after a run along random walks.

    Raises:
        ValueError: molecules are still at high energies, so that --relax is too small.
    """
    a = Adsorption(
        framework, molecules, method=Steps("mdp", proposals=64),
        systems=systems or options.systems, seed=options.seed, device=options.device, **settings,
    )  # fmt: skip
    a.equilibrate(max(1, int(RELAXATION * molecules * options.relax)))
    if a.on_hills():
        raise ValueError(f"{a.on_hills()} molecules still are on hills: raise --relax")
    return a.positions


def started(method: str | Steps, positions: np.ndarray, options: argparse.Namespace,
            framework: Any = "MFI", **settings: Any) -> Adsorption:  # fmt: skip
    """Systems of that method with molecules at positions (systems, molecules, 3)."""
    return Adsorption(
        framework, Molecules(positions.shape[1], positions=positions), systems=len(positions),
        method=method, seed=options.seed + 1, device=options.device, **settings,
    )  # fmt: skip


def run_for(a: Adsorption, seconds: float, equilibrate: float = 0.3) -> None:
    """Run for so many seconds, after a share of them that is not measured."""
    for share, run in ((equilibrate, a.equilibrate), (1.0, a.run)):
        end, steps = a.seconds + share * seconds, 16
        while (left := end - a.seconds) > 0:
            before = a.seconds
            run(steps)
            steps = max(1, min(4 * steps, int(0.9 * left / ((a.seconds - before) / steps))))


def deviation(a: Adsorption, steps: int) -> tuple[float, float]:
    """Standard deviation in kelvin of the mean energy of REFERENCE_STEPS, from that over the
    systems after these steps, with its own error."""
    a.run(steps)
    value = a.energy_average.error * math.sqrt(a.systems) * math.sqrt(steps / REFERENCE_STEPS)
    return value, value / math.sqrt(2 * (a.systems - 1))


def device_name(options: argparse.Namespace) -> str:
    """Name of the device on which the systems run."""
    return Adsorption("LTA", 1, systems=1, seed=0, device=options.device).device_name
