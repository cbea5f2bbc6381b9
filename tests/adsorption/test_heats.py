"""Heats of adsorption of the species of a mixture: docs/theory/open_systems.md, section 6.

Comparisons of numbers with errors are at five joint standard errors (see `agrees`). Seeds are
fixed.
"""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from adsorption_model import agrees, molecules_in, small_framework, state
from flat_settings import of_adsorption
from machine import on_gpu

from manymove import Adsorption, cli
from manymove.adsorption import ForceField, Molecule, Site
from manymove.adsorption.adsorbates import Adsorbate
from manymove.adsorption.averages import Pooled, heats

KINDS, PLACES, TEMPERATURE = 2, 3, 300.0
# Energies in kelvin of each species at each place, and of neighbors on a ring of places.
FIELD = np.array([[-900.0, -600.0, -750.0], [-300.0, -500.0, -200.0]])
PAIRS = np.array([[-250.0, -120.0], [-120.0, 80.0]])

FRAMEWORK = {"O": (160.0, 2.6), "Si": (90.0, 2.4)}
GASES = [
    Adsorbate("a", 140.0, 2.6, FRAMEWORK),
    Adsorbate("b", 90.0, 2.4, {"O": (110.0, 2.5), "Si": (60.0, 2.3)}),
]
OPEN = dict(
    method="plj", cutoff=4.0, grid_spacing=0.25, barrier=None, temperature=TEMPERATURE, seed=5,
    threads=2, cells=(2, 2, 2),
)  # fmt: skip


def mixture(kinds, fugacity, *, steps=500, systems=256, device="cpu", **settings) -> Adsorption:
    settings = {**OPEN, "systems": systems, "device": device, **settings}
    a = molecules_in(small_framework(), [0] * len(kinds), kinds, fugacity=fugacity, **settings)
    a.equilibrate(400)
    a.run(steps)
    return a


# ---- a lattice gas, in which all states can be enumerated ----------------------------------------


def moments_of(logarithms: np.ndarray, beta: float) -> np.ndarray:
    """The moments that `heats` needs; ln z of each species."""
    total, sums = 0.0, np.zeros(2 * KINDS + KINDS * (KINDS + 1) // 2 + 1)
    for kinds in itertools.product(range(-1, KINDS), repeat=PLACES):
        energy = sum(FIELD[b, k] for k, b in enumerate(kinds) if b >= 0)
        energy += sum(
            PAIRS[b, kinds[(k + 1) % PLACES]]
            for k, b in enumerate(kinds)
            if b >= 0 and kinds[(k + 1) % PLACES] >= 0
        )
        n = np.array([kinds.count(b) for b in range(KINDS)])
        weight = math.exp(float(n @ logarithms) - beta * energy)
        products = [n[a] * n[b] for b in range(KINDS) for a in range(b + 1)]
        total += weight
        sums += weight * np.array([*n, *products, *(energy * n), energy])
    return sums / total


def logarithms_at(numbers: np.ndarray, beta: float) -> np.ndarray:
    """ln z at which these are the mean numbers, by Newton's method."""
    logarithms = np.full(KINDS, -2.0)
    for _ in range(60):
        m = moments_of(logarithms, beta)
        n, products = m[:KINDS], m[KINDS:]
        slopes = np.array([[products[0], products[1]], [products[1], products[2]]]) - np.outer(n, n)
        logarithms += np.clip(np.linalg.solve(slopes, numbers - n), -1, 1)
    return logarithms


def test_heats_are_the_changes_of_the_fugacities_with_the_temperature():
    beta, step = 1 / TEMPERATURE, 1e-5 / TEMPERATURE
    there = moments_of(np.array([-2.5, -0.7]), beta)
    low, high = (logarithms_at(there[:KINDS], beta + sign * step) for sign in (-1, 1))
    slopes = (high - low) / (2 * step)  # d ln z / d beta at constant numbers, z = beta f V
    assert heats(there, KINDS, TEMPERATURE) == pytest.approx(TEMPERATURE - slopes, rel=1e-6)
    # Without the inverse matrix they would be those of one species at a time.
    n, products, crossed, energy = there[:2], there[2:5], there[5:7], there[7]
    alone = (crossed - energy * n) / (products[[0, 2]] - n**2)
    assert np.abs(TEMPERATURE - alone - heats(there, KINDS, TEMPERATURE)).min() > 10


def test_a_species_that_does_not_fluctuate_has_no_heat_and_no_influence():
    both = np.array([2.0, 3.0, 4.5, 6.0, 9.0, -1500.0, -2100.0, -700.0])
    found = heats(both, KINDS, TEMPERATURE)
    assert math.isnan(found[1])
    assert found[0] == pytest.approx(TEMPERATURE - (-1500.0 + 1400.0) / 0.5)


# ---- the engine ----------------------------------------------------------------------------------


@pytest.mark.parametrize("trials", [1, 4])
def test_molecules_without_interactions_have_the_heats_of_zero_loading(trials, device):
    kinds = [Adsorbate(g.name, 0.0, g.sigma, g.framework) for g in GASES]
    a = mixture(kinds, [40.0, 60.0], trial_positions=trials, device=device)
    for species, heat in enumerate(a.heats_of_adsorption):
        _, henry = a.henry(4000, species)
        assert agrees(heat.value, heat.error, henry.value, henry.error)


@pytest.mark.parametrize("trials", [1, 4])
def test_two_names_of_a_gas_have_its_heat(trials, device):
    """Half of the molecules are called c: both heats are that of the pure gas."""
    first = GASES[0]
    second = Adsorbate("c", first.epsilon, first.sigma, first.framework)
    pure = mixture([first], 120.0, trial_positions=trials, device=device)
    mixed = mixture([first, second], [60.0, 60.0], trial_positions=trials, device=device)
    (expected,) = pure.heats_of_adsorption
    assert expected == pure.heat_of_adsorption and expected.error < 0.4
    for heat in mixed.heats_of_adsorption:
        assert agrees(heat.value, heat.error, expected.value, expected.error)
    assert abs(expected.value - pure.henry(4000)[1].value) > 5 * expected.error


def test_heats_of_a_mixture_agree_with_fugacities_at_other_temperatures():
    """q_i = R T^2 (d ln f_i / d T) at constant loadings: the loadings of runs at two temperatures,
    with the fugacities that the heats predict, are the same."""
    fugacity, here = np.array([60.0, 80.0]), mixture(GASES, [60.0, 80.0], trial_positions=4)
    found = np.array([(heat.value, heat.error) for heat in here.heats_of_adsorption])
    q, errors = found.T / 8.314462618e-3
    runs, temperatures = [], (280.0, 322.0)
    for temperature in temperatures:
        predicted = fugacity * np.exp(q * (1 / TEMPERATURE - 1 / temperature))
        runs.append(mixture(GASES, predicted, trial_positions=4, temperature=temperature))
    # d N_i / d ln f_j = cov(N_i, N_j), at which errors of the heats become those of loadings.
    change = np.abs(np.cov(here.counts.T)) @ errors * (1 / temperatures[0] - 1 / temperatures[1])
    for one, other, error in zip(*(a.loading for a in runs), change, strict=True):
        assert abs(one.value - other.value) < 5 * math.hypot(one.error, other.error, error)


@on_gpu
def test_a_gpu_adds_up_what_a_cpu_adds_up():
    for settings in (dict(trial_positions=1), dict(trial_positions=4, identity_change=0.2)):
        runs = [
            mixture(GASES, [60.0, 80.0], systems=16, steps=50, device=device, **settings)
            for device in ("cpu", "cuda")
        ]
        assert state(runs[0]) == state(runs[1])
        assert runs[0].heats_of_adsorption == runs[1].heats_of_adsorption


def test_runs_and_ranks_are_pooled():
    runs = [mixture(GASES, [60.0, 80.0], systems=n, seed=n, steps=60) for n in (30, 50)]
    pooled = Pooled([a.snapshot for a in runs]).heats_of_adsorption
    for heat, *parts in zip(pooled, *(a.heats_of_adsorption for a in runs), strict=True):
        assert agrees(heat.value, heat.error, parts[0].value, parts[0].error)
        assert heat.error < max(part.error for part in parts)


def test_checkpoints_keep_the_sums(tmp_path):
    a = mixture(GASES, [60.0, 80.0], systems=20, steps=40)
    a.save(tmp_path / "saved")
    assert Adsorption.load(tmp_path / "saved", device="cpu").heats_of_adsorption == (
        a.heats_of_adsorption
    )


def test_closed_systems_and_single_heats_of_mixtures_are_refused():
    closed = Adsorption(
        **of_adsorption(framework=small_framework(), molecules=2, systems=4, device="cpu", **OPEN)
    )
    closed.run(1)
    with pytest.raises(RuntimeError, match="heats of adsorption need an open system"):
        _ = closed.heats_of_adsorption
    mixed = mixture(GASES, [60.0, 80.0], systems=4, steps=1)
    with pytest.raises(RuntimeError, match="use heats_of_adsorption for a mixture"):
        _ = mixed.heat_of_adsorption


def test_the_command_writes_a_heat_of_each_species(tmp_path):
    options = ["--framework", "MFI", "--adsorbates", "CO2,N2", "--force-field", "TraPPE-zeo",
               "--isotherm", "1", "--mole-fractions", "0.5,0.5", "--systems", "6", "--steps", "30",
               "--equilibrate", "1", "--cutoff", "9.5", "--cells", "1,1,2", "--grid-spacing", "0.6",
               "--device", "cpu", "--quiet", "--output", str(tmp_path / "out"),
               "--trial-positions", "4"]  # fmt: skip
    assert cli.run(["adsorption", *options]) == 0
    (run,) = json.loads((tmp_path / "out" / "summary.json").read_text())["runs"]
    assert len(run["heat_of_adsorption_kJ_per_mol"]) == 2
    lines = (tmp_path / "out" / "isotherm.csv").read_text().splitlines()
    column = lines[0].split(",").index("heat_of_adsorption_kJ_per_mol")
    for line, value in zip(lines[1:], run["heat_of_adsorption_kJ_per_mol"], strict=True):
        assert float(line.split(",")[column]) == pytest.approx(value, rel=1e-6)


def test_molecules_of_several_sites_count_too():
    """The energy times a number, and the product of numbers, from the states themselves."""
    kinds = [
        Molecule(name, (Site("P", (0, 0, z), 80.0, 2.6), Site("P", (0, 0, -z), 80.0, 2.6)))
        for name, z in (("short", 0.2), ("long", 0.5))
    ]
    field = ForceField({"O": (90.0, 2.6), "Si": (60.0, 2.4)})
    a = mixture(kinds, [60.0, 60.0], systems=40, steps=0, force_field=field, trial_positions=2)
    products, crossed = np.zeros(3), np.zeros(2)
    for _ in range(25):
        a.run(1)
        n, energy = a.counts, a.energies
        products += [(n[:, 0] ** 2).sum(), (n[:, 0] * n[:, 1]).sum(), (n[:, 1] ** 2).sum()]
        crossed += energy @ n
    sums = a.snapshot[2]["sums"].reshape(-1, a.systems).sum(axis=1)
    assert sums[42:45] == pytest.approx(products)
    assert sums[38:40] == pytest.approx(crossed, rel=1e-5)
