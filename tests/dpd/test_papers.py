# SPDX-License-Identifier: BSD-3-Clause
"""The programs of examples/papers/dpd: functions, lists and sorts of variants.cpp, what vesicles.py
finds in a frame, and the rows for scaling."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest
from documents import ROOT, module_of

FOLDER = ROOT / "examples/papers/dpd"
if not FOLDER.is_dir():
    pytest.skip("there are no examples beside the tests", allow_module_level=True)
pytest.importorskip("matplotlib")


@pytest.fixture
def load(monkeypatch):
    """A module of the folder."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return lambda name: module_of(FOLDER / f"{name}.py", monkeypatch)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no compiler")
def test_functions_lists_and_sorts_of_the_variants(load, tmp_path):
    variants = load("variants")
    program = variants.Program(variants.compiled(str(tmp_path), gpu=False, level="-O1"))
    # The bounds of Table 3: relative, relative, and in units in the last place.
    found = variants.accuracy(program, 20_000, 1)
    assert found["fastcospi"] < variants.PUBLISHED_FUNCTIONS["fastcospi"][3]
    assert found["fastlog"] < variants.PUBLISHED_FUNCTIONS["fastlog"][3]
    assert found["fastpow"] < variants.PUBLISHED_FUNCTIONS["fastpow"][3]
    for reordered in (True, False):
        particles = variants.Particles(3.0, 1024, reordered, 2)
        times, skin, counts = program.measure(particles.system(1))
        pairs = particles.pairs()
        assert (counts == np.bincount(pairs[:, 0], minlength=1024)).all()
        assert 0 < skin < len(pairs) and min(times.values()) > 0
    keys = np.random.default_rng(3).integers(0, 2**32, 3000, dtype=np.uint32)
    assert len(program.sort(keys, 32, 1)) == 2  # it checks that both sort
    with pytest.raises(RuntimeError, match="the radix sort does not sort"):
        program.sort(keys, 16, 1)  # half of the bits


def test_reordering_brings_the_particles_of_pairs_together(load):
    variants = load("variants")
    found = [variants.matrix(variants.Particles(3.0, 2048, order, 1)) for order in (False, True)]
    # Two independent numbers from 0 to 1 differ by 1/3.
    assert found[0]["distance"] == pytest.approx(1 / 3, abs=0.02)
    assert found[1]["distance"] < 0.6 * found[0]["distance"]
    assert found[0]["tiles"] > 0.9 and found[1]["tiles"] < 0.6


def write_frame(path, positions, types, edge):
    head = f"ITEM: TIMESTEP\n700\nITEM: NUMBER OF ATOMS\n{len(types)}\nITEM: BOX BOUNDS ff ff ff\n"
    head += f"0 {edge}\n" * 3 + "ITEM: ATOMS id mol type x y z"
    rows = np.column_stack([np.arange(len(types)), np.arange(len(types)) // 8, types, positions])
    np.savetxt(path, rows, "%d %d %d %.5g %.5g %.5g", header=head, comments="")


@pytest.mark.parametrize("radius", [4.0, None])
def test_a_closed_shell_is_a_vesicle_with_one_compartment(radius, load, tmp_path):
    """A shell from the radius 4 to 6 in the middle of a box of 20; a ball encloses nothing."""
    pytest.importorskip("scipy")
    vesicles = load("vesicles")
    rng = np.random.default_rng(4)
    center = rng.uniform(-6, 6, (16000, 3))
    distance = np.linalg.norm(center, axis=1)
    center = center[(distance < 6) & (distance > (radius or 0))]
    chains = len(center)
    beads = np.repeat(center, 8, axis=0) + 10
    types = np.tile([2, 2, 2, 1, 1, 2, 2, 2], chains)
    write_frame(tmp_path / "chains.700.dump", beads, types, 20)
    frame = vesicles.Frame(tmp_path / "chains.700.dump")
    aggregate, closed = frame.vesicle()
    assert frame.time == 7 and frame.aggregates[aggregate] > 0.97 * chains
    assert closed is (radius is not None)
    if closed:
        (volume,) = frame.compartments
        assert 0.4 * 4 / 3 * math.pi * radius**3 < volume < 4 / 3 * math.pi * radius**3
        assert frame.vesicle_of == [aggregate]


def test_ranks_that_share_a_processor_are_compared_with_it(load):
    scaling = load("scaling")
    row = {"density": 3.0, "cutoff": 1.0, "particles": 100, "steps": 20, "on_gpu": True}
    results = [
        {**row, "ranks": 1, "processors": 1, "speed": 4e9},
        {**row, "ranks": 2, "processors": 1, "speed": 3e9},
        {**row, "ranks": 4, "processors": 4, "speed": 12e9},
    ]
    assert [scaling.efficiency(r, results) for r in results] == [1.0, 0.75, 0.75]
    rows = scaling.rows(results, "weak")
    assert "2 ranks that share 1 GPU" in rows[1]["quantity"] and "4 GPUs" in rows[3]["quantity"]
    assert [r["ours"][0] for r in rows] == [4000.0, 3000.0, 0.75, 12000.0, 0.75]
