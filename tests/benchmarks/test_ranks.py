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
