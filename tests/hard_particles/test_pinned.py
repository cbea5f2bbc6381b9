# SPDX-License-Identifier: BSD-3-Clause
"""Pinned particles never move, and the others collide with them.

Comparisons of histograms have the false-alarm rate of `laws.FALSE_ALARM` each over seeds, which are
fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from hard_spheres import assert_valid, make, sample, sites
from laws import assert_follows
from machine import on_gpu

from manymove import HardDisks, HardSpheres, OverlapError

SIZES = {
    "one": {},
    "diameters": {"diameters": [1.0, 0.6, 0.9]},
    "table": {"types": [0, 1, 0], "contacts": [[1.0, 0.55], [0.55, 0.8]]},
}


@pytest.mark.parametrize("box", [(3.4, 4.1), (3.3, 4.2, 3.1)])
@pytest.mark.parametrize("sizes", SIZES)
def test_two_particles_visit_all_places_around_a_pinned_one(device, sizes, box):
    """The first mobile one is uniform over the box outside the pinned one, and where the second one
    leaves it room; a comparison for each number of dimensions and each kind of sizes, over 4 bins
    along each axis."""
    D = len(box)
    given = {"max_displacement": 0.5, "pinned": [True, False, False], **SIZES[sizes]}
    particles = make((sites(box)[[0, 4, 8]], box), device, **given)
    start = particles.positions[0].copy()
    particles.run_cycles(500)
    places = sample(particles, 4000, 40)
    assert (places[:, 0] == start).all()
    assert_valid(particles)
    # Random places of the other two, by rejection.
    random, edges = np.random.default_rng(6), np.array(box)
    free = random.uniform(-edges / 2, edges / 2, (1_500_000, 2, D))
    contacts = SIZES[sizes].get("contacts")
    if contacts is None:
        d = np.broadcast_to(SIZES[sizes].get("diameters", 1.0), 3)
        contacts = (d[:, None] + d) / 2
    else:
        types = SIZES[sizes]["types"]
        contacts = np.array(contacts)[np.ix_(types, types)]
    for i, j, away in (
        (0, 1, free[:, 0] - start), (0, 2, free[:, 1] - start), (1, 2, free[:, 0] - free[:, 1])
    ):  # fmt: skip
        away -= np.rint(away / edges) * edges
        kept = (away**2).sum(axis=1) >= contacts[i][j] ** 2
        free[~kept, 0] = np.nan
    free = free[~np.isnan(free[:, 0, 0])]
    bins = [np.linspace(-edge / 2, edge / 2, 5) for edge in box]
    law = np.histogramdd(free[:, 0], bins=bins)[0]
    assert_follows(np.histogramdd(places[:, 1], bins=bins)[0], law, law_samples=len(free))


@pytest.mark.parametrize("kind", [HardDisks, HardSpheres])
def test_pinned_particles_stay_while_the_others_move(kind, device, tmp_path):
    """To the last bit, through shifts of the grid, a checkpoint and a copy with another seed."""
    box = (14.0, 16.0, 15.0)[: 2 if kind is HardDisks else 3]
    places = sites(box, 10 if kind is HardDisks else 8)
    pinned = np.arange(len(places)) % 3 == 0
    options = {"pinned": pinned, "seed": 3, "device": device, "threads": 1}
    whole, half = (kind(places, box, **options) for _ in range(2))
    start = whole.positions
    whole.run_cycles(60)
    half.run_cycles(30)
    half.save(tmp_path / "state")
    half = kind.load(tmp_path / "state", device=device, threads=1)
    assert (half.pinned == pinned).all()
    half.run_cycles(30)
    other = half.replace(seed=8)
    other.run_cycles(30)
    assert half.state_hash == whole.state_hash != other.state_hash
    for particles in (whole, half, other):
        moved = (particles.positions != start).any(axis=1)
        assert (moved == ~pinned).all()
        assert_valid(particles)


def test_moves_of_pinned_particles_are_rejected(device):
    box = (6.0, 7.0, 6.5)
    spheres = HardSpheres(
        sites(box, 5), box, pinned=np.ones(125, dtype=bool), seed=1, device=device, threads=1
    )
    spheres.run_cycles(20)
    assert spheres.trial_moves > 0 and spheres.accepted_moves == 0


def test_a_mask_without_pinned_particles_changes_nothing(device):
    box = (12.0, 12.0)
    options = {"seed": 1, "device": device, "threads": 1}
    runs = [HardDisks(sites(box, 10), box, pinned=p, **options) for p in (None, [False] * 100)]
    for run in runs:
        run.run_cycles(10)
    assert runs[0].state_hash == runs[1].state_hash


def test_a_repair_moves_the_other_particle(device):
    box = (6.0, 6.0, 6.0)
    places = sites(box)
    places[1] = places[0] + [0, 0, 1 - 5e-5]
    pinned = np.arange(len(places)) == 0
    spheres = HardSpheres(places, box, pinned=pinned, seed=1, device=device, threads=1)
    assert spheres.repaired["count"] == 1
    unit = spheres._grid["unit"]
    assert np.abs(spheres.positions[0] - places[0]).max() <= unit
    assert spheres.positions[1][2] - places[1][2] > 4.9e-5
    with pytest.raises(OverlapError, match="could not be pushed apart"):
        HardSpheres(places, box, pinned=pinned | (np.arange(27) == 1), seed=1, device=device)


@on_gpu
@pytest.mark.parametrize("sizes", ["one", "diameters", "table"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_cpu_and_gpu_make_the_same_trajectory_around_pinned_particles(dimensions, sizes):
    per_edge = 40 if dimensions == 2 else 14
    N, box = per_edge**dimensions, (1.15 * per_edge,) * dimensions
    given = {
        "one": {},
        "diameters": {"diameters": np.linspace(0.6, 1.0, N)},
        "table": {"types": np.arange(N) % 2, "contacts": [[1.0, 0.55], [0.55, 0.8]]},
    }[sizes]
    pinned = np.arange(N) % 5 == 0
    runs = [make((sites(box, per_edge), box), d, pinned=pinned, **given) for d in ("cpu", "cuda")]
    for run in runs:
        run.run_cycles(40)
    assert runs[0].state_hash == runs[1].state_hash


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pressure": 1.0}, "pinned cannot be combined with constant pressure"),
        ({"swaps": 2, "diameter": np.linspace(0.5, 1, 27)}, "cannot be combined with swap moves"),
        ({"pinned": [True]}, "pinned must have an entry for each of 27 particles, got 1"),
        ({"pinned": 3}, r"pinned must be a mask \(N,\) of True and False"),
        ({"pinned": np.full(27, 2)}, r"pinned must be a mask \(N,\) of True and False"),
    ],
)
def test_what_pinned_particles_do_not_have_is_refused(options, message):
    box = (5.0, 5.0, 5.0)
    with pytest.raises(ValueError, match=message):
        HardSpheres(
            sites(box), box, **{"pinned": [True] * 27, "seed": 1, "device": "cpu"} | options
        )
