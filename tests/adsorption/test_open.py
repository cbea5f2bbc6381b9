"""Open systems: capacities that grow, and loadings that are in equilibrium with the gas.

Comparisons of numbers with errors are at five joint standard errors and at a fixed seed: a false
alarm once in 1.7 million comparisons, should another seed be chosen.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from adsorption_model import GAS, agrees, make, state
from machine import on_gpu

from manymove import Adsorption, EnergyGrid, Interactions, checkpoint
from manymove.adsorption.adsorbates import Adsorbate, mixed_laws
from manymove.adsorption.averages import Pooled

KRYPTON = Adsorbate("Kr", 160.0, 3.3, GAS.framework)
NOTHING = Adsorbate("ideal", 0.0, 3.0, {"O": None, "Si": None})
MIXTURE = dict(adsorbates=[GAS, KRYPTON], fugacity=[1000.0, 300.0])


def filled(method: str = "plj", **settings) -> Adsorption:
    """A mixture that becomes dense."""
    a = make(method, [2, 1], systems=37, **{**MIXTURE, **settings})
    for steps in (700, 5000):
        a.run(steps)
    return a


# ---- capacity ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["metropolis", "plj"])
def test_capacity_grows_and_leaves_no_trace(method):
    large, small = filled(method, capacity=[60, 60]), filled(method, capacity=[2, 1])
    assert large.capacity == [60, 60]
    assert all(n > start for n, start in zip(small.capacity, (2, 1), strict=True))
    assert (small.counts.max(axis=0) <= small.capacity).all()
    assert (small.counts.max(axis=0) > [2, 1]).all()
    assert state(small) == state(large)
    assert np.array_equal(small._places()[1], large._places()[1])
    assert state(filled(method, capacity=[2, 1], threads=1)) == state(large)


@on_gpu
@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_capacity_grows_on_the_gpu_as_on_the_cpu(precision):
    runs = [filled(capacity=[2, 1], device=where, precision=precision) for where in ("cpu", "cuda")]
    assert state(runs[0]) == state(runs[1])
    assert runs[0].capacity == runs[1].capacity


def test_checkpoint_of_a_grown_system_goes_on(tmp_path, device):
    a = filled(capacity=[2, 1], device=device)
    a.save(tmp_path / "state")
    b = Adsorption.load(tmp_path / "state", device=device)
    assert b.capacity == a.capacity
    for each in (a, b):
        each.run(300)
    assert state(a) == state(b)


def test_a_system_that_cannot_grow_ends_the_run(tmp_path):
    """An ideal gas of 30,000 molecules that starts with 11,000."""
    places = np.random.default_rng(1).random((1, 11000, 3)) * (8.5, 9.0, 10.0)
    a = make("plj", 11000, adsorbates=NOTHING, fugacity=1.62e6, systems=1, positions=places)
    with pytest.raises(RuntimeError, match="more than 16384 molecules"):
        a.run(10000)
    for use in (lambda: a.run(1), lambda: a.save(tmp_path / "state"), lambda: a.state_hash):
        with pytest.raises(RuntimeError, match="stopped before the end of a run"):
            use()


def test_capacity_is_estimated_from_the_pores():
    """The earlier estimate, one molecule in 20 cubic angstrom, is 2,131 in the box of MFI."""
    a = Adsorption(
        "MFI",
        0,
        method="plj",
        systems=1,
        fugacity=1.0,
        interactions=Interactions(grid=EnergyGrid(spacing=0.3)),
        seed=1,
        device="cpu",
        threads=1,
    )
    assert 124 < a.capacity[0] < 300


def test_mixtures_need_no_capacity():
    a = filled()
    assert len(a.capacity) == 2
    assert state(a) == state(filled(capacity=[60, 60]))
    with pytest.raises(ValueError, match="capacity must be positive, got"):
        filled(capacity=[60, 0])


@pytest.mark.parametrize(
    ("cross", "message"),
    [
        ({("Ar", "Xe"): (100.0, 3.0)}, 'cross has "Xe", but the adsorbates are Ar, Kr'),
        ({("Ar", "Kr"): (100.0, 3.0), ("Kr", "Ar"): (90.0, 3.0)}, "two laws for Ar and Kr"),
    ],
)
def test_cross_terms_of_others_are_refused(cross, message):
    with pytest.raises(ValueError, match=message):
        make("plj", [1, 1], adsorbates=[GAS, KRYPTON], cross=cross)


def test_cross_terms_may_be_given_both_ways():
    laws = mixed_laws([GAS, KRYPTON], {("Kr", "Ar"): (100.0, 3.1), ("Ar", "Kr"): (100.0, 3.1)})
    assert laws[1] == laws[2] == (100.0, 3.1)


def test_share_of_the_grid_that_is_open():
    """Without a barrier, all points below 20 T; with one, less those of pockets."""
    free, walled = make(), make(barrier="auto")
    assert free.grid["blocked"] == 0
    assert 0 < free.grid["open"] < 1
    assert free.grid["open"] == pytest.approx(walled.grid["open"] + walled.grid["blocked"])


# ---- equilibrium with the gas --------------------------------------------------------------------


def test_test_molecules_give_the_loading_of_an_ideal_gas():
    a = make("plj", 5, adsorbates=NOTHING, fugacity=300.0, systems=4)
    activity = a._parameters["species"][0]["activity"]
    a.compare_loading(10)
    (loading,) = a.loading_from_test_molecules
    assert loading.value == pytest.approx(activity) and loading.error == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("method", ["metropolis", "plj"])
def test_loading_and_test_molecules_agree_in_equilibrium(method):
    a = make(method, [0, 0], systems=64, **MIXTURE)
    assert a.equilibrate_loading(2000) is True
    assert (a.samples, a.comparisons, a.first_round) == (0, 0, 2000)
    for _ in range(60):
        a.run(100)
        a.compare_loading(100)
    assert a.loading_agrees() is True
    for n, test in zip(a.loading, a.loading_from_test_molecules, strict=True):
        assert n.error < 0.02 * n.value
        assert agrees(n.value, n.error, test.value, test.error)


def test_a_loading_that_still_grows_is_noticed():
    a = make("plj", 0, fugacity=1000.0, systems=64)
    a.run(20)
    a.compare_loading(1000)
    assert a.loading_agrees() is False
    (n,), (test,) = a.loading, a.loading_from_test_molecules
    assert test.value > 2 * n.value


def test_a_single_system_or_a_noisy_comparison_tells_nothing():
    one, few = make("plj", 0, fugacity=1.0, systems=1), make("plj", 0, fugacity=0.01, systems=4)
    assert one.loading_agrees() is None
    assert one.equilibrate_loading(10) is None
    few.run(100)
    few.compare_loading(1)
    assert few.loading_agrees() is None


def test_closed_systems_have_nothing_to_compare():
    a = make("plj", 2)
    for use in (lambda: a.compare_loading(10), lambda: a.equilibrate_loading(10),
                lambda: a.set_fugacity(1.0)):  # fmt: skip
        with pytest.raises(ValueError, match="closed"):
            use()
    with pytest.raises(RuntimeError, match="nothing compared"):
        _ = a.loading_from_test_molecules


def test_a_new_fugacity_keeps_the_molecules(device):
    a = make("plj", 0, fugacity=100.0, systems=64, device=device)
    a.run(4000)
    before, low = a.positions, a.loading[0]
    a.set_fugacity(400.0)
    assert np.array_equal(np.nan_to_num(a.positions), np.nan_to_num(before))
    assert (a.samples, a.trial_moves, a.equilibration_steps, a.steps) == (0, 0, 0, 4000)
    a.equilibrate(2000)
    a.run(4000)
    assert a.equilibration_steps == 2000
    assert a.resolved_settings["fugacity"] == [400.0] and a.loading[0].value > 1.5 * low.value
    fresh = make("plj", 0, fugacity=400.0, systems=64, seed=7)
    fresh.equilibrate(4000)
    fresh.run(4000)
    (n,), (other,) = a.loading, fresh.loading
    assert agrees(n.value, n.error, other.value, other.error)
    with pytest.raises(ValueError, match="fugacity must be positive and finite, got 0"):
        a.set_fugacity(0)


def test_an_interrupted_equilibration_goes_on_bit_for_bit(tmp_path, device):
    def opened() -> Adsorption:
        return make("plj", 0, fugacity=500.0, systems=37, device=device)

    def stop(x: Adsorption) -> None:
        if x.steps > 100:
            x.save(tmp_path / "state")
            raise KeyboardInterrupt

    whole, part = opened(), opened()
    whole.equilibrate_loading(20)
    assert whole.steps > 20 + 40 + 80  # the fourth round
    with pytest.raises(KeyboardInterrupt):
        part.equilibrate_loading(20, [(7, stop)])
    again = Adsorption.load(tmp_path / "state", device=device)
    again.equilibrate_loading(20)
    for each in (whole, again):
        each.run(100)
        each.compare_loading(10)
    assert state(again) == state(whole)
    assert again.loading_from_test_molecules == whole.loading_from_test_molecules


def test_one_call_of_the_engine_compares_as_several_do(device):
    both = [
        make("plj", [0, 0], **{**MIXTURE, "fugacity": [1000.0, 2000.0]}, systems=37, device=device)
        for _ in range(2)
    ]
    one, several = (a.core for a in both)
    seconds, counts, tests, totals = one.compare([30, 0, 17], 9, True, 20)
    numbers, sums = [], []
    for steps in (30, 0, 17):
        several.run(steps, True)
        numbers.append(several.counts())
        sums += [several.insert_test_molecules(20, kind, False) for kind in range(2)]
    several.run(9, True)
    assert seconds > 0 and one.counters == several.counters
    assert (counts == np.concatenate(numbers)).all() and counts.any()
    assert (tests == np.concatenate(sums)).all() and tests.any()
    assert (totals == several.sums()).all() and totals.any()
    assert state(both[0]) == state(both[1])


@pytest.mark.parametrize("equilibrated", [True, False])
def test_a_checkpoint_without_the_spread_of_numbers_continues(equilibrated, tmp_path):
    """As earlier versions have written them."""
    a = make("plj", [0, 0], **{**MIXTURE, "fugacity": [1000.0, 2000.0]}, systems=37)
    if equilibrated:
        a.equilibrate(500)
        a.run(1000)
        a.compare_loading(100)
        assert a._known_spread()
        a.save(tmp_path / "state")
    else:

        def stop(x: Adsorption) -> None:
            x.save(tmp_path / "state")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            a.equilibrate_loading(20, [(70, stop)])
    with np.load(tmp_path / "state") as file:
        arrays = dict(file)
    header = json.loads(str(arrays.pop("header")))
    assert len(header["comparison"].pop("spread")) == 2
    checkpoint.write(tmp_path / "earlier", header.pop("kind"), header, **arrays)
    b = Adsorption.load(tmp_path / "earlier", device="cpu")
    if equilibrated:
        b.compare_loading(100)
        assert not b._known_spread() and 0 < b._share_of_mean() < 1
        b.save(tmp_path / "again")
        b = Adsorption.load(tmp_path / "again", device="cpu")
        assert b.comparisons == 2 and not b._known_spread()
    else:
        b.equilibrate_loading(20)
        b.compare_loading(100)
        assert b.first_round == 20 and b._known_spread()


def test_pooled_runs_are_compared_together():
    runs = [make("plj", 0, fugacity=500.0, systems=16, seed=seed) for seed in (1, 2)]
    for a in runs:
        a.equilibrate(1000)
        a.run(1000)
        a.compare_loading(500)
    pooled = Pooled([a.snapshot for a in runs])
    mean = np.mean([a.loading_from_test_molecules[0].value for a in runs])
    assert pooled.loading_from_test_molecules[0].value == pytest.approx(mean)
