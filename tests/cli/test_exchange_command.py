"""`--equation-of-state --pressures` of `manymove disks` and `manymove spheres`, with and without
replica exchange."""

from __future__ import annotations

import os
import signal
import threading

import gsd.hoomd
import numpy as np
import pytest
from commands import MPIEXEC, arguments, summary_of
from hard_commands import finished
from processes import run_together

from manymove.cli import run
from manymove.exchange import ReplicaExchange
from manymove.hard_particles.job import equation_of_state_table

SCAN = "--particles 64 --packing-fraction 0.6 --equation-of-state --pressures 5,5.5,6"
SMALL = f"{SCAN} --exchange-every 10 --sweeps 900 --equilibrate 200"
ROWS = ("N", "packing_fractions", "exchange_acceptance", "round_trips", "status")


def found(folder):
    summary = summary_of(folder)
    hashes = [one["state_hash"] for one in summary["runs"]]
    return [summary[row] for row in ROWS], hashes


def frames(folder):
    with gsd.hoomd.open(str(folder / "trajectory.gsd"), "r") as trajectory:
        return [frame.configuration.step for frame in trajectory]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return finished("disks", SMALL, tmp_path_factory.mktemp("exchange") / "whole")


def test_a_run_with_exchanges_has_the_files_of_each_pressure(whole):
    summary = summary_of(whole)
    assert summary["pressure"] == [5, 5.5, 6] and summary["exchange_every"] == 10
    assert all(0 < share <= 1 for share in summary["exchange_acceptance"])
    assert len(summary["exchange_attempts"]) == 2 and len(summary["round_trips"]) == 3
    for pressure, one in zip((5, 5.5, 6), summary["runs"], strict=True):
        folder = whole / f"pressure_{pressure:g}"
        assert summary_of(folder)["state_hash"] == one["state_hash"]
        rows = (folder / "packing_fraction.csv").read_text().splitlines()
        assert rows[0] == "replica,sweeps,packing_fraction"
        assert len(frames(folder)) in (9, 10, 11) and len({*np.diff(frames(folder))}) == 1
        assert len(rows) - 1 == one["mean_packing_fraction_records"] > 100
        assert one["sweeps"] == pytest.approx(900, rel=0.1)
        assert one["max_overlap"] == 0 and one["seed"] == 1
    assert len({one["state_hash"] for one in summary["runs"]}) == 3


def test_the_table_has_the_round_trips(whole):
    summary = summary_of(whole)
    trips = sum(summary["round_trips"])
    assert trips > 0
    lines = equation_of_state_table(summary).splitlines()
    assert lines[4] == f"round trips of the configurations: {trips}"
    lines = equation_of_state_table(summary | {"round_trips": [0, 0, 0]}).splitlines()
    assert lines[4].endswith(": 0: raise --sweeps, or put pressures between these")
    del summary["round_trips"], summary["exchange_acceptance"]  # without exchanges
    assert "round trips" not in equation_of_state_table(summary)


@pytest.mark.parametrize(("stop", "measured"), [(3, False), (17, True)])
def test_a_stopped_run_is_resumed(whole, stop, measured, tmp_path, monkeypatch):
    exchange = ReplicaExchange._exchange

    def stopped(self):
        exchange(self)
        if self.exchanges == stop:
            os.kill(os.getpid(), signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    with monkeypatch.context() as patch:
        patch.setattr(ReplicaExchange, "_exchange", stopped)
        assert run(arguments("disks", SMALL, tmp_path)) == 130
    summary = summary_of(tmp_path)
    assert not summary["complete"]
    assert all((phi is not None) == measured for phi in summary["packing_fractions"])
    again = ["disks", "--resume", "--output", str(tmp_path), "--quiet", "--device", "cpu"]
    assert run(again) == 0
    assert found(tmp_path) == found(whole)
    for name in ("pressure_5", "pressure_6"):
        assert frames(tmp_path / name) == frames(whole / name)
    assert run([*again, "--sweeps", "1200"]) == 0
    assert summary_of(tmp_path)["runs"][0]["sweeps"] > 1100
    assert found(tmp_path)[1] != found(whole)[1]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--pressures 5,5.5,7", "has --pressures 5,5.5,6, not 5,5.5,7"),
        ("--pressures 5,6", "has --pressures 3, not 2"),
        ("--exchange-every 20", "--exchange-every 10, not 20"),
        ("--equilibrate 100", "written with another --equilibrate than 100"),
        ("--sweeps 100", "--sweeps is 100, but the run in"),
        ("--max-displacement 0.3", "--max-displacement 0."),
        ("--volume-delta 0.05", "--volume-delta"),
        ("--diameters 1,1.4", "holds other sizes than --diameters"),
    ],
)
def test_another_run_is_not_resumed(whole, words, problem, capsys):
    again = ["disks", "--resume", "--output", str(whole), "--device", "cpu", *words.split()]
    assert run(again) == 2
    said = capsys.readouterr().err
    assert problem in said


def test_results_are_replaced_on_request_only(whole, tmp_path, capsys):
    output = tmp_path / "run"
    words = arguments("disks", SMALL.replace("900", "100"), output)
    assert run(words) == 0
    assert run(words) == 2
    assert "holds results" in capsys.readouterr().err
    assert run([*words, "--overwrite"]) == 0


@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
def test_ranks_divide_the_pressures(whole, tmp_path):
    pytest.importorskip("mpi4py")
    ((code, said),) = run_together(2, [arguments("disks", SMALL, tmp_path / "ranks")])
    assert code == 0, said
    assert found(tmp_path / "ranks") == found(whole)


def test_pressures_without_exchanges_are_runs_alone(tmp_path, capsys):
    options = "--sweeps 300 --equilibrate 100 --particles 64 --packing-fraction 0.3"
    scan = f"{options} --equation-of-state --pressures 2,3"
    words = [word for word in arguments("spheres", scan, tmp_path / "scan") if word != "--quiet"]
    assert run(words) == 0
    assert capsys.readouterr().out.count("P*          packing fraction    status\n2 ") == 1
    assert run(arguments("spheres", f"{options} --pressure 3", tmp_path / "alone")) == 0
    summary = summary_of(tmp_path / "scan")
    assert summary["runs"][1]["state_hash"] == summary_of(tmp_path / "alone")["state_hash"]
    assert summary["pressure"] == [2, 3] and "exchange_every" not in summary


def test_polydisperse_spheres_exchange_and_swap(tmp_path):
    options = "--particles 64 --packing-fraction 0.3 --diameters 0.8,1,1.2 --swap-rounds 4"
    options += " --equation-of-state --pressures 4,4.4 --exchange-every 5 --sweeps 60"
    assert run(arguments("spheres", f"{options} --equilibrate 20", tmp_path)) == 0
    (attempts,) = summary_of(tmp_path)["exchange_attempts"]
    assert attempts > 2
    assert all(one["swap_trials"] > 0 for one in summary_of(tmp_path)["runs"])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--pressures 1,2", "--pressures is for --equation-of-state"),
        ("--exchange-every 5", "--exchange-every needs at least two --pressures"),
        ("--equation-of-state --pressures 1 --exchange-every 5", "needs at least two --pressures"),
        ("--equation-of-state --pressures 1,2 --exchange-every 0", "--exchange-every is 0"),
        ("--equation-of-state --pressures 1,-2", "--pressures, item 1: --pressure is -2"),
        ("--equation-of-state --pressures 1,1", "occurs twice"),
        (
            "--equation-of-state --pressures 1.234561,1.234562",
            "--pressures, item 1: 1.234562 has the folder pressure_1.23456 of an earlier item",
        ),
        (
            "--equation-of-state --pressures 1,2 --packing-fractions 0.3",
            "--pressures begins at --packing-fraction",
        ),
        ("--equation-of-state --pressures 1,2 --pressure 3", "--equation-of-state measures it"),
        (
            "--equation-of-state --pressures 1,3,2 --exchange-every 5",
            "replica 2: pressure is 2 after 3, and must ascend",
        ),
        *(
            (
                f"--equation-of-state --pressures 1,2 --exchange-every 5 {option}",
                f"--{option.split()[0][2:]} is not for --exchange-every",
            )
            for option in ("--replicas 2", "--decompose", "--tune-volume", "--target-error 0.1")
        ),
    ],
)
def test_options_that_do_not_belong_together_are_named(words, problem, tmp_path, capsys):
    options = f"--particles 64 --packing-fraction 0.3 {words}"
    assert run(arguments("disks", options, tmp_path / "run")) == 2
    assert problem in capsys.readouterr().err
