"""HOOMD-blue with MPI: one simulation on each rank, and several ranks on one simulation."""

import json
import sys

import pytest
from commands import MPIEXEC
from processes import on_ranks, run, with_support

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
pytestmark = pytest.mark.skipif(not (MPIEXEC and hoomd.version.mpi_enabled), reason="no MPI")

SCRIPT = """
import importlib, json, pathlib, sys, hoomd, numpy
from hoomd_disks import on_lattice
module, task, per_partition, seed = *sys.argv[1:3], *map(int, sys.argv[3:])
communicator = hoomd.communicator.Communicator(ranks_per_partition=per_partition or None)
seed += communicator.partition
side = 10 if task == "small" else 60
simulation = on_lattice(side, hoomd.device.CPU(communicator=communicator), seed)
if module == "hoomd.manymove":
    integrator = importlib.import_module(module).HardDisks
    simulation.operations.integrator = disks = integrator(sweeps_per_step=100, threads=1)
    disks.shape["A"] = dict(diameter=1.0)
else:
    disks = importlib.import_module(module).HardDisksUpdater(diameter=1.0, threads=1)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, disks))


def present():
    snapshot = simulation.state.get_snapshot()
    if communicator.rank > 0:
        return None
    # Without the periodic box: where a disk has gone in all.
    way = snapshot.particles.position + 1.2 * side * snapshot.particles.image
    return numpy.round(way, 9).tolist()


result = pathlib.Path(f"{seed}-{communicator.rank}-of-{communicator.num_ranks}")
try:
    simulation.run(15)
    found = [disks.state_hash, disks.translate_moves, disks.pressure, disks.overlaps, present()]
    if task == "spread":
        with simulation.state.cpu_local_snapshot as local:  # someone else moves a disk
            mine = numpy.array(local.particles.tag) == 5
            local.particles.position[mine, 0] += 1e-9
        simulation.run(15)
        found += [disks.state_hash, disks.overlaps, present()]
        simulation.run(3)
        disks.sweeps_per_step = 3
        simulation.run(3)
        found += [disks.state_hash, simulation.state.N_particles]
    result.write_text(json.dumps(found))
except Exception as error:
    result.write_text(json.dumps(str(error)))
    simulation.state.get_snapshot()  # waits for the other ranks: the first to raise ends all
    raise
"""


def job(folder, launcher, *arguments):
    """Exit status, and what each rank found."""
    folder.mkdir()
    end = run([*launcher, sys.executable, "-c", SCRIPT, *arguments], cwd=folder, env=with_support())
    return end.returncode, {file.name: json.loads(file.read_text()) for file in folder.iterdir()}


@pytest.fixture(scope="module", autouse=True)
def hoomd_and_mpiexec_fit(tmp_path_factory):
    _, found = job(
        tmp_path_factory.mktemp("fit") / "fit", on_ranks(2), "manymove.hoomd", "small", 1, 1
    )
    if "1-1-of-2" not in found and "2-0-of-1" not in found:
        pytest.skip("mpiexec is of another MPI than HOOMD-blue")


@pytest.mark.parametrize("module", ["hoomd.manymove", "manymove.hoomd"])
def test_an_ensemble_runs(module, tmp_path):
    pytest.importorskip(module)
    status, ensemble = job(tmp_path / "ensemble", on_ranks(2), module, "small", 1, 1)
    assert status == 0 and ensemble["1-0-of-1"][0] != ensemble["2-0-of-1"][0]
    first = job(tmp_path / "first", [], module, "small", 0, 1)[1]
    assert ensemble == first | job(tmp_path / "second", [], module, "small", 0, 2)[1]


@pytest.mark.parametrize("count", [2, 4])
def test_a_simulation_on_several_ranks_is_that_of_one(count, tmp_path):
    """Trajectory, moves, pressure, positions and images, also after another has moved a disk."""
    pytest.importorskip("hoomd.manymove")
    status, alone = job(tmp_path / "alone", [], "hoomd.manymove", "spread", 0, 1)
    assert status == 0 and alone["1-0-of-1"][3] == 0
    status, found = job(tmp_path / "spread", on_ranks(count), "hoomd.manymove", "spread", 0, 1)
    assert status == 0
    assert found.pop(f"1-0-of-{count}") == alone["1-0-of-1"]
    for rank in found.values():  # positions are rank 0's
        assert rank[:4] == alone["1-0-of-1"][:4] and rank[-2:] == alone["1-0-of-1"][-2:]


def test_a_box_too_small_for_its_ranks_is_refused(tmp_path):
    pytest.importorskip("hoomd.manymove")
    status, found = job(tmp_path / "small", on_ranks(2), "hoomd.manymove", "small", 0, 1)
    assert status
    assert all("HardDisks: the box is too small for 2 ranks" in text for text in found.values())


def test_the_updater_needs_all_particles_on_one_rank(tmp_path):
    status, found = job(tmp_path / "refused", on_ranks(2), "manymove.hoomd", "small", 0, 1)
    assert status and all("ranks_per_partition=1" in text for text in found.values())
