# SPDX-License-Identifier: BSD-3-Clause
"""The program of examples/papers/wrmc beside integrals and beside the engine.

Bounds are four standard errors. With fixed seeds the results are the same in each run; with other
seeds a test fails about once in ten thousand runs.
"""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from os import environ

import numpy as np
import pytest
from documents import ROOT
from programs_of_papers import module_of

from manymove import Adsorption, EnergyGrid, Interactions
from manymove.adsorption import TRAPPE_ZEO

FILE = ROOT / "examples/papers/wrmc/serial_proposals.py"
if not FILE.exists():
    pytest.skip("there are no examples beside the tests", allow_module_level=True)
if shutil.which(shlex.split(environ.get("CXX", "c++"))[0]) is None:
    pytest.skip("there is no C++ compiler", allow_module_level=True)

SYSTEMS = 16


@pytest.fixture(scope="module")
def program():
    return module_of(FILE)


@pytest.fixture(scope="module")
def methane(program):
    return program.Serial(program.METHANE, spacing=0.8)


@pytest.fixture(scope="module")
def start():
    a = Adsorption("MFI", 1, systems=SYSTEMS, seed=3, device="cpu", threads=1,
                   interactions=Interactions(grid=EnergyGrid(0.3)))  # fmt: skip
    a.equilibrate(300)
    return a.positions


@pytest.mark.parametrize(
    ("scheme", "proposals", "steps"),
    [("metropolis", 2, 30000), ("walks", 16, 4000), ("corrected", 4, 15000), ("biased", 6, 6000)],
)
def test_correct_proposals_have_the_energy_of_the_integral(
    scheme, proposals, steps, program, methane, start
):
    run = methane.run(start, scheme, proposals, 0.65, steps, seed=1)
    for estimate in ("plain", "recycled"):
        value, error = program.mean_and_error(run[estimate])
        assert abs(value - methane.exact_energy()) < 4 * error
        assert error < 15


@pytest.mark.parametrize("scheme", ["naive", "gaussian"])
def test_proposals_around_the_old_state_do_not(scheme, program, methane, start):
    run = methane.run(start, scheme, 32, 0.65, 3000, seed=1)
    value, error = program.mean_and_error(run["recycled"])
    assert methane.exact_energy() - value > 4 * error


def test_the_energy_of_chains_is_that_of_the_engine(program):
    """The same configurations, and so the same interpolation."""
    laws = Interactions(12.0, replace(TRAPPE_ZEO, potential="shifted"),
                        grid=EnergyGrid(0.8, "linear"), precision="double")  # fmt: skip
    a = Adsorption("MFI", 3, adsorbates="n-butane", systems=4, seed=1, interactions=laws,
                   method="plj", device="cpu", threads=1)  # fmt: skip
    a.equilibrate(200)
    butane = program.Serial(program.BUTANE, spacing=0.8)
    run = butane.run(a.site_positions(0), "metropolis", 2, 1.0, 1, seed=1, equilibrate=0)
    np.testing.assert_allclose(run["first"], a.energies, rtol=1e-4)


def test_conformations_are_those_of_the_ideal_gas(program):
    """A chain that feels nothing has the energy of its bends and torsions, which the engine
    integrates."""
    weak = {element: (1e-9, 3.0) for element in ("O", "Si")}
    free = program.BUTANE._replace(laws=((1e-9, 3.0), (1e-9, 3.0)), framework=(weak, weak))
    chain = program.Serial(free, spacing=2.0)
    a = Adsorption("MFI", 1, adsorbates="n-butane", systems=SYSTEMS, seed=1, method="plj",
                   interactions=Interactions(12.0, TRAPPE_ZEO, grid=EnergyGrid(0.8)),
                   device="cpu", threads=1)  # fmt: skip
    run = chain.run(a.site_positions(0), "metropolis", 2, 1.0, 5000, seed=1, equilibrate=10)
    value, error = program.mean_and_error(run["plain"])
    assert abs(value - a.ideal_energies[0]) < 4 * error and error < 3
    assert run["acceptance"].min() > 0.95
