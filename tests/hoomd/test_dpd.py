"""hoomd.manymove.DPD on several ranks, its guide and its benchmark."""

import json
import sys

import numpy as np
import pytest
from commands import MPIEXEC
from documents import ROOT, blocks
from machine import GPU
from processes import on_ranks, run, with_support

from benchmarks.cli import run as bench

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
pytest.importorskip("hoomd.manymove.dpd", reason="the component is not installed")
ON_GPU = [*GPU, pytest.mark.skipif(not hoomd.version.gpu_enabled, reason="HOOMD-blue without GPU")]
on_several_ranks = pytest.mark.skipif(
    not (MPIEXEC and hoomd.version.mpi_enabled and hoomd.version.md_built),
    reason="no MPI, or HOOMD-blue without md",
)

# A fluid of chains with noise; its trajectory, energies and pressures, and what others change.
SCRIPT = """
import sys, hoomd, hoomd.manymove, numpy
from hoomd.manymove import dpd as module
from hoomd.manymove.pytest.test_dpd import (
    BOXES, bonded_forces, fluid_snapshot, linked_snapshot, set_params, with_masses
)
device, bonded, filtered, excluded = sys.argv[1], *map(int, sys.argv[2:])
communicator = hoomd.communicator.Communicator()
if device == "GPU":
    of_node = len(hoomd.device.GPU.get_available_devices())
    device = hoomd.device.GPU([communicator.rank % of_node], communicator=communicator)
else:
    device = hoomd.device.CPU(communicator=communicator)
simulation = hoomd.Simulation(device, seed=3)
if excluded:
    snapshot = linked_snapshot(device)
    if communicator.rank == 0:
        with_masses(snapshot, [1, 0.5, 3, 1, 1.5])
        # HOOMD-blue's ghost layer needs groups that are shorter than half a domain.
        snapshot.bonds.N -= 3
        snapshot.dihedrals.N = 0
else:
    snapshot = fluid_snapshot(device, BOXES["tilted"], bonded=bool(bonded))
simulation.create_state_from_snapshot(snapshot)
moving = hoomd.filter.Type(["A"]) if filtered else hoomd.filter.All()
dpd = hoomd.manymove.DPD(
    0.002, 1.0, precision="double", threads=1, filter=moving, forces=bonded_forces() * bonded,
    exclusions=module._EXCLUSIONS if excluded else ("bond",),
)
set_params(dpd)
simulation.operations.integrator = dpd
thermo = hoomd.md.compute.ThermodynamicQuantities(moving)
simulation.operations.computes.append(thermo)
simulation.always_compute_pressure = True
found = {}


def look(steps):
    simulation.run(steps)
    now = simulation.state.get_snapshot()
    sums = [dpd.pair_energy, dpd.bond_energy, dpd.angle_energy, dpd.kinetic_temperature]
    sums += [*dpd.pressure_tensor, thermo.potential_energy, thermo.kinetic_temperature]
    sums += [*thermo.pressure_tensor, thermo.degrees_of_freedom]
    parts = {"sums": sums, "forces": dpd.forces_on_particles}
    if communicator.rank == 0:
        particles = now.particles
        parts |= {"position": particles.position, "velocity": particles.velocity}
        parts |= {"image": particles.image}
    found.update({f"{name} {simulation.timestep}": part for name, part in parts.items()})


look(0)
look(40)
look(20)
with simulation.state.cpu_local_snapshot as local:  # others stop a particle
    mine = numpy.array(local.particles.tag) == 5
    local.particles.velocity[mine] = 0
look(10)
hoomd.update.BoxResize.update(simulation.state, hoomd.Box(6.8, 6.2, 5.1, 0.1, 0, 0))
look(10)
dpd.kT = hoomd.variant.Ramp(1.0, 2.0, simulation.timestep, 10)
look(20)
numpy.savez(f"rank-{communicator.rank}", **found)
"""
LOST = """
import sys, hoomd, hoomd.manymove, numpy
from hoomd.manymove.pytest.test_dpd import fluid_snapshot, set_params
simulation = hoomd.Simulation(hoomd.device.CPU(), seed=3)
simulation.create_state_from_snapshot(fluid_snapshot(simulation.device))
simulation.operations.integrator = dpd = hoomd.manymove.DPD(0.02, 1.0, threads=1)
set_params(dpd)
simulation.run(3)
with simulation.state.cpu_local_snapshot as local:
    local.particles.velocity[numpy.array(local.particles.tag) == 17] = (0, 200, 0)
try:
    simulation.run(10)
except RuntimeError as error:
    numpy.savez(f"rank-{simulation.device.communicator.rank}", error=str(error))
"""


def job(folder, launcher, *arguments, script=SCRIPT):
    """What each rank has found."""
    folder.mkdir()
    end = run([*launcher, sys.executable, "-c", script, *arguments], cwd=folder, env=with_support())
    assert end.returncode == 0, end.stdout + end.stderr
    found = [np.load(file) for file in sorted(folder.glob("rank-*.npz"))]
    assert len(found) == int(launcher[-1] if launcher else 1)
    return found


@on_several_ranks
@pytest.mark.parametrize("device", ["CPU", pytest.param("GPU", marks=ON_GPU)])
@pytest.mark.parametrize(
    ("ranks", "flags"), [(2, "1 0 0"), (4, "1 0 0"), (3, "0 1 0"), (2, "1 0 1")],
    ids=["2", "4", "fixed", "exclusions"],
)  # fmt: skip
def test_a_simulation_on_several_ranks_is_that_of_one(ranks, flags, device, tmp_path):
    """Up to the order of sums: positions, velocities, images, forces, energies and pressures, also
    after a change of a particle, of the box and of the temperature."""
    words = [device, *flags.split()]
    (alone,) = job(tmp_path / "alone", [], *words)
    first, *others = job(tmp_path / "spread", on_ranks(ranks), *words)
    assert len(alone.files) == 5 * 6
    for name in alone.files:
        largest = np.abs(alone[name]).max()
        assert np.abs(first[name] - alone[name]).max() <= 1e-8 * largest, name
        for other in others:
            if name in other.files:
                np.testing.assert_array_equal(other[name], first[name])


@on_several_ranks
def test_all_ranks_name_a_lost_particle(tmp_path):
    for found in job(tmp_path / "lost", on_ranks(2), script=LOST):
        assert "particle 17 was lost before step 4" in str(found["error"])


def test_the_script_of_the_guide_runs(capsys):
    (script,) = (
        block.text
        for block in blocks(ROOT / "docs/guides/from_md_pair_dpd.md")
        if block.language == "python"
    )
    found = {}
    exec(script, found)
    assert found["dpd"].kinetic_temperature == pytest.approx(1.0, abs=0.15)
    assert found["simulation"].timestep == 500
    printed = capsys.readouterr().out.splitlines()[-1]
    assert float(printed.split()[0]) == found["dpd"].kinetic_temperature


@pytest.mark.parametrize("word", ["params", "r_cut", "buffer", "exclusions", "filter", "forces"])
def test_the_guide_names_the_settings_that_exist(word):
    text = (ROOT / "docs/guides/from_md_pair_dpd.md").read_text()
    dpd = hoomd.manymove.DPD(0.01, 1.0)
    assert f"{word}" in text and hasattr(dpd, word)


@pytest.mark.skipif(not hoomd.version.md_built, reason="HOOMD-blue without md")
def test_the_benchmark_times_the_component_and_md(tmp_path, capsys):
    options = "--dpd --sizes 3000 --device cpu --threads 1 --equilibrate 300 --repeats 3"
    file = tmp_path / "dpd.json"
    assert bench(["hoomd", *options.split(), "--seconds", "0.02", "--json", str(file)]) == 0
    names = ["hoomd.manymove, mixed", "hoomd.manymove, double"]
    names.append(f"md.pair.DPD {hoomd.version.version}")
    rows = json.loads(file.read_text())["results"]
    assert [row["variant"] for row in rows] == names
    assert all(row["million_particle_steps_per_second"] > 0 for row in rows)
    assert all(row["temperature"] == pytest.approx(1.0, abs=0.15) for row in rows)
    assert [row["ratio_to_md"] > 0 for row in rows[:2]] == [True, True]
    printed = capsys.readouterr().out
    assert all(name in printed for name in names)


@pytest.mark.parametrize("option", ["--spheres", "--packing-fraction 0.5", "--decorrelation 10"])
def test_the_benchmark_refuses_options_of_hard_particles(option, capsys):
    words = ["hoomd", "--dpd", *option.split(), "--device", "cpu"]
    assert bench(words) == 2
    assert f"{option.split()[0]} does not go with --dpd" in capsys.readouterr().err
