"""Configurational bias, reinsertions, identity changes, and estimators that use all trials.

Comparisons of numbers with errors are at five joint standard errors (see `agrees`). Seeds are
fixed, so that a test that passes once always passes; the rates of false alarms hold for other
seeds.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from adsorption_model import GAS, Contract, agrees, is_poisson, make, molecules_in, places, state
from damage import change_checkpoint
from dipoles import DIPOLE, FIELD, dipoles_in_small
from flat_settings import of_adsorption
from laws import another
from trial_chain import Chain

from manymove import Adsorption, cli
from manymove.adsorption import CO2, TRAPPE_ZEO, ForceField, Molecule, Site
from manymove.adsorption.adsorbates import Adsorbate
from manymove.adsorption.averages import _MOVES as _REINSERTIONS
from manymove.adsorption.averages import _TEST, _TESTED, Pooled

MATES = Molecule(
    "mate", (Site("P", (0, 0, 0.2), 80.0, 2.6, 0.1), Site("M", (0, 0, -0.2), 60.0, 2.4, -0.1))
)
# With a site at the center, which excludes places of trials.
LINEAR = Molecule(
    "linear",
    (Site("C", (0, 0, 0), 30.0, 2.4, 0.4), Site("E", (0, 0, 0.6), 60.0, 2.4, -0.2),
     Site("E", (0, 0, -0.6), 60.0, 2.4, -0.2)),
)  # fmt: skip
MIXED = dict(adsorbates=[DIPOLE, MATES], fugacity=[120.0, 60.0])
# Without interactions of two molecules, the number in the framework has a Poisson distribution.
ALONE = Adsorbate("alone", 0.0, 3.0, {"O": (160.0, 2.6), "Si": None})


def opened(method: str = "plj", molecules=0, **settings) -> Adsorption:
    settings = {"systems": 256, "fugacity": 200.0, **settings}
    return dipoles_in_small(molecules, method=method, **settings)


def without_interactions(name: str) -> Molecule:
    return Molecule(name, (Site(name, (0, 0, 0.5), 0.0, 3.0), Site(name, (0, 0, -0.5), 0.0, 3.0)))


# ---- distributions -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["metropolis", "plj"])
def test_an_ideal_gas_has_a_poisson_distribution(method, device):
    if method == "metropolis" and device != "cpu":
        pytest.skip("metropolis is for CPUs")
    a = molecules_in(
        (20.0, 20.0, 20.0),
        0,
        without_interactions("i"),
        cutoff=9.0,
        method=method,
        systems=2000,
        fugacity=20.0,
        trial_positions=3,
        trial_orientations=2,
        reinsertion=0.1,
        seed=3,
        device=device,
        threads=2,
    )
    activity = a._parameters["species"][0]["activity"]
    a.equilibrate(120)
    a.run(80)
    (n,) = a.loading
    assert agrees(n.value, n.error, activity)
    assert is_poisson(a.counts[:, 0], activity)


def exact_alone(a: Adsorption) -> tuple[float, float]:
    """Mean number of the molecules without mutual interactions, and the energy of one of them."""
    energies = a.core.framework_energies(places(a.box, 60), 0, False)
    factors = np.exp(-energies / a.temperature)
    return (
        a._parameters["species"][0]["activity"] * factors.mean(),
        (energies * factors).mean() / factors.mean(),
    )


@pytest.mark.parametrize(("k", "method"), [(1, "plj"), (6, "plj"), (6, "metropolis")])
def test_all_estimators_give_the_exact_loading_and_energy(k, method):
    """The loading is beta f V <exp(-U / T)>, by a sum over 60^3 places."""
    a = make(method, 0, adsorbates=ALONE, fugacity=100.0, systems=400, trial_positions=k,
             reinsertion=0.1)  # fmt: skip
    number, energy = exact_alone(a)
    a.equilibrate(200)
    a.run(400)
    for name in ("loading", "loading_waste_recycled", "loading_optimal", "loading_from_insertions"):
        (found,) = getattr(a, name)
        assert agrees(found.value, found.error, number), name
        assert found.error < 0.02 * number
    for found in (a.energy_plain, a.energy_controlled):
        assert agrees(found.value, found.error, number * energy)


def test_a_low_barrier_does_not_bias_the_estimators_of_trials():
    """The barrier is 1 T: molecules and trials with higher energies count in open regions."""
    a = make("plj", 0, adsorbates=ALONE, fugacity=100.0, systems=400, trial_positions=6,
             reinsertion=0.1, barrier=300.0)  # fmt: skip
    number, energy = exact_alone(a)
    a.equilibrate(200)
    a.run(400)
    for name in ("loading", "loading_waste_recycled", "loading_optimal", "loading_from_insertions"):
        (found,) = getattr(a, name)
        assert agrees(found.value, found.error, number), name
        assert found.error < 0.01 * number or name != "loading_from_insertions"
    for found in (a.energy_plain, a.energy_controlled):
        assert agrees(found.value, found.error, number * energy)


def test_reinsertions_do_not_count_in_the_adaptation_of_displacements():
    """In a dense system, where few reinsertions are accepted."""
    a = opened(molecules=12, fugacity=None, reinsertion=0.8, systems=16, seed=4)
    a.equilibrate(256 * 20)
    before = a.acceptance_counts
    a.run(1000)
    accepted, tried = np.subtract(a.acceptance_counts, before)
    assert a.reinsertion_acceptance < 0.1
    tries = a._sums()[_REINSERTIONS].sum()
    assert tried + tries == 1000 * a.systems
    assert 0.4 < accepted / tried < 0.6


def test_systems_without_a_tried_insertion_count_in_the_loading_from_insertions():
    """It is a ratio of sums with a linearized error, as for other ratios."""
    a = make("plj", 0, adsorbates=ALONE, fugacity=100.0, systems=64, trial_positions=2, seed=2)
    a.run(2)
    sums = a._sums()
    above, below = sums[_TEST], sums[_TESTED]
    assert (below == 0).any()
    (found,) = a.loading_from_insertions
    assert found.value == pytest.approx(above.sum() / below.sum())
    spread = (above - found.value * below).std(ddof=1) / below.mean() / math.sqrt(64)
    assert found.error == pytest.approx(spread)


def test_control_variates_reduce_the_variance_at_no_cost():
    """By 7.1 to 8.9 with the seeds 1 to 10."""
    a = opened(trial_positions=8, trial_orientations=2)
    a.equilibrate(150)
    a.run(400)
    (plain,), (recycled,), (best,) = a.loading, a.loading_waste_recycled, a.loading_optimal
    assert recycled.error < plain.error
    assert best.error < plain.error / math.sqrt(3)
    assert agrees(best.value, best.error, plain.value, plain.error)


@pytest.fixture(scope="module")
def dipoles() -> Adsorption:
    """Charged molecules with a single trial and without reinsertions."""
    a = opened(seed=7)
    a.equilibrate(300)
    a.run(700)
    return a


@pytest.mark.parametrize(
    ("method", "trials"),
    [
        another("plj", dict(trial_positions=8)),
        ("metropolis", dict(trial_positions=4, trial_orientations=3, reinsertion=0.2)),
        ("plj", dict(reinsertion=0.4)),
    ],
)
def test_trials_do_not_change_loading_and_energy(method, trials, dipoles):
    """The waves' part of Ewald's sum is in the acceptance alone, and is 40 % of the energy of two
    molecules."""
    a = opened(method, **trials)
    a.equilibrate(250)
    a.run(500)
    (n,), (other,) = a.loading_optimal, dipoles.loading_optimal
    assert agrees(n.value, n.error, other.value, other.error)
    (test,) = a.loading_from_insertions
    assert agrees(n.value, n.error, test.value, test.error)
    e, e0 = a.energy_plain, dipoles.energy_plain
    assert agrees(e.value, e.error, e0.value, e0.error)
    if "reinsertion" in trials:
        assert 0.02 < a.reinsertion_acceptance < 1
    if trials.get("trial_positions"):
        assert a.exchange_acceptance > 1.4 * dipoles.exchange_acceptance


@pytest.mark.parametrize("temperature", [600.0, 900.0])
def test_places_that_the_center_excludes_do_not_change_loading_and_energy(temperature):
    """Without trials, and for test molecules, no place is excluded."""
    settings = dict(adsorbates=LINEAR, fugacity=3000.0, temperature=temperature, seed=3)
    runs = [
        opened(**settings, **more)
        for more in ({}, dict(trial_positions=24, trial_orientations=2, reinsertion=0.1))
    ]
    for a in runs:
        a.equilibrate(400)
        for _ in range(40):
            a.run(20)
            a.compare_loading(200)
    one, other = runs
    assert other.loading[0].value > 3
    assert other.exchange_acceptance > 2 * one.exchange_acceptance
    pairs = [
        (one.loading_optimal[0], other.loading_optimal[0]),
        (one.energy_plain, other.energy_plain),
        (other.loading_from_test_molecules[0], other.loading_from_insertions[0]),
    ]
    for a, b in pairs:
        assert agrees(a.value, a.error, b.value, b.error)


@pytest.mark.parametrize("potential", ["shifted", "tail"])
def test_energies_are_carried_along(potential):
    a = opened(molecules=[2, 1], reinsertion=0.2, identity_change=0.2, exchange=0.3, systems=3,
               trial_positions=6, precision="double",
               force_field=replace(FIELD, potential=potential), **MIXED)  # fmt: skip
    a.run(4100)  # beyond the sums from scratch after 4096 steps
    assert a.identity_change_acceptance > 0.05
    assert a.energy_drift() < 1e-8


def test_reinsertions_of_closed_systems_keep_the_energy():
    settings = dict(fugacity=None, systems=256)
    runs = [opened(molecules=3, **settings, **more) for more in ({}, dict(reinsertion=0.5))]
    for a in runs:
        a.equilibrate(250)
        a.run(400)
    one, other = (a.energy_plain for a in runs)
    assert agrees(one.value, one.error, other.value, other.error)
    assert runs[1].reinsertion_acceptance > 0.1


def test_identity_changes_of_an_ideal_mixture_are_exact():
    kinds = [without_interactions(name) for name in "ab"]
    a = molecules_in(
        (20.0, 20.0, 20.0),
        [0, 0],
        kinds,
        cutoff=9.0,
        method="plj",
        systems=1000,
        fugacity=[12.0, 4.0],
        trial_positions=2,
        exchange=0.2,
        identity_change=0.6,
        seed=3,
        threads=2,
    )
    a.equilibrate(150)
    a.run(150)
    for found, species in zip(a.loading, a._parameters["species"], strict=True):
        assert agrees(found.value, found.error, species["activity"])
    # With z_a / z_b = 3 changes are accepted at min(1, 3 N_b / (N_a + 1)) and its reverse.
    assert 0.4 < a.identity_change_acceptance < 1
    assert np.corrcoef(a.counts.T)[0, 1] == pytest.approx(0, abs=5 / math.sqrt(1000))


def test_identity_changes_do_not_change_loadings():
    runs = []
    for share in (0.0, 0.3):
        a = opened(molecules=[0, 0], trial_positions=4, identity_change=share, **MIXED)
        a.equilibrate(250)
        a.run(400)
        runs.append(a)
    assert runs[1].identity_change_acceptance > 0.1
    for one, other in zip(*(a.loading for a in runs), strict=True):
        assert agrees(one.value, one.error, other.value, other.error)


# ---- enumerated ----------------------------------------------------------------------------------


@pytest.mark.parametrize("move", ["exchange", "reinsertion", "identity"])
def test_detailed_balance_of_each_move_in_an_enumerated_system(move):
    """Two species on three places with two orientations, up to two molecules, all sets of trials:
    weights that leave out a part of the energy, which is in the acceptance."""
    assert Chain().violation(move) < 1e-13


@pytest.mark.parametrize(("positions", "orientations"), [(1, 1), (8, 4), (40, 1)])
def test_moves_add_up_the_energies_of_trials_among_many_molecules(positions, orientations, device):
    """With so many molecules, trials are weighed one after the other with those near them."""
    a = Adsorption(**of_adsorption(
        framework="LTA", molecules=0, adsorbates=CO2, force_field=TRAPPE_ZEO, method="plj",
        fugacity=1e6, reinsertion=0.2, trial_positions=positions, trial_orientations=orientations,
        systems=8, precision="double", grid_spacing=0.37, device=device, seed=1,
    ))  # fmt: skip
    a.run(4200)  # the energies are compared with those of all pairs after 4,096 steps
    assert a.loading[0].value > 30
    assert 0 < a.energy_drift() < 1e-8


def test_other_acceptances_violate_detailed_balance():
    assert Chain(with_old=False).violation("exchange") > 1e-3
    for move in ("exchange", "reinsertion", "identity"):
        assert Chain(with_rest=False).violation(move) > 1e-3


# ---- contract ------------------------------------------------------------------------------------


def mixture(steps: int, **settings) -> Adsorption:
    a = opened(molecules=[1, 1], systems=19, reinsertion=0.1, identity_change=0.2, exchange=0.4,
               trial_positions=7, trial_orientations=3,
               **{**MIXED, "fugacity": [900.0, 500.0], **settings})  # fmt: skip
    a.run(steps)
    return a


def test_trajectories_without_trials_have_not_changed():
    """The hash of the version before there were trials."""
    a = opened(molecules=2, systems=7, fugacity=300.0)
    a.equilibrate(100)
    a.run(400)
    assert a.state_hash == "91aeb25672f29c6b"


class TestTrials(Contract):
    made = staticmethod(mixture)


def test_a_checkpoint_of_molecules_whose_memory_has_grown_continues(tmp_path, device):
    """The slots without molecules have no orientation after the growth."""
    a = mixture(400, capacity=[1, 1], device=device)
    assert (a.counts < a.capacity).any() and a.capacity != [1, 1]
    a.save(tmp_path / "state")
    again = Adsorption.load(tmp_path / "state", device=device)
    for each in (a, again):
        each.run(50)
    assert state(again) == state(a)


@pytest.mark.parametrize("damage", [0.0, 2.0, np.nan])
def test_a_damaged_orientation_of_a_molecule_is_refused(damage, tmp_path):
    a = mixture(100, capacity=[1, 1])
    a.save(tmp_path / "state")
    (system, species), slots = np.argwhere(a.counts > 0)[-1], sum(a.capacity)
    slot = system * slots + sum(a.capacity[:species]) + a.counts[system, species] - 1

    def scale(arrays, header):
        arrays["orientations"][4 * slot : 4 * slot + 4] *= damage

    change_checkpoint(tmp_path / "state", scale)
    with pytest.raises(ValueError, match="an orientation is not a unit quaternion"):
        Adsorption.load(tmp_path / "state", device="cpu")


def test_runs_of_several_ranks_are_pooled():
    runs = [opened(systems=64, seed=s, trial_positions=4) for s in (1, 2)]
    for a in runs:
        a.run(200)
    pooled = Pooled([a.snapshot for a in runs])
    mean = np.mean([a.loading_waste_recycled[0].value for a in runs])
    assert pooled.loading_waste_recycled[0].value == pytest.approx(mean)
    above, below = (sum(a._sums()[row].sum() for a in runs) for row in (_TEST, _TESTED))
    assert pooled.loading_from_insertions[0].value == pytest.approx(above / below)
    assert pooled.loading_optimal[0].error < min(a.loading_optimal[0].error for a in runs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(trial_positions=0), "trial_positions must be from 1 to 1024, got 0"),
        (dict(trial_orientations=2000), "trial_orientations must be from 1 to 1024, got 2000"),
        (dict(trial_positions=100, trial_orientations=100), "must be at most 1024, got 100 and 10"),
        (dict(trial_positions=4, method="mdp", fugacity=None), "trial_positions needs one of the"),
        (dict(trial_positions=4, fugacity=None), "trial_positions needs a fugacity or reinsertion"),
        (dict(reinsertion=-0.1), r"reinsertion must be in \[0, 1\), got -0.1"),
        (dict(reinsertion=0.3, exchange=0.7), "must leave some steps for other moves"),
        (dict(identity_change=0.1), "identity_change needs a fugacity and several adsorbates"),
        (dict(identity_change=math.nan), r"identity_change must be in \[0, 1\), got nan"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        opened(**{"method": "plj", "molecules": 1, **settings})


def test_estimators_say_what_they_need():
    few = opened(systems=20, trial_positions=2)
    few.run(20)
    with pytest.raises(RuntimeError, match="20 systems are too few for control variates"):
        _ = few.loading_optimal
    sites = make("plj", 0, adsorbates=GAS, fugacity=100.0)
    sites.run(10)
    with pytest.raises(RuntimeError, match="single sites with trial_positions above 1"):
        _ = sites.loading_waste_recycled


def test_the_command_has_trials(tmp_path, capsys):
    output = str(tmp_path / "out")
    options = ["--framework", "MFI", "--adsorbates", "CO2,N2", "--force-field",
               "TraPPE-zeo", "--isotherm", "1", "--systems", "4", "--steps", "4", "--equilibrate",
               "1", "--cutoff", "9.5", "--cells", "1,1,2", "--grid-spacing", "0.6", "--device",
               "cpu", "--quiet", "--output", output, "--trial-positions", "4",
               "--trial-orientations", "2", "--reinsertion", "0.1",
               "--identity-change", "0.1"]  # fmt: skip
    assert cli.run(["adsorption", *options]) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["runs"][0]["trial_positions"] == 4
    assert summary["runs"][0]["identity_change"] == 0.1
    assert cli.run(["adsorption", "--resume", "--output", output, "--trial-positions", "5"]) == 2
    assert "--trial-positions 4, not 5" in capsys.readouterr().err
    assert cli.run(["adsorption", *options[:-1], "0.9", "--overwrite"]) == 2
    assert "--reinsertion and --identity-change must leave some steps" in capsys.readouterr().err


def test_molecules_without_sites_at_their_center_turn_about_it():
    """Test molecules and weights of insertions agree for CO2, whose trials turn about carbon."""
    a = molecules_in(
        (18.5, 18.5, 18.5),
        0,
        CO2,
        cutoff=9.0,
        method="plj",
        systems=128,
        fugacity=30.0,
        temperature=300.0,
        trial_positions=4,
        trial_orientations=2,
        seed=2,
        force_field=ForceField(),
        threads=2,
    )
    a.equilibrate(60)
    a.run(60)
    a.compare_loading(100)
    (test,), (mine,) = a.loading_from_test_molecules, a.loading_from_insertions
    assert agrees(mine.value, mine.error, test.value, test.error)
