# SPDX-License-Identifier: BSD-3-Clause
"""What `HardSpheres` and mixtures of disks promise: invariants, runs, checkpoints, resources."""

from __future__ import annotations

import math

import numpy as np
import pytest
from damage import change_checkpoint
from flat_settings import of_hard_particles
from hard_spheres import assert_valid, make

from manymove import HardDisks, HardSpheres, Mixture, fcc_packing
from manymove.hard_particles.checkpoints import read_checkpoint

CONTACTS = [[1.0, 1.2], [1.2, 1.4]]
SYSTEMS = {
    "equal disks": lambda **o: HardDisks.random(400, 0.6, **o),
    "spheres": lambda **o: HardSpheres.random(300, 0.45, **o),
    "crystal": lambda **o: HardSpheres.fcc(256, 0.6, **o),
    "binary": lambda **o: HardSpheres.random(
        200, 0.5, diameter=Mixture(np.arange(200) % 2, CONTACTS), **o
    ),
    "not additive": lambda **o: HardSpheres.random(
        200, 0.3, diameter=Mixture(np.arange(200) % 2, [[1, 1.3], [1.3, 1]]), **o
    ),
    "polydisperse": lambda **o: HardSpheres.random(
        200, 0.5, diameter=np.linspace(0.7, 1.61, 200), **o
    ),
    "disks": lambda **o: HardDisks.random(
        200, 0.65, diameter=Mixture(np.arange(200) % 2, CONTACTS), **o
    ),
    "polydisperse disks": lambda **o: HardDisks.random(
        200, 0.65, diameter=np.linspace(0.7, 1.61, 200), **o
    ),
}


@pytest.fixture(scope="module")
def starts():
    """Every system once, with one thread on the CPU."""
    return {name: system(seed=1, device="cpu", threads=1) for name, system in SYSTEMS.items()}


def like(first, device, **settings):
    """The same particles with other settings."""
    return make(
        (first.positions, first.box), device, **{"diameter": first._sizes.given, **settings}
    )


# ---- invariants --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_run_loses_no_particle_and_makes_no_overlap(device, starts, name):
    particles = like(starts[name], device, threads=2, max_displacement=0.05)
    before = particles.positions
    particles.run(2000)
    assert particles.sweeps > 1700
    assert not np.array_equal(particles.positions, before)
    assert_valid(particles)
    assert 0 < particles.accepted_moves < particles.trial_moves
    assert particles.acceptance == particles.accepted_moves / particles.trial_moves


@pytest.mark.parametrize("packing_fraction", [0.7, 0.7404])
def test_near_close_packing_nothing_is_lost_either(device, packing_fraction):
    spheres = HardSpheres.fcc(
        500, packing_fraction, seed=1, device=device, threads=1, max_displacement=2e-3
    )
    spheres.run(300)
    assert_valid(spheres)
    assert spheres.packing_fraction == pytest.approx(packing_fraction)


@pytest.mark.parametrize("diameter", [1e-9, 0.37, 2e6])
def test_the_unit_of_length_is_arbitrary(device, diameter):
    positions, box = fcc_packing(256, 0.5, diameter=diameter)
    spheres = make((positions, box), device, diameter=diameter)
    spheres.run(50)
    assert spheres.packing_fraction == pytest.approx(0.5)
    assert spheres.max_overlap() < 1e-9
    assert spheres.density_modes().shape == (3,)


def test_the_diameter_of_a_mixture_is_that_of_the_mean_volume():
    options = {"seed": 1, "device": "cpu", "threads": 1}
    d = np.array([1.0, 2.0, 1.0, 1.5])
    positions = np.array([[-3.0, 0, 0], [0, 0, 0], [3.0, 0, 0], [0, 3.0, 0]])
    spheres = HardSpheres(positions, (9.0, 9.0, 9.0), diameter=d, **of_hard_particles(**options))
    assert spheres.diameter == pytest.approx((d**3).mean() ** (1 / 3))
    assert spheres.packing_fraction == pytest.approx(math.pi / 6 * (d**3).sum() / 729)
    assert np.array_equal(spheres.diameters, d)
    assert spheres.contacts is None and not spheres.types.any() and spheres.mixed
    disks = HardDisks(positions[:, :2], (9.0, 9.0), diameter=d, **of_hard_particles(**options))
    assert disks.diameter == pytest.approx(math.sqrt((d**2).mean()))
    assert disks.packing_fraction == pytest.approx(math.pi / 4 * (d**2).sum() / 81)


def test_density_modes_are_fourier_components(starts):
    spheres = starts["spheres"]
    expected = [
        sum(np.exp(2j * math.pi * x / edge) for x in spheres.positions[:, a]) / math.sqrt(300)
        for a, edge in enumerate(spheres.box)
    ]
    assert spheres.density_modes() == pytest.approx(np.array(expected))
    assert np.array_equal(spheres.slow_quantities(), spheres.density_modes())


def test_repr_tells_what_there_is(starts):
    assert repr(starts["crystal"]).startswith("<HardSpheres: N = 256, box = 6.0")
    assert "cycles = 0, device = cpu>" in repr(starts["disks"])
    assert "<caption>HardSpheres</caption>" in starts["crystal"]._repr_html_()


# ---- random packings ---------------------------------------------------------------------------


@pytest.mark.parametrize(("packing_fraction", "N"), [(0.1, 40), (0.49, 500), (0.60, 1000)])
def test_random_packings_have_their_density_and_room_to_move(packing_fraction, N):
    spheres = HardSpheres.random(N, packing_fraction, seed=2, device="cpu", threads=1)
    assert spheres.packing_fraction == pytest.approx(packing_fraction)
    assert spheres.repaired["count"] == 0
    assert_valid(spheres)
    small = like(spheres, "cpu", max_displacement=0.01)
    small.run(20)
    assert small.acceptance > 0.1
    again = HardSpheres.random(N, packing_fraction, seed=2, device="cpu", threads=2)
    assert np.array_equal(again.positions, spheres.positions)


def test_random_packings_are_not_crystals():
    """No density mode of the lattice of sites is left: |rho_k|^2 / N is of the order of 1, and N in
    the lattice."""
    spheres = HardSpheres.random(1000, 0.4, seed=1, device="cpu", threads=1)
    phases = 10 * spheres.positions * (2 * np.pi / np.array(spheres.box))
    assert (np.abs(np.exp(1j * phases).sum(axis=0)) ** 2 / 1000 < 20).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"packing_fraction": 0.61}, r"0\.61; random packings go up to 0\.6"),
        ({"packing_fraction": 0.0}, "must be positive"),
        ({"N": 0}, "N must be at least 1, got 0"),
        ({"diameters": [1.0, 2.0]}, "N is 100, but there are sizes of 2 particles"),
        ({"aspect_ratios": (1, 1, -1)}, r"aspect_ratios must be positive and finite, got -1\.0"),
        ({"aspect_ratios": (1, 1)}, r"aspect_ratios must be 3 numbers, got \(1, 1\)"),
        ({"N": 3, "packing_fraction": 0.55}, "box too small"),
    ],
)
def test_random_packings_that_do_not_exist_are_refused(arguments, message):
    arguments = {"N": 100, "packing_fraction": 0.4, **arguments}
    with pytest.raises(ValueError, match=message):
        HardSpheres.random(**of_hard_particles(**arguments), seed=1, device="cpu", threads=1)


def test_the_box_may_be_long():
    spheres = HardSpheres.random(200, 0.3, seed=1, aspect_ratios=(1, 1, 3), device="cpu", threads=1)
    assert spheres.box[2] == pytest.approx(3 * spheres.box[0])


# ---- running -----------------------------------------------------------------------------------


def test_the_callback_sees_the_run_and_leaves_no_trace(device, starts, capsys):
    spheres, alone = like(starts["binary"], device), like(starts["binary"], device)
    seen = []
    spheres.run(3000, [(1, lambda s: seen.append(s.sweeps))], progress=True)
    alone.run(3000)
    assert alone.state_hash == spheres.state_hash
    assert (np.diff(seen) > 0).all() and seen[-1] == spheres.sweeps
    assert "HardSpheres" in capsys.readouterr().err


# ---- checkpoints -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_loaded_checkpoint_goes_on_bit_for_bit(device, starts, tmp_path, name):
    """With other threads and, where there is a GPU, from one device to the other."""
    grid = {
        "polydisperse": {"tile": (4, 3, 5)},
        "polydisperse disks": {"tile": (3, 6)},
        "equal disks": {"tile": 9, "moves_per_cell": 3, "rounds": 2, "cell_width": 1.2},
    }.get(name, {})
    particles = like(starts[name], device, max_displacement=0.07, seed=2**64 - 1, **grid)
    assert "tile" not in grid or particles.tile == grid["tile"]
    particles.run(33.3)
    particles.save(tmp_path / "state")
    saved = particles.state_hash
    for _ in range(3):
        particles.run(11.1)
    others = [("cpu", 1), ("cpu", 3)] + [("cuda", None)] * (device == "cuda")
    for other, threads in others:
        loaded = type(particles).load(tmp_path / "state", device=other, threads=threads)
        assert loaded.state_hash == saved
        names = ("N", "box", "seed", "diameter", "max_displacement", "moves_per_cell", "rounds")
        for attribute in (*names, "tile", "cells", "packing_fraction"):
            assert getattr(loaded, attribute) == getattr(particles, attribute)
        assert np.array_equal(loaded.diameters, particles.diameters)
        assert np.array_equal(loaded.types, particles.types)
        for _ in range(3):
            loaded.run(11.1)
        assert loaded.state_hash == particles.state_hash
        assert np.array_equal(loaded.positions, particles.positions)
        for attribute in ("trial_moves", "accepted_moves", "cycles"):
            assert getattr(loaded, attribute) == getattr(particles, attribute)


def test_a_checkpoint_is_of_one_class(starts, tmp_path):
    starts["spheres"].save(tmp_path / "spheres")
    starts["disks"].save(tmp_path / "disks")
    with pytest.raises(ValueError, match="is no checkpoint of hard disks: it holds hard spheres"):
        HardDisks.load(tmp_path / "spheres")
    with pytest.raises(ValueError, match="is no checkpoint of hard spheres: it holds hard disks"):
        HardSpheres.load(tmp_path / "disks")


def test_the_arrays_of_a_checkpoint_are_those_of_the_engine(starts, tmp_path):
    starts["polydisperse"].save(tmp_path / "state")
    state, particles, parameters, *_ = read_checkpoint(tmp_path / "state", "hard spheres")
    assert particles == 200 and state["places"].shape == (600,)
    assert np.array_equal(state["diameters"], starts["polydisperse"].diameters)
    assert parameters["max_displacement"] == starts["polydisperse"].max_displacement


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda a, h: a.pop("places"), "is no checkpoint of hard spheres: 'places' is missing"),
        (lambda a, h: a.update(places=a["places"][:-3]), "checkpoint"),
        (lambda a, h: a["places"].__setitem__(0, -1), "checkpoint"),
        (lambda a, h: a["places"].__setitem__(0, 2**62), "checkpoint"),
        (lambda a, h: a["places"].__setitem__(slice(0, 3), a["places"][3:6]), "overlap"),
        (lambda a, h: a.update(types=a["types"][:-1]), "types"),
        (lambda a, h: a.update(types=a["types"] + 5), "type of particle 0 is 5"),
        (lambda a, h: a.pop("types"), "types|contacts"),
        (lambda a, h: h["parameters"].update(contacts=None), "types|contacts"),
        (lambda a, h: h["parameters"].update(contacts=[[1.0, 9.0], [1.2, 1.4]]), "."),
        (lambda a, h: h["parameters"].update(contacts=[["a"]]), "is no checkpoint of hard spheres"),
        (lambda a, h: h["parameters"].update(contacts=[[1.0, -1.0], [-1.0, 1.0]]), "contacts"),
        (lambda a, h: h["parameters"].update(box=[9.0, 9.0]), "."),
        (lambda a, h: h["parameters"].pop("box"), "is no checkpoint of hard spheres"),
        (lambda a, h: h.update(particles=199), "."),
        (lambda a, h: h.update(origin=[0]), "."),
        (lambda a, h: h.update(counters=[0, -1, 0]), "wrong type or shape"),
    ],
)
def test_a_damaged_checkpoint_is_refused(starts, tmp_path, edit, message):
    path = tmp_path / "state"
    starts["binary"].save(path)
    change_checkpoint(path, edit)
    with pytest.raises(ValueError, match=message):
        HardSpheres.load(path, device="cpu")


# ---- tuning ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["spheres", "disks"])
def test_tuning_adopts_the_fastest_setting(starts, name):
    particles = like(starts[name], "cpu")
    tried = particles.tune((0.02, 0.1), (4, 8), sweeps=400, every=10)
    assert len(tried) == 3
    assert tried[0].max_displacement == particles.max_displacement
    assert tried[0].moves_per_cell == particles.moves_per_cell
    assert all(0 < t.acceptance < 1 and t.autocorrelation_sweeps >= 0 for t in tried)
    small, large = sorted(tried, key=lambda t: t.max_displacement)[:: len(tried) - 1]
    assert small.acceptance > large.acceptance
    assert particles.mixed == starts[name].mixed
    with pytest.raises(ValueError, match=r"moves_per_cell must be positive .*, got 0"):
        particles.tune((0.1,), (0,), sweeps=400)
    with pytest.raises(ValueError, match=r"max_displacements must be positive .*, got -0\.1"):
        particles.tune((-0.1,), (4,), sweeps=400)
