# SPDX-License-Identifier: BSD-3-Clause
"""Ewald's energy in periodic boxes: against crystals, independent sums and LAMMPS, and the chain of
every method and device.

The one statistical test says its false-alarm rate.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from coulomb_decks import deck_of
from electrolytes import trivalent
from lammps_host import needs_lammps, run_lammps
from laws import assert_follows

from manymove import Electrolyte
from manymove.analysis.ions import Salt, Species

PAIR = [Species(1, 0.5), Species(-1, 0.5)]
BOXES = [(30.0, 30.0, 30.0), (30.0, 24.0, 27.0), (18.0, 36.0, 30.0)]


def pair_potential(d: np.ndarray, box: tuple[float, float, float]) -> np.ndarray:
    """The potential psi of a unit charge, its images and a uniform background at the differences d,
    (n, 3), by Ewald's sums; at d = 0 without 1 / r."""
    edges = np.array(box)
    alpha = 6 / edges.min()  # images beyond the next ones are screened: erfc(6 * 1.5) = 0
    erfc = np.vectorize(math.erfc)
    total = np.full(len(d), -math.pi / (alpha**2 * edges.prod()))
    for n in itertools.product(*(range(-math.ceil(1 + 1.2 * edges.min() / e), 2) for e in edges)):
        r = np.linalg.norm(d - np.array(n) * edges, axis=1)
        here = r > 0
        total[here] += erfc(alpha * r[here]) / r[here]
        total[~here] -= 2 * alpha / math.sqrt(math.pi)
    for n in itertools.product(*(range(math.ceil(2 + 2 * alpha * e)) for e in edges)):
        k = 2 * math.pi * np.array(n) / edges
        if (k2 := k @ k) == 0 or k2 > (12.5 * alpha) ** 2:
            continue
        weight = 2 ** np.count_nonzero(n) * 4 * math.pi / edges.prod()
        total += weight * math.exp(-k2 / (4 * alpha**2)) / k2 * np.cos(d * k).prod(axis=1)
    return total


def energy_of(ions: Electrolyte) -> float:
    """The energy in kT by Ewald's sums."""
    i, j = np.triu_indices(ions.N, 1)
    valence = np.array([s.valence for s in ions.species])[ions.types]
    edges = np.array(ions.box)
    d = ions.positions[i] - ions.positions[j]
    d -= np.rint(d / edges) * edges
    pairs = (valence[i] * valence[j] * pair_potential(d, ions.box)).sum()
    own = (valence**2).sum() / 2 * pair_potential(np.zeros((1, 3)), ions.box)[0]
    return ions.bjerrum_length * (pairs + own)


# ---- energies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("crystal", "madelung"),
    [("NaCl", 1.7475645946331822), ("CsCl", 1.7626747730709883)],
)
@pytest.mark.parametrize("cells", [1, 2])
def test_crystals_have_the_madelung_energy(crystal, madelung, cells, device):
    """Constants per nearest distance; J. M. Borwein and others, "Lattice Sums Then and Now" (2013)."""
    edge = 10.0
    corners = np.array(list(itertools.product(range(cells), repeat=3)), dtype=float)
    if crystal == "NaCl":
        sites = np.array(list(itertools.product((0, 0.5), repeat=3)))
        types, nearest = (2 * sites.sum(axis=1)).astype(int) % 2, edge / 2
    else:
        sites, types = np.array([[0, 0, 0], [0.5, 0.5, 0.5]]), np.array([0, 1])
        nearest = edge * math.sqrt(3) / 2
    positions = (corners[:, None] + sites).reshape(-1, 3) * edge - cells * edge / 2
    ions = Electrolyte(
        positions,
        np.tile(types, cells**3),
        PAIR,
        box=3 * (cells * edge,),
        boundary="ewald",
        bjerrum_length=1.0,
        seed=1,
        device=device,
        threads=1,
    )
    assert -ions.energy * nearest / (ions.N / 2) == pytest.approx(madelung, rel=1e-9)


@pytest.mark.parametrize("box", BOXES)
def test_energies_are_those_of_independent_sums(box, device):
    ions = Electrolyte.random(
        Salt.of(60, (2, -1), (2.0, 2.0)),
        box=box,
        boundary="ewald",
        bjerrum_length=7.0,
        seed=4,
        device=device,
        threads=1,
    )
    for _ in range(3):
        ions.run(2)
        assert ions.max_overlap() == 0
        scale = ions.bjerrum_length * 60
        assert abs(ions._engine.energy() - energy_of(ions)) < 1e-9 * scale


@needs_lammps
def test_the_energy_is_that_of_lammps(tmp_path):
    ions = trivalent(100, periodic=True, boundary="ewald", device="cpu")
    cutoff = 0.45 * ions.box[0]
    deck = deck_of(
        tmp_path,
        ions,
        extra=f"pair_style coul/long {cutoff}\npair_coeff * *\nkspace_style ewald 1e-9",
        fix="1000000 1 3 7.117 7.5 7.5 boundary ewald device cpu",
    ).replace("thermo_style custom step", "thermo_style custom step ecoul elong")
    thermo = run_lammps(deck, tmp_path).thermo()
    # In units lj, charges of 1 have the energy 1 / r.
    theirs = 7.117 * (thermo["E_coul"][0] + thermo["E_long"][0])
    assert thermo["f_mc[4]"][0] == pytest.approx(theirs, rel=2e-7)
    assert ions.energy == pytest.approx(theirs, rel=2e-7)


def test_a_long_box_is_refused():
    with pytest.raises(ValueError, match=r"boundary ewald: .* longest edge is 3 times the short"):
        trivalent(64).random(
            Salt.of(64, (1, -1), (1.0, 1.0)), box=(10, 10, 30), boundary="ewald", seed=1
        )


# ---- the chain -----------------------------------------------------------------------------------


@pytest.mark.parametrize("short", [False, True])
def test_every_method_makes_the_same_chain(short, device):
    moves = {"max_displacement": 5.0} if short else {}
    hashes = set()
    for method, where in (("serial", "cpu"), ("reduction", device), ("brush", device)):
        ions = trivalent(
            200,
            periodic=True,
            boundary="ewald",
            precision="double",
            method=method,
            device=where,
            threads=2,
            **moves,
        )
        ions.run(8)
        hashes.add(ions.state_hash)
    assert len(hashes) == 1


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_the_energy_follows_the_moves(precision, device):
    ions = trivalent(
        256, periodic=True, boundary="ewald", precision=precision, device=device, threads=2
    )
    start = ions.energy
    ions.run(40)
    assert ions.energy != start
    assert abs(ions.energy_drift()) < (1e-2 if precision == "mixed" else 1e-7)


def test_two_ions_follow_the_exact_distribution(device):
    """The difference of two ions along the diagonal planes of a box; false-alarm rate 1e-6."""
    edge, contact, bjerrum = 12.0, 3.0, 6.0
    ions = Electrolyte(
        np.array([[0, 0, 0], [5.0, 0, 0]]),
        np.array([0, 1]),
        [Species(1, contact), Species(-1, contact)],
        box=3 * (edge,),
        boundary="ewald",
        bjerrum_length=bjerrum,
        max_displacement=edge / 2,
        seed=5,
        device=device,
        threads=1,
    )
    samples, bins = 8000, 20
    found = np.empty(samples)
    for k in range(samples):
        ions._engine.run(10)
        d = np.abs(np.subtract(*ions.positions))
        found[k] = np.linalg.norm(np.minimum(d, edge - d))
    points = (np.arange(24) + 0.5) / 48 * edge
    grid = np.array(list(itertools.product(points, repeat=3)))
    # Each cell of the octant is resolved by points of its own, where the hard core cuts it.
    offsets = (np.array(list(itertools.product((-2, -1, 0, 1, 2), repeat=3))) / 5) * edge / 48
    weight = np.exp(bjerrum * pair_potential(grid, ions.box))
    r = np.linalg.norm(grid[:, None] + offsets, axis=2)
    edges = np.linspace(contact, edge / 2 * math.sqrt(3), bins + 1)
    law = sum(
        np.histogram(r[:, k], edges, weights=weight * (r[:, k] >= contact))[0]
        for k in range(len(offsets))
    )
    assert_follows(np.histogram(found, edges)[0], law)


def test_checkpoints_keep_the_boundary(tmp_path):
    ions = trivalent(128, periodic=True, boundary="ewald", device="cpu", threads=1)
    ions.run(3)
    ions.save(tmp_path / "state")
    again = Electrolyte.load(tmp_path / "state", device="cpu", threads=2)
    assert again.boundary == "ewald"
    for one in (ions, again):
        one.run(3)
    assert again.state_hash == ions.state_hash
    assert again.energy == pytest.approx(ions.energy, abs=1e-9)


# ---- bad input -----------------------------------------------------------------------------------


def test_boundaries_are_for_boxes():
    assert trivalent(64, device="cpu").boundary is None
    assert trivalent(64, periodic=True, device="cpu").boundary == "nearest_image"
    with pytest.raises(ValueError, match="boundary 'ewald' is for a periodic box"):
        trivalent(64, boundary="ewald")
    with pytest.raises(ValueError, match="boundary"):
        trivalent(64, periodic=True, boundary="vacuum")
