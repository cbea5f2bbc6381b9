"""Flexible chains that grow: distributions against NumPy, detailed balance, estimators, contract.

Comparisons of numbers with errors are at five joint standard errors (see `agrees`). Tests by chi
squared have a false-alarm rate of 1e-6. Seeds are fixed, so that a test that passes once always
passes; the rates hold for other seeds.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from adsorption_model import (
    Contract,
    agrees,
    is_poisson,
    molecules_in,
    nearest,
    small_framework,
    state,
)
from chain_growth import (
    GrowingChains,
    bend_density,
    bends_of,
    bonded_energies,
    expected_shares,
    ideal_chains,
    lennard_jones,
    own_energy,
    torsion_density,
    torsions_of,
)
from damage import change_checkpoint
from laws import another
from machine import on_gpu

from manymove import Adsorption, cli
from manymove.adsorption import CO2, Bead, Chain, ForceField, Molecule, Site, read_molecule
from manymove.adsorption.averages import Pooled
from manymove.adsorption.chains import shipped_chain

BUTANE, PENTANE = shipped_chain("n-butane"), shipped_chain("n-pentane")
TEMPERATURE = 300.0
CHI2 = {9: 46.2, 11: 49.9, 15: 57.1}  # chi squared of the degrees of freedom, at 1e-6
# Chains that fit into the small framework, and feel nothing but it.
FIELD = ForceField(pairs={("A", "O"): (160.0, 2.6), ("B", "O"): (120.0, 2.4), ("A", "Si"): None,
                          ("B", "Si"): None})  # fmt: skip
END, INNER = Bead("A", 0.0, 3.0), Bead("B", 0.0, 3.0)
SMALL = Chain("small", [END, INNER, INNER, END], bonds=[1.1, 1.2, 1.3])
# Chains that interact with each other, too.
C, D = Bead("C", 90.0, 2.5), Bead("D", 60.0, 2.6)
ROUND, PAIR = Chain("round", [C, D, C], bonds=1.3), Chain("pair", [C, D], bonds=1.3)
BALL = Molecule("ball", [Site("E", (0.0, 0.0, 0.0), 80.0, 2.4)])
LAWS = ForceField({"O": (90.0, 2.6), "Si": (60.0, 2.4)})
INSIDE = dict(
    cutoff=4.0, systems=256, grid_spacing=0.25, threads=2, temperature=TEMPERATURE, method="plj",
)  # fmt: skip


def alone(chain: str | Chain, molecules=1, **settings) -> Adsorption:
    """Molecules in an empty box."""
    settings = {"method": "plj", "seed": 5, "threads": 2, "systems": 4000, **settings}
    settings = {"temperature": TEMPERATURE, "adsorbates": chain, **settings}
    return molecules_in((30.0, 31.0, 32.0), molecules, **settings)


def inside(chain=ROUND, molecules=0, **settings) -> Adsorption:
    """Molecules in the small framework."""
    settings = {"adsorbates": chain, "force_field": LAWS, **INSIDE, **settings}
    return molecules_in(small_framework(), molecules, **settings)


def chi_squared(values: np.ndarray, edges: np.ndarray, density) -> float:
    shares = expected_shares(density, edges)
    counts, _ = np.histogram(values, edges)
    assert counts.sum() == len(values)
    expected = shares * len(values)
    assert expected.min() > 5
    return float(((counts - expected) ** 2 / expected).sum())


# ---- the gas -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["plj", "metropolis"])
def test_torsions_and_bends_of_butane_in_the_gas_have_the_boltzmann_distribution(method, device):
    """After regrowths of both ends, of chains that began at random."""
    if method == "metropolis" and device != "cpu":
        pytest.skip("metropolis is for CPUs")
    a = alone("n-butane", method=method, device=device, regrowth=0.7, trial_orientations=2)
    a.run(40)
    assert a.regrowth_acceptance == 1.0  # all trials of an ideal gas have the same weight
    x = a.site_positions()[:, 0]
    assert np.linalg.norm(np.diff(x, axis=-2), axis=-1) == pytest.approx(1.54, abs=1e-12)
    edges = np.linspace(0, math.pi, 17)
    edges = np.delete(edges, [1, 2, 3])  # hardly any are cis
    phi = np.abs(torsions_of(x)[:, 0])
    density = lambda x: torsion_density(BUTANE.torsions[0], TEMPERATURE, x)  # noqa: E731
    assert chi_squared(phi, edges, density) < CHI2[15]
    theta = bends_of(x).ravel()
    edges = np.array([0.5, *np.linspace(1.87, 2.11, 9), 3.1])
    density = lambda x: bend_density(BUTANE.bends[0], TEMPERATURE, x)  # noqa: E731
    assert chi_squared(theta, edges, density) < CHI2[9]


def test_the_share_of_trans_butane_is_that_of_the_integral():
    """With a torsion that is shifted by a tenth of its height the shares differ by 20 errors."""
    a = alone("n-butane", regrowth=0.7)
    a.run(20)
    phi = np.abs(torsions_of(a.site_positions()[:, 0])[:, 0])
    edges = np.array([0, 2 * math.pi / 3, math.pi])
    for law, same in ((BUTANE.torsions[0], True), ((0.0, 1.5 * 355.03, -68.19, 791.32), False)):
        trans = expected_shares(lambda x, law=law: torsion_density(law, TEMPERATURE, x), edges)[1]
        error = math.sqrt(trans * (1 - trans) / len(phi))
        assert (abs((phi > edges[1]).mean() - trans) < 5 * error) == same


@pytest.mark.parametrize("name", [another("n-pentane"), "n-hexane"])
def test_the_ideal_weight_is_that_of_random_chains(name):
    """Random chains of NumPy, and growth in an empty box, whose mean weight is W_ideal."""
    chain = shipped_chain(name)
    a = alone(name, systems=200)
    x = ideal_chains(chain, TEMPERATURE, 100_000, 3)
    u = own_energy(chain, x, 12.0)
    w = np.exp(-u / TEMPERATURE)
    (found,), (energy,) = a.ideal_weights, a.ideal_energies
    assert found.error < 5e-4
    assert agrees(w.mean(), w.std() / math.sqrt(len(w)), found.value, found.error)
    terms = w * (u + bonded_energies(chain, x) - energy) / w.mean()
    assert abs(terms.mean()) < 5 * terms.std() / math.sqrt(len(terms))
    one = a.boltzmann_factor(200)
    assert agrees(one.value, one.error, 1.0, found.error / found.value)
    assert found.value > 1.1  # so that a weight of one would fail


def test_regrowth_keeps_the_energy_of_ideal_chains_that_meet_themselves():
    a = alone("n-pentane", systems=2000, regrowth=0.6, trial_orientations=3)
    a.run(60)
    u = a.energies
    assert agrees(u.mean(), u.std() / math.sqrt(2000), a.ideal_energies[0])
    x = a.site_positions()[:, 0]
    assert u == pytest.approx(bonded_energies(PENTANE, x) + own_energy(PENTANE, x, 12.0), abs=0.02)
    assert 0.5 < a.regrowth_acceptance < 1


@pytest.mark.parametrize("name", ["small", "n-hexane"])
def test_an_ideal_gas_of_chains_has_a_poisson_distribution(name, device):
    """Chains whose beads have no Lennard-Jones potential, with <N> = beta f V."""
    chain = SMALL
    if name == "n-hexane":
        chain = Chain(name, 6 * [Bead("x", 0.0, 3.0)])
    a = alone(chain, 0, box=(21.0, 20.0, 22.0), cutoff=9.0, systems=2000, fugacity=20.0,
              trial_positions=3, trial_orientations=2, reinsertion=0.1, device=device)  # fmt: skip
    activity = a._parameters["species"][0]["activity"]
    a.equilibrate(120)
    a.run(60)
    (n,) = a.loading
    assert agrees(n.value, n.error, activity)
    assert is_poisson(a.counts[:, 0], activity)


def test_dilute_pentane_has_the_loading_of_an_ideal_gas():
    """<N> = beta f V, with the ideal chain's weight of more than 1.1 in each acceptance."""
    a = alone("n-pentane", 0, box=(100.0, 101.0, 102.0), systems=2000, fugacity=0.1, exchange=0.8,
              regrowth=0.0)  # fmt: skip
    activity = a._parameters["species"][0]["activity"]
    a.equilibrate(40)
    a.run(80)
    for (n,) in (a.loading, a.loading_waste_recycled):
        assert agrees(n.value, n.error, activity)
        assert n.error < 0.015 * activity


@pytest.mark.parametrize("stiffness", [3e5, 2.9e8])
def test_stiff_bends_have_the_boltzmann_distribution(stiffness):
    chain = Chain("stiff", 3 * [Bead("x", 0.0, 3.0)], bends=(stiffness, 114.0))
    a = alone(chain, regrowth=0.9)
    a.run(10)
    width = math.sqrt(TEMPERATURE / stiffness)
    theta = (bends_of(a.site_positions()[:, 0]).ravel() - math.radians(114.0)) / width
    edges = np.array([-9, -1.5, -1, -0.7, -0.4, 0, 0.4, 0.7, 1, 1.5, 9])
    counts, _ = np.histogram(theta, edges)
    normal = 0.5 * np.array([1 + math.erf(x / math.sqrt(2)) for x in edges])
    expected = len(theta) * np.diff(normal)
    assert counts.sum() == len(theta)
    assert np.sum((counts - expected) ** 2 / expected) < CHI2[9]
    assert a.energies.mean() == pytest.approx(TEMPERATURE / 2, rel=0.1)
    assert a.ideal_energies[0] == pytest.approx(TEMPERATURE / 2, rel=0.01)


# ---- exact averages ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def integral() -> tuple[float, float, float, float]:
    """<exp(-U / T)> and the mean energy of a molecule of SMALL in the framework, with errors, from
    uniform places and ideal chains of NumPy."""
    a = inside(SMALL, 1, force_field=FIELD, systems=1)
    x = ideal_chains(SMALL, TEMPERATURE, 400_000, 7)
    x = x + np.random.default_rng(8).random((len(x), 1, 3)) * np.array(a.box)
    u = np.zeros(len(x))
    for k, t in enumerate((0, 1, 1, 0)):
        u += a.core.framework_energies(np.ascontiguousarray(x[:, k]), t, False)
    w = np.exp(-u / TEMPERATURE)
    total = u + bonded_energies(SMALL, x)
    mean = (w * total).sum() / w.sum()
    spread = w * (total - mean) / w.mean()
    n = math.sqrt(len(w))
    return w.mean(), w.std() / n, mean, spread.std() / n


@pytest.mark.parametrize(
    ("k", "m", "method"), [another(1, 1, "plj"), (6, 4, "plj"), (5, 3, "metropolis")]
)
def test_all_estimators_give_the_exact_loading_and_energy(k, m, method, integral):
    """The loading is beta f V <exp(-U / T)>."""
    a = inside(SMALL, force_field=FIELD, fugacity=150.0, systems=400, trial_positions=k,
               trial_orientations=m, reinsertion=0.1, method=method)  # fmt: skip
    factor, error, energy, energy_error = integral
    activity = a._parameters["species"][0]["activity"]
    a.equilibrate(300)
    a.run(400)
    for name in ("loading", "loading_waste_recycled", "loading_optimal", "loading_from_insertions"):
        (found,) = getattr(a, name)
        assert agrees(found.value, found.error, activity * factor, activity * error), name
        assert found.error < 0.05 * activity * factor
    for found in (a.energy_plain, a.energy_controlled):
        exact = activity * factor * energy
        assert agrees(found.value, found.error, exact, activity * factor * energy_error)


def test_growth_of_test_molecules_gives_the_henry_coefficient_and_the_heat(integral, device):
    factor, error, energy, energy_error = integral
    a = inside(SMALL, force_field=FIELD, fugacity=150.0, systems=128, device=device)
    found = a.boltzmann_factor(300)
    assert found.error < 0.02 * factor
    assert agrees(found.value, found.error, factor, error)
    _, heat = a.henry(300)
    unit = 8.314462618e-3
    exact = (TEMPERATURE + a.ideal_energies[0] - energy) * unit
    assert agrees(heat.value, heat.error, exact, energy_error * unit)
    assert agrees(found.value, found.error, a.insert_test_molecules(100).value, error + found.error)


def test_fluctuations_give_the_same_heat_as_test_molecules():
    a = inside(SMALL, force_field=FIELD, fugacity=150.0, trial_positions=6, trial_orientations=4)
    a.equilibrate(200)
    a.run(400)
    heat, (_, other) = a.heat_of_adsorption, a.henry(300)
    assert agrees(heat.value, heat.error, other.value, other.error)
    assert heat.error < 0.3


def test_energies_are_sums_over_beads():
    """Pairs, bends, torsions and own beads, of two chains in a box; and in a framework."""
    a = alone("n-hexane", 3, systems=3, box=(24.0, 25.0, 26.0), precision="double", regrowth=0.5)
    a.run(300)
    hexane = shipped_chain("n-hexane")
    for system, energy in enumerate(a.energies):
        x = a.site_positions()[system]
        total = (bonded_energies(hexane, x) + own_energy(hexane, x, 12.0)).sum()
        for one in range(3):
            for other in range(one):
                for i in range(6):
                    for j in range(6):
                        r2 = nearest(x[one, i] - x[other, j], a.box)
                        total += lennard_jones(hexane, i, j, r2, 12.0)
        assert energy == pytest.approx(total, abs=1e-4)
    a = inside(molecules=3, systems=3, precision="double")
    a.run(50)
    own = a.energies - np.array([bonded_energies(ROUND, x).sum() for x in a.site_positions()])
    for system in range(3):
        x, total = a.site_positions()[system], 0.0
        for one in range(3):
            for other in range(one):
                for i in range(3):
                    for j in range(3):
                        r2 = nearest(x[one, i] - x[other, j], a.box)
                        total += lennard_jones(ROUND, i, j, r2, 4.0)
        field = 0.0
        for k, t in enumerate((0, 1, 0)):
            field += a.core.framework_energies(np.ascontiguousarray(x[:, k]), t, False).sum()
        assert own[system] == pytest.approx(total + field, abs=1e-3)


@pytest.fixture(scope="module")
def dense() -> Adsorption:
    """With a single trial, without reinsertions and regrowths."""
    a = inside(fugacity=400.0, regrowth=0.0, seed=7)
    a.equilibrate(400)
    a.run(800)
    return a


@pytest.mark.parametrize(
    ("method", "moves"),
    [
        another("plj", dict(trial_positions=8, trial_orientations=8)),
        ("metropolis", dict(trial_positions=4, trial_orientations=3, reinsertion=0.2)),
        ("plj", dict(regrowth=0.4)),
    ],
)
def test_moves_do_not_change_loading_and_energy(method, moves, dense):
    a = inside(fugacity=400.0, method=method, **moves)
    a.equilibrate(300)
    a.run(500)
    (n,), (other,) = a.loading_optimal, dense.loading_optimal
    assert agrees(n.value, n.error, other.value, other.error)
    assert n.error < 0.03 * n.value
    (test,) = a.loading_from_insertions
    assert agrees(n.value, n.error, test.value, test.error)
    a.compare_loading(200)
    (test,) = a.loading_from_test_molecules
    assert agrees(test.value, test.error, n.value, n.error)
    assert test.error < 0.02 * n.value
    e, e0 = a.energy_plain, dense.energy_plain
    assert agrees(e.value, e.error, e0.value, e0.error)
    if moves.get("trial_positions", 1) > 1:
        assert a.exchange_acceptance > 1.5 * dense.exchange_acceptance


def test_identity_changes_do_not_change_loadings():
    """Loadings of two chains and of a single site."""
    runs = []
    for share in (0.0, 0.3):
        a = inside(
            [ROUND, PAIR, BALL], [0, 0, 0], fugacity=[250.0, 80.0, 60.0], trial_positions=4,
            trial_orientations=4, exchange=0.4, identity_change=share, regrowth=0.1,
        )  # fmt: skip
        a.equilibrate(300)
        a.run(500)
        runs.append(a)
    assert runs[1].identity_change_acceptance > 0.1
    for one, other in zip(*(a.loading for a in runs), strict=True):
        assert agrees(one.value, one.error, other.value, other.error)
        assert max(one.error, other.error) < 0.03 * one.value


# ---- enumerated ----------------------------------------------------------------------------------

MOVES = ["exchange", "reinsertion", "regrowth", "identity"]


@pytest.mark.parametrize("move", MOVES)
def test_detailed_balance_of_each_move_in_an_enumerated_system(move):
    """Two species of two and three beads on a ring, up to two molecules, all sets of trials."""
    assert GrowingChains().violation(move) < 1e-12


def test_other_acceptances_violate_detailed_balance():
    for move in MOVES:
        assert GrowingChains(with_old=False).violation(move) > 1e-3
    assert GrowingChains(with_ideal=False).violation("exchange") > 1e-3


# ---- contract ------------------------------------------------------------------------------------


def mixture(steps: int, **settings) -> Adsorption:
    defaults = dict(
        systems=19, reinsertion=0.1, regrowth=0.2, exchange=0.4, identity_change=0.1,
        trial_positions=33, trial_orientations=35, fugacity=[900.0, 500.0],
    )  # fmt: skip
    a = inside([ROUND, PAIR], [1, 1], **{**defaults, **settings})
    a.run(steps)
    return a


def everything(a: Adsorption) -> tuple:
    snapshot = a.core.snapshot()
    shapes = snapshot["shapes"].reshape(a.systems, sum(a.capacity), -1)
    _, present = a._sites(snapshot)
    return (*state(a), shapes[present].tobytes())


def test_energies_are_carried_along():
    a = mixture(4100, systems=3, precision="double")  # beyond the sums from scratch
    assert a.energy_drift() < 1e-8


class TestChains(Contract):
    steps, part = 600, 250
    made, state = staticmethod(mixture), staticmethod(everything)


def test_a_damaged_shape_of_a_chain_is_refused(tmp_path):
    mixture(100).save(tmp_path / "state")
    bend = lambda arrays, header: arrays["shapes"].__setitem__(0, arrays["shapes"][0] + 0.1)  # noqa: E731
    change_checkpoint(tmp_path / "state", bend)
    with pytest.raises(ValueError):
        Adsorption.load(tmp_path / "state", device="cpu")


@on_gpu
@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_a_gpu_starts_as_a_cpu(precision):
    a, b = (inside(molecules=4, device=where, precision=precision) for where in ("cpu", "cuda"))
    assert everything(a) == everything(b)


def test_runs_of_several_ranks_are_pooled():
    runs = [inside(systems=64, seed=s, fugacity=300.0, trial_positions=4) for s in (1, 2)]
    for a in runs:
        a.run(100)
    pooled = Pooled([a.snapshot for a in runs])
    mean = np.mean([a.loading[0].value for a in runs])
    assert pooled.loading[0].value == pytest.approx(mean)
    assert pooled.ideal_energies == runs[0].ideal_energies


def test_shapes_of_a_tilted_cell_are_those_of_the_chain():
    a = alone("n-butane", 2, box=(26.0, 25.0, 27.0, 5.0, -4.0, 6.0), systems=4, reinsertion=0.3)
    a.run(100)
    bonds = np.linalg.norm(np.diff(a.site_positions(), axis=-2), axis=-1)
    assert bonds == pytest.approx(1.54, abs=1e-12)


def test_trajectories_and_structures_have_bonds_of_neighbors(tmp_path):
    import gsd.hoomd

    a = inside(molecules=2, systems=1)
    a.write_gsd(tmp_path / "t.gsd")
    with gsd.hoomd.open(tmp_path / "t.gsd") as file:
        frame = file[0]
    assert frame.bonds.group.tolist() == [[5, 6], [6, 7], [8, 9], [9, 10]]


def test_files_have_chains(tmp_path):
    path = tmp_path / "mine.json"
    beads = [{"label": "A", "epsilon": 90.0, "sigma": 3.5}] * 3
    path.write_text(json.dumps({"beads": beads, "bonds": [1.5, 1.4], "bends": [500.0, 120.0]}))
    chain = read_molecule(path)
    assert (chain.name, chain.bonds, chain.bends) == ("mine", (1.5, 1.4), ((500.0, 120.0),))
    assert read_molecule("propane").bends == ((62500.0, 114.0),)
    x = np.array([site.position for site in read_molecule("n-hexane").sites])
    assert bends_of(x) == pytest.approx(math.radians(114))
    assert np.abs(torsions_of(x)) == pytest.approx(math.pi)
    for change, message in (
        ({"color": 1}, 'unknown "color"'),
        ({"beads": [{"label": "A"}]}, 'needs "label", "epsilon" and "sigma"'),
        ({"bonds": ["HARMONIC", 1.54]}, "harmonic bonds are not supported"),
        ({"bonds": [1.5]}, "a chain of 3 beads has 2 bonds, got 1"),
        ({"bends": [500.0, 190.0]}, "at most 180 degrees, got 500.0 and 190"),
        ({"torsions": [1.0, 2.0]}, "torsions must be 4 numbers each"),
        ({"beads": 9 * beads}, "a chain has from 1 to 8 beads, got 27"),
        ({"beads": 5}, '"beads" must be a list of beads, got 5'),
        ({"bends": 62500.0}, "bends must be 2 numbers each, got 62500.0"),
        ({"torsions": None}, "torsions must be 4 numbers each, got None"),
        ({"bonds": True}, "bonds must be a number each, got True"),
    ):
        path.write_text(json.dumps({"beads": beads, **change}))
        with pytest.raises(ValueError, match=message):
            read_molecule(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(method="mdp", fugacity=None), 'round is a chain, which needs the method'),
        (dict(method="pmc", fugacity=None), 'needs the method "metropolis" or "plj", not "pmc"'),
        (dict(positions=np.zeros((1, 1, 3))), "positions cannot be given"),
        (dict(fugacity=None, regrowth=0.0), "round would keep its shape"),
        (dict(fugacity=None, trial_positions=4), "^trial_positions needs a fugacity"),
        (dict(chain=Chain("stiff", 3 * [C], 1.3, (3.1e8, 110.0))),
         "adsorbate 1: a bend has a stiffness of 310000000 K"),
        (dict(chain=Chain("stiff", 4 * [C], 1.3, torsions=(0.0, 0.0, 0.0, 4e7))),
         r"9 \|c_3\| of a torsion is 360000000 K; more than 300000000 is too narrow"),
        (dict(chain=Chain("large", 5 * [Bead("C", 90.0, 9.0)], 0.5)),
         "adsorbate 1: the mean weight of an ideal chain is 0 "),
        (dict(chain=[PAIR, Chain("sticky", 5 * [Bead("C", 9000.0, 2.5)], 0.99)], molecules=[1, 1],
              fugacity=[1.0, 1.0], temperature=100.0), "adsorbate 2: the mean weight of an ideal"),
        (dict(regrowth=0.5), "identity_change and regrowth must leave some steps"),
        (dict(regrowth=1.0), r"regrowth must be in \[0, 1\), got 1"),
        (dict(chain=[ROUND, CO2], molecules=[1, 1], fugacity=[1.0, 1.0]),
         "CO2: the site O_co2 has a charge"),
        (dict(chain=[ROUND, "C2H6"], molecules=[1, 1], fugacity=[1.0, 1.0]),
         "C2H6 is a rigid molecule of several sites"),
        (dict(force_field=ForceField(LAWS.parameters, {"C": 0.1})), "the site C has a charge"),
        (dict(chain="n-butane"), "a chain is up to 4.62 angstrom long, more than the cutoff of 4"),
        (dict(chain=Site("A", (0, 0, 0)), regrowth=0.1), "adsorbates must be"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_by_name(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        inside(**{"molecules": 1, "fugacity": 100.0, **settings})


def test_chains_of_one_bead_do_not_regrow():
    free = [Chain("three", 3 * [Bead("x", 0.0, 3.0)]), Chain("one", [Bead("x", 0.0, 3.0)])]
    assert alone(free[1], systems=2).resolved_settings["regrowth"] == 0
    a = alone(free, [1, 1], systems=20)
    assert a.resolved_settings["regrowth"] == 0.2
    a.run(50)
    assert a.regrowth_acceptance == 1  # all trials have the same weight


def test_regrowth_is_refused_without_chains():
    with pytest.raises(ValueError, match="regrowth is for chains"):
        inside("C2H6", 1, regrowth=0.1, force_field=LAWS)


def test_the_command_has_chains(tmp_path, capsys):
    output = str(tmp_path / "out")
    options = ["--framework", "MFI", "--adsorbates", "n-butane,propane", "--force-field",
               "TraPPE-zeo", "--systems", "4", "--cutoff", "9.5", "--cells", "1,1,2",
               "--grid-spacing", "0.6", "--device", "cpu", "--quiet", "--trial-positions", "4",
               "--trial-orientations", "4"]  # fmt: skip
    run = [*options, "--isotherm", "1", "--steps", "4", "--equilibrate", "1", "--output", output]
    assert cli.run(["adsorption", *run, "--reinsertion", "0.1"]) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["runs"][0]["regrowth"] == 0.2
    assert cli.run(["adsorption", "--resume", "--output", output, "--regrowth", "0.1"]) == 2
    assert "regrowth 0.2, not 0.1" in capsys.readouterr().err
    closed = ["--molecules", "1,1", "--steps", "20", "--equilibrate", "5", "--henry", "20"]
    output = str(tmp_path / "closed")
    assert cli.run(["adsorption", *options, *closed, "--output", output]) == 2
    assert "trial-positions needs a fugacity or reinsertion" in capsys.readouterr().err
    closed += ["--trial-positions", "1"]
    assert cli.run(["adsorption", *options, *closed, "--output", output]) == 0
    summary = json.loads((tmp_path / "closed" / "summary.json").read_text())
    assert summary["method"] == "plj"
    assert cli.run(["adsorption", *options, *closed, "--method", "mdp", "--overwrite"]) == 2
    assert "n-butane is a chain, which needs the method" in capsys.readouterr().err


def test_the_updater_of_hoomd_refuses_chains():
    pytest.importorskip("hoomd")
    from manymove.hoomd import RigidWasteRecyclingMC

    with pytest.raises(TypeError, match="n-butane is a flexible chain"):
        RigidWasteRecyclingMC("A", BUTANE, kT=1.0, cutoff=3.0)
