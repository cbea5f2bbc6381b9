"""HOOMD-blue with MPI: one simulation on each rank works, several ranks on one are refused."""

import os
import shutil
import subprocess
import sys

import pytest

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "PRTE", "OMPI"))}
MPIEXEC = shutil.which("mpiexec", path=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
pytestmark = pytest.mark.skipif(not (MPIEXEC and hoomd.version.mpi_enabled), reason="no MPI")

SCRIPT = """
import importlib, pathlib, sys, hoomd, numpy
module, per_partition, seed = sys.argv[1], *map(int, sys.argv[2:])
communicator = hoomd.communicator.Communicator(ranks_per_partition=per_partition or None)
seed += communicator.partition
simulation = hoomd.Simulation(hoomd.device.CPU(communicator=communicator), seed=seed)
start = hoomd.Snapshot(communicator)
if communicator.rank == 0:
    start.configuration.box, start.particles.N, start.particles.types = 2*[12] + 4*[0], 100, ["A"]
    start.particles.position[:, :2] = 1.2 * numpy.indices((10, 10)).reshape(2, -1).T - 5.4
simulation.create_state_from_snapshot(start)
if module == "hoomd.manymove":
    simulation.operations.integrator = disks = importlib.import_module(module).HardDisks()
    disks.shape["A"] = dict(diameter=1.0)
else:
    disks = importlib.import_module(module).HardDisks(diameter=1.0)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, disks))
result = pathlib.Path(f"{seed}-{communicator.rank}-of-{communicator.num_ranks}")
try:
    simulation.run(50)
    result.write_text(f"{disks.state_hash} {disks.pressure!r}")
except Exception as error:
    result.write_text(str(error))
    simulation.state.get_snapshot()  # waits for the other ranks: the first to raise ends all
    raise
"""


@pytest.mark.parametrize("module", ["hoomd.manymove", "manymove.hoomd"])
def test_an_ensemble_runs_and_a_decomposed_simulation_is_refused(module, tmp_path):
    pytest.importorskip(module)

    def job(name, launcher, *arguments):  # one that hangs fails the test
        (folder := tmp_path / name).mkdir()
        command = [*launcher, sys.executable, "-c", SCRIPT, module, *map(str, arguments)]
        end = subprocess.run(command, cwd=folder, env=CLEAN, timeout=60)
        return end.returncode, {file.name: file.read_text() for file in folder.iterdir()}

    status, found = job("refused", [MPIEXEC, "-n", "2"], 0, 1)
    if "1-0-of-1" in found:
        pytest.skip("mpiexec is of another MPI than HOOMD-blue")
    assert status and all("ranks_per_partition=1" in found[f"1-{rank}-of-2"] for rank in (0, 1))
    status, ensemble = job("ensemble", [MPIEXEC, "-n", "2"], 1, 1)
    assert status == 0 and len(set(ensemble.values())) == 2
    assert ensemble == job("first", [], 0, 1)[1] | job("second", [], 0, 2)[1]
