"""A process of `python -m benchmarks all` whose parts take no time: one hangs, one needs a program
that is missing, one crashes and one fails with its peers."""

import json
import os
import sys
from pathlib import Path

from benchmarks import suite


def row(size, variant, rate, spread=0.0):
    return {
        "particles": size,
        "variant": variant,
        "trial_moves_per_second": rate,
        "lowest": rate * (1 - spread),
        "highest": rate * (1 + spread),
        "peer": False,
    }


ROWS = {
    10: [
        row(10, "cpu", 6.0),
        row(10, "cuda:0", 90.0, 0.25),
        row(10, "HPMC (HOOMD-blue 7), nselect 8", 20.0),
        row(10, "HPMC (HOOMD-blue 7), nselect 16", 30.0),
    ],
    99: [
        row(99, "cuda:0", 5.0),
        {"particles": 99, "variant": "HPMC (HOOMD-blue 7), nselect 8", "failure": "no memory"},
    ],
}


def disks(size, **common):
    assert common == {"device": "cpu", "repeats": 3, "seconds": 0.5, "seed": 1}
    return {"packing_fraction": 0.698, "results": ROWS[size]}


def missing(size, **common):
    raise ImportError("bench hoomd needs HOOMD-blue")


def hangs(size, **common):
    if size == 99:
        os.system("sleep 100")  # which ends with the part
    return disks(size, **common)


def crashes(size, **common):
    """Where the second size meets the peers."""
    if size == 99 and sys.modules.get("hoomd", 1) is not None:
        os.abort()
    return disks(size, **common)


def fails(size, **common):
    raise RuntimeError("no fluid")


RUNS = {
    "disks": disks,
    "hoomd": missing,
    "dpd": hangs,
    "electrolyte": crashes,
    "adsorption": fails,
}

PARTS = {
    name: suite.Part(
        name, [10, 99], [10, 99], "particles", "trial_moves_per_second", "trial moves/s",
        lambda row: row["variant"].startswith("HPMC"), run,
    )
    for name, run in RUNS.items()
}  # fmt: skip

if __name__ == "__main__":
    suite.PARTS = PARTS
    sys.exit(suite.work(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3])))
