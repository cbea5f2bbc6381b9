"""HOOMD-blue with MPI: one simulation on each rank, and several ranks on one simulation."""

import json
import sys

import pytest
from commands import MPIEXEC
from machine import GPU
from processes import on_ranks, run, with_support

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
pytestmark = pytest.mark.skipif(not (MPIEXEC and hoomd.version.mpi_enabled), reason="no MPI")
ON_GPU = [*GPU, pytest.mark.skipif(not hoomd.version.gpu_enabled, reason="HOOMD-blue without GPU")]

SCRIPT = """
import importlib, json, pathlib, sys, hoomd, numpy
from hoomd_disks import on_lattice
module, task, per_partition, seed, device = *sys.argv[1:3], *map(int, sys.argv[3:5]), sys.argv[5]
communicator = hoomd.communicator.Communicator(ranks_per_partition=per_partition or None)
if device == "GPU":
    of_node = len(hoomd.device.GPU.get_available_devices())
    device = hoomd.device.GPU([communicator.rank % of_node], communicator=communicator)
else:
    device = hoomd.device.CPU(communicator=communicator)
seed += communicator.partition
side = 10 if task == "small" else 60
simulation = on_lattice(side, device, seed)
if module == "hoomd.manymove":
    integrator = importlib.import_module(module).HardDisks
    simulation.operations.integrator = disks = integrator(sweeps_per_step=100, threads=1)
    disks.shape["A"] = dict(diameter=1.0)
else:
    disks = importlib.import_module(module).HardDisksUpdater(diameter=1.0, threads=1)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, disks))


class Nudge(hoomd.custom.Action):
    def act(self, timestep):
        nudge()


def nudge():
    with simulation.state.cpu_local_snapshot as local:
        mine = numpy.array(local.particles.tag) == 5
        local.particles.position[mine, 0] += 1e-9


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
        nudge()  # someone else moves a disk, between runs and then within one
        simulation.run(15)
        found += [disks.state_hash, disks.overlaps, present()]
        now_and_then = hoomd.trigger.Periodic(4)
        simulation.operations.updaters.append(hoomd.update.CustomUpdater(now_and_then, Nudge()))
        simulation.run(15)
        found += [disks.state_hash, disks.translate_moves, present()]
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

# Spheres and mixtures in a box that is long in the direction in which the engine divides it.
SPHERES = """
import json, pathlib, sys, hoomd, hoomd.manymove, numpy
from hoomd_spheres import attach, simulation_of
shape, moves = json.loads(sys.argv[1]), json.loads(sys.argv[3])
types, device = sys.argv[2], sys.argv[4]
communicator = hoomd.communicator.Communicator()
if device == "GPU":
    of_node = len(hoomd.device.GPU.get_available_devices())
    device = hoomd.device.GPU([communicator.rank % of_node], communicator=communicator)
else:
    device = hoomd.device.CPU(communicator=communicator)
sites = numpy.indices(shape).reshape(len(shape), -1).T
start = (1.5 * (sites - (numpy.array(shape) - 1) / 2), [1.5 * n for n in shape])
simulation = simulation_of(start, types, device)
pinned = moves.pop("pinned", [])
strengths = moves.pop("strengths", {})
fugacities = moves.pop("fugacities", {})
particles = attach(simulation, "component", sweeps_per_step=8, **moves)
for name in pinned:
    particles.d[name] = 0
if strengths:
    linear = hoomd.hpmc.external.linear.Linear(plane_normal=(0, 0.5, 1))
    for name, strength in strengths.items():
        linear.alpha[name] = strength
    particles.external_potentials = [linear]
if fugacities:
    muvt = hoomd.manymove.update.MuVT([*fugacities], trigger=hoomd.trigger.Periodic(2))
    muvt.fugacity = fugacities
    simulation.operations.updaters.append(muvt)
sdf = hoomd.manymove.compute.SDF(xmax=0.3, dx=0.01)
simulation.operations.computes.append(sdf)
found = []


def look():
    simulation.run(3)
    snapshot = simulation.state.get_snapshot()
    found.extend([particles.state_hash, particles.translate_moves, particles.pressure])
    of_moves = [*particles.volume_moves, *particles.aspect_moves, *particles.swap_moves]
    if fugacities:
        of_moves += [*muvt.insert_moves, *muvt.remove_moves, *muvt.N.values()]
    scales = [sdf.betaP, *sdf.sdf_compression.tolist()]  # of all ranks, bit for bit
    found.extend([particles.overlaps, [particles.max_d, *of_moves, *scales]])
    if communicator.rank == 0:  # without the periodic box: where a particle has gone in all
        way = snapshot.particles.position + numpy.array(
            snapshot.configuration.box[:3]) * snapshot.particles.image
        found.extend([numpy.round(way, 9).tolist(), snapshot.particles.typeid.tolist()])


try:
    look()
    with simulation.state.cpu_local_snapshot as local:  # someone else moves a particle
        mine = numpy.array(local.particles.tag) == 5
        local.particles.position[mine, len(shape) - 1] += 1e-9
    look()
    with simulation.state.cpu_local_snapshot as local:  # and gives one another type
        local.particles.typeid[numpy.array(local.particles.tag) == 1] = 0
    look()
except ValueError as error:
    found = str(error)
pathlib.Path(str(communicator.rank)).write_text(json.dumps(found))
"""


def job(folder, launcher, *arguments, device="CPU", script=SCRIPT):
    """Exit status, and what each rank found."""
    folder.mkdir()
    command = [*launcher, sys.executable, "-c", script, *arguments, device]
    end = run(command, cwd=folder, env=with_support())
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


@pytest.mark.parametrize("device", ["CPU", pytest.param("GPU", marks=ON_GPU)])
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_simulation_on_several_ranks_is_that_of_one(ranks, device, tmp_path):
    """Trajectory, moves, pressure, positions and images, also after another has moved a disk. Ranks
    share GPUs where there are fewer."""
    pytest.importorskip("hoomd.manymove")
    words = ["hoomd.manymove", "spread", 0, 1]
    status, alone = job(tmp_path / "alone", [], *words, device=device)
    assert status == 0 and alone["1-0-of-1"][3] == 0
    status, found = job(tmp_path / "spread", on_ranks(ranks), *words, device=device)
    assert status == 0
    assert found.pop(f"1-0-of-{ranks}") == alone["1-0-of-1"]
    for rank in found.values():  # positions are rank 0's
        assert rank[:4] == alone["1-0-of-1"][:4] and rank[-2:] == alone["1-0-of-1"][-2:]


@pytest.mark.parametrize("device", ["CPU", pytest.param("GPU", marks=ON_GPU)])
@pytest.mark.parametrize(
    ("shape", "types", "moves", "counts"),
    [
        ([4, 4, 30], "A", {}, [2]),
        ([4, 4, 30], "AB", {}, [2, 3]),
        ([10, 60], "AB", {}, [2]),
        ([4, 4, 30], "AB", {"pinned": ["B"]}, [2]),
        ([4, 4, 30], "AB", {"strengths": {"A": 0.2, "B": -0.4}}, [2]),
        ([4, 4, 30], "AB", {"fugacities": {"B": 0.05}}, [2, 3]),
        ([10, 60], "A", {"fugacities": {"A": 0.4}}, [4]),
        ([4, 4, 40], "AB", {"swap": {"rounds": 2}}, [2]),
        ([10, 70], "AB", {"swap": {"rounds": 2}, "box_moves": {"betaP": 1.0}}, [2]),
        ([4, 4, 44], "A", {"box_moves": {"betaP": 2.0}}, [2]),
        ([4, 4, 44], "A", {"box_moves": {"betaP": 2.0, "length": {"delta": 0.02}}}, [2]),
        ([4, 4, 44], "A", {"box_moves": {"betaP": 2.0, "volume": {}, "aspect": {}}}, [2]),
    ],
    ids=[
        "spheres",
        "mixture of spheres",
        "mixture of disks",
        "pinned spheres",
        "spheres in a linear field",
        "insertions of spheres",
        "insertions of disks",
        "swaps",
        "swaps at constant pressure",
        "constant pressure",
        "edges apart",
        "volume and aspect ratio",
    ],
)
def test_spheres_and_mixtures_on_several_ranks_are_those_of_one(
    shape, types, moves, counts, device, tmp_path
):
    pytest.importorskip("hoomd.manymove")
    words = [json.dumps(shape), types, json.dumps(moves)]
    alone = job(tmp_path / "alone", [], *words, device=device, script=SPHERES)[1]["0"]
    assert len(alone) == 21 and len({alone[0], alone[7], alone[14]}) == 3
    assert [alone[k] for k in (3, 10, 17)] == [0, 0, 0]
    assert max(alone[4][-30:]) > 0 and alone[4][-30:] != alone[11][-30:]
    for count in counts:
        found = job(tmp_path / f"{count}", on_ranks(count), *words, device=device, script=SPHERES)
        assert found[0] == 0 and len(found[1]) == count
        assert found[1].pop("0") == alone
        for rank in found[1].values():  # positions and types are rank 0's
            assert rank == [alone[k] for k in range(21) if k % 7 < 5]


def test_slabs_too_thin_for_their_ranks_are_refused(tmp_path):
    pytest.importorskip("hoomd.manymove")
    found = job(tmp_path / "thin", on_ranks(2), "[4, 4, 4]", "A", "{}", script=SPHERES)[1]
    assert len(found) == 2
    assert all("HardSpheres: the box is too small for 2 ranks" in text for text in found.values())


def test_a_box_too_small_for_its_ranks_is_refused(tmp_path):
    pytest.importorskip("hoomd.manymove")
    status, found = job(tmp_path / "small", on_ranks(2), "hoomd.manymove", "small", 0, 1)
    assert status
    assert all("the box is too small for 2 ranks" in text for text in found.values())


def test_the_updater_needs_all_particles_on_one_rank(tmp_path):
    status, found = job(tmp_path / "refused", on_ranks(2), "manymove.hoomd", "small", 0, 1)
    assert status and all("ranks_per_partition=1" in text for text in found.values())
