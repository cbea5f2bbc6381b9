"""Mistakes on the command line: each is told in one line, and nothing else is said."""

from __future__ import annotations

import json
import math
import shlex
import sys
import time
from pathlib import Path

import pytest
from commands import CLEAN, COMMAND, MPIEXEC, SMALL
from processes import run

from manymove import cli
from manymove.jobs import progress

HUGE = "9" * 30
BAD_OPTIONS = [
    ("disks --particles " + HUGE, "of memory, and there are"),
    ("disks --particles 1.5e0", "--particles is '1.5e0'; it must be an integer"),
    ("disks --particles 1e999", "--particles is '1e999'; it must be an integer"),
    ("disks --particles nan", "--particles is 'nan'; it must be an integer"),
    ("disks --particles --frames", "--particles is '--frames'; it must be an integer"),
    ("disks 4096", "'4096' follows no option"),
    ("disks --device cuda:0,1,", 'unknown device "cuda:0,1,"'),
    ("spheres --packing-fraction 0.8", "--packing-fraction is 0.8; random packings go up to"),
    ("adsorption --systems many", "--systems is 'many'; it must be an integer or auto"),
    ("adsorption --isotherm 1 --mole-fractions 0.5,0.5", "--mole-fractions needs one number for"),
    ("adsorption --isotherm 1 --unit g/g", '--unit must be "molecules", '),
    ("adsorption --isotherm 1 --literature none.csv", "--literature: none.csv: No such file"),
    ("disks --output /proc/none/a", ": error: /proc/none: No such file or directory"),
    ("disks --particles 1", "box too small"),
    ("disks --packing-fraction nan", "--packing-fraction is nan"),
    ("disks --packing-fraction 1e-300", "--packing-fraction 1e-300 and --sweeps 2: this takes"),
    ("spheres --packing-fraction 1e-12", "--packing-fraction 1e-12 and --sweeps 2: this takes"),
    ("disks --sweeps " + HUGE, "--sweeps is 999"),
    ("disks --seed 18446744073709551616", "--seed must be in [0, 2**64)"),
    ("disks --threads " + HUGE, "--threads must be positive and below 2**31"),
    ("disks --threads 4097", "--threads must be at most 4096, got 4097"),
    ("disks --max-displacement nan", "--max-displacement must be positive, got nan"),
    ("disks --max-displacement inf", "at most the cell width"),
    ("disks --moves-per-cell 1025", "--moves-per-cell must be from 1 to 1024"),
    ("disks --tile 42", "--tile must be from 3 to 41 cells, got 42"),
    ("disks --tile 8,8", "--tile is 8,8; tiles of equal disks have one width"),
    ("disks --tile 0", "--tile is 0; it must be at least 1"),
    ("disks --diameters 1,1.2 --tile 1", "--tile must be from 2 to 16 cells, got 1"),
    ("spheres --packing-fraction 0.3 --tile 8,8", "it must be one width or 3, one for each axis"),
    ("disks --checkpoint-every nan", "--checkpoint-every is nan"),
    ("disks --device cuda:0,1", 'unknown device "cuda:0,1"'),
    ("disks --input /dev/null", "/dev/null: no such file"),
    ("disks --equation-of-state --packing-fractions nan", "--packing-fraction is nan"),
    ("disks --equation-of-state --packing-fractions ,", "--packing-fractions is ','"),
    ("electrolyte --ions 400000000000", "must be from 1 to 1073741824, got 400000000000"),
    ("electrolyte --valences 0 0", "one must be positive, one negative"),
    ("electrolyte --valences 3", "--valences"),
    ("electrolyte --diameter nan", "diameter nan"),
    ("electrolyte --diameter 1e300", "too dense: two ions at least 1e+300 apart"),
    ("electrolyte --diameters 7 0", "has diameter 0;"),
    ("electrolyte --diameters 7 8 --diameter 7", "give either --diameter or --diameters"),
    ("electrolyte --diameter 0", "has diameter 0;"),
    ("disks --packing-fractions 0.7", "--packing-fractions is for --equation-of-state"),
    ("electrolyte --bjerrum-length inf", "--bjerrum-length is inf"),
    ("electrolyte --debye-length 1e300", "--debye-length 1e+300"),
    ("electrolyte --debye-length 1e-300", "--debye-length 1e-300"),
    ("electrolyte --concentration 1e-300", "--concentration 1e-300"),
    ("electrolyte --bin-width 1e-300", "bins are too many: raise bin_width"),
    ("electrolyte --bin-width 1e300", "--bin-width must be positive and at most"),
    ("electrolyte --margin nan", "margin must be from 0"),
    ("electrolyte --sample-every " + HUGE, "every must be positive and below 2**31"),
    ("electrolyte --max-displacement nan", "--max-displacement must be positive, got nan"),
    ("electrolyte --threads 0", "--threads is 0"),
    ("adsorption --systems " + HUGE, "--systems is 999"),
    ("adsorption --threads 0", "--threads is 0"),
    ("adsorption --isotherm 1e300 --method plj", "no fugacity at 1e+300 bar"),
    ("adsorption --isotherm x", "--isotherm is 'x'"),
    ("adsorption --bins 0", "bins must be from 1 to 1024, got 0"),
    ("adsorption --bins 1025", "bins must be from 1 to 1024, got 1025"),
    ("adsorption --cutoff 1e300", "cells must be from 1 to 1000"),
    ("adsorption --cutoff nan", "cutoff must be positive and finite"),
    (f"adsorption --cells {HUGE},1,1", "cells must be from 1 to 1000"),
    ("adsorption --grid-spacing 1e-300", "grid_spacing 1e-300 makes more than 2^31 points"),
    ("adsorption --temperature 1e-300", "no channel for species 0"),
    ("adsorption --max-displacement nan", "--max-displacement must be positive, got nan"),
    ("adsorption --adsorbates /dev/null", "/dev/null does not list adsorbates"),
    ("dpd --density inf", "less than twice the cutoff"),
    ("dpd --cutoff nan", "cutoff must be positive, got nan"),
    ("dpd --gamma nan", "gamma must not be negative, got nan"),
    ("dpd --ranks 0", "ranks must be positive"),
    ("disks --particles 0", "--particles is 0; it must be at least 1"),
    ("disks --sweeps 0", "--sweeps is 0"),
    ("disks --equilibrate -1", "--equilibrate is -1"),
    ("disks --seed -1", "--seed is -1"),
    ("disks --replicas 0", "--replicas is 0"),
    ("disks --frames 0", "--frames is 0"),
    ("disks --threads 0", "--threads is 0"),
    ("disks --checkpoint-every -1", "--checkpoint-every is -1.0; it must not be negative"),
    ("disks --packing-fraction 1.2", "--packing-fraction is 1.2"),
    ("disks --packing-fraction 0.8", "random packings go up to 0.72"),
    ("disks --packing-fraction 0.95 --start hexagonal", "touching disks has 0.9068997"),
    ("disks --start liquid", "--start is liquid; it must be random, hexagonal or square"),
    ("disks --device abacus", "abacus"),
    ("disks --sweeps many", "--sweeps"),
    ("disks --colour red", "--colour"),
    ("disks --input none.gsd", "none.gsd: no such file"),
    ("disks --resume", "--resume: no checkpoint"),
    ("disks --max-displacement -1", "displacement"),
    ("disks --moves-per-cell -1", "--moves-per-cell must be"),
    ("disks --equation-of-state --packing-fractions 0.7,x", "separated by commas"),
    ("disks --equation-of-state --packing-fractions 0.7,0.7", "occurs twice"),
    ("disks --equation-of-state --packing-fraction 0.7", "takes --packing-fractions"),
    ("electrolyte --ions 10", "must be a multiple of 4"),
    ("electrolyte --valences 1 1", "one must be positive"),
    ("electrolyte --debye-length 20 --concentration 0.1", "either --debye-length or"),
    ("electrolyte --debye-length -1", "--debye-length is -1"),
    ("electrolyte --sweeps 0", "--sweeps is 0"),
    ("electrolyte --geometry cube", "--geometry is cube"),
    ("electrolyte --method ewald", "--method is ewald"),
    ("electrolyte --precision half", "--precision is half"),
    ("electrolyte --geometry periodic --margin 3", "--margin is for"),
    ("electrolyte --boundary ewald", "--boundary is for --geometry periodic"),
    ("electrolyte --geometry periodic --boundary vacuum", "--boundary is vacuum"),
    ("electrolyte --geometry periodic --surrounding vacuum", "--surrounding is for --boundary"),
    ("electrolyte --structure-factors", "--structure-factors is for --geometry periodic"),
    (
        "electrolyte --geometry periodic --boundary ewald --surrounding water",
        "--surrounding is water; it must be conductor or vacuum",
    ),
    ("electrolyte --debye-length 1.0", "too dense"),
    ("electrolyte --resume", "no checkpoint"),
    ("electrolyte --device tpu", 'or "cuda:<index>" (several: "cuda:0,1")'),
    ("electrolyte --bin-width 0", "--bin-width is 0"),
    ("adsorption --framework FAU", "no framework FAU"),
    ("adsorption --molecules many", "--molecules is 'many'"),
    ("adsorption --molecules 0", "molecules must be positive"),
    ("adsorption --steps 0", "--steps is 0"),
    ("adsorption --systems 0", "--systems is 0"),
    ("adsorption --method mcmc", '--method must be "metropolis", "pmc", '),
    ("adsorption --precision half", '--precision must be "mixed" or "double", got'),
    ("adsorption --max-displacement 0", "--max-displacement must be"),
    ("dpd --device cuda:1", '--device must be "auto", "cpu" or "cuda", got'),
    ("dpd --timestep 0", "--timestep must be positive, got 0"),
    ("adsorption --proposals 33", "power of two"),
    ("adsorption --method plj --proposals 64", '--proposals has no effect: the method "plj" has'),
    ("adsorption --trial-positions 4", "--trial-positions needs one of the methods metropolis"),
    ("adsorption --method plj --trial-positions 4", "--trial-positions needs a fugacity or rein"),
    ("adsorption --adsorbates C2H6 --force-field UFF --ewald 0.3,2", "--ewald has no effect: the"),
    ("adsorption --cells 1,1", "three integers"),
    ("adsorption --barrier high", "--barrier is 'high'; it must be a number, auto or none"),
    ("adsorption --profile 1,2", "x, y, z or three integers"),
    ("adsorption --molecules 2.5", "must be integers separated by commas"),
    ("adsorption --structures both", "it must be cif, pdb or cif,pdb"),
    ("adsorption --isotherm 1,-1", "pressures must be positive"),
    ("adsorption --isotherm 1 --method mdp", "metropolis and plj"),
    ("adsorption --resume", "no checkpoint"),
    ("adsorption --adsorbates missing.json", "missing.json"),
]


@pytest.mark.parametrize(("line", "message"), BAD_OPTIONS, ids=lambda text: text[:40])
def test_bad_options_are_told_in_one_line(line, message, tmp_path, capfd):
    name, *options = line.split()
    common = ["--output", str(tmp_path / "out"), "--quiet"]
    if name != "dpd":
        common += ["--device", "cpu"] if "--device" not in options else []
        common += ["--threads", "1"] if "--threads" not in options else []
    assert cli.run([name, *SMALL[name].split(), *common, *options]) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("manymove: error: ") and printed.err.count("\n") == 1
    assert message in printed.err and len(printed.err) < 400


@pytest.mark.parametrize(
    ("line", "message"),
    [next(bad for bad in BAD_OPTIONS if bad[0].startswith(f"{name} ")) for name in SMALL],
    ids=lambda text: text[:40],
)
def test_the_installed_command_ends_with_a_line(line, message, tmp_path):
    """The first of each command as a program: exit code, no traceback, nothing else."""
    command = Path(sys.executable).parent / "manymove"
    if not command.exists():
        pytest.skip("the command manymove is not installed")
    name, *options = line.split()
    done = run([command, name, *SMALL[name].split(), *options], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("manymove: error: ") and done.stderr.count("\n") == 1
    assert message in done.stderr


def test_more_frames_than_sweeps_are_as_many_as_sweeps(tmp_path):
    options = [*SMALL["disks"].split(), "--device", "cpu", "--quiet", "--output", str(tmp_path)]
    assert cli.run(["disks", *options, "--frames", HUGE]) == 0


@pytest.mark.parametrize(
    "text",
    ["[1, 2]", '{"name": "a"}', '"CH4"', "[[[", "\x00\xff", '[{"framework": 5}]', "null"],
)
def test_files_that_list_no_adsorbates(text, tmp_path, capfd):
    path = tmp_path / "gas.json"
    path.write_text(text, encoding="latin-1")
    options = [*SMALL["adsorption"].split(), "--output", str(tmp_path), "--adsorbates", str(path)]
    assert cli.run(["adsorption", *options, "--device", "cpu"]) == 2
    error = capfd.readouterr().err
    assert "gas.json does not list adsorbates" in error and error.count("\n") == 1


@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
@pytest.mark.parametrize("ranks", ["0", "-1"])
@pytest.mark.parametrize("line", ["disks --particles 64 --sweeps 1 --device cpu", "dpd"])
def test_no_ranks_are_not_one_rank(ranks, line, tmp_path):
    done = run([MPIEXEC, "-n", ranks, *COMMAND, *line.split(), "--output", tmp_path])
    assert done.returncode != 0
    assert f"was asked for {ranks} ranks" in done.stderr or "Open MPI" in done.stderr
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("options", [["-n", "64x"], ["-n"], ["-n", "1", "-n", "0"]])
def test_options_of_the_program_are_not_the_number_of_ranks(options, tmp_path):
    """A launcher whose own number of ranks is not named, or right."""
    launcher = tmp_path / "mpirun"
    program = "from manymove.jobs.world import World; World.connect()"
    launcher.write_text(f'#!/bin/sh\n{sys.executable} -c "{program}"\nexit $?\n')
    launcher.chmod(0o755)
    done = run([launcher, *options], env={**CLEAN, "PMI_RANK": "0", "PMI_SIZE": "1"})
    assert (done.returncode, done.stderr) == (0, "")


NEAR = {
    "disks --temp 1": "--temp",
    "disks --density 0.5": "--density",
    "disks --pressur 3": "--pressur; did you mean --pressures or --pressure?",
    "disks --packing_fraction 0.5": "--packing_fraction; did you mean --packing-fraction or "
    "--packing-fractions?",
    "electrolyte --debye_length 5": "--debye_length; did you mean --debye-length?",
    "adsorption --fugacity 1": "--fugacity",
    "adsorption --adsorbate CO2": "--adsorbate; did you mean --adsorbates?",
    "dpd --temp 1": "--temp; did you mean --temperature?",
}


@pytest.mark.parametrize("line", NEAR)
def test_only_near_options_are_suggested(line, capfd):
    assert cli.run(line.split()) == 2
    assert capfd.readouterr().err == f"manymove: error: no such option: {NEAR[line]}\n"


@pytest.mark.parametrize("words", ["--particles 1e2", "--particles=1.0E2", "--particles +100"])
def test_integers_may_have_an_exponent(words, tmp_path):
    options = [*words.split(), *"--sweeps 2e0 --equilibrate 1 --device cpu --quiet".split()]
    assert cli.run(["disks", *options, "--output", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "summary.json").read_text())["N"] == 100


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (99, "99 s"),
        (100, "2 min"),
        (3600, "60 min"),
        (4 * 3600, "4 h"),
        (3 * 86400, "3 d"),
        (3281632 * 60, "years"),
    ],
)
def test_times_have_a_unit_that_fits(seconds, text):
    assert progress.time_left(seconds) == f"{text} left"
    assert progress.time_left(math.inf) == "no estimate yet"


def test_the_bar_says_the_time_left(monkeypatch, capfd):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    bar = progress.MovesBar("100 disks", 10**12)
    time.sleep(0.11)  # the bar's interval
    bar.show(1)
    bar.close()
    assert "years left" in capfd.readouterr().err


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-"])
def test_a_closed_stream_does_not_end_a_run(closed, tmp_path):
    output = tmp_path / "run"
    words = [sys.executable, "-m", "manymove", "disks", *SMALL["disks"].split()]
    words += ["--output", str(output)]
    process = run(["sh", "-c", f"exec {shlex.join(words)} {closed}"], check=False)
    assert process.returncode == 0, process.stderr
    assert (output / "summary.json").exists()


def test_without_docstrings_the_command_says_why_it_cannot_run():
    process = run([sys.executable, "-OO", "-m", "manymove", "--help"], check=False)
    assert process.returncode == 2
    assert process.stderr.startswith("manymove: error: the options are described by docstrings")
    assert len(process.stderr.splitlines()) == 1
