# SPDX-License-Identifier: BSD-3-Clause
"""`mpiexec -n R python -m benchmarks disks` and `spheres`: ranks that share the particles."""

from __future__ import annotations

import json

import pytest
from commands import BENCHMARKS, MPIEXEC
from processes import on_ranks, run

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")


@pytest.mark.parametrize(("name", "size"), [("disks", 2500), ("spheres", 500)])
def test_numbers_of_ranks_are_timed(name, size, tmp_path):
    words = f"{name} --device cpu --sizes {size} --threads 1 --equilibrate 1 --seconds 0.02"
    command = [*on_ranks(2), *BENCHMARKS, *words.split()]
    end = run([*command, "--ranks", "1,2", "--weak", "--json", tmp_path / "b.json"])
    assert end.returncode == 0, end.stderr
    one, two = json.loads((tmp_path / "b.json").read_text())["results"]
    assert (one["ranks"], two["ranks"]) == (1, 2)
    assert (one["particles"], two["particles"]) == (size, 2 * size)
    assert one["efficiency"] == 1 and two["efficiency"] == pytest.approx(
        two["trial_moves_per_second"] / one["trial_moves_per_second"] / 2
    )
    end = run([*command, "--ranks", "1,3"])
    assert end.returncode == 2 and "the number of ranks that mpirun started" in end.stderr


def test_the_component_of_hoomd_is_timed_on_ranks(tmp_path):
    pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
    pytest.importorskip("hoomd.manymove")
    words = "hoomd --device cpu --sizes 900 --equilibrate 1 --seconds 0.02 --sweeps-per-step 8"
    command = [*on_ranks(2), *BENCHMARKS, *words.split(), "--json"]
    end = run([*command, tmp_path / "strong.json"])
    assert end.returncode == 0, end.stderr
    engine, strips, default = json.loads((tmp_path / "strong.json").read_text())["results"]
    assert engine["particles"] == 900
    assert (strips["domains"], default["domains"]) == ("strips", "default")
    for row in (strips, default):
        assert (row["ranks"], row["sweeps_per_step"], row["migrations_per_step"]) == (2, 8, 0)
        parts = [row[f"{part}_seconds_per_step"] for part in ("sweep", "exchange", "rest")]
        assert min(parts[:2]) > 0 and sum(parts) == pytest.approx(row["seconds_per_step"])
    end = run([*command, tmp_path / "weak.json", "--weak"])
    assert end.returncode == 0, end.stderr
    rows = json.loads((tmp_path / "weak.json").read_text())["results"]
    assert [(row["ranks"], row["particles"]) for row in rows] == [
        (1, 900), (1, 900), (2, 1800), (2, 1800),
    ]  # fmt: skip
    assert [row["weak_efficiency"] == 1 for row in rows] == [True, True, False, False]
    assert "seconds_per_step" in rows[3] and rows[0]["ratio_to_standalone"] == 1
