# SPDX-License-Identifier: BSD-3-Clause
"""examples/hard_spheres/sequential.py, the method of the literature to which relaxation times with
swap moves are compared. Seeds are fixed; the comparisons have the false-alarm rate of
`laws.FALSE_ALARM` over seeds."""

from __future__ import annotations

import shutil
import sys

import numpy as np
import pytest
from documents import ROOT
from hard_spheres import sites, three_by_integration, three_by_samples
from laws import assert_follows

from manymove import HardSpheres

FOLDER = ROOT / "examples/hard_spheres"
if not FOLDER.is_dir() or shutil.which("c++") is None:
    pytest.skip("there is no example or no compiler", allow_module_level=True)


@pytest.fixture(scope="module")
def example():
    sys.path.insert(0, str(FOLDER))
    import sequential

    yield sequential
    sys.path.remove(str(FOLDER))


def fluid(example, seed=5, share=0.2, N=150):
    diameters = np.linspace(0.7, 1.5, N)
    start = HardSpheres.random(N, 0.45, diameter=diameters, seed=1, device="cpu", threads=1)
    return example.SequentialSpheres(start.positions, start.box, start.diameters, seed, 0.1, share)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_three_spheres_agree_with_integration(example, share):
    diameters = np.array([1.0, 0.45, 0.7])
    box = np.full(3, 4.05)
    start = sites(tuple(box))[[0, 4, 8]]
    spheres = example.SequentialSpheres(start, tuple(box), diameters, 4, 0.6, share)
    spheres.run(300)
    edges, counts = three_by_integration(diameters, box, share > 0)
    samples = three_by_samples(spheres, lambda: spheres.run(60), box)
    found = np.histogram2d(*samples, bins=[np.arange(10) - 0.5, edges])[0]
    assert_follows(found, counts, law_samples=counts.sum())


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_neighborhoods_do_not_change_the_trajectory(example, share, monkeypatch):
    found = []
    for skin, pieces in ((0.05, 1), (0.4, 10)):
        monkeypatch.setattr(example, "SKIN", skin)
        spheres = fluid(example, share=share)
        for _ in range(pieces):
            spheres.run(500 / pieces)
        found.append((spheres.positions, spheres.diameters, spheres.acceptance))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_swaps_conserve_the_diameters_and_make_no_overlaps(example):
    spheres = fluid(example)
    before = spheres.diameters
    assert spheres.max_overlap() == 0
    spheres.run(500)
    after = spheres.diameters
    assert (before != after).mean() > 0.9
    np.testing.assert_array_equal(np.sort(before), np.sort(after))
    assert spheres.max_overlap() < 1e-6
    assert spheres.swap_trials + spheres.trial_moves == 500 * 150
    assert abs(spheres.swap_trials / (500 * 150) - 0.2) < 0.01
    spheres._radii *= np.float32(1.05)
    assert spheres.max_overlap() > 0.01


def test_full_neighborhoods_and_boxes_that_are_no_cubes_are_errors(example, monkeypatch):
    monkeypatch.setattr(example, "SKIN", 5.0)
    with pytest.raises(RuntimeError, match="neighborhood is full"):
        fluid(example).run(1)
    with pytest.raises(ValueError, match="not a cube"):
        example.SequentialSpheres(np.zeros((1, 3)), (4, 4, 5), np.ones(1), 1, 0.1, 0.0)


def test_parts_of_a_sweep_are_errors(example):
    spheres = fluid(example)
    with pytest.raises(ValueError, match=r"whole number, got 0\.5"):
        spheres.run(0.5)
    assert spheres.sweeps == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [("--device cuda", "runs on a CPU only"), ("--every 0.5", "needs whole sweeps")],
)
def test_the_command_refuses_what_the_sequential_method_lacks(
    example, words, message, monkeypatch, capsys, tmp_path
):
    pytest.importorskip("matplotlib")
    import swap_moves

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["swap_moves.py", "--method", "sequential", *words.split()])
    with pytest.raises(SystemExit):
        swap_moves.main()
    assert message in capsys.readouterr().err


def test_relaxation_is_that_without_the_common_displacement(example):
    """A random walk of each sphere by itself, with and without one of all spheres together."""
    pytest.importorskip("matplotlib")
    import swap_moves

    random = np.random.default_rng(6)
    box, frames, spheres = (8.0, 8.0, 8.0), 200, 500
    steps = random.normal(0, 0.02, (frames, spheres, 3))
    common = random.normal(0, 0.1, (frames, 1, 3))
    found = []
    for each in (steps, steps + common):
        trajectory = swap_moves.Trajectory(box, 1)
        for positions in each.cumsum(axis=0):
            trajectory.add(positions)
        found.append(trajectory.scattering())
    np.testing.assert_allclose(*found, atol=1e-5)
    lags, values = found[0].T
    early = lags < 80
    law = np.exp(-((2 * np.pi * 0.02) ** 2) * lags[early] / 2)
    np.testing.assert_allclose(values[early], law, atol=0.02)
    # Without this, the common displacement alone relaxes the function within a few frames.
    assert np.exp(-((2 * np.pi * 0.1) ** 2) * 10 / 2) < 0.15 < values[lags >= 10][0]
