"""Waits at the start of a job and in HOOMD-blue end when a rank is silent; errors of one rank in
LAMMPS and HOOMD-blue are errors of all.

More of both is in parallel/test_silent_ranks.py and dpd/test_faults.py.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import processes
import pytest
from commands import CLEAN, MPIEXEC
from dpd_scripts import fluid, one_type, resident, system
from lammps_host import needs_lammps, run_lammps
from machine import limits_address_space
from processes import LIMIT, LIMITED, SOON, Job, on_ranks

from manymove.lammps import host

pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")


def found(ranks: int, task: str, folder: Path, **more: object) -> list[dict]:
    pytest.importorskip("mpi4py")
    return processes.found("waits_program.py", ranks, task, folder, **LIMITED, **more)


def silence(rank: int, ranks: int) -> str:
    return f"rank {rank} of {ranks} has been silent for {LIMIT} s (MANYMOVE_TIMEOUT)"


# ---- Python --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_rank_that_is_silent_when_ranks_meet_first_is_named(ranks, tmp_path):
    *waiting, woken = found(ranks, "start_of_ranks", tmp_path)
    for rank in waiting:
        assert rank["found"].startswith(f"RankLost: {silence(ranks - 1, ranks)}")
        assert LIMIT <= rank["seconds"] < 2 * LIMIT + SOON
    assert woken["found"].startswith("RankLost: ")


COMMAND = """
import os, signal, sys
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    os.kill(os.getpid(), signal.SIGSTOP)
from manymove.cli import run
sys.exit(run())
"""


def test_a_command_ends_if_a_rank_is_silent_when_it_begins(tmp_path):
    pytest.importorskip("mpi4py")
    words = ["disks", "--particles", "300", "--sweeps", "10", "--output", str(tmp_path / "out")]
    command = [*on_ranks(2), sys.executable, "-c", COMMAND, *words]
    said = Job(command, env={**CLEAN, **LIMITED}).failure(2 * LIMIT + SOON)
    assert f"manymove: error: {silence(1, 2)}" in said, said


# ---- LAMMPS --------------------------------------------------------------------------------------

STOPPING = """
import os, signal, sys
from lammps import lammps
lmp = lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
lmp.file(sys.argv[1])
if lmp.extract_setting("world_rank") == 1:
    os.kill(os.getpid(), signal.SIGSTOP)
try:
    lmp.command("run_style manymove/verlet device cuda")
except Exception as error:
    print(error, flush=True)
    os._exit(1)
"""


@needs_lammps
@pytest.mark.parametrize("before", ["", "run 1\n"], ids=["first", "later"])
def test_a_rank_that_is_silent_before_a_run_style_is_named(before, tmp_path):
    # Before the first call ranks have no communicator of their own to wait on.
    (tmp_path / "in").write_text(system() + fluid() + resident("cpu") + before)
    command = [*host.command(2)[:-1], sys.executable, "-c", STOPPING, "in"]
    job = Job(command, cwd=tmp_path, env={**host.environment(), **LIMITED})
    # Launchers do not always notice that a program ends in this way.
    said = job.end(2 * LIMIT + SOON, text=silence(1, 2))
    assert silence(1, 2) in said, said


@needs_lammps
def test_what_one_rank_refuses_is_named_by_all(tmp_path):
    # Only atom 1 is integrated twice.
    script = system() + fluid() + "group first id 1\nfix again first nve\n"
    run = run_lammps(script + resident("cpu") + "run 1\n", tmp_path, ranks=2)
    assert "cannot keep the particles on the device: fix nve twice for the same atoms" in run.output


@needs_lammps
def test_heights_that_differ_between_ranks_are_refused(tmp_path):
    script = system("block 0 9 0 8 -0.5 0.5", 300, "dimension 2\nprocessors 2 1 1") + fluid()
    script += "region left block INF 4.5 INF INF INF INF\ngroup left region left\n"
    script += "set group all z 0.0\nset group left z 0.1\nvelocity all set NULL NULL 0.0\n"
    run = run_lammps(
        script + "fix flat all enforce2d\n" + resident("cpu") + "run 1\n", tmp_path, ranks=2
    )
    assert "dimension 2 with atoms at different heights" in run.output


CHAIN = one_type(
    "create_atoms 1 single 5 4 4\ncreate_atoms 1 single 15 4 4",
    "block 0 20 0 8 0 8",
    before="atom_style bond\nprocessors 2 1 1",
    bonds="bond/types 1 extra/bond/per/atom 2 extra/special/per/atom 4",
)
CHAIN += """
bond_style manymove/harmonic
bond_coeff 1 20.0 0.5
special_bonds lj 0 1 1
create_bonds single/bond 1 1 2
thermo_modify lost/bond ignore
"""


@needs_lammps
def test_a_bond_atom_that_one_rank_misses_is_an_error_of_all(tmp_path):
    run = run_lammps(CHAIN + resident("cpu") + "run 1\n", tmp_path, ranks=2, fails=True)
    culprit = "ERROR: Run style manymove/verlet on cpu: rank 0 of 2: "
    assert f"{culprit}Bond atoms 1 2 missing at step 0" in run.output, run.output
    assert "ERROR on proc" not in run.output


NO_MEMORY = """
#include <cstdlib>
#include <cstring>
#include <new>

// One rank gets no memory of this size.
void* operator new(std::size_t size) {
  static const char* const mpich = std::getenv("PMI_RANK");
  static const char* const rank = mpich ? mpich : std::getenv("OMPI_COMM_WORLD_RANK");
  static const bool fails = rank && !std::strcmp(rank, "1");
  if (fails && size == SIZE) throw std::bad_alloc();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
"""


@needs_lammps
@limits_address_space
def test_an_error_of_one_rank_while_bonds_are_delivered_is_one_of_all(tmp_path):
    compiler = shutil.which("g++") or pytest.skip("no g++")
    pairs, end_bytes = 137, 20
    (tmp_path / "new.cpp").write_text(NO_MEMORY.replace("SIZE", str(pairs * end_bytes)))
    library = tmp_path / "libnew.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", library, tmp_path / "new.cpp"], check=True
    )
    # All bonds are on the second rank, which receives one end of each.
    atoms = "".join(
        f"create_atoms 1 single {x} {1 + k % 12} {1 + k // 12}\n"
        for k in range(pairs)
        for x in (12.0, 12.4)
    )
    script = CHAIN.replace("0 20 0 8 0 8", "0 20 0 14 0 14").replace("lost/bond ignore", "norm yes")
    script = re.sub(r"(create_atoms .*\n)+", "create_atoms 1 single 3 4 4\n" + atoms, script)
    script = script.replace("single/bond 1 1 2", "many all all 1 0.35 0.45")
    script += resident("cpu") + "run 1\n"
    output = run_lammps(script, tmp_path, ranks=2, fails=True, LD_PRELOAD=str(library)).output
    error = f"rank 1 of 2: out of memory for {2 * pairs} atoms"
    assert f"ERROR: Run style manymove/verlet on cpu: {error}" in output, output
    assert "ERROR on proc" not in output


# ---- HOOMD-blue ----------------------------------------------------------------------------------


@pytest.fixture
def hoomd():
    hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
    pytest.importorskip("hoomd.manymove")
    if not hoomd.version.mpi_enabled:
        pytest.skip("this HOOMD-blue was built without MPI")
    return hoomd


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    ("task", "error"),
    [("silent_in_hoomd", "RuntimeError"), ("silent_in_an_updater", "RankLost")],
    ids=["component", "updater"],
)
def test_a_rank_of_hoomd_blue_that_is_stopped_alone_is_named(task, error, ranks, hoomd, tmp_path):
    every = found(ranks, task, tmp_path)
    text = f"{error}: {silence(ranks - 1, ranks)}"
    assert every[0]["found"].startswith(text)
    for rank in every:
        assert rank["found"] == every[0]["found"]
        assert rank["again"] == every[0]["found"]
        assert LIMIT <= rank["seconds"] < 2 * LIMIT + SOON


@limits_address_space
@pytest.mark.parametrize("megabytes", [6, 14])
def test_memory_that_one_rank_of_hoomd_blue_lacks_is_an_error_of_all(megabytes, hoomd, tmp_path):
    first, second = found(2, "memory_in_hoomd", tmp_path, SIDE=500, MEGABYTES=megabytes)
    assert first == second
    assert re.match("(MemoryError|RuntimeError: rank 1 of 2): out of memory", first["found"])
    assert first["later"] == "no error"
