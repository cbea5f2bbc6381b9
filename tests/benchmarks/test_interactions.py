# SPDX-License-Identifier: BSD-3-Clause
"""`python -m benchmarks interactions`: the table and the file."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.cli import run as bench
from benchmarks.interactions import INSERTIONS, WELLS


def test_every_interaction_is_compared_with_plain_spheres(tmp_path, capsys):
    file = tmp_path / "interactions.json"
    words = ["--sizes", "512,729", "--device", "cpu", "--threads", "1", "--seconds", "0.02"]
    assert bench(["interactions", *words, "--equilibrate", "20", "--json", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "100% of plain spheres" in printed and "insertions and deletions/s" in printed
    rows = json.loads(file.read_text())["results"]
    assert [row["particles"] for row in rows] == 9 * [512] + 9 * [729]
    for group in (rows[:9], rows[9:]):
        plain = {str(row["box"]): row["trial_moves_per_second"] for row in group[:2]}
        shares = [row["trial_moves_per_second"] / plain[str(row["box"])] for row in group]
        assert len(plain) == 2 and [row["share"] for row in group] == pytest.approx(shares)
        assert all(0.2 < row["acceptance"] < 1 for row in group)
        names = [row["variant"].partition(", ")[2].partition(", ")[2] for row in group]
        assert names[0] == "plain" and names[-1] == INSERTIONS and len({*names}) == 9
        assert 0.02 < group[-1]["insertion_acceptance"] < 0.5
        assert group[-1]["insertions_per_second"] > 1e4
        assert group[1]["box"][2] > group[0]["box"][2]


def test_a_plot_is_refused(tmp_path, capsys):
    assert bench(["interactions", "--plot", str(tmp_path / "a.png")]) == 2
    assert "--plot does not go with this benchmark" in capsys.readouterr().err


def test_wells_are_compared_with_hpmc(tmp_path, capfd):
    hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
    if not hoomd.version.hpmc_built:
        pytest.skip("HOOMD-blue without HPMC")
    file = tmp_path / "interactions.json"
    words = ["--sizes", "512", "--device", "cpu", "--threads", "1", "--seconds", "0.02"]
    words += ["--equilibrate", "20", "--hpmc", "1,2", "--json", str(file)]
    assert bench(["interactions", *words]) == 0
    assert " times as fast" in capfd.readouterr().out
    rows = json.loads(file.read_text())["results"]
    ours, peers = rows[:9], rows[9:]
    assert len(peers) == 2 * 2 * 4
    for peer, (count, name) in zip(
        peers[::4], [(count, name) for count in (1, 2) for name in WELLS], strict=True
    ):
        processes = ("1 process", "2 processes")[count - 1]
        assert peer["variant"] == f"HPMC, nselect 4, {processes}, {name}"
        assert peer["particles"] == 512 // count
        (same,) = [row for row in ours if row["variant"].endswith(name)]
        ratio = same["trial_moves_per_second"] / peer["trial_moves_per_second"]
        assert peer["ratio"] == pytest.approx(ratio)
        # The same displacements in the same well. Small systems are between two densities.
        assert peer["acceptance"] == pytest.approx(same["acceptance"], abs=0.08)


@pytest.mark.parametrize(
    "hpmc, message",
    [("0", "--hpmc is 0; the number of processes"), ("9", "--hpmc 9 needs at least 576 spheres")],
)
def test_wrong_numbers_of_processes_are_refused(hpmc, message, capsys):
    pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
    assert bench(["interactions", "--sizes", "512", "--device", "cpu", "--hpmc", hpmc]) == 2
    assert message in capsys.readouterr().err


def test_hpmc_needs_hoomd(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "hoomd", None)
    assert bench(["interactions", "--sizes", "512", "--device", "cpu", "--hpmc", "2"]) == 2
    assert "--hpmc needs HOOMD-blue, which is not installed here" in capsys.readouterr().err
