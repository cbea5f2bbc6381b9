"""A chain of ions that MPI ranks share: that of one rank, bit for bit, on any number of them."""

from __future__ import annotations

import functools
import signal
import sys
from pathlib import Path
from typing import Any

import ion_ranks_program
import processes
import pytest
import rank_tasks
from commands import MPIEXEC
from documents import SUPPORT
from processes import Job, on_ranks

from manymove import Electrolyte

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
PROGRAM = "ion_ranks_program.py"


def found(ranks: int, *tasks: str, folder: Path) -> dict[str, list[Any]]:
    """What each rank finds, by task."""
    return processes.found_together(PROGRAM, ranks, tasks, folder, fails=False)


@functools.cache
def alone() -> dict[str, Any]:
    return ion_ranks_program.trajectories(None, Path())


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory) -> tuple[dict[str, list[Any]], Path]:
    """What two ranks find in one job, by task, and its folder."""
    folder = tmp_path_factory.mktemp("two")
    return found(2, "trajectories", "save", "interrupt", "errors", folder=folder), folder


def assert_same_trajectories(many: list[Any]) -> None:
    for name, one in alone().items():
        assert one["counters"][1] > 0 and one["overlap"] == 0
        for rank in many:
            assert rank[name] == one, name


def test_the_chain_of_two_ranks_is_that_of_one(two_ranks):
    assert_same_trajectories(two_ranks[0]["trajectories"])


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_the_chain_of_other_numbers_of_ranks_is_that_of_one(ranks, tmp_path):
    assert_same_trajectories(found(ranks, "trajectories", folder=tmp_path)["trajectories"])


def test_a_checkpoint_of_two_ranks_continues_on_any_number(two_ranks):
    results, folder = two_ranks
    settings = {**ion_ranks_program.VACUUM, "method": "tree"}
    one = ion_ranks_program.small(**settings)
    one.sample_pair_correlations(every=2)
    one.run(3)
    one.save(folder / "alone.state")
    one.run(3)
    end = [one.state_hash, one.energy_records.tolist()]
    assert results["save"] == 2 * [[2, *end]]
    assert found(3, "load", folder=folder)["load"] == 3 * [2 * [[3, *end]]]
    again = Electrolyte.load(folder / "ranks.state", "cpu", 1)
    again.run(3)
    assert [again.ranks, again.state_hash, again.energy_records.tolist()] == [1, *end]
    counts = [each.pair_correlations.counts.tolist() for each in (one, again)]
    assert counts[0] == counts[1]


def test_an_interrupt_on_one_rank_stops_all_at_one_sweep(two_ranks):
    rank_tasks.assert_interrupted_together(two_ranks[0]["interrupt"])


def test_an_error_is_one_of_all_ranks(two_ranks):
    errors = two_ranks[0]["errors"]
    differ = "ValueError: the ranks have different ions or settings: give all of them the same"
    texts = {
        "other seeds": differ,
        "other positions": differ,
        "no positions": "TypeError: positions must be an array, got None",
        "other shapes": "ValueError: positions must have shape (N, 3), got (80, 2)",
        "one shape": "ValueError: positions must have shape (N, 3), got (80, 2)",
        "overlap": "IonOverlapError: ions 3 and 7 overlap",
        "reduction": "ParameterError: method must be brush or tree for a chain of ions on several",
        "serial": "ParameterError: method must be brush or tree for a chain of ions on several",
        "tree": "ValueError: method tree decides as double precision does",
        "device": "cuda",
        "no communicator": "TypeError: comm must be a communicator of mpi4py, got 7",
        "timeout": "ParameterError: timeout must be positive and finite, got 0.0",
        "no file": "FileNotFoundError",
        "damaged": "is no checkpoint of an electrolyte",
        "no folder": "FileNotFoundError",
        "set": "IonOverlapError: ions 3 and 7 overlap",
        "set others": differ,
        "images": "ValueError: images must be integers of shape (N, 3), got float64",
        "callback": "ZeroDivisionError: on one rank",
        "callbacks": "ValueError: the ranks of comm have different callbacks",
        "one number": "RankLost: rank 1 of 2: ValueError: valences, diameters and species must be",
    }
    rank_tasks.assert_errors(errors, texts, "kept", "continues")
    assert errors[0]["kept"]


def test_a_rank_that_leaves_ends_the_run(tmp_path):
    rank_tasks.assert_a_lost_rank_ends_the_run(PROGRAM, tmp_path)


def test_a_killed_rank_ends_the_job(tmp_path):
    job = Job([*on_ranks(3), sys.executable, SUPPORT / PROGRAM, "endless", tmp_path])
    job.until(lambda: len(list(tmp_path.glob("runs-*"))) == 3)
    job.send(signal.SIGKILL, last_only=True)
    job.failure()


def test_one_rank_needs_no_other():
    ions = ion_ranks_program.small(rank_tasks.Alone(), ions=20, method="reduction")
    ions.run(1)
    assert ions.ranks == 1 and ions.method == "reduction"
