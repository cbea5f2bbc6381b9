"""`manymove.hoomd.CoulombMC`: Coulomb sweeps on the particles of HOOMD-blue simulations."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from electrolytes import pair_energy, trivalent

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
from hoomd_ions import simulation_of  # noqa: E402

import manymove.hoomd  # noqa: E402


def add(simulation, trigger=1, **settings):
    action = manymove.hoomd.CoulombMC(**{"bjerrum_length": 7.117, "threads": 1} | settings)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(trigger, action))
    return action


def positions_of(simulation):
    return np.array(simulation.state.get_snapshot().particles.position, dtype=float)


@pytest.mark.parametrize("boundary", [None, "nearest_image", "ewald"])
def test_the_chain_is_that_of_the_engine(hoomd_device, boundary):
    periodic = boundary is not None
    ions = trivalent(200, periodic=periodic, boundary=boundary, precision="double", device="cpu")
    box = None if periodic else 3 * (2 * ions.radius + 1,)
    simulation = simulation_of(ions, hoomd_device, box)
    action = add(
        simulation, radius=ions.radius, boundary=boundary, precision="double", sweeps_per_step=2
    )
    simulation.run(5)
    ions.run(10)
    if isinstance(hoomd_device, hoomd.device.CPU):
        assert action.translate_moves[0] == ions.accepted_moves
    assert np.abs(positions_of(simulation) - ions.positions).max() < 1e-4
    assert action.energy == pytest.approx(ions.energy, rel=1e-6)
    assert sum(action.translate_moves) == ions.trial_moves
    assert action.mps > 0


@pytest.mark.parametrize("place", ["sphere", "ewald", "vacuum"])
def test_the_tree_makes_the_chain_of_the_brush(hoomd_device, place):
    where = {"periodic": place != "sphere", "boundary": None if place == "sphere" else "ewald"}
    if place == "vacuum":
        where["surrounding"] = "vacuum"
    ions = trivalent(120, precision="double", device="cpu", **where)
    box = 3 * (2 * ions.radius + 1,) if place == "sphere" else None
    del where["periodic"]
    found = {}
    for method in ("brush", "tree", "auto"):
        simulation = simulation_of(ions, hoomd_device, box)
        precision = "double" if method == "brush" else None
        action = add(simulation, radius=ions.radius, method=method, precision=precision, **where)
        simulation.run(4)
        particles = simulation.state.get_snapshot().particles
        found[method] = (particles.position.tobytes(), particles.image.tobytes())
        assert action._engine.method == ("tree" if method == "tree" else "brush")
    ions.run(4)
    assert found["tree"] == found["brush"] == found["auto"]
    assert np.abs(positions_of(simulation) - ions.positions).max() < 1e-4


def test_rejected_particles_keep_their_coordinates(hoomd_device):
    ions = trivalent(100, periodic=True, device="cpu")
    simulation = simulation_of(ions, hoomd_device)
    start = positions_of(simulation)
    action = add(simulation)
    simulation.run(1)
    moved = (positions_of(simulation) != start).any(axis=1)
    assert moved.sum() == action.translate_moves[0]


def test_images_follow(hoomd_device):
    """Unwrapped positions change by the trial displacements, at most a sixth of the box."""
    ions = trivalent(200, periodic=True, device="cpu")
    simulation = simulation_of(ions, hoomd_device)
    add(simulation)
    edges = np.array(ions.box)

    def unwrapped():
        particles = simulation.state.get_snapshot().particles
        return np.array(particles.position) + np.array(particles.image) * edges

    for _ in range(5):
        before = unwrapped()
        simulation.run(1)
        assert np.abs(unwrapped() - before).max() <= edges[0] / 6 * (1 + 1e-6)
    assert (np.array(simulation.state.get_snapshot().particles.image) != 0).any()


def test_a_vacuum_around_takes_the_images_of_the_particles(hoomd_device):
    """Unwrapped coordinates are those of the engine, also when others have moved particles."""
    images = np.random.default_rng(4).integers(-2, 3, (60, 3))
    settings = {"boundary": "ewald", "surrounding": "vacuum", "precision": "double"}
    ions = trivalent(60, periodic=True, images=images, device="cpu", **settings)
    simulation = simulation_of(ions, hoomd_device)
    with simulation.state.cpu_local_snapshot as local:
        local.particles.image[:] = ions.images[np.array(local.particles.tag)]
    action = add(simulation, sweeps_per_step=7, **settings)

    def check():
        particles = simulation.state.get_snapshot().particles
        assert np.abs(np.array(particles.position) - ions.positions).max() < 1e-4
        assert np.array_equal(particles.image, ions.images)
        assert action.energy == pytest.approx(ions.energy, rel=1e-5)

    simulation.run(5)
    ions.run(35)
    check()
    assert (ions.images != images).any()
    moved = simulation.state.get_snapshot()
    moved.particles.image[7] = [3, 0, -1]
    moved.particles.position[7] = positions_of(simulation)[7] + [0, 0, 1e-3]
    simulation.state.set_snapshot(moved)
    simulation.run(0)
    snapshot = simulation.state.get_snapshot().particles
    ions.set_positions(positions_of(simulation), np.array(snapshot.image))
    assert action.energy == pytest.approx(ions.energy, rel=1e-5)


def test_images_stay_in_a_spherical_cell(hoomd_device):
    """No ion crosses the box, however far several sweeps carry an ion."""
    ions = trivalent(100, device="cpu")
    simulation = simulation_of(ions, hoomd_device, 3 * (2 * ions.radius,))
    add(simulation, radius=ions.radius, sweeps_per_step=20)
    simulation.run(3)
    assert (np.array(simulation.state.get_snapshot().particles.image) == 0).all()


def test_steps_leave_positions_where_they_are(hoomd_device, monkeypatch):
    """After the first step nothing is taken over by way of the host, be particles reordered."""
    ions = trivalent(300, periodic=True, precision="double", device="cpu")
    simulation = simulation_of(ions, hoomd_device)
    simulation.operations.tuners.append(hoomd.tune.ParticleSorter(trigger=2))
    action = add(simulation, precision="double")
    simulation.run(1)
    monkeypatch.setattr(action, "_take_over", None)
    simulation.run(6)
    ions.run(7)
    assert np.abs(positions_of(simulation) - ions.positions).max() < 1e-4


def test_others_may_move_particles_between_steps(hoomd_device):
    ions = trivalent(100, periodic=True, device="cpu")
    simulation = simulation_of(ions, hoomd_device)
    action = add(simulation, precision="double")
    simulation.run(2)
    assert action.energy < 1e9
    with simulation.state.cpu_local_snapshot as snapshot:
        position = np.array(snapshot.particles.position)
        edges = np.array(ions.box)
        position += 0.3 * edges
        snapshot.particles.position[:] = position - np.rint(position / edges) * edges
    charges = np.array(simulation.state.get_snapshot().particles.charge)
    exact = pair_energy(positions_of(simulation), charges, 7.117, ions.box)
    assert action.energy == pytest.approx(exact, rel=1e-6)
    simulation.run(2)
    assert sum(action.translate_moves) == 400


def test_new_charges_are_noticed(hoomd_device):
    ions = trivalent(40, periodic=True, device="cpu")
    simulation = simulation_of(ions, hoomd_device)
    action = add(simulation)
    simulation.run(1)
    with simulation.state.cpu_local_snapshot as snapshot:
        snapshot.particles.charge[:] = np.array(snapshot.particles.charge) / 2
    charges = np.array(simulation.state.get_snapshot().particles.charge)
    exact = pair_energy(positions_of(simulation), charges, 7.117, ions.box)
    assert action.energy == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize(
    "settings, error, message",
    [
        ({"bjerrum_length": 0}, ValueError, "bjerrum_length must be positive"),
        ({"sweeps_per_step": 0}, ValueError, "sweeps_per_step must be"),
        ({"radius": "x"}, TypeError, "radius must be a number, got 'x'"),
        ({"radius": 1e4}, ValueError, "does not fit into the box"),
        ({"radius": 5.0}, ValueError, "outside the spherical cell"),
        ({"precision": "half"}, ValueError, "precision must be"),
        ({"method": "serial"}, ValueError, "method must be"),
        ({"method": "tree"}, ValueError, "kink"),
        ({"method": "tree", "precision": "mixed"}, ValueError, "mixed precision is for method"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    ions = trivalent(40, periodic=True, device="cpu")
    simulation = simulation_of(ions, hoomd.device.CPU())
    with pytest.raises(error, match=message):
        add(simulation, **settings)
        simulation.run(0)


def test_charges_that_are_not_neutral_are_refused():
    ions = trivalent(40, periodic=True, device="cpu")
    simulation = simulation_of(ions, hoomd.device.CPU())
    with simulation.state.cpu_local_snapshot as snapshot:
        snapshot.particles.charge[:] = 1.0
    add(simulation)
    with pytest.raises(ValueError, match="not neutral"):
        simulation.run(0)


def test_a_tilted_box_is_refused():
    ions = trivalent(40, periodic=True, device="cpu")
    simulation = simulation_of(ions, hoomd.device.CPU())
    box = hoomd.Box(*ions.box)
    box.xy = 0.1
    simulation.state.set_box(box)
    add(simulation)
    with pytest.raises(ValueError, match="not tilted"):
        simulation.run(0)


def test_a_copy_is_not_attached():
    ions = trivalent(40, periodic=True, device="cpu")
    simulation = simulation_of(ions, hoomd.device.CPU())
    action = add(simulation)
    simulation.run(1)
    assert not copy.copy(action)._attached
    with pytest.raises(RuntimeError, match="already"):
        action.attach(simulation)
