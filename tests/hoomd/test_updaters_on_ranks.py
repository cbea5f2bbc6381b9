# SPDX-License-Identifier: BSD-3-Clause
"""The updaters of `manymove.hoomd` in a simulation whose particles are spread over MPI ranks: all
that one rank finds, to the last bit."""

from __future__ import annotations

import json
import sys

import pytest
from commands import MPIEXEC
from documents import SUPPORT
from machine import GPU
from processes import on_ranks, run, with_support

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(not (MPIEXEC and hoomd.version.mpi_enabled), reason="no MPI")
PROGRAM = SUPPORT / "hoomd_ranks_program.py"
ON_GPU = [*GPU, pytest.mark.skipif(not hoomd.version.gpu_enabled, reason="HOOMD-blue without GPU")]
ALONG_Z = [1, 1, None]


def job(folder, ranks, particles, task="courses", fails=False, **settings):
    """What each rank found, in the launcher's order: its rank in the simulation, and the rest."""
    folder.mkdir()
    command = [*(on_ranks(ranks) if ranks > 1 else []), sys.executable, PROGRAM]
    end = run([*command, particles, task, json.dumps(settings)], cwd=folder, env=with_support())
    files = [folder / f"{rank}.json" for rank in range(ranks)]
    assert all(file.exists() for file in files), end.stdout + end.stderr
    assert fails or end.returncode == 0, end.stdout + end.stderr
    return [json.loads(file.read_text()) for file in files]


@pytest.fixture(scope="module", autouse=True)
def hoomd_and_mpiexec_fit(tmp_path_factory):
    script = "import hoomd; print('ranks', hoomd.communicator.Communicator().num_ranks)"
    said = run([*on_ranks(2), sys.executable, "-c", script]).stdout
    if "ranks 2" not in said:
        pytest.skip("mpiexec is of another MPI than HOOMD-blue")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What a single process finds, once for each case."""
    known = {}

    def found(particles, task="courses", **settings):
        case = json.dumps([particles, task, settings])
        if case not in known:
            folder = tmp_path_factory.mktemp("alone") / "alone"
            known[case] = job(folder, 1, particles, task, **settings)
        return known[case]

    return found


def agree(found, alone):
    """Each rank has all quantities of one rank, and the first one the same particles."""
    ((_, expected),) = alone
    for rank, mine in found:
        states = [k for k, one in enumerate(expected) if isinstance(one[0], str)]
        assert len(states) >= 3
        assert len({expected[k][0] for k in states}) == len(states)  # something happens
        if rank > 0:
            assert all(mine[k] is None for k in states)
            mine = [expected[k] if k in states else one for k, one in enumerate(mine)]
        assert mine == expected


CASES = [
    ("ions", {}),
    ("ions", {"place": "vacuum", "max_displacement": 100.0}),
    ("ions", {"place": "sphere", "sweeps_per_step": 7}),
    ("ions", {"place": "ewald", "method": "tree"}),
    ("ions", {"precision": "double"}),
    ("ions", {"number": 600}),  # enough for ranks to share the pairs of a sweep
    ("ions", {"number": 600, "place": "ewald", "method": "tree"}),
    ("ions", {"rank_0": True}),
    ("ions", {"place": "vacuum", "rank_0": True}),
    ("atoms", {"method": "pmc"}),
    ("atoms", {"method": "plj"}),
    ("atoms", {"method": "mup"}),
    ("atoms", {"method": "mdp-dj"}),
    ("molecules", {}),
    ("molecules", {"bodies": False, "method": "plj", "max_displacement": 1.0}),
]
NAMES = [" ".join([one, *(f"{k}={v}" for k, v in settings.items())]) for one, settings in CASES]
SHARED_GPU = ("ions", "ions place=ewald method=tree", "atoms method=mup", "molecules")


@pytest.mark.parametrize(("particles", "settings"), CASES, ids=NAMES)
@pytest.mark.parametrize(
    ("ranks", "domains"),
    [(2, ALONG_Z), (4, [2, 2, 1]), (4, ALONG_Z)],
    ids=["2", "2 x 2 x 1", "1 x 1 x 4"],
)
def test_the_course_is_that_of_one_rank(particles, settings, ranks, domains, alone, tmp_path):
    """Positions, images, orientations, energies, profiles and counts, also after another has moved
    a particle, after a change of a setting, and from a GSD file. Particles move beyond the next
    domain."""
    found = job(tmp_path / "ranks", ranks, particles, domains=domains, **settings)
    agree(found, alone(particles, **settings))


@pytest.mark.parametrize(
    ("particles", "settings"),
    [pytest.param(*CASES[NAMES.index(name)], id=name, marks=ON_GPU) for name in SHARED_GPU],
)
def test_ranks_that_share_a_gpu_have_the_course_of_one(particles, settings, alone, tmp_path):
    found = job(tmp_path / "ranks", 2, particles, gpu=True, **settings)
    agree(found, alone(particles, gpu=True, **settings))


def test_domains_of_different_size(alone, tmp_path):
    domains = [[1.0], [0.3, 0.7], [1.0]]
    agree(job(tmp_path / "ranks", 2, "ions", domains=domains), alone("ions"))


@pytest.mark.parametrize("kind", ["partitions", "split"])
def test_communicators_with_a_part_of_the_ranks(kind, alone, tmp_path):
    """Partitions of HOOMD-blue, and a communicator of mpi4py with an order of its own."""
    found = job(tmp_path / "parts", 4, "ions", communicator=kind)
    order = {"partitions": [0, 1, 0, 1], "split": [1, 1, 0, 0]}[kind]
    assert [rank for rank, _ in found] == order
    agree(found, alone("ions"))


def test_several_updaters(alone, tmp_path):
    agree(job(tmp_path / "ranks", 2, "ions", "several"), alone("ions", "several"))


@pytest.mark.parametrize("ranks", [2, 4])
def test_forces_stay_with_their_particles(ranks, tmp_path):
    found = job(
        tmp_path / "forces", ranks, "ions", "forces", domains=ALONG_Z, max_displacement=140.0
    )
    assert [wrong for _, (wrong, _) in found] == ranks * [0]
    # Two domains need no snapshot: HOOMD-blue's migration reaches both.
    assert any(moved for _, (_, moved) in found) == (ranks > 2)


def test_hpmc_beside_an_updater(tmp_path):
    if not hoomd.version.hpmc_built:
        pytest.skip("HOOMD-blue without HPMC")
    found = job(tmp_path / "hpmc", 2, "ions", "beside_hpmc", max_displacement=140.0)
    assert all(rank[1] == [0, True] for rank in found)


@pytest.mark.parametrize(
    ("particles", "task", "says"),
    [
        ("atoms", "error_of_rank_0", "ValueError: the particle with tag 3 is"),
        ("ions", "error_of_the_last_rank", "MemoryError: no memory here"),
    ],
)
def test_an_error_of_one_rank_is_raised_on_all(particles, task, says, tmp_path):
    """The ranks can still talk to each other afterwards."""
    found = job(tmp_path / "error", 2, particles, task)
    later = says if task == "error_of_rank_0" else "no error"
    for _, (first, again) in found:
        assert first.startswith(says) and again.startswith(later)


@pytest.mark.parametrize("particles", ["ions", "atoms"])
def test_an_unexpected_error_ends_the_waits_of_the_others(particles, tmp_path):
    found = job(tmp_path / "error", 2, particles, "error_that_no_rank_expects")
    says = "RankLost: rank 1 of 2: MemoryError: no memory here"
    assert [texts for _, texts in found] == 2 * [[says, says]]


def test_mpi4py_is_needed_on_all_ranks(tmp_path):
    found = job(tmp_path / "missing", 2, "ions", "without_mpi4py")
    assert "CoulombMC needs mpi4py on all MPI ranks" in found[0][1][0]
    assert "CoulombMC on several MPI ranks needs mpi4py: pip install mpi4py" in found[1][1][0]


@pytest.mark.parametrize("particles", ["ions", "molecules"])
def test_an_mpi4py_of_another_mpi_is_refused(particles, tmp_path):
    found = job(tmp_path / "other", 2, particles, "another_mpi")
    says = "needs an mpi4py with the MPI of HOOMD-blue: HOOMD-blue has 2 ranks, and mpi4py sees 1"
    assert all(says in text for _, (text,) in found)
