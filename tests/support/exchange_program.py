"""Replica exchange on ranks: `mpiexec -n R python exchange_program.py TASK FOLDER`.

Each rank leaves what it found in FOLDER/TASK-RANK.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[1] / "package"))

from test_exchange import disks, results

from manymove import ReplicaExchange

if __name__ == "__main__":
    task, folder = sys.argv[1], Path(sys.argv[2])
    exchange = ReplicaExchange(disks(comm=MPI.COMM_WORLD), 10)
    exchange.run_until(400, equilibrate=100, folder=folder / "checkpoint")
    found = results("disks", exchange)
    (folder / f"{task}-{MPI.COMM_WORLD.rank}.json").write_text(json.dumps(found))
