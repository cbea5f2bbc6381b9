# SPDX-License-Identifier: BSD-3-Clause
"""Slurm on the hosts of a cluster: its controller on the front end, its daemons on the hosts.

It needs Debian's packages slurmctld, slurmd, slurm-client and munge.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from cluster import Cluster, fixture_of
from commands import CLEAN, COMMAND, MPIEXEC, summary_of
from dpd_scripts import fluid, resident, system
from lammps_host import needs_lammps

from manymove.lammps import host

PROGRAMS = ("slurmctld", "slurmd", "srun", "sbatch", "munged")
CONFIGURATION = """
ClusterName=test
SlurmctldHost=front
SlurmUser=root
MpiDefault=pmi2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
ReturnToService=2
KillWait=5
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdSpoolDir={folder}/%n
SlurmdPidFile={folder}/%n/pid
SlurmdParameters=config_overrides
NodeName=node[1-2] CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""
DISKS = "disks --particles 3000 --device cpu --threads 1 --quiet --frames 1 --equilibrate 5 "
DISKS += "--checkpoint-every 0.1 --decompose --seed 5"

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, PROGRAMS)), reason="Slurm or munge is not installed"
)
cluster = fixture_of(2)


@pytest.fixture
def batch(cluster: Cluster) -> Iterator[Callable]:
    """A function that submits the lines of a job script, for two tasks on each of two hosts."""
    folder = cluster.folder
    for name in ("state", "node1", "node2"):
        (folder / name).mkdir()
    (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder))
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    key = folder / "key"
    key.touch(0o600)
    key.write_bytes(os.urandom(128))
    environment = {**CLEAN, "SLURM_CONF": str(folder / "slurm.conf")}
    daemons = []

    def start(where, *words: str) -> None:
        with open(folder / f"{where.name}.log", "a") as log:
            program = ["setpriv", "--pdeathsig", "KILL", *where.inside(*words)]
            daemons.append(
                subprocess.Popen(
                    program, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            )

    def submit(*lines: str) -> None:
        head = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=2\n"
        end = f"\necho $? > {folder}/code.part; mv {folder}/code.part {folder}/code\n"
        (folder / "job").write_text(head + "\n".join(lines) + end)
        cluster.run(["sbatch", f"--output={folder}/out", str(folder / "job")], environment, folder)

    try:
        for where in [cluster.front, *cluster.hosts]:
            where("mount -t tmpfs tmpfs /run && mkdir -p /run/munge")
            munge = [
                f"--{word}=/run/munge/{word}" for word in ("log-file", "pid-file", "seed-file")
            ]
            start(where, "munged", "--foreground", "--force", f"--key-file={key}", *munge)
        start(cluster.front, "slurmctld", "-D")
        for where in cluster.hosts:
            start(where, "slurmd", "-D", "-N", where.name)
        states = f"SLURM_CONF={folder}/slurm.conf sinfo --noheader --Node --format=%T || true"
        until(lambda: cluster.front(states).split() == ["idle", "idle"])
        yield submit
    finally:
        cluster.end()
        for daemon in daemons:
            daemon.kill()
            daemon.wait()


def end_of(cluster: Cluster, seconds: float = 100) -> tuple[int, str]:
    """The exit status of the last command of the job and what all have printed."""
    until((cluster.folder / "code").exists, seconds)
    return int((cluster.folder / "code").read_text()), (cluster.folder / "out").read_text()


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize(
    "launcher", ["srun --mpi=pmi2", f"{MPIEXEC} -n 4"], ids=["srun", "mpiexec"]
)
def test_disks_that_ranks_share(launcher, batch, cluster, tmp_path):
    """Both launchers know the hosts from Slurm."""
    program = " ".join([f'{COMMAND[0]} -c "{COMMAND[2]}"', DISKS, "--sweeps 20 --output"])
    batch("export MPIR_CVAR_CH4_NETMOD=ofi", f"{launcher} {program} {tmp_path}/four")
    code, said = end_of(cluster)
    assert code == 0, said
    assert "messages travel through MPI; ranks 0-1 on node1, 2-3 on node2" in said
    words = [*COMMAND, *DISKS.split(), "--sweeps", "20", "--output", str(tmp_path / "one")]
    subprocess.run(words, check=True, timeout=60)
    assert summary_of(tmp_path / "four")["state_hash"] == summary_of(tmp_path / "one")["state_hash"]


@needs_lammps
def test_lammps(batch, cluster):
    script = system("block 0 6 0 6 0 6", 648) + fluid("mixed") + resident("cpu") + "run 2\n"
    (cluster.folder / "in").write_text(script)
    found = host.environment()
    names = ("LD_LIBRARY_PATH", "LAMMPS_PLUGIN_PATH", "MPIR_CVAR_CH4_NETMOD")
    lines = [f"export {name}={found[name]}" for name in names]
    batch(*lines, f"srun --mpi=pmi2 {host.command(2)[-1]} -in in -log none -nocite")
    code, said = end_of(cluster)
    assert code == 0, said
    assert "ghosts travel through MPI; ranks 0-1 on node1, 2-3 on node2" in said


def test_a_killed_rank_ends_the_step(batch, cluster, tmp_path):
    program = f'{COMMAND[0]} -c "{COMMAND[2]}" {DISKS} --sweeps 100000000 --output {tmp_path}'
    batch(f"srun --mpi=pmi2 --kill-on-bad-exit=1 {program}")
    until(lambda: list(tmp_path.glob("checkpoint-*.state")))
    cluster.hosts[1].signal(signal.SIGKILL, os.path.basename(sys.executable), last_only=True)
    code, said = end_of(cluster)
    assert code != 0, said


def test_a_signal_before_the_time_is_up(batch, cluster, tmp_path):
    """The command writes its checkpoint, and --resume would continue it."""
    program = f'{COMMAND[0]} -c "{COMMAND[2]}" {DISKS}'
    srun = f"srun --mpi=pmi2 {program} --output {tmp_path}"
    batch(f"{srun} --sweeps 100000000")
    until(lambda: list(tmp_path.glob("checkpoint-*.state")))
    configuration = f"SLURM_CONF={cluster.folder}/slurm.conf"
    cluster.front(f"{configuration} scancel --signal=TERM 1")
    _, said = end_of(cluster)
    assert summary_of(tmp_path)["complete"] is False, said
