# SPDX-License-Identifier: BSD-3-Clause
"""hoomd.manymove.update.QuickCompress on several ranks, and against HPMC's."""

from __future__ import annotations

import inspect
import json
import sys

import pytest
from commands import MPIEXEC
from processes import on_ranks, run, with_support

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
pytest.importorskip("hoomd.manymove")

SCRIPT = """
import json, pathlib, sys, hoomd, hoomd.manymove, numpy
from hoomd_spheres import attach, edges_of, simulation_of
shape, types, target = json.loads(sys.argv[1]), sys.argv[2], float(sys.argv[3])
sites = numpy.indices(shape).reshape(len(shape), -1).T
start = (1.8 * (sites - (numpy.array(shape) - 1) / 2), [1.8 * n for n in shape])
simulation = simulation_of(start, types)
particles = attach(simulation, "component", sweeps_per_step=8)
simulation.run(20)
most = 0.25
if target == 0.66:
    most = 0  # the closest pair ends the compression, because it does not move
    for name in types:
        particles.d[name] = 1e-6
edges = [target * edge for edge in start[1]]
compress = hoomd.manymove.update.QuickCompress(1, hoomd.Box(*edges), most)
simulation.operations.updaters.append(compress)
found = []
try:
    while not compress.complete:
        simulation.run(5)
        found.append([particles.state_hash, particles.overlaps, edges_of(simulation)])
except RuntimeError as error:
    simulation.operations.updaters.clear()
    simulation.run(1)
    found.append([str(error), particles.state_hash, particles.overlaps])
pathlib.Path(str(simulation.device.communicator.rank)).write_text(json.dumps(found))
"""


def job(folder, launcher, *arguments):
    """Exit status, and what each rank found."""
    folder.mkdir()
    command = [*launcher, sys.executable, "-c", SCRIPT, *arguments]
    end = run(command, cwd=folder, env=with_support())
    return end.returncode, {file.name: json.loads(file.read_text()) for file in folder.iterdir()}


@pytest.mark.skipif(not (MPIEXEC and hoomd.version.mpi_enabled), reason="no MPI")
@pytest.mark.parametrize(
    ("shape", "types", "target"),
    [("[8, 60]", "A", 0.68), ("[4, 4, 30]", "AB", 0.75), ("[6, 40]", "AB", 0.66)],
    ids=["disks", "mixture of spheres", "a target that is not reached"],
)
def test_a_compression_on_several_ranks_is_that_of_one(shape, types, target, tmp_path):
    status, alone = job(tmp_path / "alone", [], shape, types, str(target))
    assert status == 0 and len(alone["0"]) > 3
    assert all(look[-2 if isinstance(look[-1], list) else -1] == 0 for look in alone["0"])
    assert ("cannot reach target_box" in alone["0"][-1][0]) == (target == 0.66)
    status, found = job(tmp_path / "two", on_ranks(2), shape, types, str(target))
    if status == 0 and set(found) == {"0"}:
        pytest.skip("mpiexec is of another MPI than HOOMD-blue")
    assert status == 0 and found == {"0": alone["0"], "1": alone["0"]}


def test_arguments_are_those_of_hpmc():
    hpmc = pytest.importorskip("hoomd.hpmc", reason="HOOMD-blue without HPMC")
    ours, theirs = hoomd.manymove.update.QuickCompress, hpmc.update.QuickCompress
    assert inspect.signature(ours.__init__) == inspect.signature(theirs.__init__)
    made = ours(10, hoomd.Box.square(9)), theirs(10, hoomd.Box.square(9))
    for name in (*inspect.signature(ours.__init__).parameters, "instance", "complete"):
        if name != "self":
            assert getattr(made[0], name) == getattr(made[1], name), name
