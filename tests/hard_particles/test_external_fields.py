# SPDX-License-Identifier: BSD-3-Clause
"""External fields: particles follow the Boltzmann law of walls, linear fields and springs.

Comparisons of histograms have the false-alarm rate of `laws.FALSE_ALARM` each over seeds, which are
fixed.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hard_spheres import assert_valid, make, sample, sites
from laws import assert_follows
from machine import on_gpu

from manymove import Grid, HardDisks, HardSpheres, Start
from manymove.fields import (
    Cylinder,
    HardWall,
    HarmonicWall,
    Linear,
    LJ93Wall,
    Plane,
    Sphere,
    Springs,
)

BOXES = {2: (3.4, 4.1), 3: (3.3, 4.2, 3.1)}
TILTED = (1.0, 0.4, -0.7)
CORNER = np.array([[1.5, -1.9, 1.4]])


def plane(D: int, *origin: float) -> Plane:
    return Plane(TILTED[:D], (origin or (-0.4, 0.1, 0.2))[:D])


# Fields by name, from the number of dimensions.
FIELDS = {
    "hard planes": lambda D: [
        HardWall(plane(D)), HardWall(Plane((-1.0, 0.2, 0.0)[:D], (1.3, 0.2, 0.1)[:D]), 0.3)
    ],
    "inside a hard sphere": lambda D: HardWall(Sphere(1.7)),
    "outside a hard sphere": lambda D: HardWall(Sphere(0.5, (0.9, 0.4, 0)[:D], inside=False), 0.8),
    "a harmonic wall": lambda D: HarmonicWall(plane(D, 0.5, 0.2, 0.0), 3.0, 1.5),
    "a wall of Lennard-Jones particles": lambda D: LJ93Wall(Sphere(2.3), 2.0, 0.9, 2.0),
    "a linear field": lambda D: Linear(0.9, TILTED[:D]),
    "a spring": lambda D: Springs(2.0, CORNER[:, :D]),
    "several": lambda D: [HardWall(Sphere(1.9)), Linear([0.7]), Springs([1.1], 0 * CORNER[:, :D])],
    "a hard cylinder": lambda D: HardWall(Cylinder(1.5, (1.0, 1.0, 0.3))),
    "outside a harmonic cylinder": lambda D: HarmonicWall(
        Cylinder(0.3, (0.0, 1.0, 0.0), inside=False), 4.0, 1.0
    ),
}  # fmt: skip


def distance(surface, r: np.ndarray) -> np.ndarray:
    """Distances of points from a surface, positive on the side of the particles."""
    D = r.shape[-1]
    d = r - (surface.origin or D * (0.0,))
    if isinstance(surface, Plane):
        return d @ np.array(surface.normal) / np.linalg.norm(surface.normal)
    if isinstance(surface, Cylinder):
        axis = np.array(surface.axis) / np.linalg.norm(surface.axis)
        d = d - (d @ axis)[..., None] * axis
    return (1 if surface.inside else -1) * (surface.radius - np.linalg.norm(d, axis=-1))


def energy(fields, r: np.ndarray, box: tuple[float, ...], i: int = 0) -> np.ndarray:
    """Energy of particle i, of diameter 1, at points (..., D), by formulas of its own."""
    total = np.zeros(r.shape[:-1])
    for field in fields if isinstance(fields, (list, tuple)) else [fields]:
        if isinstance(field, Linear):
            normal = np.array(field.direction or (*(len(box) - 1) * (0.0,), 1.0))
            value = np.atleast_1d(field.strength)
            total += value[i % len(value)] * (r @ normal) / np.linalg.norm(normal)
        elif isinstance(field, Springs):
            d = r - field.points[i]
            d -= np.rint(d / box) * box
            value = np.atleast_1d(field.stiffness)
            total += value[i % len(value)] / 2 * (d**2).sum(axis=-1)
        else:
            s = distance(field.surface, r)
            if isinstance(field, HardWall):
                least = 0.5 if field.distance is None else field.distance
                total += np.where(s >= least, 0, np.inf)
            elif isinstance(field, HarmonicWall):
                total += field.stiffness / 2 * np.maximum(0, field.range - s) ** 2
            else:
                law = [2 / 15 * q**9 - q**3 for q in (
                    field.sigma / np.where(s > 0, s, 1), field.sigma / field.cutoff)]  # fmt: skip
                inside = field.epsilon * np.where(s < field.cutoff, law[0] - law[1], 0)
                total += np.where(s > 0, inside, np.inf)
    return total


CASES = [
    (D, name) for name in FIELDS for D in (2, 3) if D == 3 or "cylinder" not in name
]  # fmt: skip


@pytest.mark.parametrize(("dimensions", "name"), CASES)
def test_a_particle_follows_the_law_of_boltzmann(device, dimensions, name):
    """Over 4 bins along each axis of the box, with the law by a sum over a fine lattice; one
    comparison for each case. The energy is that of the formulas, also at the place of the start."""
    box, fields = BOXES[dimensions], FIELDS[name](dimensions)
    grid = sites(box, 90 if dimensions == 3 else 300)
    start = grid[[np.argmin(energy(fields, grid, box))]]
    particle = make((start, box), device, max_displacement=1.0, fields=fields)
    assert particle.field_energies == pytest.approx(energy(fields, particle.positions, box))
    particle.run_cycles(200)
    places = sample(particle, 3000, 25)[:, 0]
    weights = np.exp(-energy(fields, grid, box))
    bins = [np.linspace(-edge / 2, edge / 2, 5) for edge in box]
    law = np.histogramdd(grid, bins=bins, weights=weights)[0]
    # The law is as exact as the number of points in a bin allows at a hard surface.
    assert_follows(np.histogramdd(places, bins=bins)[0], law, law_samples=50 * len(places))
    assert particle.field_energies == pytest.approx(energy(fields, particle.positions, box))


@pytest.mark.parametrize("sizes", ["one", "diameters", "table"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_two_particles_follow_the_law_of_boltzmann(device, dimensions, sizes):
    """In a linear field with a strength for each particle, springs and a hard wall that knows the
    diameters; the law is of random pairs, and a comparison is made for each particle."""
    box = BOXES[dimensions]
    given, d, contact = {
        "one": ({}, (1.0, 1.0), 1.0),
        "diameters": ({"diameters": [1.0, 0.6]}, (1.0, 0.6), 0.8),
        "table": ({"types": [0, 1], "contacts": [[1.0, 0.5], [0.5, 0.7]]}, (1.0, 0.7), 0.5),
    }[sizes]
    points = np.array([[0.3, -0.2, 0.4], [0.5, 0.5, 0.5]])[:, :dimensions]
    fields = [
        HardWall(Sphere(2.0)),
        Linear([0.8, -0.5], TILTED[:dimensions]),
        Springs([1.0, 0.6], points),
    ]
    start = np.array([[0.6, 0.0, 0.0], [-0.6, 0.0, 0.0]])[:, :dimensions]
    particles = make((start, box), device, max_displacement=0.8, fields=fields, **given)
    particles.run_cycles(200)
    places = sample(particles, 4000, 30)
    random = np.random.default_rng(4)
    pairs = random.uniform(-0.5, 0.5, (2_000_000, 2, dimensions)) * box
    away = pairs[:, 0] - pairs[:, 1]
    away -= np.rint(away / box) * box
    weight = np.where((away**2).sum(axis=1) >= contact**2, 0.0, np.inf)
    for i in range(2):
        walls = [HardWall(Sphere(2.0), d[i] / 2), *fields[1:]]
        weight += energy(walls, pairs[:, i], box, i)
    kept = random.uniform(size=len(pairs)) < np.exp(weight.min() - weight)
    bins = [np.linspace(-edge / 2, edge / 2, 5) for edge in box]
    for i in range(2):
        law = np.histogramdd(pairs[kept, i], bins=bins)[0]
        found = np.histogramdd(places[:, i], bins=bins)[0]
        assert_follows(found, law, law_samples=kept.sum())


def test_the_walls_carry_the_weight_of_a_fluid(device):
    """Spheres in a linear field between two hard walls: the densities at contact differ by the
    weight of all particles per area in kT, whatever the packing (the contact theorem). Densities
    at contact are extrapolated from five layers, with errors from 20 blocks; the difference of the
    two sides is within five of them, and the error is below 5 %."""
    box, strength = (4.4, 4.4, 9.0), 0.6
    walls = [HardWall(Plane((0, 0, s), (0, 0, -4.5 * s))) for s in (1.0, -1.0)]
    start = sites((4.4, 4.4, 7.9), 4)
    spheres = make((start, box), device, fields=[*walls, Linear(strength)], seed=3)
    spheres.run_cycles(2000)
    z = sample(spheres, 20_000, 2)[:, :, 2].reshape(20, -1)
    layers = np.linspace(0, 0.15, 6)
    middles = (layers[1:] + layers[:-1]) / 2

    def at_contact(heights: np.ndarray) -> float:
        counts = np.histogram(heights, bins=layers)[0] / (1000 * 19.36 * 0.03)
        return float(np.polyfit(middles, counts, 2)[-1])

    found = np.array([at_contact(block + 4) - at_contact(4 - block) for block in z])
    mean, error = found.mean(), found.std(ddof=1) / math.sqrt(len(found))
    weight = strength * spheres.N / 19.36
    assert error < 0.05 * weight
    assert abs(mean - weight) < 5 * error


ALL = [
    HardWall(Plane((0, 0, 1), (0, 0, -9.0))),
    HarmonicWall(Plane((0, 0, -1), (0, 0, 9.0)), 5.0, 3.0),
    LJ93Wall(Cylinder(1.0, (0, 0, 1), (-9.0, 9.0, 0), inside=False), 2.0, 0.5, 2.0),
    Linear(0.05),
]  # fmt: skip


def crowd(device: str = "cpu", sizes: str = "one", dimensions: int = 3, **settings):
    """Particles on a lattice in fields of all kinds."""
    per_edge = 12 if dimensions == 3 else 30
    N, box = per_edge**dimensions, (1.25 * per_edge,) * dimensions
    start = sites(box, per_edge)
    given = {
        "one": {},
        "diameters": {"diameters": np.linspace(0.6, 1.0, N)},
        "table": {"types": np.arange(N) % 2, "contacts": [[1.0, 0.55], [0.55, 0.8]]},
        "sums": {"types": np.arange(N) % 2, "contacts": [[1.0, 0.9], [0.9, 0.8]]},
    }[sizes]
    springs = Springs(np.linspace(0.1, 3, N), start)
    fields = [*ALL, springs] if dimensions == 3 else [
        HarmonicWall(Sphere(22.0), 1.0, 3.0), Linear(np.linspace(-0.2, 0.2, N)), springs
    ]  # fmt: skip
    return make((start, box), device, fields=fields, **given, **settings)


@on_gpu
@pytest.mark.parametrize("sizes", ["one", "diameters", "table", "sums"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_cpu_and_gpu_make_the_same_trajectory_in_fields(dimensions, sizes):
    runs = [crowd(device, sizes, dimensions) for device in ("cpu", "cuda")]
    for run in runs:
        run.run_cycles(60)
    assert runs[0].state_hash == runs[1].state_hash
    assert (runs[0].field_energies == runs[1].field_energies).all()


LARGE = (66.0, 66.0, 66.0)
FLOOR, CEILING = (Plane((0, 0, s), (0, 0, -33.0 * s)) for s in (1.0, -1.0))
MANY = sites(LARGE, 58)


@on_gpu
@pytest.mark.parametrize(
    "fields",
    [
        [HardWall(FLOOR), HardWall(CEILING)],
        [HardWall(FLOOR), HardWall(CEILING), Linear(0.3)],
        [LJ93Wall(FLOOR, 2.0, 0.6, 2.5), HarmonicWall(Sphere(40.0), 3.0, 2.0)],
        [HarmonicWall(Cylinder(3.0, (0, 0, 1), inside=False), 4.0, 2.0), Springs(1.0, MANY)],
    ],
)
def test_large_systems_make_the_same_trajectory_on_cpu_and_gpu(fields):
    """With the kernels for many tiles, most of which are far from all walls."""
    runs = [make((MANY, LARGE), device, fields=fields, threads=None) for device in ("cpu", "cuda")]
    for run in runs:
        run.run_cycles(10)
    assert runs[0].state_hash == runs[1].state_hash


@pytest.mark.parametrize("unit", [2.0**-31, 2.0**-50, 2.0**40])
def test_the_unit_of_length_does_not_matter(device, unit):
    """Products with powers of two are not rounded. The first two are about a nanometer and a
    femtometer in meters."""

    def places(unit: float) -> np.ndarray:
        edge = 15.0 * unit
        box, start = 3 * (edge,), unit * sites(3 * (15.0,), 12)
        fields = [
            HardWall(Plane((0, 0, 1), (0, 0, -edge / 2)), 0.5 * unit),
            HarmonicWall(Plane((0, 1, 0), (0, -edge / 2, 0)), 5 / unit**2, 2 * unit),
            Linear(0.5 / unit),
            Springs(np.linspace(0.01, 1, len(start)) / unit**2, start),
        ]
        spheres = HardSpheres(
            start, box, unit, seed=1, max_displacement=0.2 * unit, fields=fields, device=device
        )
        spheres.run_cycles(60)
        assert np.isfinite(spheres.field_energies).all()
        return spheres.positions

    assert (places(unit) == unit * places(1.0)).all()


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_run_continues_from_a_checkpoint(device, dimensions, tmp_path):
    whole, half = (crowd(device, "diameters", dimensions) for _ in range(2))
    whole.run_cycles(30)
    half.run_cycles(15)
    half.save(tmp_path / "state")
    loaded = type(half).load(tmp_path / "state", device=device, threads=1)
    assert len(loaded.fields) == len(half.fields)
    for ours, theirs in zip(loaded.fields, half.fields, strict=True):
        assert type(ours) is type(theirs)
    assert (loaded.field_energies == half.field_energies).all()
    loaded.run_cycles(15)
    assert loaded.state_hash == whole.state_hash
    other = loaded.replace(seed=9)
    assert other.fields == loaded.fields
    other.run_cycles(1)
    assert_valid(other)


def test_points_of_springs_have_periodic_images():
    box, start = BOXES[3], np.zeros((1, 3))
    expected = float(energy(Springs(2.0, CORNER), start, box)[0])
    for n in (-4, -1, 0, 1, 7):
        particle = make((start, box), "cpu", fields=Springs(2.0, CORNER + n * np.array(box)))
        assert particle.field_energies[0] == pytest.approx(expected)


def test_no_fields_change_nothing(device):
    box = (12.0, 12.0)
    options = {"seed": 1, "device": device, "threads": 1}
    runs = [HardDisks(sites(box, 10), box, fields=f, **options) for f in (None, [])]
    for run in runs:
        run.run_cycles(10)
    assert runs[0].state_hash == runs[1].state_hash
    assert not runs[0].fields and not runs[0].field_energies.any()


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_and_moves_do_not_matter(threads):
    runs = [crowd(threads=t, grid=Grid(moves_per_cell=37)) for t in (1, threads)]
    for run in runs:
        run.run_cycles(8)
    assert runs[0].state_hash == runs[1].state_hash


WALL = HardWall(Plane((0, 0, 1), (0, 0, -2.5)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pressure": 1.0}, "fields cannot be combined with constant pressure"),
        ({"swaps": 2, "diameter": np.linspace(0.5, 1, 27)}, "cannot be combined with swap moves"),
        ({"fields": 9 * [WALL]}, "fields must be at most 8, got 9"),
        ({"fields": Linear([1.0, 2.0])}, "must have a number for each of 27 particles, got 2"),
        ({"fields": Linear(1.0, (1.0, 0.0))}, "direction must have 3 components, .* got 2"),
        ({"fields": Linear(1.0, (0.0, 0.0, 0.0))}, "must have directions .*, got 0"),
        ({"fields": Linear(1.0, (0.0, 0.0, 1e200))}, "must have directions .*, got inf"),
        ({"fields": Springs(-1.0, np.zeros((27, 3)))}, "must not have a negative strength"),
        ({"fields": HardWall(Sphere(2.0))}, "is in a wall by 1.38.*, more than repair_depth"),
        ({"fields": LJ93Wall(Sphere(2.0), 1.0, 1.0, 0.5)}, "particle 0 is in a wall"),
    ],
)
def test_what_fields_do_not_have_is_refused(options, message):
    box = (5.0, 5.0, 5.0)
    with pytest.raises(ValueError, match=message):
        HardSpheres(sites(box), box, **{"fields": WALL, "seed": 1, "device": "cpu"} | options)


@pytest.mark.parametrize("surface", [Plane((0, 0, 1), (0, 0, -2.5)), Sphere(3.2), Cylinder(3.2)])
def test_particles_that_rounding_moved_into_a_wall_are_moved_out(surface):
    """As in a restart from a GSD file, whose positions have single precision."""
    box = (8.0, 8.0, 8.0)
    wall, depth = HardWall(surface, 0.5), 3e-5
    first = (0.1, 0.2, -2.0 - depth) if isinstance(surface, Plane) else (0.0, 2.7 + depth, 0.0)
    others = itertools.product((-0.6, 0.6), repeat=3)
    near = np.array([first, *others])
    spheres = HardSpheres(near, box, seed=1, fields=wall, device="cpu", threads=1)
    assert spheres.repaired == {"count": 1, "depth": pytest.approx(depth, rel=0.02)}
    moved = np.linalg.norm(spheres.positions - near, axis=1)
    assert depth < moved[0] < 2 * depth
    assert moved[1:].max() < 1e-6
    assert np.isfinite(spheres.field_energies).all()
    with pytest.raises(ValueError, match=r"is in a wall by .*, more than repair_depth = 1e-05"):
        HardSpheres(near, box, seed=1, fields=wall, device="cpu", start=Start(repair_depth=1e-5))


def test_other_objects_and_cylinders_in_a_plane_are_refused():
    box = (5.0, 5.0)
    with pytest.raises(TypeError, match=r"fields must be objects of manymove\.fields, got 3"):
        HardDisks(sites(box), box, seed=1, fields=[3], device="cpu")
    with pytest.raises(TypeError, match=r"fields must be objects of manymove\.fields, got 3"):
        HardDisks(sites(box), box, seed=1, fields=3, device="cpu")
    with pytest.raises(TypeError, match="surface must be a Plane, a Sphere or a Cylinder"):
        HardWall(3.0)
    disks = HardDisks(sites(box), box, seed=1, fields=Linear(1.0), device="cpu", threads=1)
    with pytest.raises(RuntimeError, match="differs from place to place"):
        disks.sample_pressure(1)
    with pytest.raises(RuntimeError, match="psi6 is the order of equal disks"):
        disks.psi6()
    with pytest.raises(ValueError, match="axis must have 2 components"):
        HardDisks(sites(box), box, seed=1, fields=HardWall(Cylinder(9.0)), device="cpu")
