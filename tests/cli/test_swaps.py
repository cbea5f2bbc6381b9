# SPDX-License-Identifier: BSD-3-Clause
"""`manymove disks` and `manymove spheres` with --swap-rounds: results, resuming, and mistakes."""

from __future__ import annotations

import gsd.hoomd
import numpy as np
import pytest
from commands import summary_of

from manymove import HardDisks, HardSpheres, cli

SIZES = {"disks": ["--packing-fraction", 0.5], "spheres": ["--packing-fraction", 0.4]}
START = ["--particles", 300, "--equilibrate", 60, "--frames", 3, "--diameters", "1,1.2,1.5"]
SWAPS = ["--swap-rounds", 4, "--swap-range", 0.4, "--swap-every", 2]
WHERE = ["--device", "cpu", "--threads", 1]


def run(folder, *options, command="spheres"):
    return cli.run([command, *map(str, (*options, *WHERE, "--output", folder))])


@pytest.fixture(scope="module", params=SIZES)
def finished(request, tmp_path_factory):
    """The command and the folder of a run of 200 sweeps."""
    folder = tmp_path_factory.mktemp(request.param)
    options = [*START, *SIZES[request.param], *SWAPS, "--sweeps", 200, "--quiet"]
    assert run(folder, *options, command=request.param) == 0
    return request.param, folder


def test_the_summary_has_the_swap_moves(finished):
    _, folder = finished
    summary = summary_of(folder)
    assert (summary["swap_rounds"], summary["swap_range"], summary["swap_every"]) == (4, 0.4, 2)
    assert summary["swap_trials"] > 1000 and 0.05 < summary["swap_acceptance"] < 1
    assert summary["max_overlap"] < 1e-6
    assert summary["contacts"] is None and summary["contact_values"] == []
    # The equation of state is approximate.
    error = 5 * summary["pressure_error"] + 0.03 * summary["pressure"]
    assert abs(summary["pressure"] - summary["literature_pressure"][0]) < error


def test_every_frame_has_its_diameters(finished):
    _, folder = finished
    with gsd.hoomd.open(str(folder / "trajectory.gsd"), "r") as trajectory:
        found = [np.array(frame.particles.diameter) for frame in trajectory]
    assert len(found) == 3 and not np.array_equal(found[0], found[2])
    for diameters in found:
        values, counts = np.unique(diameters, return_counts=True)
        np.testing.assert_allclose(values, [1, 1.2, 1.5], rtol=1e-6)
        assert counts.tolist() == [100, 100, 100]


def test_a_resumed_run_is_that_of_one_go(finished, tmp_path, capsys):
    command, folder = finished
    options = [*START, *SIZES[command], *SWAPS, "--quiet"]
    assert run(tmp_path, *options, "--sweeps", 60, command=command) == 0
    assert run(tmp_path, "--resume", "--sweeps", 200, command=command) == 0
    assert "trial swaps" in capsys.readouterr().out
    for key in ("state_hash", "swap_trials", "swap_acceptance"):
        assert summary_of(tmp_path)[key] == summary_of(folder)[key]
    other = [*START, *SIZES[command], "--swap-rounds", 5, "--resume", "--quiet"]
    assert run(tmp_path, *other, command=command) == 2


def test_swaps_go_on_from_a_file_and_with_pressure(finished, tmp_path):
    command, folder = finished
    options = ["--input", folder / "trajectory.gsd", "--sweeps", 20, "--equilibrate", 0, "--quiet"]
    more = ["--swap-rounds", 2, "--pressure", 3]
    assert run(tmp_path, *options, *more, command=command) == 0
    assert summary_of(tmp_path)["swap_trials"] > 100
    assert summary_of(tmp_path)["mean_packing_fraction"] > 0


def test_the_checkpoint_keeps_the_diameters(finished):
    command, folder = finished
    make = {"disks": HardDisks, "spheres": HardSpheres}[command]
    state = make.load(folder / "checkpoint-0.state", device="cpu")
    assert state.state_hash == summary_of(folder)["state_hash"]
    assert state.swap_trials == summary_of(folder)["swap_trials"]
    with gsd.hoomd.open(str(folder / "trajectory.gsd"), "r") as trajectory:
        np.testing.assert_array_equal(
            state.diameters.astype(np.float32), trajectory[-1].particles.diameter
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([*START, "--swap-rounds", 0], "--swap-rounds must be from 1 to 1000, got 0"),
        ([*START, "--swap-rounds", 1001], "--swap-rounds must be from 1 to 1000, got 1001"),
        (
            [*START, "--swap-rounds", 2, "--swap-range", -1],
            "--swap-range must be positive and finite, got -1",
        ),
        ([*START, "--swap-rounds", 2, "--swap-every", 0], "--swap-every must be positive"),
        ([*START, "--swap-every", 2], "--swap-every needs --swap-rounds"),
        ([*START[:-2], "--swap-rounds", 2], "swap moves are for a mixture"),
        ([*START[:-2], "--contacts", "1,1,1.4", "--swap-rounds", 2], "the contacts must be their"),
    ],
)
def test_mistakes_are_named(tmp_path, capsys, options, message):
    assert run(tmp_path / "new", *options, *SIZES["spheres"], "--quiet") == 2
    errors = capsys.readouterr().err
    assert message in errors and len(errors.splitlines()) == 1
    assert not (tmp_path / "new").exists()
