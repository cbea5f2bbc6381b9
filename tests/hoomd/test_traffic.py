"""What the ranks of a HOOMD-blue simulation of hard disks send each other: a library that is loaded
before MPI counts the reductions and gathers of arrays as long as all particles."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from commands import CLEAN, MPIEXEC
from processes import on_ranks, run, with_support

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
COMPILER = shutil.which(os.environ.get("CC", "gcc"))
HEADER = Path(sys.prefix) / "include/mpi.h"
pytestmark = pytest.mark.skipif(
    not (MPIEXEC and COMPILER and HEADER.exists() and hoomd.version.mpi_enabled), reason="no MPI"
)

SIDE = 60
COUNTER = f"""
#include <mpi.h>
#include <stdio.h>
static int large;
static void note(int count) {{ large += count >= {SIDE * SIDE}; }}
int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm) {{
  note(n);
  return PMPI_Allreduce(in, out, n, t, op, comm);
}}
int MPI_Iallreduce(const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {{
  note(n);
  return PMPI_Iallreduce(in, out, n, t, op, comm, request);
}}
int MPI_Iallgather(const void* in, int n, MPI_Datatype t, void* out, int m, MPI_Datatype u,
                   MPI_Comm comm, MPI_Request* request) {{
  int size;
  MPI_Type_size(t, &size);
  note(n * size / 8);  // as many float64
  return PMPI_Iallgather(in, n, t, out, m, u, comm, request);
}}
int MPI_Finalize(void) {{
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("large %d\\n", large);
  fflush(stdout);
  return PMPI_Finalize();
}}
"""
SCRIPT = f"""
import sys, hoomd.manymove
from hoomd_disks import on_lattice
types = sys.argv[1]
simulation = on_lattice({SIDE}, types=types)
simulation.operations.integrator = disks = hoomd.manymove.HardDisks(sweeps_per_step=100)
for k, name in enumerate(types):
    disks.shape[name] = dict(diameter=1 - 0.1 * k)
simulation.run(int(sys.argv[2]))
assert disks.overlaps == 0
"""


def large_reductions(counter, types, steps, folder):
    command = [*on_ranks(2), sys.executable, "-c", SCRIPT, types, steps]
    done = run(
        command, cwd=folder, env=with_support({**CLEAN, "LD_PRELOAD": str(counter)}), timeout=120
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("large ")]
    return int(line.split()[1])


def test_no_array_as_long_as_all_particles_travels(tmp_path):
    pytest.importorskip("hoomd.manymove")
    source, counter = tmp_path / "counter.c", tmp_path / "counter.so"
    source.write_text(COUNTER)
    library = Path(sys.prefix) / "lib"
    command = [COMPILER, "-shared", "-fPIC", f"-I{HEADER.parent}", source, "-o", counter]
    run([*command, f"-L{library}", "-lmpi", f"-Wl,-rpath,{library}"], check=True)
    assert large_reductions(counter, "A", 10, tmp_path) == 0
    start = large_reductions(counter, "AB", 0, tmp_path)
    assert start > 0  # all ranks have the diameters of a mixture
    assert large_reductions(counter, "AB", 10, tmp_path) == start
