# SPDX-License-Identifier: BSD-3-Clause
"""The component on the domains into which HOOMD-blue divides the box, of any shape: positions and
images are those of one rank, to the last bit, whatever other operations do in between."""

from __future__ import annotations

import json
import sys

import pytest
from commands import MPIEXEC
from processes import on_ranks, run, with_support

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
pytest.importorskip("hoomd.manymove")
pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(not (MPIEXEC and hoomd.version.mpi_enabled), reason="no MPI")

SCRIPT = """
import json, pathlib, sys, hoomd, numpy
from hoomd_spheres import attach, simulation_of
from mpi4py import MPI
shape, types, settings, domains, others = map(json.loads, sys.argv[1:])
communicator = hoomd.communicator.Communicator()
sites = numpy.indices(shape).reshape(len(shape), -1).T
start = (1.45 * (sites - (numpy.array(shape) - 1) / 2), [1.45 * n for n in shape])
simulation = simulation_of(
    start, types, hoomd.device.CPU(communicator=communicator), domains=domains
)
particles = attach(simulation, "component", **settings)


def own():
    with simulation.state.cpu_local_snapshot as local:
        here = local.particles
        return [numpy.array(a) for a in (here.tag, here.position, here.image, here.typeid)]


class Exchange(hoomd.custom.Action):
    '''Exchanges the places of two particles, on opposite sides of the box.'''

    def act(self, timestep):
        tags = [0, len(sites) // 2]
        places = numpy.zeros((2, 3))
        tag, position, _, _ = own()
        for k in range(2):
            places[k] += position[tag == tags[k]].sum(axis=0)
        places = MPI.COMM_WORLD.allreduce(places)
        with simulation.state.cpu_local_snapshot as local:
            for k in range(2):
                here = numpy.array(local.particles.tag) == tags[k]
                local.particles.position[here] = places[1 - k]


if "exchange" in others:
    every = hoomd.trigger.Periodic(4)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(every, Exchange()))
if "sort" in others:
    simulation.operations.tuners[0].trigger = hoomd.trigger.Periodic(3)
if "balance" in others:
    balancer = hoomd.tune.LoadBalancer(hoomd.trigger.Periodic(5), tolerance=1.0)
    simulation.operations.tuners.append(balancer)
if "resize" in others:
    box, larger = simulation.state.box, hoomd.Box.from_box(simulation.state.box)
    larger.volume = 1.02 * box.volume
    ramp = hoomd.variant.Ramp(0, 1, 0, 20)
    simulation.operations.updaters.append(hoomd.update.BoxResize(3, box, larger, ramp))

found = []
for k in range(3):
    simulation.run(10)
    if "snapshots" in others:
        snapshot = simulation.state.get_snapshot()
        simulation.state.set_snapshot(snapshot)
    arrays = own()
    found.append({
        "hash": particles.state_hash,
        "moves": [*particles.translate_moves, *particles.volume_moves, *particles.swap_moves],
        "overlaps": particles.overlaps,
        "tags": arrays[0].tolist(),
        "particles": [
            [r.tobytes().hex(), i.tolist(), int(t)] for r, i, t in zip(*arrays[1:])
        ],
        "costs": particles._cpp_obj.exchange_costs,
    })
pathlib.Path(str(communicator.rank)).write_text(json.dumps(found))
"""

ROWS = [12, 64]  # of disks
LAYERS = [6, 6, 40]  # of spheres


def result(folder, shape, domains, types="A", others=(), **settings):
    """What all ranks found after each of three runs, and the particles by tag."""
    folder.mkdir()
    numbers = [n if isinstance(n, int) else len(n) for n in domains]
    ranks = numbers[0] * numbers[1] * numbers[2]
    settings = {"sweeps_per_step": 16, "d": 0.3, **settings}
    words = [json.dumps(each) for each in (shape, types, settings, domains, others)]
    command = [*(on_ranks(ranks) if ranks > 1 else []), sys.executable, "-c", SCRIPT, *words]
    end = run(command, cwd=folder, env=with_support())
    assert end.returncode == 0, end.stdout + end.stderr
    of_ranks = [json.loads((folder / f"{rank}").read_text()) for rank in range(ranks)]
    runs = []
    for several in zip(*of_ranks, strict=True):
        particles = {}
        for each in several:
            particles.update(zip(each.pop("tags"), each.pop("particles"), strict=True))
        common = [{key: each[key] for key in ("hash", "moves", "overlaps")} for each in several]
        assert all(each == common[0] for each in common)
        count = 1
        for n in shape:
            count *= n
        assert sorted(particles) == list(range(count))
        runs.append((common[0], particles, several[0]["costs"]))
    return runs


def compare(folder, shape, divisions, **settings):
    alone = result(folder / "alone", shape, [1, 1, 1], **settings)
    assert [run[0]["overlaps"] for run in alone] == [0, 0, 0]
    assert len({run[0]["hash"] for run in alone}) == 3
    several = []
    for k, domains in enumerate(divisions):
        several.append(result(folder / f"{k}", shape, domains, **settings))
        assert [run[:2] for run in several[-1]] == [run[:2] for run in alone], domains
        for _, _, costs in several[-1]:
            parts = [costs[f"{part}_seconds"] for part in ("sweep", "exchange", "migration")]
            assert parts[0] > 0 and sum(parts) < costs["seconds"]
    return alone, several


def test_disks_on_any_domains(tmp_path):
    divisions = [[1, 4, 1], [4, 1, 1], [2, 2, 1], [3, 1, 1], [[0.3, 0.7], [0.2, 0.8], [1]]]
    alone, several = compare(tmp_path, ROWS, divisions)
    images = [image for _, image, _ in alone[-1][1].values()]
    assert any(image[0] for image in images) and any(image[1] for image in images)
    for runs in several:
        for _, _, costs in runs:
            assert costs["steps"] == 10 and costs["migrations"] < 5


def test_spheres_on_any_domains(tmp_path):
    compare(tmp_path, LAYERS, [[1, 1, 2], [2, 2, 1], [[0.5, 0.5], [1], [0.35, 0.65]]])


@pytest.mark.parametrize(
    "others",
    [["exchange", "sort"], ["balance", "sort"], ["resize"], ["snapshots"]],
    ids=" and ".join,
)
def test_other_operations_in_between(others, tmp_path):
    divisions = [[2, 2, 1], [[1], [0.1, 0.5, 0.4], [1]]]
    compare(tmp_path, ROWS, divisions, others=others)


@pytest.mark.parametrize(
    ("types", "settings"),
    [
        ("A", {"box_moves": {"betaP": 2.0}}),
        ("AB", {"swap": {"rounds": 2}, "d": 0.1}),
        ("AB", {"swap": {"rounds": 2}, "box_moves": {"betaP": 1.0}, "d": 0.1}),
        ("A", {"box_moves": {"betaP": 2.0, "length": {"delta": 0.02}}}),
        ("A", {"box_moves": {"betaP": 2.0, "length": {"weight": 2}, "aspect": {}}}),
    ],
    ids=["box moves", "swaps", "swaps at constant pressure", "edges apart", "edges and aspect"],
)
def test_box_moves_and_swaps_on_other_domains_than_slabs(types, settings, tmp_path):
    compare(tmp_path, LAYERS, [[2, 1, 1]], types=types, **settings)


def test_only_borders_travel_where_the_domains_are_strips(tmp_path):
    """A particle may go a cell in a step of four sweeps, and strips end within half a tile of the
    domains' borders; all other particles are on the rank that holds them."""
    shape = [12, 200]
    strips = result(tmp_path / "strips", shape, [1, 2, 1], sweeps_per_step=4)
    across = result(tmp_path / "across", shape, [2, 1, 1], sweeps_per_step=4)
    bytes_of_all = 12 * 200 * 20  # tag and two coordinates
    for _, _, costs in strips[1:]:
        assert 0 < costs["messages"] <= 2 * costs["steps"]
        assert 0 < costs["bytes"] < 0.25 * bytes_of_all * costs["steps"]
    for _, _, costs in across[1:]:
        assert costs["bytes"] > 0.4 * bytes_of_all * costs["steps"]
