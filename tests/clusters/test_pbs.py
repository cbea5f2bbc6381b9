# SPDX-License-Identifier: BSD-3-Clause
"""The job script for PBS of docs/clusters.md. Debian has no PBS, so that its environment is
imitated: a file with one line for each rank, and SIGTERM when the time is up."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cluster import Cluster, Mpi, fixture_of, mpi_of
from commands import CLEAN, COMMAND, summary_of
from documents import ROOT

DISKS = "disks --particles 3000 --equilibrate 1 --frames 1 --decompose --device cpu --threads 1"

cluster = fixture_of(2)


@pytest.fixture(params=["MPICH", "Open MPI"])
def mpi(request):
    return mpi_of(request.param)


def script(mpi: Mpi, options: str) -> str:
    """The script of the page, with this environment in place of modules, and another command."""
    page = (ROOT / "docs" / "clusters.md").read_text()
    (text,) = re.findall(r"```sh\n(#!/bin/bash\n#PBS .*?)```", page, re.DOTALL)
    launch = "mpirun -n 8 --hostfile $PBS_NODEFILE"
    assert launch in text and "`mpiexec -f $PBS_NODEFILE -n 8`" in page
    head, command = text.split(launch)
    assert command.startswith(" manymove disks ") and command.count("\n") == 1
    head = re.sub(r"module load .*\n\. .*\n", "", head)
    assert head.endswith("cd $PBS_O_WORKDIR\n")
    if mpi.name == "MPICH":
        launch = "mpiexec -f $PBS_NODEFILE -n 4"
    else:
        passed = " ".join(f"-x {name}" for name in mpi.environment)
        launch = f"mpirun -n 4 --hostfile $PBS_NODEFILE --bind-to none {passed}"
    program = f'{COMMAND[0]} -c "{COMMAND[2]}"'
    return f"{head}{launch} {program} {DISKS} --checkpoint-every 0.1 {options}\n"


def submit(cluster: Cluster, mpi: Mpi, options: str) -> subprocess.Popen[str]:
    (cluster.folder / "job").write_text(script(mpi, options))
    nodes = cluster.folder / "nodes"
    nodes.write_text("".join(f"{host.name}\n" * 2 for host in cluster.hosts))
    environment = {
        **CLEAN,
        **mpi.environment,
        "PATH": f"{Path(mpi.mpiexec).parent}:{CLEAN['PATH']}",
        "PBS_ENVIRONMENT": "PBS_BATCH",
        "PBS_JOBID": "1.front",
        "PBS_NODEFILE": str(nodes),
        "PBS_O_WORKDIR": str(cluster.folder),
        # What replaces ssh.
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": str(cluster.rsh),
        "PRTE_MCA_plm_ssh_agent": str(cluster.rsh),
    }
    return cluster.start(["bash", str(cluster.folder / "job")], environment)


def test_disks_that_ranks_share(mpi, cluster, tmp_path):
    job = submit(cluster, mpi, f"--sweeps 20 --output {tmp_path}/four")
    said = job.communicate(timeout=100)[0]
    assert job.returncode == 0, said
    assert "messages travel through MPI; ranks 0-1 on node1, 2-3 on node2" in said
    words = [*COMMAND, *DISKS.split(), "--sweeps", "20", "--output", str(tmp_path / "one")]
    subprocess.run(words, check=True, timeout=60)
    assert summary_of(tmp_path / "four")["state_hash"] == summary_of(tmp_path / "one")["state_hash"]


def test_a_signal_when_the_time_is_up(mpi, cluster, tmp_path):
    """PBS signals the processes of the job on its first host. All ranks stop, and --resume would
    continue the run."""
    job = submit(cluster, mpi, f"--sweeps 100000000 --output {tmp_path}")
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("checkpoint-*.state")):
        assert job.poll() is None, job.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.1)
    cluster.hosts[0].signal(signal.SIGTERM, os.path.basename(sys.executable))
    said = job.communicate(timeout=60)[0]
    assert summary_of(tmp_path)["complete"] is False, said
