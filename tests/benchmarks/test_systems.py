# SPDX-License-Identifier: BSD-3-Clause
"""`python -m benchmarks systems`: the table and the file."""

from __future__ import annotations

import json
from functools import partial

import pytest
from electrolytes import trivalent

from benchmarks import simultaneous
from benchmarks.cli import run as bench
from manymove import HardDisks, Replicas

SMALL = ["--particles", "256", "--device", "cpu", "--threads", "2", "--equilibrate", "10"]
SHORT = ["--seconds", "0.05"]


@pytest.mark.parametrize("kind", [[], ["--spheres"], ["--ions"]])
def test_systems_are_timed_together_alone_and_in_processes(kind, tmp_path, capsys):
    file = tmp_path / "systems.json"
    words = [*SMALL, *kind, "--systems", "1,3", *SHORT, "--json", str(file)]
    assert bench(["systems", *words]) == 0
    found = json.loads(file.read_text())
    fractions = {"": 0.698, "--spheres": 0.5, "--ions": None}
    assert found.get("packing_fraction") == fractions["".join(kind)]
    rows = [(row["systems"], row["particles"], row["variant"]) for row in found["results"]]
    names = "together", "one after the other", "processes"
    assert rows == [(count, 256, name) for count in (1, 3) for name in names]
    assert all(row["trial_moves_per_second"] > 1e4 for row in found["results"])
    assert all(0 < row["acceptance"] < 1 for row in found["results"])
    for together, _, processes in zip(*3 * [iter(found["results"])], strict=True):
        ratio = together["ratio_to_processes"]
        assert ratio["lowest"] <= ratio["median"] <= ratio["highest"]
        low, high = (
            together[a] / processes[b] for a, b in (("lowest", "highest"), ("highest", "lowest"))
        )
        assert low <= ratio["lowest"] and ratio["highest"] <= high
    assert capsys.readouterr().out.count(" times processes\n") == 2


def test_processes_make_the_runs_of_the_simulations():
    """Each continues its own system, with the moves that this has on the same number of sweeps."""
    disks = Replicas(partial(HardDisks.random, 64, 0.3), 3, seed=5, device="cpu", threads=2)
    with simultaneous.continued(disks.simulations) as run:
        for sweeps in (50, 70):
            before = [(one.trial_moves, one.accepted_moves) for one in disks.simulations]
            disks.run(sweeps)
            after = [(one.trial_moves, one.accepted_moves) for one in disks.simulations]
            moves = [
                sum(now[k] - then[k] for now, then in zip(after, before, strict=True))
                for k in range(2)
            ]
            assert run(sweeps) == tuple(moves)


def test_an_error_of_a_process_is_raised():
    one = trivalent(16, device="cpu", threads=1)
    with simultaneous.continued([one, one]) as run:
        with pytest.raises(ValueError, match=r"sweeps must"):
            run(-1)


def test_ions_have_a_row_for_each_method_and_precision(tmp_path):
    file = tmp_path / "systems.json"
    words = [*SMALL, "--ions", "--systems", "1", *SHORT, "--json", str(file)]
    words += ["--methods", "brush,tree", "--precision", "mixed,double", "--particles", "64,128"]
    assert bench(["systems", *words]) == 0
    rows = json.loads(file.read_text())["results"][::3]
    found = [(row["particles"], row["method"], row["precision"]) for row in rows]
    kinds = ("brush", "mixed"), ("brush", "double"), ("tree", "double")
    assert found == [(N, *kind) for N in (64, 128) for kind in kinds]


def test_disks_have_no_methods_of_ions(capsys):
    assert bench(["systems", *SMALL, "--precision", "double"]) == 2
    assert "--methods, --precision and --threads-per-particle need --ions" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--threads-per-particle", "8"], "--threads-per-particle needs the method brush"),
        (["--precision", "mixed"], "--precision does not go with the tree"),
    ],
)
def test_the_tree_has_no_options_of_the_brush(words, message, capsys):
    assert bench(["systems", *SMALL, "--ions", "--methods", "tree", *words]) == 2
    assert message in capsys.readouterr().err


def test_threads_of_an_ion_are_those_of_a_gpu(capsys):
    assert bench(["systems", *SMALL, "--ions", "--threads-per-particle", "8,16"]) == 2
    assert "--threads-per-particle needs a GPU" in capsys.readouterr().err


def test_ions_have_no_packing_fraction(capsys):
    assert bench(["systems", *SMALL, "--ions", "--packing-fraction", "0.5"]) == 2
    assert "--ions cannot be combined with" in capsys.readouterr().err


def test_a_picture_is_refused(tmp_path, capsys):
    assert bench(["systems", *SMALL, "--plot", str(tmp_path / "systems.png")]) == 2
    assert "--plot does not go with this benchmark" in capsys.readouterr().err
