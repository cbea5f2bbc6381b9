# SPDX-License-Identifier: BSD-3-Clause
"""examples/papers/mpmc/table_1_engine.py: the engine's chain with parts of it left out."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest
from damage import change_checkpoint
from documents import ROOT
from flat_settings import of_hard_particles
from hard_disks import lattice
from programs_of_papers import module_of

from manymove import HardDisks, _core
from manymove.hard_particles.packing import random_packing

FOLDER = ROOT / "examples/papers/mpmc"
if not FOLDER.exists() or shutil.which("c++") is None:
    pytest.skip("there is no example or no compiler", allow_module_level=True)
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def ablation(tmp_path_factory):
    """The module of the example, with its compiled function."""
    module = module_of(FOLDER / "table_1_engine.py")
    module.function = module.compiled("ablation", str(tmp_path_factory.mktemp("ablation")))
    return module


RANDOM = random_packing(600, 0.6, seed=1)
PAPER = {"cell_width": 1.41, "rounds": 1, "moves_per_cell": 4, "max_displacement": 0.16}
CASES = {
    "nothing left out": (RANDOM, PAPER, {}, "bd33a61a32212b57"),
    "particles": (RANDOM, PAPER, {"shuffle_particles": False}, "de050e7724d1a2db"),
    "sets": (RANDOM, PAPER, {"shuffle_sets": False}, "c8d302c458bf7a0e"),
    "along an axis": (RANDOM, PAPER, {"shift_along_axis": True}, "60437177c43c98cc"),
    "all": (
        RANDOM,
        PAPER,
        {"shuffle_particles": False, "shuffle_sets": False, "shift_along_axis": True},
        "b6146f92b8675c0c",
    ),
    "few disks along an axis": (
        (lattice(8, 8, (10.0, 10.0)), (10.0, 10.0)),
        {"rounds": 1},
        {"shift_along_axis": True},
        "42e2ebb73f01258a",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_trajectory_is_the_one_that_engines_with_these_switches_made(ablation, name):
    """Hashes of the last version whose engine had them, after 200 cycles."""
    start, settings, left_out, expected = CASES[name]
    disks = HardDisks(*start, seed=12345, device="cpu", threads=1, **of_hard_particles(**settings))
    chain = ablation.AblatedDisks(disks, ablation.function, **left_out)
    chain.run_cycles(200)
    engine = _core.HardParticles.from_snapshot(chain.snapshot, disks.N, *disks._where())
    assert f"{engine.state_hash():016x}" == expected


def test_without_ablation_it_is_the_engine(ablation):
    disks = HardDisks(*RANDOM, seed=7, device="cpu", threads=1, **of_hard_particles(**PAPER))
    chain = ablation.AblatedDisks(disks, ablation.function)
    for one in (chain, disks):
        one.sample_pressure(every=30, record=60)
        one.run_cycles(chain.setup.record * 3)
    assert np.array_equal(chain.snapshot["cells"], disks.core.snapshot()["cells"])
    assert chain.trial_moves == disks.trial_moves
    # The sums over the rows of a record differ in the order of their terms.
    assert np.allclose(chain.pressure_records, disks.pressure_records, rtol=1e-13, atol=0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("shuffle_particles", False), ("shuffle_sets", False), ("shift_along_axis", True)],
)
def test_checkpoints_of_ablations_are_refused_by_name(tmp_path, name, value):
    """And those of earlier versions without an ablation are loaded."""
    disks = HardDisks(*RANDOM, seed=7, device="cpu", threads=1)
    disks.save(tmp_path / "state")
    for present in (not value, value):

        def write(_, header, present=present):
            assert name not in header["parameters"]
            header["parameters"][name] = present

        change_checkpoint(tmp_path / "state", write, tmp_path / f"{present}")
    loaded = HardDisks.load(tmp_path / f"{not value}", device="cpu")
    assert loaded.state_hash == disks.state_hash
    message = f"{name} is {value}, an ablation .* examples/papers/mpmc/table_1_engine.py"
    with pytest.raises(ValueError, match=message):
        HardDisks.load(tmp_path / f"{value}", device="cpu")
    with pytest.raises(TypeError, match=name):
        HardDisks(*RANDOM, seed=7, device="cpu", **of_hard_particles(**{name: value}))


def test_the_pressure_is_within_the_error_that_is_documented(ablation):
    """Within 0.005 and its error; of 256 disks at 0.6, where relaxation is fast."""
    start = random_packing(256, 0.6, seed=3)
    reference = HardDisks(*start, seed=3, device="cpu", threads=1)
    reference.run(2000)
    reference.sample_pressure(every=14, record=200)
    reference.run(80_000)
    chain = ablation.AblatedDisks(
        HardDisks(
            reference.positions,
            reference.box,
            seed=4,
            device="cpu",
            threads=1,
            **of_hard_particles(**PAPER),
        ),
        ablation.function,
        shuffle_particles=False,
        shuffle_sets=False,
        shift_along_axis=True,
    )
    chain.run(500)
    result = ablation.measured(chain, 40_000, math.inf, 14)
    error = math.hypot(result["pressure_error"], reference.pressure_average.error)
    assert error < 0.05
    assert abs(result["pressure"] - reference.pressure_average.value) < 0.005 + 4 * error
