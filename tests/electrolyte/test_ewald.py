# SPDX-License-Identifier: BSD-3-Clause
"""Ewald's energy in periodic boxes: against crystals, independent sums and LAMMPS, and the chain of
every method and device.

The statistical test says its false-alarm rate.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from coulomb_scripts import script_of
from electrolytes import trivalent
from flat_settings import of_electrolytes
from lammps_host import needs_lammps, run_lammps
from laws import assert_follows

from manymove import Electrolyte, Ewald, Ions
from manymove.analysis.ions import Salt, Species
from manymove.settings import SURROUNDINGS

PAIR = [Species(1, 0.5), Species(-1, 0.5)]
# Edges that the grid of positions holds exactly; others are rounded by up to 6e-8 of the longest.
BOXES = [
    (30.0, 30.0, 30.0),
    (32.0, 24.0, 28.0),
    (18.0, 36.0, 27.0),
    (20.0, 20.0, 40.0),
    (40.0, 40.0, 20.0),
]


def pair_potential(d: np.ndarray, box: tuple[float, float, float]) -> np.ndarray:
    """The potential psi of a unit charge, its images and a uniform background at the differences d,
    (n, 3), by Ewald's sums; at d = 0 without 1 / r."""
    edges = np.array(box)
    alpha = 6 / edges.min()  # images beyond the next ones are screened: erfc(6 * 1.5) = 0
    erfc = np.vectorize(math.erfc, otypes=[float])
    total = np.full(len(d), -math.pi / (alpha**2 * edges.prod()))
    for n in itertools.product(*(range(-math.ceil(1 + 1.2 * edges.min() / e), 2) for e in edges)):
        r = np.linalg.norm(d - np.array(n) * edges, axis=1)
        here = r > 0
        total[here] += erfc(alpha * r[here]) / r[here]
        total[~here] -= 2 * alpha / math.sqrt(math.pi)
    # Wave vectors with components of both signs count by their symmetry.
    waves = [2 * math.pi / e * np.arange(math.ceil(2 + 2 * alpha * e)) for e in edges]
    k = np.stack(np.meshgrid(*waves, indexing="ij"))
    k2 = (k**2).sum(axis=0)
    used = (k2 > 0) & (k2 <= (12.5 * alpha) ** 2)
    weight = np.zeros(k2.shape)
    weight[used] = np.exp(-k2[used] / (4 * alpha**2)) / k2[used]
    weight *= 2 ** np.count_nonzero(k, axis=0) * 4 * math.pi / edges.prod()
    x, y, z = (np.cos(np.outer(wave, d[:, axis])) for axis, wave in enumerate(waves))
    along_z = np.tensordot(weight, z, axes=1)
    return total + np.einsum("abi,ai,bi->i", along_z, x, y, optimize=True)


def energy_of(ions: Electrolyte) -> float:
    """The energy in kT by Ewald's sums; in a vacuum also that of the dipole moment."""
    i, j = np.triu_indices(ions.N, 1)
    valence = np.array([s.valence for s in ions.species])[ions.types]
    edges = np.array(ions.box)
    d = ions.positions[i] - ions.positions[j]
    d -= np.rint(d / edges) * edges
    pairs = (valence[i] * valence[j] * pair_potential(d, ions.box)).sum()
    own = (valence**2).sum() / 2 * pair_potential(np.zeros((1, 3)), ions.box)[0]
    total = ions.bjerrum_length * (pairs + own)
    if ions.surrounding == "vacuum":
        moment = valence @ ions.unwrapped_positions
        total += 2 * math.pi * ions.bjerrum_length / (3 * edges.prod()) * (moment @ moment)
    return total


# ---- energies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("crystal", "madelung"),
    [("NaCl", 1.7475645946331822), ("CsCl", 1.7626747730709883)],
)
@pytest.mark.parametrize("cells", [1, 2])
def test_crystals_have_the_madelung_energy(crystal, madelung, cells, device):
    """Constants per nearest distance: J. M. Borwein et al., "Lattice Sums Then and Now" (2013)."""
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
        ions=Ions(np.tile(types, cells**3), PAIR),
        box=3 * (cells * edge,),
        boundary="ewald",
        bjerrum_length=1.0,
        seed=1,
        device=device,
        threads=1,
    )
    assert -ions.energy * nearest / (ions.N / 2) == pytest.approx(madelung, rel=1e-9)


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
@pytest.mark.parametrize("box", BOXES)
def test_energies_are_those_of_independent_sums(box, surrounding, device):
    vacuum = surrounding == "vacuum"
    ions = Electrolyte.random(
        Salt.of(60, (2, -1), (2.0, 2.0)),
        box=box,
        boundary=Ewald(
            surrounding,
            images=np.random.default_rng(2).integers(-1, 2, (60, 3)) if vacuum else None,
        ),
        bjerrum_length=7.0,
        seed=4,
        device=device,
        threads=1,
    )
    for _ in range(3):
        ions.run(2)
        assert ions.max_overlap() == 0
        scale = ions.bjerrum_length * 60
        assert abs(ions.core.energy() - energy_of(ions)) < 1e-9 * scale


@needs_lammps
def test_the_energy_is_that_of_lammps(tmp_path):
    ions = Electrolyte.random(
        Salt.of(100, (3, -1), (7.5, 7.5)),
        box=(60.0, 60.0, 60.0),
        boundary="ewald",
        bjerrum_length=7.117,
        seed=3,
        device="cpu",
    )
    # LAMMPS has erfc(x) to 1e-7 exp(-x^2), therefore most of the sum is left to its wave vectors.
    script = script_of(
        tmp_path,
        ions,
        extra="pair_style coul/long 14.0\npair_coeff * *\nkspace_style ewald 1e-8\n"
        "kspace_modify gewald 0.55 kmax/ewald 60 60 60",
        fix="1000000 1 3 7.117 7.5 7.5 boundary ewald device cpu",
        steps=1,
    ).replace("thermo_style custom step", "thermo_style custom step ecoul elong")
    thermo = run_lammps(script, tmp_path).thermo()
    # In units lj, charges of 1 have the energy 1 / r.
    theirs = 7.117 * (thermo["E_coul"][0] + thermo["E_long"][0])
    assert thermo["f_mc[4]"][0] == pytest.approx(theirs, rel=1e-8)
    assert ions.energy == pytest.approx(theirs, rel=1e-8)


# ---- the chain -----------------------------------------------------------------------------------


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
@pytest.mark.parametrize("short", [False, True])
def test_every_method_makes_the_same_chain(short, surrounding, device):
    moves = {"max_displacement": 5.0} if short else {}
    hashes = set()
    for method, where in (("serial", "cpu"), ("reduction", device), ("brush", device)):
        ions = trivalent(
            200,
            periodic=True,
            boundary="ewald",
            surrounding=surrounding,
            precision="double",
            method=method,
            device=where,
            threads=2,
            **moves,
        )
        ions.run(8)
        hashes.add(ions.state_hash)
    assert len(hashes) == 1


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_the_energy_follows_the_moves(precision, surrounding, device):
    ions = trivalent(
        256,
        periodic=True,
        boundary="ewald",
        surrounding=surrounding,
        precision=precision,
        device=device,
        threads=2,
    )
    start = ions.energy
    ions.run(40)
    assert ions.energy != start
    assert abs(ions.energy_drift()) < (1e-2 if precision == "mixed" else 1e-7)


def two_ions(edge: float, contact: float, bjerrum: float, device: str, **options) -> Electrolyte:
    return Electrolyte(
        np.array([[0, 0, 0], [5.0, 0, 0]]),
        ions=Ions(np.array([0, 1]), [Species(1, contact), Species(-1, contact)]),
        box=3 * (edge,),
        bjerrum_length=bjerrum,
        max_displacement=edge / 2,
        seed=5,
        device=device,
        threads=1,
        **of_electrolytes(boundary="ewald", **options),
    )


def grid_of(edge: float) -> tuple[np.ndarray, np.ndarray]:
    """Points of an octant, (13824, 3), and offsets that resolve the cell around each, (125, 3)."""
    points = (np.arange(24) + 0.5) / 48 * edge
    offsets = np.array(list(itertools.product((-2, -1, 0, 1, 2), repeat=3))) / 5 * edge / 48
    return np.array(list(itertools.product(points, repeat=3))), offsets


def test_two_ions_follow_the_exact_distribution(device):
    """The distance of two ions; false-alarm rate 1e-6."""
    edge, contact, bjerrum = 12.0, 3.0, 6.0
    ions = two_ions(edge, contact, bjerrum, device)
    samples, bins = 8000, 20
    found = np.empty(samples)
    for k in range(samples):
        ions.core.run(10)
        d = np.abs(np.subtract(*ions.positions))
        found[k] = np.linalg.norm(np.minimum(d, edge - d))
    grid, offsets = grid_of(edge)
    weight = np.exp(bjerrum * pair_potential(grid, ions.box))
    r = np.linalg.norm(grid[:, None] + offsets, axis=2)
    edges = np.linspace(contact, edge / 2 * math.sqrt(3), bins + 1)
    law = sum(
        np.histogram(r[:, k], edges, weights=weight * (r[:, k] >= contact))[0]
        for k in range(len(offsets))
    )
    assert_follows(np.histogram(found, edges)[0], law)


def test_two_ions_in_a_vacuum_follow_the_exact_distribution(device):
    """The unwrapped difference of two ions along an axis, over several boxes: the dipole moment
    keeps them together; false-alarm rate 1e-6."""
    edge, contact, bjerrum, most = 12.0, 3.0, 6.0, 4
    ions = two_ions(edge, contact, bjerrum, device, surrounding="vacuum")
    found = np.empty(6000)
    for k in range(found.size):
        ions.core.run(20)
        found[k] = abs(np.subtract(*ions.unwrapped_positions)[0])
    assert found.max() > 1.5 * edge
    grid, offsets = grid_of(edge)
    stiffness = 2 * math.pi * bjerrum / (3 * edge**3)
    boxes = edge * np.arange(-most, most + 1)
    free = (np.linalg.norm(grid[:, None] + offsets, axis=2) >= contact).mean(axis=1)
    weight = free * np.exp(bjerrum * pair_potential(grid, ions.box))
    for axis in (1, 2):
        weight *= np.exp(-stiffness * (grid[:, axis, None] + boxes) ** 2).sum(axis=1)
    x = np.abs(grid[:, 0, None] + boxes)
    edges = edge / 6 * np.arange(6 * most + 1)
    law = np.histogram(x, edges, weights=weight[:, None] * np.exp(-stiffness * x**2))[0]
    assert_follows(np.histogram(found, edges)[0], law)


def test_an_ion_that_crosses_a_face_keeps_its_energy(device):
    """In a vacuum the energy is a continuous function of unwrapped coordinates only."""
    edge = 16.0
    ions = two_ions(edge, 3.0, 7.0, device, surrounding="vacuum")
    step, still = edge / 2**24, np.array([-3.0, 2.0, 1.0])

    def energy(x: float, image: int) -> float:
        ions.set_positions(np.array([[x, 0, 0], still]), np.array([[image, 0, 0], [0, 0, 0]]))
        return ions.energy

    here, there = energy(edge / 2 - step, 0), energy(-edge / 2, 1)
    assert there == pytest.approx(here, abs=1e-5)
    dipole = np.array([edge / 2, 0, 0]) - still
    jump = 2 * math.pi * 7.0 / (3 * edge**3) * ((dipole - [edge, 0, 0]) ** 2 - dipole**2).sum()
    assert energy(-edge / 2, 0) == pytest.approx(there + jump, abs=1e-5)
    # Rounding may put an ion on the opposite face; its image follows.
    assert energy(edge / 2, 0) == pytest.approx(there, abs=1e-12)
    assert ions.images.tolist() == [[1, 0, 0], [0, 0, 0]]


def test_unwrapped_positions_do_not_jump(device):
    ions = trivalent(
        64,
        periodic=True,
        boundary="ewald",
        surrounding="vacuum",
        max_displacement=20.0,
        device=device,
        threads=1,
    )
    assert not ions.images.any()
    for _ in range(30):
        before = ions.unwrapped_positions
        ions.run(1)
        assert np.abs(ions.unwrapped_positions - before).max() <= 20.0 * (1 + 1e-6)
    assert ions.images.any()
    with pytest.raises(RuntimeError, match="images are counted with"):
        _ = trivalent(64, periodic=True, boundary="ewald", device="cpu").images


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
def test_checkpoints_keep_the_boundary(surrounding, tmp_path):
    ions = trivalent(
        128, periodic=True, boundary="ewald", surrounding=surrounding, device="cpu", threads=1
    )
    ions.run(12)
    ions.save(tmp_path / "state")
    again = Electrolyte.load(tmp_path / "state", device="cpu", threads=2)
    assert (again.boundary, again.surrounding) == ("ewald", surrounding)
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
    with pytest.raises(ValueError, match="boundary must be"):
        trivalent(64, periodic=True, boundary="vacuum")


@pytest.mark.parametrize("box", [(10, 10, 20.01), (30, 10, 20), (20, 41, 30)])
def test_a_long_box_is_refused(box):
    with pytest.raises(ValueError, match=r"boundary ewald: the longest edge of the box, .* twice"):
        Electrolyte.random(Salt.of(16, (1, -1), (1.0, 1.0)), box=box, boundary="ewald", seed=1)


def test_a_net_charge_is_refused():
    with pytest.raises(ValueError, match="the ions are not neutral: valences sum to 1"):
        Electrolyte(
            np.array([[0, 0, 0], [2.0, 0, 0], [-2.0, 0, 0]]),
            ions=Ions(np.array([0, 1, 0]), PAIR),
            box=(10, 10, 10),
            boundary="ewald",
            seed=1,
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"boundary": "ewald", "surrounding": "water"}, "surrounding must be"),
        ({"boundary": "ewald", "images": np.zeros((64, 3), int)}, "images are for"),
        (
            {"boundary": "ewald", "surrounding": "vacuum", "images": np.zeros((63, 3), int)},
            "images must be three integers for each of",
        ),
        (
            {"boundary": "ewald", "surrounding": "vacuum", "images": np.zeros((64, 3))},
            "images must be integers",
        ),
        (
            {"boundary": "ewald", "surrounding": "vacuum", "images": np.full((64, 3), 1 << 21)},
            "images must be at most 1048576 boxes away",
        ),
    ],
)
def test_a_bad_surrounding_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        trivalent(64, periodic=True, device="cpu", **options)


def test_positions_with_a_huge_dipole_moment_are_refused_and_the_old_ones_kept():
    ions = trivalent(64, periodic=True, boundary="ewald", surrounding="vacuum", device="cpu")
    start, energy = ions.state_hash, ions.energy
    far = np.outer(1000000 * (1 - 2 * ions.types), [1, 1, 1])
    with pytest.raises(ValueError, match="the dipole moment of the ions, images included, is too"):
        ions.set_positions(ions.positions, far)
    assert (ions.state_hash, ions.energy) == (start, energy)
