"""Ranks of electrolyte/test_ranks.py (rank_tasks.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import rank_tasks
from electrolytes import dense, trivalent
from rank_tasks import Errors, digest, fail_on_one_rank

from manymove import Electrolyte, Ranks

SPHERE: dict[str, Any] = {}
NEAREST = {"periodic": True}
CONDUCTOR = {"periodic": True, "boundary": "ewald"}
VACUUM = {"periodic": True, "surrounding": "vacuum"}
# More candidates than the ranks decide at a time, and no multiple of it.
CASES: dict[str, dict[str, Any]] = {
    f"{method}, {place}, {precision}": {**settings, "method": method, "precision": precision}
    for place, settings in (
        ("sphere", SPHERE),
        ("nearest images", NEAREST),
        ("conductor", CONDUCTOR),
        ("vacuum", VACUUM),
    )
    for method, precision in (("brush", "mixed"), ("brush", "double"), ("tree", "double"))
    if method == "brush" or settings is not NEAREST
}
CASES["brush, two threads"] = {**NEAREST, "threads": 2}
CASES["tree, two threads"] = {**SPHERE, "method": "tree", "threads": 2}
CASES["brush, too few ions to share"] = {**SPHERE, "ions": 48}
CASES["tree, too few ions to share"] = {**CONDUCTOR, "ions": 120, "method": "tree"}


def small(comm: Any = None, **settings: Any) -> Electrolyte:
    settings = {"ions": 700, "threads": 1, "device": "cpu", "comm": comm, **settings}
    return trivalent(**settings)


def trajectory(name: str, comm: Any = None) -> dict[str, Any]:
    """What must not depend on the number of ranks."""
    return of(small(comm, **CASES[name]))


def unequal(method: str, comm: Any = None) -> dict[str, Any]:
    """Ions that reject each other's trials: many overlaps, which ranks look for in shares."""
    precision = "double" if method == "tree" else "mixed"
    return of(dense(600, method=method, precision=precision, device="cpu", threads=1, comm=comm))


def of(ions: Electrolyte) -> dict[str, Any]:
    ions.run(2)
    ions.sample_pair_correlations(every=1)
    ions.run(3)
    start = ions.energy
    ions.set_positions(ions.positions, ions.images if ions.surrounding == "vacuum" else None)
    ions.run(1)
    return {
        "hash": ions.state_hash,
        "positions": digest(ions.positions),
        "images": digest(ions.images) if ions.surrounding == "vacuum" else "",
        "counters": [ions.trial_moves, ions.accepted_moves, ions.evaluated_moves],
        "direct": ions.direct_moves,
        "energies": [start, ions.energy, ions.energy_drift()],
        "pairs": digest(ions.pair_correlations.counts),
        "overlap": ions.max_overlap(),
    }


def trajectories(comm: Any, folder: Path) -> dict[str, Any]:
    found = {name: trajectory(name, comm) for name in CASES}
    return {**found, **{method: unequal(method, comm) for method in ("brush", "tree")}}


def save(comm: Any, folder: Path) -> list[Any]:
    ions = small(comm, **VACUUM, method="tree")
    ions.sample_pair_correlations(every=2)
    ions.run(3)
    ions.save(folder / "ranks.state")
    ions.run(3)
    return [ions.ranks, ions.state_hash, ions.energy_records.tolist()]


def load(comm: Any, folder: Path) -> list[Any]:
    found = []
    for name in ("ranks.state", "alone.state"):
        ions = Electrolyte.load(folder / name, device="cpu", threads=1, comm=comm)
        ions.run(3)
        found.append([ions.ranks, ions.state_hash, ions.energy_records.tolist()])
    return found


def interrupt(comm: Any, folder: Path) -> list[Any]:
    return rank_tasks.interrupt(comm, small(comm, ions=80).run, "sweeps")


def errors(comm: Any, folder: Path) -> dict[str, Any]:
    """Every error is one of all ranks, with the message of that which had it."""
    found = Errors()
    attempt = found.attempt
    ions = small(comm, ions=80)
    box = {**ions.settings, "device": "cpu", "threads": 1}
    second = comm.rank == 1

    def made(**changes: Any) -> Electrolyte:
        return Electrolyte(**{**box, **changes})

    touching = ions.positions
    touching[7] = touching[3] + 0.5
    shifted = ions.positions
    shifted[0] *= 1 - 1e-3 * second
    attempt("other seeds", lambda: made(seed=comm.rank))
    attempt("other positions", lambda: made(positions=shifted))
    attempt("no positions", lambda: made(positions=None if second else box["positions"]))
    attempt("other shapes", lambda: made(positions=np.zeros((80, 2 + comm.rank))))
    attempt("one shape", lambda: made(positions=np.zeros((80, 2))))
    attempt("overlap", lambda: made(positions=touching))
    attempt("reduction", lambda: made(method="reduction"))
    attempt("serial", lambda: made(method="serial"))
    attempt("tree", lambda: made(method="tree", precision="mixed"))
    attempt("device", lambda: made(device="cuda:0" if second else "cpu"))
    attempt("no communicator", lambda: made(comm=7))
    attempt("timeout", lambda: made(comm=Ranks(comm, timeout=0.0)))
    attempt("no file", lambda: Electrolyte.load(folder / "none", comm=comm))
    (folder / "damaged").write_bytes(b"PK")
    attempt("damaged", lambda: Electrolyte.load(folder / "damaged", comm=comm))
    attempt("no folder", lambda: ions.save(folder / "none" / "file"))
    before = ions.state_hash
    attempt("set", lambda: ions.set_positions(touching))
    attempt("set others", lambda: ions.set_positions(shifted))
    broken = [[0.5, 0, 0]] if second else None
    attempt("images", lambda: ions.set_positions(ions.positions, broken))
    found["kept"] = ions.state_hash == before
    attempt("callback", lambda: ions.run(5, callbacks=[(1, fail_on_one_rank(comm))]))
    attempt("callbacks", lambda: ions.run(5, callbacks=[(1 + comm.rank, print)]))
    ions.run(5)
    found["continues"] = [ions.sweeps, ions.state_hash]
    # Last, because the ranks cannot use their duplicate of the communicator any more.
    attempt("one number", lambda: made(positions=box["positions"][: 80 - second]))
    return found


def lost(comm: Any, folder: Path) -> str:
    return rank_tasks.lose_a_rank(comm, small(Ranks(comm, timeout=3.0), ions=80).run)


def endless(comm: Any, folder: Path) -> None:
    ions = small(comm, ions=80)
    ions.run(5)
    (folder / f"runs-{comm.rank}").touch()
    ions.run(10**9)


if __name__ == "__main__":
    rank_tasks.make_tasks(globals())
