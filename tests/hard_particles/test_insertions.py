# SPDX-License-Identifier: BSD-3-Clause
"""Test insertions: exact probabilities, and published equations of state.

A comparison with a standard error fails for one seed in 150,000 (4.5 errors); seeds are fixed.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from laws import assert_binomial

from manymove import HardDisks, HardSpheres, Mixture, Replicas
from manymove.analysis import WidomInsertions
from manymove.analysis.insertions import fit
from manymove.fields import Linear
from manymove.steps import Step

SIGMAS = 4.5


@pytest.mark.parametrize("box", [(3.2, 5.1), (9.0, 3.0, 4.4), (2.0, 2.1, 1.9), (20.0, 31.0)])
@pytest.mark.parametrize("largest", [0.3, 1.0])
def test_the_cells_find_all_overlaps(box, largest):
    rng, edges = np.random.default_rng(3), np.array(box)
    positions, places = (rng.uniform(-0.5, 0.5, (n, len(box))) * edges for n in (40, 3000))
    positions[0] = edges / 2  # on the face of the box
    contacts = rng.uniform(0.1, largest, 40)
    apart = places[:, None] - positions
    apart -= np.rint(apart / edges) * edges
    expected = ((apart**2).sum(axis=2) >= contacts**2).all(axis=1)
    assert (fit(places, positions, contacts, edges) == expected).all()
    assert expected.any() and not expected.all()


def test_all_insertions_fit_into_an_empty_box():
    """Which a fugacity fills."""
    gas = HardSpheres(np.empty((0, 3)), (5.0, 5.0, 5.0), seed=1, fugacity=1e-9, device="cpu")
    widom = WidomInsertions(10, seed=2)
    gas.run_cycles(3, [(1, widom)])
    assert gas.N == 0
    assert (widom.records == 1).all() and len(widom.records) == 3


def test_points_fit_outside_the_particles():
    """A particle without a diameter fits with the probability 1 - phi, in every configuration."""
    widom = WidomInsertions(200_000, seed=4, diameter=0)
    disks = HardDisks.random(500, 0.6, seed=1, device="cpu")
    widom(disks)
    assert_binomial(round(widom.records[0] * 200_000), 200_000, 1 - 0.6)


def test_a_particle_excludes_its_sphere():
    widom = WidomInsertions(200_000, seed=5)
    widom(HardSpheres([[1.0, 0.0, -1.0]], (3.0, 3.3, 3.1), seed=1, device="cpu"))
    free = 1 - 4 * math.pi / 3 / (3.0 * 3.3 * 3.1)
    assert_binomial(round(widom.records[0] * 200_000), 200_000, free)


@pytest.mark.parametrize("phi", [0.1, 0.2, 0.3])
def test_spheres_have_the_chemical_potential_of_carnahan_and_starling(device, phi):
    widom = WidomInsertions(10_000, seed=6)
    spheres = HardSpheres.random(1372, phi, seed=7, device=device)
    spheres.run(200)
    spheres.run(600, [(2, widom)])
    found = widom.excess_chemical_potential
    expected = (8 * phi - 9 * phi**2 + 3 * phi**3) / (1 - phi) ** 3
    assert abs(found.value - expected) < SIGMAS * found.error + 0.003
    assert found.error < 0.012 * expected


def test_disks_have_the_chemical_potential_of_their_virial_series(device):
    """mu_ex = Z - 1 + integral of (Z - 1) / phi, with Z = 1 + 2 phi + 3.128 phi^2 + 4.258 phi^3 +
    5.337 phi^4 (the four coefficients give 1e-3 at a packing fraction of 0.2)."""
    widom = WidomInsertions(10_000, seed=8)
    disks = HardDisks.random(900, 0.2, seed=9, device=device)
    disks.run(200)
    disks.run(600, [(2, widom)])
    found = widom.excess_chemical_potential
    b = [2, 3.12802, 4.25785, 5.33690, 6.3630]
    expected = sum(c * 0.2 ** (n + 1) * (1 + 1 / (n + 1)) for n, c in enumerate(b))
    assert abs(found.value - expected) < SIGMAS * found.error + 0.003
    assert found.error < 0.012


def test_types_and_diameters_of_a_mixture_agree():
    """Additive contacts by types and by diameters give the same records; a contact of a table that
    is not additive gives the share that it excludes."""
    types = np.arange(300) % 2
    table = np.array([[1.0, 0.75], [0.75, 0.5]])
    start = HardSpheres.random(300, 0.2, seed=2, diameter=np.where(types == 0, 1.0, 0.5))
    positions, box = start.positions, start.box
    records = []
    for diameter, given in (
        (Mixture(types, table), {"type": 1}),
        (np.where(types == 0, 1.0, 0.5), {"diameter": 0.5}),
    ):
        widom = WidomInsertions(20_000, seed=3, **given)
        widom(HardSpheres(positions, box, diameter, seed=1, device="cpu"))
        records.append(widom.records[0])
    assert records[0] == records[1]
    one = Mixture([0, 1], [[1.0, 0.3], [0.3, 1.2]])
    widom = WidomInsertions(100_000, seed=3, type=1)
    widom(HardSpheres([[-1.5, 0, 0], [1.5, 0, 0]], (6.0, 4.0, 4.0), one, seed=1, device="cpu"))
    free = 1 - 4 * math.pi / 3 * (0.3**3 + 1.2**3) / 96
    assert_binomial(round(widom.records[0] * 100_000), 100_000, free)


def test_errors():
    spheres = HardSpheres.fcc(108, 0.73, seed=1, device="cpu")
    widom = WidomInsertions(100, seed=1)
    with pytest.raises(RuntimeError, match="nothing inserted"):
        _ = widom.probability
    widom(spheres)
    with pytest.raises(RuntimeError, match="every insertion has overlaps"):
        _ = widom.excess_chemical_potential
    for given, message in (
        ({"trials": 0}, "trials"),
        ({"diameter": -1.0}, "diameter must be finite and not negative"),
        ({"diameter": 1.0, "type": 0}, "diameter and type cannot both be given"),
        ({"seed": -1}, "seed must be in"),
    ):
        with pytest.raises(ValueError, match=message):
            WidomInsertions(**{"seed": 1, **given})
    with pytest.raises(TypeError, match="particles must be HardDisks or HardSpheres, got 3"):
        WidomInsertions(10, seed=1)(3)
    with pytest.raises(TypeError, match=r"type must be an integer, got 0\.5"):
        WidomInsertions(seed=1, type=0.5)
    with pytest.raises(ValueError, match="type is for a Mixture of types"):
        WidomInsertions(seed=1, type=0)(spheres)
    mixed = HardSpheres.random(100, 0.1, seed=1, diameter=np.linspace(0.5, 1, 100))
    with pytest.raises(ValueError, match="diameter must be given for a mixture"):
        WidomInsertions(seed=1)(mixed)
    typed = HardDisks.random(64, 0.1, seed=1, diameter=Mixture(np.arange(64) % 2, [[1, 1], [1, 1]]))
    with pytest.raises(ValueError, match="type must be a type of the mixture, from 0 to 1"):
        WidomInsertions(seed=1, type=2)(typed)
    for options, name in (
        ({"pressure": 1.0}, "constant pressure"),
        ({"fields": Linear(1.0)}, "external fields"),
        ({"steps": Step(1.5, -1.0)}, "steps"),
        ({"pinned": np.arange(64) == 0}, "pinned particles"),
    ):
        with pytest.raises(RuntimeError, match=f"not possible with {name}"):
            widom(HardSpheres.random(64, 0.1, seed=1, **options))


def test_an_object_belongs_to_one_simulation():
    widom = WidomInsertions(100, seed=1)
    replicas = Replicas(partial(HardSpheres.random, 64, 0.1), 2, seed=1, device="cpu")
    with pytest.raises(RuntimeError, match="belong to one simulation"):
        replicas.run(100, [(2, widom)])
