# SPDX-License-Identifier: BSD-3-Clause
"""The component for HOOMD-blue on two hosts with two ranks each computes what one rank computes. It
ends when a host is lost. Four hosts: `MANYMOVE_HOSTS=4`."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from cluster import fixture_of, mpi_of
from processes import run, with_support

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
pytest.importorskip("hoomd.manymove")
pytestmark = pytest.mark.skipif(not hoomd.version.mpi_enabled, reason="no MPI")

HOSTS = int(os.environ.get("MANYMOVE_HOSTS", "2"))
SIDE = str(30 * HOSTS)  # disks along an edge
LIMIT = 4  # seconds, MANYMOVE_TIMEOUT
# HOOMD-blue may be a folder of PYTHONPATH, and its MPI one of LD_LIBRARY_PATH.
PASSED = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}

cluster = fixture_of(HOSTS)

SCRIPT = """
import json, os, pathlib, sys
from waits_program import hoomd_simulation
folder, steps, side = pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:])
simulation, disks = hoomd_simulation(side, sweeps_per_step=20)
simulation.run(5)
(folder / "runs").touch()
simulation.run(steps)
found = [disks.state_hash, disks.pressure, disks.translate_moves, disks.overlaps]
snapshot = simulation.state.get_snapshot()
if simulation.device.communicator.rank == 0:
    found.append(snapshot.particles.position.tolist())
    (folder / "found").write_text(json.dumps(found))
"""


def on_hosts(cluster, folder: Path, steps: int, **environment: str):
    paths = with_support()["PYTHONPATH"]
    words, everything = mpi_of("MPICH").on(cluster, 2, **PASSED, PYTHONPATH=paths, **environment)
    return [*words, sys.executable, "-c", SCRIPT, str(folder), str(steps), SIDE], everything


def test_disks(cluster, tmp_path):
    said = cluster.run(*on_hosts(cluster, tmp_path, 10))
    where = ", ".join(f"{2 * k}-{2 * k + 1} on node{k + 1}" for k in range(HOSTS))
    assert said.count(f"hoomd.manymove: messages travel through MPI; ranks {where}\n") == 1, said
    many = json.loads((tmp_path / "found").read_text())
    one = tmp_path / "one"
    one.mkdir()
    done = run([sys.executable, "-c", SCRIPT, one, "10", SIDE], env=with_support())
    assert done.returncode == 0, done.stderr
    assert many == json.loads((one / "found").read_text())


def test_a_cable_that_stays_disconnected(cluster, tmp_path):
    """The ranks wait in HOOMD-blue, or in the component."""
    words, environment = on_hosts(cluster, tmp_path, 10**8, MANYMOVE_TIMEOUT=str(LIMIT))
    process = cluster.start(words, environment)
    while not (tmp_path / "runs").exists():
        assert process.poll() is None, process.communicate()[0]
    cluster.hosts[1].plug(False)
    for host in cluster.hosts:
        host.gone(os.path.basename(sys.executable), LIMIT + 30)
    said = process.communicate(timeout=30)[0]
    assert process.returncode != 0
    own = rf"ranks 2, 3 of {2 * HOSTS} have been silent for {LIMIT} s"
    assert re.search(rf"{own}|has waited in MPI_\w+ and not heard of rank 2", said), said
