# SPDX-License-Identifier: BSD-3-Clause
"""Times over TCP between hosts that are namespaces, for ARCHITECTURE.md:

    chrt --rr 1 python tests/support/cluster_times.py > times.json

Two ranks of one thread are on one host or on two. Other programs may use the machine: all times are
the shortest of several repeats, `chrt` gives the ranks the cores, and there are pauses for the
others. As root only.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster import Cluster, lammps_on, mpi_of
from dpd_scripts import fluid, resident, system

from manymove import __version__
from manymove.devices import usable_cores

REPEATS = 5
PAUSE = 3  # seconds
DISKS = (20_000, 100_000)
PARTICLES = (3_000, 12_000)  # of DPD

MESSAGES = f"""
import json, time
import numpy as np
from mpi4py import MPI
comm, found = MPI.COMM_WORLD, []
for size in (8, 1024, 16384, 262144, 4194304):
    data, many = np.zeros(size, np.uint8), max(4, min(200, 4000000 // size))
    best = float("inf")
    for _ in range({REPEATS}):
        comm.Barrier()
        began = time.perf_counter()
        for _ in range(many):
            if comm.rank == 0:
                comm.Send(data, 1)
                comm.Recv(data, 1)
            else:
                comm.Recv(data, 0)
                comm.Send(data, 0)
        best = min(best, (time.perf_counter() - began) / many / 2)
    found.append(dict(bytes=size, microseconds=round(1e6 * best, 2)))
if comm.rank == 0:
    print(json.dumps(found))
"""

SHARED_DISKS = f"""
import json, time
from mpi4py import MPI
import manymove
from manymove.hard_particles.packing import square_packing
comm, found = MPI.COMM_WORLD, []
for number in {DISKS}:
    disks = manymove.HardDisks(
        *square_packing(number, 0.6), seed=1, device="cpu", threads=1, comm=comm
    )
    disks.run_cycles(5)
    best, cycles = float("inf"), max(5, 400000 // number)
    for _ in range({REPEATS}):
        comm.Barrier()
        began = time.perf_counter()
        disks.run_cycles(cycles)
        best = min(best, (time.perf_counter() - began) / cycles)
    found.append(dict(disks=disks.N, cells=disks.cells, microseconds=round(1e6 * best, 1)))
if comm.rank == 0:
    print(json.dumps(found))
"""


def script(particles: int, style: str) -> str:
    edge = round((particles / 3) ** (1 / 3))
    head = system(f"block 0 {edge} 0 {edge} 0 {edge}", particles, "processors 2 1 1")
    steps = max(10, 240_000 // particles)
    runs = f"run {steps} post no\n" * REPEATS
    return head + fluid("mixed") + f"thermo {steps}\n" + style + "run 100 post no\n" + runs


def dpd(cluster: Cluster, ranks: int, style: str) -> list[dict]:
    found = []
    for particles in PARTICLES:
        time.sleep(PAUSE)
        words, environment = lammps_on(cluster, ranks, script(particles, style))
        said = cluster.run(words, environment, cwd=cluster.folder, seconds=600)
        loops = re.findall(r"Loop time of (\S+) on 2 procs for (\d+) steps", said)[1:]
        best = min(float(seconds) / int(steps) for seconds, steps in loops)
        found.append({"particles": particles, "microseconds": round(1e6 * best, 1)})
    return found


def python(cluster: Cluster, ranks: int, code: str) -> list[dict]:
    time.sleep(PAUSE)
    words, environment = mpi_of("MPICH").on(cluster, ranks)
    said = cluster.run([*words, sys.executable, "-c", code], environment, seconds=600)
    return json.loads(said.splitlines()[-1])


def times(hosts: int, folder: Path) -> dict[str, list[dict]]:
    cluster = Cluster(hosts, folder)
    ranks = 2 // hosts
    try:
        return {
            "messages": python(cluster, ranks, MESSAGES),
            "shared disks, per cycle": python(cluster, ranks, SHARED_DISKS),
            "verlet, per step": dpd(cluster, ranks, ""),
            "manymove/verlet device cpu, per step": dpd(cluster, ranks, resident("cpu")),
        }
    finally:
        cluster.end()


def main() -> None:
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    record = {
        "what": "two ranks of one thread on one host and on two, MPICH with OFI over TCP",
        "version": __version__,
        "commit": commit,
        "processor": processor[1] if processor else platform.processor(),
        "cores": len(usable_cores()),
        "load": os.getloadavg()[0],
    }
    for name, hosts in (("one host", 1), ("two hosts", 2)):
        with tempfile.TemporaryDirectory() as folder:
            record[name] = times(hosts, Path(folder))
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
