# SPDX-License-Identifier: BSD-3-Clause
"""Hard spheres and mixtures in HOOMD-blue by both ways, as the tests make them."""

from __future__ import annotations

import importlib

import hoomd
import numpy as np
from flat_settings import of_hard_particles

import manymove.hoomd
from manymove import HardDisks, HardSpheres

SIZES = {"A": 1.0, "B": 1.4}  # diameters of the particle types


def lattice(dimensions: int, per_edge: int, spacing: float) -> tuple[np.ndarray, tuple[float, ...]]:
    """Sites of a square or simple cubic lattice, (per_edge^D, D), and the box."""
    sites = np.indices((per_edge,) * dimensions).reshape(dimensions, -1).T
    return (sites - (per_edge - 1) / 2) * spacing, (per_edge * spacing,) * dimensions


def simulation_of(start, types="A", device=None, seed=1, domains=(None, None, None)):
    """A simulation of particles with alternating types; of disks if the box has two edges."""
    positions, box = start
    simulation = hoomd.Simulation(device or hoomd.device.CPU(), seed=seed)
    snapshot = hoomd.Snapshot(simulation.device.communicator)
    if snapshot.communicator.rank == 0:
        snapshot.configuration.box = [*box, *[0] * (6 - len(box))]
        snapshot.particles.N = len(positions)
        snapshot.particles.types = list(types)
        snapshot.particles.typeid[:] = np.arange(len(positions)) % len(types)
        snapshot.particles.position[:, : len(box)] = positions
    simulation.create_state_from_snapshot(snapshot, domain_decomposition=domains)
    return simulation


def attach(simulation, way, diameters=None, d=0.12, **settings):
    """The integrator of the component, or the updater, with diameters by particle type."""
    diameters = diameters or {name: SIZES[name] for name in simulation.state.particle_types}
    kind = "HardDisks" if simulation.state.box.is2D else "HardSpheres"
    settings = {"threads": 1, **settings}
    if way == "component":
        component = importlib.import_module("hoomd.manymove")
        particles = getattr(component, kind)(default_d=d, **settings)
        for name, diameter in diameters.items():
            particles.shape[name] = dict(diameter=diameter)
        simulation.operations.integrator = particles
    else:
        make = getattr(manymove.hoomd, f"{kind}Updater")
        particles = make(diameters, d=d, **settings)
        simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, particles))
    return particles


def edges_of(simulation):
    box = simulation.state.box
    return (box.Lx, box.Ly) if box.is2D else (box.Lx, box.Ly, box.Lz)


def positions_of(simulation):
    """To the last bit, by tag, on one rank; a snapshot of HOOMD-blue 4 is rounded once more."""
    return _by_tag(simulation, "position")


def images_of(simulation):
    return _by_tag(simulation, "image")


def _by_tag(simulation, name):
    with simulation.state.cpu_local_snapshot as snapshot:
        values = np.array(getattr(snapshot.particles, name))[np.array(snapshot.particles.rtag)]
    return np.ascontiguousarray(values[:, : len(edges_of(simulation))])


def standalone(simulation, cycles, diameters=None, d=0.12, **settings):
    """The result of manymove alone for the present state after a number of cycles."""
    diameters = diameters or SIZES
    names, typeid = (
        simulation.state.particle_types,
        simulation.state.get_snapshot().particles.typeid,
    )
    sizes = np.array([diameters[name] for name in names])
    given = {"diameters": sizes[typeid]} if len({*sizes}) > 1 else {"diameter": sizes[0]}
    make = HardDisks if simulation.state.box.is2D else HardSpheres
    particles = make(
        positions_of(simulation),
        edges_of(simulation),
        max_displacement=d,
        **of_hard_particles(
            **{
                "moves_per_cell": 4,
                "rounds": 4,
                "seed": simulation.seed,
                "device": "cpu",
                "threads": 1,
                **given,
                **settings,
            }
        ),
    )
    particles.run_cycles(cycles)
    return particles
