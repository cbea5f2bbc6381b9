# SPDX-License-Identifier: BSD-3-Clause
"""examples/papers/brush/updating.cpp: both updating schemes, one step after the other."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from documents import ROOT
from programs_of_papers import module_of

from manymove import Electrolyte, Ions, Sphere
from manymove.analysis.ions import Salt

FOLDER = ROOT / "examples/papers/brush"
if not FOLDER.exists() or shutil.which("c++") is None:
    pytest.skip("there is no example or no compiler", allow_module_level=True)
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def figure(tmp_path_factory):
    """The module of the script, with its compiled function."""
    module = module_of(FOLDER / "figure_1.py")
    module.function = module.compiled(str(tmp_path_factory.mktemp("updating")))
    return module


def salt(ions: int, radius: float, seed: int = 1) -> Electrolyte:
    return Electrolyte.random(
        Salt.of(ions, (3, -1), (7.5, 7.5)), box=Sphere(radius), precision="double", seed=seed,
        device="cpu", threads=1,
    )  # fmt: skip


@pytest.mark.parametrize(("ions", "radius"), [(400, 276.0), (200, 40.0)])
def test_the_sequential_chain_is_the_one_of_the_engine(figure, ions, radius):
    """In the dilute salt of the paper, and in a dense one with many overlaps."""
    engine = salt(ions, radius)
    engine.run(3)
    chain = figure.Chain(engine, figure.function, random=False)
    accepted, evaluated = engine.accepted_moves, engine.evaluated_moves
    before = engine.energy
    chain.run(20)
    engine.run(20)
    unit = radius / 2**23
    assert np.array_equal(chain.sites[:, :3], np.rint(engine.positions / unit))
    assert chain.counters[0] == engine.accepted_moves - accepted
    # The engine rejects overlaps with ions that cannot move before it computes an energy.
    assert chain.counters[1] >= engine.evaluated_moves - evaluated
    assert np.allclose(chain.energies, engine.energy_records[-20:] - before, atol=1e-6)


def test_the_random_chain_tries_each_ion_once_per_cycle_on_average(figure):
    """N steps of a cycle leave a share (1 - 1/N)^N = 0.366 of the ions untried."""
    ions = salt(400, 2000.0)  # so dilute that a trial is rejected by the wall only
    chain = figure.Chain(ions, figure.function, random=True)
    still = []
    for _ in range(50):
        before = chain.sites.copy()
        chain.run(1)
        still.append((chain.sites == before).all(axis=1).mean())
    tried = (1 - np.mean(still)) / (1 - (1 - 1 / 400) ** 400)
    accepted = int(chain.counters[0]) / (50 * 400)
    # An ion that is tried k times stays if all k trials are rejected: the share that moves is
    # 1 - exp(-accepted).
    expected = (1 - np.exp(-accepted)) / (1 - np.exp(-1))
    assert tried == pytest.approx(expected, abs=0.03)


def test_the_random_chain_keeps_its_energy(figure):
    ions = salt(200, 60.0)
    chain = figure.Chain(ions, figure.function, random=True)
    start = ions.energy
    chain.run(30)
    positions = chain.sites[:, :3].astype(float) * (60.0 / 2**23)
    other = Electrolyte(
        positions, Sphere(60.0), Ions(ions.types, ions.species), seed=1, device="cpu", threads=1
    )
    assert other.energy == pytest.approx(start + chain.energies[-1], abs=1e-6)
