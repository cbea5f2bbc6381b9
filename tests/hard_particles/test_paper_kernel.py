# SPDX-License-Identifier: BSD-3-Clause
"""examples/papers/mpmc/paper_kernel.cu, compiled for a CPU and, where there is one, for a GPU."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest
from documents import ROOT
from programs_of_papers import module_of

from manymove import Grid, HardDisks
from manymove.analysis import estimate
from manymove.devices import on_gpu

FOLDER = ROOT / "examples/papers/mpmc"
if not FOLDER.exists() or shutil.which("c++") is None:
    pytest.skip("there is no example or no compiler", allow_module_level=True)
N, PHI = 256, 0.6


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def kernel(request, tmp_path_factory):
    """The module, and a function that makes PaperSystems."""
    gpu = request.param == "cuda"
    if gpu and (not on_gpu("auto") or shutil.which("nvcc") is None):
        pytest.skip("there is no GPU or no nvcc")
    module = module_of(FOLDER / "paper_kernel.py")
    function = module_of(FOLDER / "programs.py").compiled(
        "paper_kernel", str(tmp_path_factory.mktemp("kernel")), gpu, "paper_kernel.cu"
    )

    def make(start, rules, seed=1):
        starts = [start.positions] * len(rules)
        return module.PaperSystems(starts, start.box[0], rules, seed, function, multiple=2)

    return module, make


@pytest.fixture(scope="module")
def start():
    disks = HardDisks.random(N, PHI, seed=1, device="cpu", threads=1)
    disks.run(2000)
    return disks


def test_the_lists_hold_the_disks(kernel, start):
    _, make = kernel
    found = make(start, ["both"]).positions(0)
    assert np.allclose(np.sort(found, axis=0), np.sort(start.positions, axis=0), atol=1e-6)


def test_no_rule_loses_or_overlaps_disks(kernel, start):
    module, make = kernel
    systems = make(start, list(module.RULES))
    systems.run(400)
    for k, rule in enumerate(systems.rules):
        positions = systems.positions(k)
        end = HardDisks(positions, start.box, seed=1, device="cpu", threads=1)
        assert end.N == N and end.max_overlap() < 1e-6, rule
        assert not np.allclose(np.sort(positions, axis=0), np.sort(start.positions, axis=0))
    trials = dict(zip(systems.rules, systems.moves[:, 0], strict=True))
    assert trials["leave, once each"] == 400 * N  # each disk once in each sweep
    assert trials["both"] > 2 * 400 * N  # four moves of each cell that is not empty


def test_acceptance_and_pressure_are_those_of_the_engine(kernel, start):
    """With cells of the same width. A false alarm is less likely than 1e-3."""
    module, make = kernel
    systems = make(start, ["both"] * 4)
    systems.run(100)
    records = systems.run(3200, every=5, records=32)
    found = [estimate(row) for row in records]
    engine = HardDisks(
        start.positions, start.box, seed=2, device="cpu", threads=1,
        max_displacement=module.STEP,
        grid=Grid(cell_width=systems.width, rounds=1, moves_per_cell=module.MOVES_PER_CELL),
    )  # fmt: skip
    assert engine.core.grid["cells"][0] == systems.cells
    engine.run(200)
    engine.sample_pressure(every=14, record=200)
    engine.run(60_000)
    assert systems.acceptance.mean() == pytest.approx(engine.acceptance, abs=0.002)
    value = np.mean([f.value for f in found])
    error = math.hypot(
        math.sqrt(sum(f.error**2 for f in found)) / len(found), engine.pressure_average.error
    )
    assert error < 0.06
    assert abs(value - engine.pressure_average.value) < 4 * error


def test_systems_do_not_depend_on_each_other_and_runs_go_on(kernel, start):
    """A system has the trajectory of its number and seed, in one run and in two."""
    _, make = kernel
    three, two = make(start, ["both", "sets", "neither"]), make(start, ["both", "sets"])
    three.run(30)
    two.run(10)
    two.run(20)
    for k in range(2):
        assert np.array_equal(three.positions(k), two.positions(k))


def test_the_number_of_cells_is_the_papers(kernel):
    """The root of 2 and then the next multiple of 64 (section 3.1)."""
    module, _ = kernel
    edge = math.sqrt(65536 * math.pi / 4 / 0.708)
    assert module.cells_of(edge) == 192 and 1.40 < edge / 192 < math.sqrt(2)
    with pytest.raises(ValueError, match="cells as wide as a disk"):
        module.cells_of(20.0)
