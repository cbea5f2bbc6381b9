"""What cannot fit or end is refused at once; errors name the option; progress in a pipe."""

from __future__ import annotations

import math
import time

import gsd.hoomd
import pytest
from commands import SMALL, summary_of

from manymove import cli
from manymove.jobs import limits, progress


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("dpd --ranks 99999", "takes about 5 TB of memory, and there are"),
        ("dpd --particles 100000000 --steps 2000000000", "particle-steps take about"),
        ("electrolyte --ions 1000000000 --sweeps 1000", "pair terms take about"),
        ("disks --particles 1000000000000", "of memory, and there are"),
        ("disks --particles 65536 --sweeps 100000000000000", "trial moves take about"),
        ("adsorption --systems 1000000 --steps 1000000000000", "trial states take about"),
    ],
)
def test_what_cannot_end_is_refused_at_once(line, message, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(limits, "memory_of_this_machine", lambda: 1e12)
    name, *options = line.split()
    words = [*SMALL[name].split(), *options, "--device", "cpu", "--output", str(tmp_path / "out")]
    began = time.monotonic()
    assert cli.run([name, *words]) == 2
    assert time.monotonic() - began < 10
    error = capfd.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_memory_of_this_machine():
    assert 1e8 < limits.memory_of_this_machine() < 1e14


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("disks --input none.gsd", "--input: none.gsd: no such file"),
        ("adsorption --adsorbates none.json", "--adsorbates: "),
        ("adsorption --framework none.cif", "--framework: "),
    ],
)
def test_errors_of_files_name_the_option(line, message, tmp_path, capfd):
    name, *options = line.split()
    words = [*SMALL[name].split(), *options, "--device", "cpu", "--output", str(tmp_path / "out")]
    assert cli.run([name, *words]) == 2
    assert message in capfd.readouterr().err


def test_several_types_in_a_file_are_told(tmp_path, capfd):
    frame = gsd.hoomd.Frame()
    frame.configuration.box, frame.configuration.dimensions = [16, 16, 0, 0, 0, 0], 2
    frame.particles.N, frame.particles.types = 49, ["A", "B"]
    frame.particles.typeid = [k % 2 for k in range(49)]
    frame.particles.position = [[2 * (k % 7) - 7, 2 * (k // 7) - 7, 0] for k in range(49)]
    with gsd.hoomd.open(str(tmp_path / "two.gsd"), "w") as file:
        file.append(frame)
    options = "--sweeps 2 --equilibrate 0 --device cpu --quiet"
    words = [*options.split(), "--input", tmp_path / "two.gsd", "--output", tmp_path / "out"]
    assert cli.run(["disks", *map(str, words)]) == 0
    assert "of the types A, B; all have one diameter" in capfd.readouterr().err
    summary = summary_of(tmp_path / "out")
    assert summary["N"] == 49
    assert summary["packing_fraction"] == pytest.approx(49 * math.pi / 4 / 256)


def test_progress_in_a_pipe_is_a_line_now_and_then(monkeypatch, capfd):
    bar = progress.MovesBar("100 disks", 1000)
    bar.show(10)
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    bar.show(500)
    assert capfd.readouterr().err.startswith("100 disks: 50%, ")
    quiet = progress.MovesBar("100 disks", 1000, quiet=True)
    quiet.show(500)
    assert capfd.readouterr().err == ""
