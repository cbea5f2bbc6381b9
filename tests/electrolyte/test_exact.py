"""The chain of the Coulomb engines against exact integrals, theory, literature and each other.

Statistical tests fix their seeds. False-alarm rates: 1e-6 where `laws.FALSE_ALARM` is used, the
others say theirs.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from electrolytes import dense, pair_energy, trivalent
from laws import assert_follows
from machine import runnable_simd_levels

from manymove import Electrolyte, Ions, Sphere
from manymove.analysis import hypernetted_chain
from manymove.analysis.ions import Salt, Species, debye_length
from manymove.analysis.pair_correlations import distance_distribution


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_two_ions_in_a_sphere_follow_the_exact_distance_distribution(device, precision):
    radius, bjerrum, contact = 20.0, 7.0, 4.0
    ions = Electrolyte(
        np.array([[0, 0, 0], [5.0, 0, 0]]),
        ions=Ions(np.array([0, 1]), [Species(1, 3.0), Species(-1, 5.0)]),
        box=Sphere(radius),
        bjerrum_length=bjerrum,
        max_displacement=radius,
        precision=precision,
        seed=11,
        device=device,
        threads=1,
    )
    samples = 8000
    distances = np.empty(samples)
    for k in range(samples):
        ions.core.run(12)
        a, b = ions.positions
        distances[k] = math.dist(a, b)
    edges = np.linspace(contact, 2 * radius, 25)
    fine = np.linspace(contact, 2 * radius, 24 * 200 + 1)
    law = np.diff(distance_distribution(fine, radius, None))
    law *= np.exp(bjerrum / ((fine[1:] + fine[:-1]) / 2))
    assert_follows(np.histogram(distances, edges)[0], law.reshape(24, 200).sum(axis=1))


def test_three_ions_have_the_mean_energy_of_direct_sampling(device):
    """Against independent uniform configurations with Boltzmann weights; five errors, 6e-7."""
    radius, bjerrum, diameter = 12.0, 6.0, 4.0
    valences = np.array([2.0, -1.0, -1.0])
    random = np.random.default_rng(1)
    points = random.uniform(-radius, radius, size=(400_000, 3, 3))
    points = points[((points**2).sum(axis=2) <= radius**2).all(axis=1)]
    energy, free = np.zeros(len(points)), np.ones(len(points), dtype=bool)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        r = np.linalg.norm(points[:, i] - points[:, j], axis=1)
        energy += bjerrum * valences[i] * valences[j] / r
        free &= r >= diameter
    energy = energy[free]
    weight = np.exp(-energy)
    exact = (energy * weight).sum() / weight.sum()
    exact_error = math.sqrt((((energy - exact) * weight) ** 2).sum()) / weight.sum()

    start = np.array([[0, 0, 0], [5.0, 0, 0], [-5.0, 0, 0]])
    ions = Electrolyte(
        start,
        ions=Ions(np.array([0, 1, 1]), [Species(2, diameter), Species(-1, diameter)]),
        box=Sphere(radius),
        bjerrum_length=bjerrum,
        seed=2,
        device=device,
        threads=1,
    )
    ions.run(200)
    sweeps = 60_000 if device == "cpu" else 20_000
    ions.run(sweeps)
    blocks = np.array_split(ions.energy_records[200:], 40)
    means = np.array([b.mean() for b in blocks])
    error = math.hypot(means.std(ddof=1) / math.sqrt(len(means)), exact_error)
    assert abs(means.mean() - exact) < 5 * error
    assert error < 0.02 * abs(exact)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("moves", [{}, {"short_displacement": 2.0, "short_fraction": 0.4}])
def test_methods_make_the_same_chain_in_double_precision(periodic, moves):
    def chain(method: str, threads: int) -> list[str]:
        ions = trivalent(
            300,
            periodic=periodic,
            precision="double",
            method=method,
            device="cpu",
            threads=threads,
            **moves,
        )
        hashes = []
        for _ in range(6):
            ions.run(1)
            hashes.append(ions.state_hash)
        return hashes

    serial = chain("serial", 1)
    assert len(set(serial)) == 6
    assert chain("reduction", 2) == serial
    assert chain("brush", 1) == serial
    assert chain("brush", 2) == serial


@pytest.mark.parametrize("method", ["brush", "reduction"])
def test_methods_make_the_same_chain_where_hard_cores_reject_most(method):
    serial = dense(precision="double", method="serial", device="cpu")
    other = dense(precision="double", method=method, device="cpu", threads=2)
    serial.run(20)
    other.run(20)
    assert serial.acceptance < 0.4
    assert other.state_hash == serial.state_hash
    assert other.max_overlap() == 0


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("method", ["brush", "reduction"])
def test_simd_levels_and_threads_make_the_same_chain(monkeypatch, precision, method):
    hashes = set()
    for level in runnable_simd_levels():
        monkeypatch.setenv("MANYMOVE_SIMD", level)
        for threads in (1, 3):
            ions = trivalent(200, precision=precision, method=method, device="cpu", threads=threads)
            ions.run(4)
            hashes.add(ions.state_hash)
    assert len(hashes) == 1


def copy_of(ions: Electrolyte, precision: str, first_sweep: int) -> Electrolyte:
    return Electrolyte(
        ions.positions,
        ions=Ions(ions.types, ions.species),
        box=Sphere(ions.radius),
        precision=precision,
        seed=3,
        first_sweep=first_sweep,
        device="cpu",
    )


def test_mixed_precision_flips_few_decisions():
    """Each sweep starts from the same configuration; differences come from rounding alone."""
    exact = trivalent(512, precision="double", device="cpu")
    flips = moved = 0
    for sweep in range(40):
        exact.run(1)
        mixed = copy_of(exact, "mixed", exact.sweeps)
        assert sweep + 1 == exact.sweeps
        before = exact.positions
        exact.run(1)
        mixed.run(1)
        differ = (exact.positions != mixed.positions).any(axis=1)
        moved += int((exact.positions != before).any(axis=1).sum())
        flips += int(differ.sum())
        exact = copy_of(exact, "double", sweep + 1)
    assert moved > 5000
    assert flips <= 2  # 2e4 trials, errors of 1e-6 kT


def test_mixed_precision_changes_energies_by_less_than_the_stated_error():
    ions = trivalent(2048, precision="mixed", device="cpu")
    ions.run(3)
    accepted, drift = ions.accepted_moves, abs(ions.energy_drift())
    ions.run(5)
    drift = abs(ions.energy_drift())
    accepted = ions.accepted_moves - accepted
    assert 0 < drift < 1e-5 * math.sqrt(accepted)


@pytest.mark.parametrize("periodic", [False, True])
def test_energy_is_the_sum_over_pairs(device, periodic):
    ions = trivalent(96, periodic=periodic, precision="double", device=device)
    valences = np.array([s.valence for s in ions.species])[ions.types]
    for _ in range(3):
        exact = pair_energy(ions.positions, valences, 7.117, ions.box)
        assert ions.energy == pytest.approx(exact, rel=1e-7)  # edges are rounded to 6e-8
        ions.run(5)


def test_energy_drifts_by_rounding_alone_in_double_precision(device):
    ions = trivalent(256, precision="double", device=device)
    assert ions.energy < 1e9
    ions.run(500)
    assert abs(ions.energy_drift()) < 1e-9 * abs(ions.energy)


def test_energies_are_those_after_each_sweep(device):
    ions = trivalent(128, precision="double", device=device)
    expected = []
    for _ in range(4):
        ions.run(1)
        expected.append(ions.core.energy())
    assert ions.energy_records == pytest.approx(expected, rel=1e-12)


def test_energies_begin_anew_where_they_are_forgotten(device):
    ions, same = (trivalent(64, device=device) for _ in range(2))
    ions.run(3)
    ions.reset_averages()
    ions.run(2)
    same.run(5)
    assert np.array_equal(ions.energy_records, same.energy_records[3:])


def test_no_energy_of_a_long_run_is_lost():
    """The engine itself keeps a million."""
    ions = Electrolyte(
        np.array([[5.0, 0, 0], [-5.0, 0, 0]]),
        ions=Ions([0, 1], [Species(1, 4.0), Species(-1, 4.0)]),
        box=Sphere(20.0), seed=1, device="cpu", threads=1,
    )  # fmt: skip
    ions.run(3)
    first = ions.energy_records
    ions.run(1 << 20)
    energies = ions.energy_records
    assert energies.size == ions.sweeps
    assert energies[:3] == pytest.approx(first, rel=1e-12)
    assert energies[-1] == pytest.approx(ions.energy, rel=1e-12)


def test_pairs_are_counted_as_by_brute_force(device):
    ions = dense(120, device=device)
    ions.run(5)
    ions.sample_pair_correlations(1, bin_width=0.5, farthest=20, margin=3)
    ions.run(1)
    result = ions.pair_correlations
    x = ions.positions
    inside = np.linalg.norm(x, axis=1) <= ions.radius - 3
    for (a, b), counts in zip(result.pairs, result.counts, strict=True):
        i, j = np.triu_indices(ions.N, 1)
        of_pair = (np.minimum(ions.types[i], ions.types[j]) == a) & (
            np.maximum(ions.types[i], ions.types[j]) == b
        )
        keep = of_pair & inside[i] & inside[j]
        r = np.linalg.norm(x[i[keep]] - x[j[keep]], axis=1)
        brute = np.histogram(r, np.arange(41) * 0.5)[0]
        assert np.abs(counts.astype(int) - brute).sum() <= 2  # distances on a bin's edge
    assert result.interior == pytest.approx(np.bincount(ions.types[inside], minlength=2))


def test_uncorrelated_ions_have_flat_pair_correlations(device):
    """Ions of next to no charge and size, in a sphere up to its wall: a law without a fit."""
    salt = Salt.of(60, (1, -1), (1e-3, 1e-3))
    ions = Electrolyte.random(
        salt,
        box=Sphere(10.0),
        bjerrum_length=1e-6,
        max_displacement=10.0,
        seed=4,
        device=device,
        threads=1,
    )
    ions.run(20)
    ions.sample_pair_correlations(5, bin_width=0.5, farthest=20.0, margin=0)
    ions.run(2000)
    result = ions.pair_correlations
    # Pairs share ions, which widens the counts of a sample only where they are not independent:
    # distances of independent uniform points are pairwise independent.
    for counts, ideal in zip(result.counts, result.ideal, strict=True):
        assert_follows(counts, ideal)


def test_weak_coupling_follows_debye_hueckel():
    """Energy -kappa l_B / 2 (1 + kappa sigma) per ion and the screening of g(r); kappa l_B = 0.1
    leaves corrections of a few percent, the errors are below two."""
    bjerrum, diameter, ions = 1.0, 0.5, 1000
    kappa = 0.1 / bjerrum
    density = kappa**2 / (4 * math.pi * bjerrum)
    edge = (ions / density) ** (1 / 3)
    system = Electrolyte.random(
        Salt.of(ions, (1, -1), (diameter, diameter)),
        box=3 * (edge,),
        bjerrum_length=bjerrum,
        seed=6,
        device="cpu",
    )
    assert system.debye_length == pytest.approx(1 / kappa, rel=1e-6)
    system.run(40)
    system.sample_pair_correlations(2, bin_width=1.0, farthest=edge / 2)
    system.run(800)
    theory = -kappa * bjerrum / 2 / (1 + kappa * diameter)
    assert system.energy_records[40:].mean() / ions == pytest.approx(theory, rel=0.05)
    g = system.pair_correlations
    like = (g.of(0, 0) + g.of(1, 1)) / 2
    difference = g.of(0, 1) - like
    near = (g.r > 2) & (g.r < 15)
    screened = 2 * bjerrum / (1 + kappa * diameter) * np.exp(-kappa * (g.r - diameter)) / g.r
    ratio = difference[near].sum() / screened[near].sum()
    assert ratio == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("concentration", [0.42502, 1.0001])
def test_restricted_primitive_model_has_the_energy_of_hypernetted_chains(concentration):
    """A 1:1 salt of diameter 4.25 A, l_B = 7.14 A, against an independent method: the integral
    equation, whose energies are taken to be too weak by up to 1 % (they agree well with Monte Carlo
    in E. Gutierrez-Valladares et al., arXiv:1202.4259, too); and five errors, 6e-7."""
    salt = Salt.of(384, (1, -1), (4.25, 4.25))
    density = salt.density_at(concentration) / 2
    expected = hypernetted_chain((density, density), (1, -1), 4.25, 7.1432).energy_per_ion
    edge = (384 / salt.density_at(concentration)) ** (1 / 3)
    ions = Electrolyte.random(salt, box=3 * (edge,), bjerrum_length=7.1432, seed=1, device="cpu")
    ions.run(600)
    means = ions.energy_records[100:].reshape(20, 25).mean(axis=1) / ions.N
    own = means.std(ddof=1) / math.sqrt(len(means))
    assert own < 0.005 * abs(expected)
    assert 1.01 * expected - 5 * own < means.mean() < expected + 5 * own


def test_debye_length_of_the_paper():
    salt = Salt.of(1_048_576, (3, -1), (7.5, 7.5))
    density = salt.density(28.53, 7.117)
    assert debye_length([density / 4, 3 * density / 4], [3, -1], 7.117) == pytest.approx(28.53)
