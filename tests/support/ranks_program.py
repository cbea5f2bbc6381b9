"""Ranks of hard_particles/test_ranks.py that share hard disks (rank_tasks.py)."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import rank_tasks
from flat_settings import of_hard_particles
from hard_disks import lattice
from rank_tasks import Errors, digest, fail_on_one_rank

from manymove import HardDisks
from manymove.hard_particles.packing import random_packing

CASES = {
    "defaults": (1500, 0.698, {"tile": 9}),
    "smallest tiles": (1000, 0.6, {"tile": 3, "seed": 2}),
    "tiles of unequal height": (2000, 0.7, {"tile": 5, "rounds": 2, "seed": 3}),
    "wide cells": (2500, 0.7, {"tile": 7, "cell_width": 1.4, "moves_per_cell": 8}),
    "n_m 3": (1200, 0.3, {"tile": 6, "moves_per_cell": 3, "rounds": 1}),
}


def trajectory(name: str, device: str, comm=None) -> dict:
    """What must not depend on the number of ranks, and psi_6, which may in its last digits."""
    N, packing_fraction, settings = CASES[name]
    positions, box = random_packing(N, packing_fraction, seed=1, aspect_ratios=(1.0, 0.8))
    if comm is not None and comm.rank > 0:
        positions = None
    settings = of_hard_particles(**{"seed": 1, **settings})
    disks = HardDisks(positions, box, device=device, threads=1, comm=comm, **settings)
    disks.run(10.5)
    disks.sample_pressure(every=1e-9, record=1e-9)  # each cycle
    disks.run_cycles(60)
    disks.run_until(disks.sweeps + 7)
    return {
        "hash": disks.state_hash,
        "positions": digest(disks.positions),
        "counters": [disks.cycles, disks.trial_moves, disks.accepted_moves],
        "sweeps": disks.sweeps,
        "histogram": digest(disks.pair_histogram),
        "records": digest(disks.pressure_records),
        "record sweeps": digest(disks.pressure_sweeps),
        "overlap": disks.max_overlap(),
        "psi6": abs(disks.psi6()),
    }


def small(comm=None, **settings) -> HardDisks:
    positions, box = random_packing(1200, 0.698, seed=1)
    settings = {"tile": 5, "seed": 9, "device": "cpu", "threads": 1, "comm": comm, **settings}
    return HardDisks(positions, box, **of_hard_particles(**settings))


def trajectories(comm, folder: Path) -> dict:
    device = os.environ.get("RANKS_DEVICE", "cpu")
    return {name: trajectory(name, device, comm) for name in CASES}


def save(comm, folder: Path) -> str:
    disks = small(comm)
    disks.run_cycles(50)
    disks.save(folder / "ranks.state")
    disks.run_cycles(50)
    return disks.state_hash


def load(comm, folder: Path) -> list[str]:
    hashes = []
    for name in ("ranks.state", "alone.state"):
        disks = HardDisks.load(folder / name, device="cpu", threads=1, comm=comm)
        disks.run_cycles(50)
        hashes.append(disks.state_hash)
    return hashes


def interrupt(comm, folder: Path) -> list:
    return rank_tasks.interrupt(comm, small(comm).run_cycles, "cycles")


def errors(comm, folder: Path) -> dict:
    """Every error is one of all ranks, with the message of that which had it."""
    found = Errors()
    attempt = found.attempt
    touching = lattice(40, 40, (60.0, 60.0))
    touching[1] = touching[0] + 0.9
    attempt("too many", lambda: small(comm, tile=33))
    attempt("other settings", lambda: small(comm, seed=comm.rank))
    attempt("overlap", lambda: HardDisks(touching, (60.0, 60.0), seed=1, comm=comm))
    ragged = [[0.0, 0.0], [1.0]] if comm.rank == 0 else None
    attempt("no points", lambda: HardDisks(ragged, (60.0, 60.0), seed=1, comm=comm))
    attempt("no file", lambda: HardDisks.load(folder / "none", comm=comm))
    attempt("device", lambda: small(comm, device="cuda:99" if comm.rank == 1 else "cpu"))
    attempt("no communicator", lambda: small(comm=7))
    attempt("timeout", lambda: small(comm, timeout=0.0))
    (folder / "damaged").write_bytes(b"PK")
    attempt("damaged", lambda: HardDisks.load(folder / "damaged", comm=comm))
    disks = small(comm)
    attempt("tune", disks.tune)
    attempt("no folder", lambda: disks.save(folder / "none" / "file"))
    attempt("callback", lambda: disks.run_cycles(5, callbacks=[(1, fail_on_one_rank(comm))]))
    disks.run_cycles(5)
    return {**found, "continues": [disks.cycles, disks.state_hash]}


def asleep_on_gpu(comm, folder: Path) -> str:
    """The last rank stops alone; the other one wakes it when it has its error."""
    disks, pids = small(comm, device="cuda"), comm.allgather(os.getpid())
    disks.run_cycles(5)
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    try:
        disks.run_cycles(10**9)
    except RuntimeError as error:
        if comm.rank == 0:
            os.kill(pids[1], signal.SIGCONT)
        return str(error)
    return "went on"


def mixed(comm, folder: Path) -> str:
    """One rank on a CPU, the other on a GPU."""
    try:
        small(comm, device="cuda:0" if comm.rank else "cpu")
    except ValueError as error:
        return str(error)
    return "no error"


def lost(comm, folder: Path) -> str:
    return rank_tasks.lose_a_rank(comm, small(comm, timeout=3.0).run_cycles)


if __name__ == "__main__":
    rank_tasks.make_tasks(globals())
