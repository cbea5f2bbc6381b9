# SPDX-License-Identifier: BSD-3-Clause
"""What the hosts of a cluster share, and what its ranks know of each other."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

from cluster import Host, fixture_of, mpi_of

cluster = fixture_of(2)

WORLD = """
from mpi4py import MPI
from manymove.jobs.world import World
everyone = MPI.COMM_WORLD
found = everyone.gather((MPI.Get_processor_name(), World.of(everyone).local_rank))
if everyone.rank == 0:
    print(*found, sep="\\n")
"""


def reaches(host: Host, other: Host) -> bool:
    """Whether the other host answers: no program listens on the port, so it refuses to connect."""
    code = f"import socket; print(socket.socket().connect_ex(('{other.name}', 9)))"
    answer = host(f'timeout 2 {sys.executable} -c "{code}" || true').strip()
    return answer == str(errno.ECONNREFUSED)


def test_hosts_share_a_network_and_the_files_but_no_memory(cluster):
    first, second = cluster.hosts
    assert (first("hostname").strip(), second("hostname").strip()) == ("node1", "node2")
    assert reaches(second, first) and reaches(second, cluster.front)
    first("echo kept > /dev/shm/manymove-test")
    assert second("ls /dev/shm").split() == []
    assert not Path("/dev/shm/manymove-test").exists()
    assert first("readlink /proc/self/ns/ipc") != second("readlink /proc/self/ns/ipc")
    assert first("ls -d /proc/[0-9]*").count("/proc") < 10  # its own processes only
    (cluster.folder / "common").write_text("seen by all")
    assert second(f"cat {cluster.folder}/common") == "seen by all"


def test_a_cable_that_is_disconnected(cluster):
    first, second = cluster.hosts
    second.plug(False)
    assert not reaches(first, second)
    second.plug(True)
    assert reaches(first, second)


def test_ranks_are_counted_on_each_host(cluster):
    words, environment = mpi_of("MPICH").on(cluster, 2)
    said = cluster.run([*words, sys.executable, "-c", WORLD], environment)
    assert said.splitlines() == [
        "('node1', 0)",
        "('node1', 1)",
        "('node2', 0)",
        "('node2', 1)",
    ]
