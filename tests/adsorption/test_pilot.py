# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of trials that a pilot run chooses. Comparisons of numbers with errors are at five joint
standard errors (see `agrees`), and seeds are fixed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from adsorption_model import agrees, state
from commands import summary_of
from dipoles import DIPOLE, dipoles_in_small
from machine import on_gpu, runnable_simd_levels
from screenings import results, screened, two_frameworks

from manymove import Adsorption, Steps, cli
from manymove.adsorption import Molecule, Site
from manymove.adsorption.averages import Comparison
from manymove.adsorption.input import arguments_of
from manymove.adsorption.pilot import candidates
from manymove.analysis.notation import Estimate


def opened(molecules=0, **settings) -> Adsorption:
    settings = {
        "systems": 128,
        "fugacity": 200.0,
        "method": "plj",
        "trial_positions": "auto",
        **settings,
    }
    return dipoles_in_small(molecules, **settings)


def same(one: Estimate, other: Estimate) -> bool:
    return agrees(one.value, one.error, other.value, other.error)


def numbers(a: Adsorption) -> tuple[int, int]:
    held = a.resolved_settings
    return held["trial_positions"], held["trial_orientations"]


def test_the_candidate_with_most_accepted_exchanges_per_operation_is_chosen():
    a = opened()
    assert a.pilot is None and a.chosen_by_pilot == ["trial_positions"]
    a.equilibrate_loading(400)
    rows = a.pilot["rows"]
    assert [row["trial_positions"] for row in rows] == [1, 4, 16, 64, 255]
    for row in rows:
        assert row["trial_orientations"] == 1 and 0 < row["accepted"] < row["exchanges"]
        share = row["accepted"] / row["exchanges"]
        assert row["merit"] == pytest.approx(share / row["operations"])
    shares = [row["accepted"] / row["exchanges"] for row in rows]
    assert shares == sorted(shares)
    merits = [row["merit"] for row in rows]
    assert a.pilot["chosen"] == merits.index(max(merits))
    assert numbers(a) == (rows[a.pilot["chosen"]]["trial_positions"], 1)


def test_the_pilot_run_is_not_in_the_averages(tmp_path):
    a = opened()
    a.equilibrate_loading(400)
    assert a.samples == 0 and not a._sums().any()
    a.save(tmp_path / "held")
    # Other numbers of trials in the pilot run, and the same ones afterwards.
    b = Adsorption.load(tmp_path / "held", device="cpu")
    b._use_trials(255, 1)
    b._use_trials(*numbers(a))
    for one in (a, b):
        one.run(50)
    assert state(a) == state(b)
    assert np.array_equal(a._sums(), b._sums())


@pytest.mark.parametrize("positions", [1, 255])
def test_averages_do_not_depend_on_the_choice(positions):
    """The rate of false alarms is 6e-7 for each comparison."""
    a, b = opened(), opened(trial_positions=positions, seed=2)
    for one in (a, b):
        one.equilibrate_loading(400)
        one.run(1000)
    assert same(a.loading[0], b.loading[0])
    assert same(a.energy_average, b.energy_average)
    assert same(a.loading_optimal[0], b.loading_optimal[0])


def test_the_variance_follows_the_accepted_share():
    """The variance of the mean number of molecules times the accepted share, by which candidates
    are compared, is equal within a factor of 1.8 for accepted shares that differ by a factor of
    five. Variances of 256 systems have an error of 9 %; the rate of false alarms is below 1e-5."""
    products, shares = [], []
    for positions in (1, 16):
        a = opened(trial_positions=positions, systems=256, fugacity=4000.0)
        a.equilibrate(1500)
        a.run(1500)
        shares.append(a.exchange_acceptance)
        products.append(a.loading[0].error ** 2 * shares[-1])
    assert shares[1] > 5 * shares[0]
    assert max(products) < 1.8 * min(products)


@pytest.mark.parametrize("method", ["metropolis", "plj"])
def test_the_choice_is_reproducible(method, monkeypatch):
    found = []
    for level, threads in [*((level, 1) for level in runnable_simd_levels()), (None, 2)]:
        if level:
            monkeypatch.setenv("MANYMOVE_SIMD", level)
        a = opened(method=method, threads=threads, systems=32)
        a.equilibrate_loading(200)
        found.append((state(a), json.dumps(a.pilot)))
    assert len(set(found)) == 1


@on_gpu
def test_a_gpu_chooses_as_a_cpu():
    found = []
    for device in ("cpu", "cuda"):
        a = opened(device=device)
        a.equilibrate_loading(400)
        a.run(100)
        found.append((state(a), json.dumps(a.pilot)))
    assert found[0] == found[1]


def refuse_above(monkeypatch, most):
    """Let each device have memory for at most this number of trial positions."""
    use = Adsorption._use_trials

    def limited(a, positions, orientations):
        if positions > most:
            raise ValueError(f"{positions} trial positions are too many")
        use(a, positions, orientations)

    monkeypatch.setattr(Adsorption, "_use_trials", limited)


def test_a_candidate_without_enough_memory_is_skipped(monkeypatch, tmp_path):
    refuse_above(monkeypatch, 16)
    a = opened()
    a.equilibrate_loading(400)
    rows = a.pilot["rows"]
    assert [row.get("refused") for row in rows] == [
        None, None, None, "64 trial positions are too many", "255 trial positions are too many"
    ]  # fmt: skip
    assert all(row["accepted"] > 0 for row in rows[:3])
    assert all(row["exchanges"] == row["merit"] == 0 for row in rows[3:])
    assert a.pilot["chosen"] < 3 and numbers(a) == (rows[a.pilot["chosen"]]["trial_positions"], 1)
    # The refusal is also known after an interruption in the piece of the candidate.
    b = opened()

    def interrupt(b):
        if b.steps == 271:  # in the fourth piece of the pilot run, that of 64 positions
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        b.equilibrate_loading(400, [(1, interrupt)])
    b.save(tmp_path / "held")
    c = Adsorption.load(tmp_path / "held", device="cpu")
    c.equilibrate_loading(400)
    assert c.pilot == a.pilot and state(c) == state(a)


def test_the_next_best_candidate_is_used_if_memory_has_become_too_small(monkeypatch):
    choose = Adsorption._choose_trials

    def late(a):
        refuse_above(monkeypatch, 4)
        choose(a)

    monkeypatch.setattr(Adsorption, "_choose_trials", late)
    a = opened()
    a.equilibrate_loading(400)
    refused = [row.get("refused") for row in a.pilot["rows"]]
    assert "16 trial positions are too many" in refused  # the best one
    assert numbers(a) in ((1, 1), (4, 1))
    assert numbers(a)[0] == a.pilot["rows"][a.pilot["chosen"]]["trial_positions"]


def test_the_reason_is_given_if_all_candidates_are_refused(monkeypatch):
    refuse_above(monkeypatch, 0)
    with pytest.raises(ValueError, match="1 trial positions are too many"):
        opened().equilibrate_loading(400)


def largest_capacity(positions: int) -> int:
    """Number of molecules, within 8, for which the shared memory of a GPU has room beside this
    number of trial positions."""
    fits, too_many = 100, 10_000
    while too_many - fits > 8:
        between = (fits + too_many) // 2
        try:
            opened(capacity=between, device="cuda", systems=2, trial_positions=positions)
            fits = between
        except ValueError:
            too_many = between
    return fits


@on_gpu
def test_more_trials_must_also_fit_after_the_systems_have_grown():
    fits = largest_capacity(255)
    for capacity, is_refused in ((fits, True), (fits // 2, False)):
        a = opened(capacity=capacity, device="cuda", systems=2, trial_positions=1)
        if is_refused:
            with pytest.raises(ValueError, match="too many for this GPU's shared memory"):
                a._engine.set_trials(255, 1)
            assert list(a.capacity) == [capacity]
        else:
            a._engine.set_trials(255, 1)
        a.run(10)


@on_gpu
def test_a_candidate_beyond_the_shared_memory_of_a_gpu_is_skipped():
    """The systems have room for as many molecules as fit into the shared memory of a block without
    trials, which leaves none for 255 of them."""
    a = opened(capacity=largest_capacity(1), device="cuda")
    a.equilibrate_loading(400)
    assert "too many for this GPU's shared memory" in a.pilot["rows"][-1]["refused"]
    assert "refused" not in a.pilot["rows"][0]
    assert "refused" not in a.pilot["rows"][a.pilot["chosen"]]


def test_an_interrupted_pilot_run_continues(tmp_path):
    """The interruptions are before, within and at the end of pieces of the pilot run."""
    whole = opened(systems=32)
    whole.equilibrate_loading(330)
    for stop in (100, 212, 213, 250, 327, 329):

        def interrupt(a, at=stop):
            if a.steps == at:
                raise KeyboardInterrupt

        a = opened(systems=32)
        with pytest.raises(KeyboardInterrupt):
            a.equilibrate_loading(330, [(1, interrupt)])
        a.save(tmp_path / "held")
        b = Adsorption.load(tmp_path / "held", device="cpu")
        b.equilibrate_loading(330)
        assert state(b) == state(whole)
        assert b.pilot == whole.pilot


def test_an_undecided_equilibration_ends_at_a_constant_loading(monkeypatch):
    monkeypatch.setattr(Adsorption, "loading_agrees", lambda *_: None)
    monkeypatch.setattr(Adsorption, "_known_spread", lambda _: False)
    a, b = opened(systems=64), opened(systems=64, trial_positions=16)
    assert [one.equilibrate_loading(50) for one in (a, b)] == [None, None]
    assert b.steps == 63 * 50
    assert 3 * 50 <= a.steps < b.steps
    (before, error_before), (now, error) = a.pilot["before"][0], a.pilot["loading"][0]
    assert abs(now - before) <= 2 * np.hypot(error, error_before)
    assert error <= 0.03 * now
    monkeypatch.setattr(Adsorption, "loading_agrees", lambda *_: False)
    c = opened(systems=64)
    assert c.equilibrate_loading(20) is False
    assert c.steps == 63 * 20


def test_an_undecided_equilibration_ends_when_little_is_left_of_its_start(monkeypatch):
    monkeypatch.setattr(Adsorption, "loading_agrees", lambda *_: None)
    short, long = (opened(systems=64, trial_positions=16) for _ in range(2))
    assert short.equilibrate_loading(2) is None
    assert long.equilibrate_loading(100) is None
    assert 30 <= short.steps <= 126 and long.steps == 300


def test_numbers_that_never_change_have_no_correlation_time():
    a, random = opened(systems=64, trial_positions=16), np.random.default_rng(1)
    sums = np.full((2, 1, 64), 500.0)
    a._comparison = Comparison(sums, np.full(1, 100.0), moments=100, first=2, round=4, began=30)
    assert not a._is_settled()
    sums += random.normal(size=sums.shape)  # hundred times less than one independent state
    assert a._is_settled()


def test_rare_molecules_need_no_more_rounds():
    """The loading of a round of 100 comparisons has an error above 3 %, even if the states are
    independent. Two rounds agree with a probability of 95 %, so that fewer than one run in 1,000
    needs five rounds or more."""
    a = opened(systems=64, fugacity=1.0)
    assert a.equilibrate_loading(100) is None
    ((value, error),) = a.pilot["loading"]
    assert error > 0.03 * value
    assert a.steps <= 31 * 100


def test_each_fugacity_has_a_choice_of_its_own():
    a = opened()
    a.equilibrate_loading(200)
    first = a.pilot
    a.set_fugacity(20.0)
    assert a.pilot is None and first["rows"]
    a.equilibrate_loading(200)
    assert a.pilot["rows"] != first["rows"]


@pytest.mark.parametrize(
    ("positions", "orientations", "species", "wanted"),
    [
        ("auto", 1, [DIPOLE], [(1, 1), (4, 1), (16, 1), (64, 1), (255, 1)]),
        ("auto", 10, [DIPOLE], [(1, 10), (4, 10), (16, 10), (64, 10)]),
        (32, "auto", [DIPOLE], [(32, 1), (32, 4)]),
        (3, 2, [DIPOLE], [(3, 2)]),
        ("auto", "auto", [Molecule("M", (Site("M", (0, 0, 0), 80.0, 2.6),))],
         [(1, 1), (4, 1), (16, 1), (64, 1), (255, 1)]),
    ],
)  # fmt: skip
def test_candidates(positions, orientations, species, wanted):
    assert candidates(positions, orientations, species) == wanted


def test_chains_have_candidates_of_both_numbers():
    a = Adsorption(
        **arguments_of(
            dict(
                framework="MFI", molecules=0, adsorbates="propane", force_field="TraPPE-zeo",
                fugacity=1.0, systems=16, seed=1, device="cpu", method="plj", grid_spacing=0.5,
                trial_positions="auto", trial_orientations="auto", temperature=300.0,
            )
        )
    )  # fmt: skip
    a.equilibrate_loading(100)
    pairs = [(row["trial_positions"], row["trial_orientations"]) for row in a.pilot["rows"]]
    assert len(pairs) == 9 and numbers(a) == pairs[a.pilot["chosen"]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(fugacity=None, molecules=2), '"auto" needs a fugacity'),
        (dict(trial_positions="most"), 'must be an integer or "auto"'),
        (dict(trial_orientations=0), "must be from 1 to 1024, got 0"),
        (dict(method="mdp"), "needs one of the methods metropolis and plj"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        opened(**settings)


def test_the_numbers_can_be_changed_between_steps_and_others_are_refused():
    a = opened(trial_positions=4)
    a.run(20)
    with pytest.raises(ValueError, match="must be at most 1024, got 1024 and 2"):
        a._engine.set_trials(1024, 2)
    b = opened(trial_positions=4)
    b.run(20)
    for one in (a, b):
        one.run(20)
    assert state(a) == state(b)
    simple = Adsorption("LTA", 4, systems=2, seed=1, device="cpu", method=Steps("plj"))
    with pytest.raises(ValueError, match="for molecules of a force field"):
        simple._engine.set_trials(4, 1)


def test_the_command_records_the_choice_and_resumes(tmp_path):
    words = [
        "adsorption", "--framework", "LTA", "--adsorbates", "CO2", "--force-field", "TraPPE-zeo",
        "--isotherm", "0.5,5", "--systems", "16", "--trial-positions", "auto", "--equilibrate",
        "50", "--grid-spacing", "0.5", "--device", "cpu", "--quiet", "--output",
    ]  # fmt: skip
    assert cli.run([*words, str(tmp_path / "a"), "--steps", "200"]) == 0
    assert cli.run([*words, str(tmp_path / "b"), "--steps", "100"]) == 0
    assert cli.run(["adsorption", "--resume", "--steps", "200", "--quiet", "--output",
                    str(tmp_path / "b")]) == 0  # fmt: skip
    a, b = (summary_of(tmp_path / name)["runs"] for name in "ab")
    for one in (*a, *b):
        (pilot,) = one["pilots"]
        assert pilot["rows"][pilot["chosen"]]["trial_positions"] == one["trial_positions"]
    assert a[0]["pilots"] == b[0]["pilots"] != a[1]["pilots"]
    assert a[0]["loading_molecules"] == b[0]["loading_molecules"]


def test_a_resumed_run_must_have_the_same_numbers(tmp_path, capsys):
    words = [
        "adsorption", "--framework", "LTA", "--adsorbates", "CO2", "--force-field", "TraPPE-zeo",
        "--isotherm", "5", "--systems", "8", "--trial-positions", "auto", "--equilibrate", "50",
        "--steps", "100", "--grid-spacing", "0.5", "--device", "cpu", "--quiet", "--output",
        str(tmp_path),
    ]  # fmt: skip
    assert cli.run(words) == 0
    assert cli.run(["adsorption", "--resume", "--trial-positions", "8", "--output",
                    str(tmp_path)]) == 2  # fmt: skip
    assert "--trial-positions auto, not 8" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:.*too few bonded neighbors:UserWarning")
def test_a_screening_chooses_for_each_structure_and_pressure(tmp_path):
    cifs = two_frameworks(tmp_path / "cifs")
    words = ("--trial-positions", "auto", "--equilibrate", "100")
    assert screened(cifs, tmp_path / "screen", *words) == 0
    for name in ("narrow", "wide"):
        found = results(tmp_path / "screen", name)
        chosen = [point["pilots"][0] for point in found["points"]]
        assert all(one["rows"] for one in chosen)
        assert chosen[0] != chosen[1]
