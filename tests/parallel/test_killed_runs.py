"""`kill -9` at random moments, then resume: the same final hash.

The moments are drawn with a seed: in the middle of writing a file, before and after it takes the
place of the old one, and after some milliseconds. Each run is killed several times.
Elsewhere: `disks --decompose` once, after the first checkpoint.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import gsd.hoomd
import numpy as np
import processes
import pytest
from commands import COMMAND, summary_of
from lammps_host import environment, needs_lammps
from processes import start, until

from manymove import cli
from manymove.lammps import host

# Kills itself at the n-th file: half written, before it is put in place or after; or so many ms
# after the first. There is a checkpoint (two files) after every cycle, sweep or step.
CHILD = """
import io, os, signal, sys, threading
import numpy as np
from manymove import cli, runs
moment, count = sys.argv[1], int(sys.argv[2])
runs._PIECE = 0
done = {"written": 0, "replaced": 0}
savez, replace = np.savez, os.replace

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def dying_savez(file, **arrays):
    done["written"] += 1
    if moment != "writing" or done["written"] < count:
        return savez(file, **arrays)
    whole = io.BytesIO()
    savez(whole, **arrays)
    file.write(whole.getvalue()[: whole.tell() // 2])
    file.flush()
    die()

def dying_replace(old, new):
    done["replaced"] += 1
    if moment == "time" and done["replaced"] == 1:
        threading.Timer(count / 1000, die).start()
    if moment == "before" and done["replaced"] >= count:
        die()
    replace(old, new)
    if moment == "after" and done["replaced"] >= count:
        die()

np.savez, os.replace = dying_savez, dying_replace
sys.exit(cli.run(sys.argv[3:]))
"""
RUNS = {
    "disks": "--particles 1024 --sweeps 1500 --equilibrate 200 --frames 40",
    "electrolyte": "--ions 400 --sweeps 160 --equilibrate 20 --precision double",
    "adsorption": "--framework LTA --molecules 4 --systems 8 --steps 200 --equilibrate 50 "
    "--interpolation cubic --grid-spacing 0.8 --method mdp --profile z",
}
SAME = {
    "disks": ("state_hash", "psi6", "trial_moves", "accepted_moves"),
    "electrolyte": ("state_hash", "acceptance"),
    "adsorption": ("state_hash", "energy_K", "energy_wrmc_K", "trial_states", "acceptance"),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_is_killed_again_and_again_ends_the_same(name, tmp_path):
    options = [name, *RUNS[name].split(), "--device", "cpu", "--threads", "1", "--quiet"]
    assert cli.run([*options, "--output", str(tmp_path / "whole")]) == 0
    cut = [*options, "--output", str(tmp_path / "cut")]
    random = np.random.default_rng(len(name))
    resume = []
    for moment in ("after", *random.permutation(["writing", "before", "after", "time"])):
        count = int(random.integers(10, 40))
        child = [
            sys.executable,
            "-c",
            CHILD,
            moment,
            str(count),
            *cut,
            "--checkpoint-every",
            "1e-9",
        ]
        process = subprocess.run([*child, *resume], stderr=subprocess.PIPE, timeout=120)
        assert process.returncode == -signal.SIGKILL, process.stderr.decode()
        resume = ["--resume"]
    assert not (tmp_path / "cut" / "summary.json").exists()
    assert cli.run([*cut, *resume]) == 0
    whole, end = summary_of(tmp_path / "whole"), summary_of(tmp_path / "cut")
    for key in SAME[name]:
        assert end.get(key) == whole.get(key), key
    if name == "disks":
        # Every cycle is a record, so that none is cut.
        assert end["pressure"] == pytest.approx(whole["pressure"], rel=1e-12)
        assert_same_text(tmp_path, "pressure.csv")
        assert_same_trajectories(*(tmp_path / f / "trajectory.gsd" for f in ("whole", "cut")))
    if name == "electrolyte":
        assert end["energy_per_ion_kT"] == pytest.approx(whole["energy_per_ion_kT"], rel=1e-12)
        assert_same_text(tmp_path, "g.csv")
    if name == "adsorption":
        assert_same_text(tmp_path, "profile.csv")
        assert_same_text(tmp_path, "energy.csv")


@needs_lammps
@pytest.mark.parametrize("ranks", [1, 2])
def test_lammps_ends_with_the_command_that_is_killed(ranks, tmp_path):
    """It would write into the folder of the run that is resumed."""
    few = f"dpd --particles 300 --equilibrate 100000000 --ranks {ranks} --device cpu --threads 1"
    process = start([*COMMAND, *few.split(), "--quiet", "--output", tmp_path])
    until(lambda: (tmp_path / "log.lammps").exists(), process)
    (child,) = (int(pid) for pid in children_of(process.pid))
    assert tmp_path in folders_of_processes()
    process.kill()
    process.wait()
    for _ in range(100):
        if not any(tmp_path == cwd for cwd in folders_of_processes()):
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("LAMMPS still runs")


def children_of(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def folders_of_processes():
    """The working directory of each process that this user may look at."""
    for process in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            yield process.readlink()


def assert_same_text(folder, name):
    assert (folder / "whole" / name).read_text() == (folder / "cut" / name).read_text(), name


def assert_same_trajectories(one, other):
    with gsd.hoomd.open(str(one), "r") as a, gsd.hoomd.open(str(other), "r") as b:
        assert [f.configuration.step for f in a] == [f.configuration.step for f in b]
        for x, y in zip(a, b, strict=True):
            assert (x.particles.position == y.particles.position).all(), x.configuration.step


# Restart files between runs: within a run DPD's forces are those of velocities of the half step,
# and LAMMPS computes them again at the start of a run (fix nve), so that `restart N` within a run
# gives the same statistics only. A file takes its place when it is whole.
PIECES = """
label again
run 20
write_restart partial
shell mv partial state
if "$(step) < 1000" then "jump SELF again"
write_dump all custom last id x y z vx vy vz modify sort id format float %.17g
"""
FLUID = """
units lj
comm_modify vel yes
region box block 0 7 0 7 0 7
create_box 1 box
create_atoms 1 random 1029 11 box
mass 1 1.0
velocity all create 1.0 13 loop geom
timestep 0.01
pair_style manymove/dpd 1.0 1.0 4711 precision {precision}
pair_coeff 1 1 25.0 4.5
"""
REST = """
neighbor 0.3 bin
neigh_modify delay 0 every 1 check yes
fix nve all nve
{style}
thermo 1000
"""


@needs_lammps
@pytest.mark.parametrize(
    ("precision", "style"), [("double", ""), ("mixed", "run_style manymove/verlet device cpu")]
)
def test_a_fluid_in_lammps_that_is_killed_ends_with_the_same_bits(precision, style, tmp_path):
    random = np.random.default_rng(3)
    rest = REST.format(style=style) + PIECES
    start = FLUID.format(precision=precision) + rest
    go_on = "read_restart state\ncomm_modify vel yes\n" + rest

    def launch(folder, script):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "in").write_text(script)
        command = [*host.command(), "-in", "in", "-log", "none", "-screen", "none"]
        return processes.start(command, cwd=tmp_path / folder, env=environment())

    whole = launch("whole", start)
    script, killed = start, 0
    for _ in range(3):
        process = launch("cut", script)
        until = time.monotonic() + 60
        state = tmp_path / "cut" / "state"
        before = state.stat().st_mtime_ns if state.exists() else 0
        while process.poll() is None and time.monotonic() < until:
            if state.exists() and state.stat().st_mtime_ns != before:
                break
            time.sleep(0.005)
        time.sleep(random.uniform(0.0, 0.15))
        killed += process.poll() is None
        process.kill()
        process.wait()
        script = go_on
    assert killed == 3, "the run was over before it could be killed"
    assert launch("cut", script).wait(timeout=120) == 0
    assert whole.wait(timeout=120) == 0
    one, other = ((tmp_path / f / "last").read_text() for f in ("whole", "cut"))
    assert one.count("\n") > 1000 and one == other
