"""Replica exchange on ranks: `mpiexec -n R python exchange_program.py TASK FOLDER`.

Each rank leaves what it found in FOLDER/TASK-RANK.json.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[1] / "package"))

from test_exchange import disks, results

from manymove import ReplicaExchange

if __name__ == "__main__":
    task, folder = sys.argv[1], Path(sys.argv[2])
    exchange = ReplicaExchange(disks(comm=MPI.COMM_WORLD), 10)
    # The call before which a rank, or each of them, gets a signal.
    moments = {"one": "_exchange", "other": "save", "both": "_advance"}
    interrupted, moment = [], moments.get(task)
    if moment is not None:
        bare, left = getattr(ReplicaExchange, moment), [4]
        ranks = {"one": [0], "other": [1], "both": [0, 1]}[task]

        def signaled(*given, **options):
            left[0] -= 1
            if left[0] == 0 and MPI.COMM_WORLD.rank in ranks:
                os.kill(os.getpid(), signal.SIGINT)
            return bare(*given, **options)

        setattr(ReplicaExchange, moment, signaled)
    options = {"equilibrate": 100, "folder": folder / "checkpoint", "save_every": 0}
    try:
        exchange.run_until(400, **options)
    except KeyboardInterrupt:
        interrupted.append(exchange.exchanges)
        exchange.run_until(400, **options)
    assert (moment is None) == (not interrupted)
    found = results("disks", exchange)
    (folder / f"{task}-{MPI.COMM_WORLD.rank}.json").write_text(json.dumps(found))
