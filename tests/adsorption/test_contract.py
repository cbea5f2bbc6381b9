"""What manymove.Adsorption promises: one trajectory for one input, checkpoints, errors."""

from __future__ import annotations

import math
import sys
import time
from functools import partial

import numpy as np
import pytest
from adsorption_model import GAS, cif, make, nearest, pair_energy, small_framework, state
from damage import change_checkpoint
from machine import on_gpu, runnable_simd_levels

from manymove import Adsorption, _core
from manymove.adsorption import METHODS
from manymove.adsorption.adsorbates import Adsorbate
from manymove.adsorption.averages import Pooled
from manymove.adsorption.frameworks import Framework, read_framework

MULTIPLE = ("mup", "mdp", "mdp-dj")
BIG = Adsorbate("big", 100.0, 5.0, {"O": (100.0, 5.5), "Si": None})


def ran(method: str, steps: int = 60, **settings) -> Adsorption:
    a = make(method, 3, systems=37, profile="y", **settings)
    a.equilibrate(20)
    a.run(steps)
    return a


# ---- one trajectory ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_threads_and_pieces_leave_no_trace(method):
    whole = ran(method, threads=1)
    pieces = make(method, 3, systems=37, profile="y", threads=2)
    pieces.equilibrate(20)
    for steps in (1, 29, 0, 30):
        pieces.run(steps)
    assert state(pieces) == state(whole)


def test_a_host_program_may_leave_out_settings_of_open_systems():
    """The updaters of HOOMD-blue do."""
    whole = make("mdp", 3, systems=2)
    parameters, *where = whole._where()
    left_out = {"shifted", "trial_positions", "trial_orientations"}
    left_out |= {"reinsertion", "identity_change", "regrowth"}
    assert left_out <= {*parameters}
    few = {name: value for name, value in parameters.items() if name not in left_out}
    engine = _core.Adsorption.create(few, *where, interrupted=None)
    assert (engine.energies() == whole._engine.energies()).all()


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("method", ["metropolis", "pmc", "plj", "mdp-dj"])
def test_simd_levels_give_the_same_bits(method, precision, monkeypatch):
    states = set()
    for level in runnable_simd_levels():
        monkeypatch.setenv("MANYMOVE_SIMD", level)
        states.add(state(ran(method, precision=precision)))
    assert len(states) == 1


@on_gpu
@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("method", [m for m in METHODS if m != "metropolis"])
def test_gpu_gives_the_same_bits_as_the_cpu(method, precision, interpolation):
    settings = dict(precision=precision, interpolation=interpolation, steps=5000)
    if method in MULTIPLE:
        settings["proposals"] = 128
    assert state(ran(method, device="cuda", **settings)) == state(ran(method, **settings))


@on_gpu
@pytest.mark.parametrize("proposals", [32, 64, 256, 512])
def test_gpu_gives_the_same_bits_with_each_number_of_proposals(proposals):
    settings = dict(proposals=proposals, steps=300)
    assert state(ran("mdp", device="cuda", **settings)) == state(ran("mdp", **settings))


@on_gpu
@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_gpu_gives_the_same_bits_with_more_molecules_than_fit_into_shared_memory(precision):
    runs = [
        make("pmc", 200, cells=(4, 4, 4), systems=37, precision=precision, device=where)
        for where in ("cpu", "cuda")
    ]
    for a in runs:
        a.run(4200)
    assert state(runs[0]) == state(runs[1])


@on_gpu
def test_open_systems_and_test_molecules_are_the_same_on_the_gpu():
    runs = []
    for where in ("cpu", "cuda"):
        a = make("plj", [2, 1], adsorbates=[GAS, Adsorbate("Kr", 160.0, 3.3, GAS.framework)],
                 fugacity=[2.0, 0.5], capacity=[30, 30], systems=37, device=where)  # fmt: skip
        a.run(6000)
        runs.append((state(a), a.insert_test_molecules(100, 1), a.henry(100)))
    assert runs[0] == runs[1]


def test_metropolis_pmc_and_plj_make_the_same_moves():
    """They differ in the order of sums only, which no decision of this run depends on."""
    a, b, c = (ran(method, precision="double") for method in ("metropolis", "pmc", "plj"))
    assert a.state_hash == b.state_hash == c.state_hash
    assert np.allclose(a.energies, c.energies, rtol=1e-10)


def test_seeds_differ_and_systems_differ():
    a, b = make(seed=1), make(seed=2)
    assert a.state_hash != b.state_hash
    assert len({tuple(p) for p in a.positions.reshape(-1, 3)}) == a.systems


@pytest.mark.parametrize("method", METHODS)
def test_checkpoint_goes_on_bit_for_bit(method, tmp_path):
    a = ran(method)
    a.save(tmp_path / "state")
    a.run(50)
    b = Adsorption.load(tmp_path / "state", device="cpu")
    b.run(50)
    assert state(b) == state(a)
    assert b.energy_average == a.energy_average
    assert (b.method, b.box, b.framework.name) == (a.method, a.box, "small")


def test_checkpoint_of_an_open_system_goes_on(tmp_path):
    a = make("plj", 0, fugacity=3.0, capacity=30)
    a.run(500)
    a.save(tmp_path / "state")
    b = Adsorption.load(tmp_path / "state", device="cpu")
    for x in (a, b):
        x.run(500)
    assert state(b) == state(a)


# ---- what there is -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_energies_are_those_of_the_positions(method):
    a = ran(method, steps=4200)  # past the sum from scratch at step 4096
    (places,) = a._places()
    places = places.reshape(a.systems, 3, 3)
    energy = a.core.framework_energies(places.reshape(-1, 3), 0, False).reshape(-1, 3).sum(1)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        energy = energy + pair_energy(nearest(places[:, i] - places[:, j], a.box))
    assert np.allclose(a.energies, energy, atol=0.02)
    assert 0 < a.energy_drift() < 0.05


def test_the_drift_is_that_since_the_averages_were_reset():
    a = ran("plj", steps=0)
    a.equilibrate(4200)
    assert a.energy_drift() > 0
    a.reset_averages()
    assert a.energy_drift() == 0


def test_positions_start_where_they_are_put():
    places = make(molecules=3, systems=5).positions
    a = make(molecules=3, systems=5, positions=places, seed=99)
    assert np.allclose(a.positions, places, atol=1e-7)
    assert np.allclose(a.energies, make(molecules=3, systems=5).energies)


def test_counters_add_up():
    a = make("mdp", systems=10, proposals=64)
    a.equilibrate(30)
    a.run(70)
    assert (a.steps, a.samples, a.trial_states) == (100, 70, 100 * 10 * 63)
    assert a.acceptance_counts[1] == 1000
    assert 0 < a.acceptance < 1
    assert a.seconds > 0


def test_equilibration_adapts_the_displacement_unless_it_is_given():
    a, b = make("plj", 2), make("plj", 2, max_displacement=0.3)
    for x in (a, b):
        x.equilibrate(4000)
    assert b.max_displacement == 0.3
    before = a.acceptance_counts
    a.run(2000)
    accepted, moves = np.subtract(a.acceptance_counts, before)
    assert accepted / moves == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("stop", [512, 600])
def test_an_equilibration_that_is_stopped_adapts_as_one_that_is_not(stop, tmp_path):
    whole = make("plj", 2)
    whole.equilibrate(1024, [(stop, lambda a: a.steps == stop and a.save(tmp_path / "state"))])
    rest = Adsorption.load(tmp_path / "state", device="cpu")
    assert rest.steps == stop
    rest.equilibrate(1024 - stop)
    assert rest.max_displacement == whole.max_displacement != make("plj", 2).max_displacement
    assert rest.state_hash == whole.state_hash


def test_callback_is_called_and_may_stop():
    seen = []
    a = make()
    a.run(50, [(20, lambda x: seen.append(x.steps))])
    assert seen == [20, 40]

    def stop(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        a.run(10**9, callbacks=[(1, stop)])
    a.run(1)


def test_profile_along_an_axis_and_a_diagonal():
    a = make("mdp", profile=(1, 1, 0), bins=7)
    a.run(50)
    assert a.profile.probability.sum() == pytest.approx(1)
    assert a.profile.position[-1] == pytest.approx(13 / 14)
    b = make("mdp", profile="x", bins=5)
    b.run(50)
    assert b.profile.position == pytest.approx((np.arange(5) + 0.5) * 8.5 / 5)


def test_starts_are_off_the_hills_and_trapped_molecules_are_counted():
    a = make(molecules=6, barrier=500.0)
    assert a.on_hills() == 0
    (places,) = a._places()
    assert (a.core.framework_energies(places[:, 0], 0, False) < 500).all()


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(method="mcmc"), 'method must be "metropolis", .* or "mdp-dj", got \'mcmc\''),
        (dict(method="plj", proposals=64), "proposals has no effect"),
        (dict(proposals=48), "power of two from 32 to 512, got 48"),
        (dict(interpolation="quintic"), '"linear" or "cubic"'),
        (dict(precision="half"), '"mixed" or "double"'),
        (dict(temperature=0.0), "temperature must be positive"),
        (dict(cutoff=-1.0), "cutoff must be positive"),
        (dict(cutoff=400.0), "cutoff of 400 angstrom reaches about [0-9]+ atoms of the framework"),
        (dict(cells=(1, 1, 0)), "cells must be from 1"),
        (dict(cells=(1, 1)), "cells must be three integers, got \\(1, 1\\)"),
        (dict(cells=3), "cells must be three integers, got 3"),
        (dict(cutoff=4.5), None),
        (dict(cutoff=4.5, cells=(1, 1, 1)), "less than twice the cutoff"),
        (dict(molecules=0), "molecules must be positive"),
        (dict(molecules=-1), "molecules must be positive"),
        (dict(molecules=20000), "too many"),
        (dict(molecules=[1, 2]), "one number for each of 1 adsorbates"),
        (dict(systems=0), "systems must be positive"),
        (dict(seed=-1), "seed must be in"),
        (dict(grid_spacing=0.0), "grid_spacing must be positive"),
        (dict(grid_spacing=3.0), None),
        (dict(grid_spacing=0.004), "more than 2\\^31 points"),
        (dict(max_displacement=5.0), "below half the box"),
        (dict(max_displacement=-1.0), "max_displacement must be positive"),
        (dict(barrier=-5.0), "barrier must be positive"),
        (dict(barrier=10.0, adsorbates=BIG), "no channel"),
        (dict(profile="w"), 'profile must be "x"'),
        (dict(profile=(0, 0, 0)), "must not be \\(0, 0, 0\\)"),
        (dict(profile="z", bins=5000), "bins must be from 1 to 1024"),
        (dict(profile="z", bins=0), "bins must be from 1 to 1024, got 0"),
        (dict(fugacity=1.0), "methods metropolis and plj"),
        (dict(fugacity=-1.0, method="plj"), "fugacity must be positive"),
        (dict(fugacity=1.0, method="plj", exchange=1.0), "exchange must lie"),
        (dict(capacity=10), "open systems"),
        (dict(positions=np.zeros((3, 1, 3))), "positions must have shape"),
        (dict(positions=np.full((64, 1, 3), np.nan)), "not finite"),
        (dict(device="tpu"), 'unknown device "tpu"'),
        (dict(adsorbates=Adsorbate("He", 10.0, 2.6, {"O": None})), "no parameters for Si"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_a_reason(settings, message):
    if message is None:  # the good neighbors of bad input
        make(**settings)
        return
    with pytest.raises(ValueError, match=message):
        make(**settings)


def test_molecule_on_a_hill_is_refused_by_name():
    places = np.full((64, 1, 3), 4.0)
    places[7] = np.array([0.1, 0.2, 0.3]) * (8.5, 9.0, 10.0)
    with pytest.raises(ValueError, match=r"molecule 0 of system 7 is on a hill"):
        make(positions=places)


def test_molecules_are_counted_in_the_order_of_the_positions():
    """The room of an open system for further molecules is not counted."""
    helium = Adsorbate("He", 10.0, 2.6, {"O": (40.0, 2.8), "Si": None})
    places = np.full((64, 2, 3), 4.0)
    places[:, 1] = np.array([0.1, 0.2, 0.3]) * (8.5, 9.0, 10.0)
    mixture = dict(adsorbates=(GAS, helium), fugacity=(1.0, 1.0), capacity=(5, 5))
    with pytest.raises(ValueError, match=r"molecule 1 of system 0 is on a hill"):
        make("plj", (1, 1), positions=places, **mixture)


def test_too_many_molecules_find_no_place(device):
    """Nor are they looked for in one system after the other: 512 take a second or less, not 30."""
    for systems in (1, 512):
        began = time.process_time()
        with pytest.raises(RuntimeError, match="too many molecules: not all of 60 find a place"):
            make(molecules=60, systems=systems, device=device)
        assert time.process_time() - began < 5


def test_empty_systems_have_no_grid_error():
    a = make("plj", 0, fugacity=1e-9, capacity=3)
    a.run(10)
    assert a.grid_error() == pytest.approx((math.nan, math.nan), nan_ok=True)
    assert a.on_hills() == 0 and a.loading[0].value == 0


@pytest.mark.parametrize("method", ["pmc", "mdp-dj"])
def test_a_snapshot_has_the_averages_of_its_run(method):
    """Of that moment; with another one, the mean over all systems."""
    one, other = (make(method, 3, systems=4, seed=seed) for seed in (1, 2))
    for each in (one, other):
        each.run(20)
    energy, snapshot = one.energy_average, one.snapshot
    plain, recycled = one.mean_energies()
    assert plain == pytest.approx(one.energy_plain.value, rel=1e-12)
    if method == "pmc":
        assert np.isnan(recycled)
    else:
        assert recycled == pytest.approx(one.energy_waste_recycled.value, rel=1e-12)
    one.run(20)
    assert Pooled([snapshot]).energy_average == energy != one.energy_average
    both = Pooled([snapshot, other.snapshot])
    mean = 0.5 * (plain + other.mean_energies()[0])
    assert both.energy_plain.value == pytest.approx(mean, rel=1e-12)


def test_results_before_there_are_any():
    a = make("plj")
    for name in ("energy_average", "energy_plain", "energy_waste_recycled"):
        with pytest.raises(RuntimeError, match="nothing measured"):
            getattr(a, name)
    a.run(1)
    with pytest.raises(RuntimeError, match="no waste"):
        _ = a.energy_waste_recycled
    with pytest.raises(RuntimeError, match="mdp-dj"):
        _ = a.b_star
    with pytest.raises(RuntimeError, match="no profile"):
        _ = a.profile
    with pytest.raises(RuntimeError, match="open system"):
        _ = a.heat_of_adsorption
    with pytest.raises(ValueError, match="no species 3"):
        a.henry(10, species=3)
    for method in (a.site_positions, a.sites_of, partial(a.freud_system, 0)):
        with pytest.raises(ValueError, match="species must be from 0 to 0, got -1"):
            method(species=-1)
    with pytest.raises(ValueError, match=r"system must be from 0 to [0-9]+, got -1"):
        a.freud_system(-1)
    with pytest.raises(TypeError, match=r"cells must be an integer, got 1\.5"):
        make("plj", cells=(2, 2, 1.5))
    with pytest.raises(TypeError, match="steps must be an integer"):
        a.run(1.5)
    with pytest.raises(ValueError, match="must not be negative"):
        a.equilibrate(-1)
    assert math.isnan(a.exchange_acceptance)


def test_reference_is_for_the_cpu_only():
    with pytest.raises(ValueError, match=r"no CUDA|reference on a CPU|does not exist"):
        make("metropolis", device="cuda:0")


def test_damaged_checkpoints_are_refused(tmp_path):
    path = tmp_path / "state"
    make(systems=3).save(tmp_path / "whole")
    for edit in (
        lambda arrays, header: arrays.update(sites=arrays["sites"][:-3]),
        lambda arrays, header: arrays.update(counts=arrays["counts"] + 9),
        lambda arrays, header: header.update(format=99),
    ):
        change_checkpoint(tmp_path / "whole", edit, path)
        with pytest.raises(ValueError, match="checkpoint"):
            Adsorption.load(path, device="cpu")
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="no checkpoint of adsorption"):
        Adsorption.load(path)
    with pytest.raises(FileNotFoundError):
        Adsorption.load(tmp_path / "missing")


# ---- frameworks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "formula", "cell"),
    [("MFI", "O192 Si96", (20.022, 19.899, 13.383)), ("LTA", "O384 Si192", (24.555,) * 3)],
)
def test_shipped_frameworks_are_complete(name, formula, cell):
    f = read_framework(name)
    assert (f.formula, f.cell) == (formula, cell)
    si = f.fractional[[e == "Si" for e in f.elements]]
    o = f.fractional[[e == "O" for e in f.elements]]
    bonds = np.sqrt(nearest((si[:, None] - o[None]) * np.array(cell), cell)) < 1.8
    assert (bonds.sum(axis=1) == 4).all() and (bonds.sum(axis=0) == 2).all()


@pytest.mark.parametrize(
    ("c", "beta", "atoms", "message"),
    [
        (9, 90, "O1 O 0 0 0 0.5", "site O1 is occupied by 0.5"),
        (9, 90, "O1 O 0 0 0 1\nO2 O 0.99 0.01 0 1", "overlap"),
        (9, 90, "Q1 Qq 0 0 0 1", "is not known"),
        (9, 90, "", "has no atoms|no CIF file"),
    ],
)
def test_bad_cif_files_are_refused(c, beta, atoms, message, tmp_path):
    path = tmp_path / "test.cif"
    path.write_text(cif(atoms, (9, 9, c), (90, beta, 90)))
    with pytest.raises(ValueError, match=message):
        read_framework(path)


def test_files_that_are_no_cif(tmp_path):
    path = tmp_path / "test.cif"
    path.write_text("hello\n")
    with pytest.raises(ValueError, match="no CIF file"):
        read_framework(path)
    with pytest.raises(FileNotFoundError, match="MFI, LTA, the path of a CIF file, or FILE"):
        read_framework("XYZ")


def test_cif_file_gives_the_same_framework(tmp_path):
    path = tmp_path / "test.cif"
    path.write_text(cif("O1 O 0.25 0.5 0.75 1\nSi1 Si 0 0 0 1", (9, 9, 10)))
    f = read_framework(path)
    assert f.elements == ("O", "Si") and f.cell == (9.0, 9.0, 10.0)
    assert f.mass == pytest.approx(15.999 + 28.0855, abs=1e-3)
    assert f.cells_for(12.0) == (3, 3, 3)


@pytest.mark.parametrize(
    ("edges_and_angles", "copies", "cell"),
    [
        ((9.0, 9.0, 7.0, 90, 90, 120), 2, (7.0, 9.0, 9.0 * 3**0.5)),  # hexagonal
        ((9.0, 9.0, 9.0, 60, 60, 60), 2, (9.0, 9.0, 9.0 * 2**0.5)),  # primitive face-centered
        ((4.0, 5.0, 7.0, 90, 90, math.degrees(math.acos(0.8))), 1, (3.0, 4.0, 7.0)),
    ],
)
def test_crystals_get_a_cell_with_right_angles(edges_and_angles, copies, cell, tmp_path):
    """All atoms within 10 angstrom of an oxygen are as far from it as in the skewed cell."""
    path = tmp_path / "test.cif"
    atoms = "O1 O 0.1 0.2 0.3 1\nSi1 Si 0.65 0.55 0.9 1"
    path.write_text(cif(atoms, edges_and_angles[:3], edges_and_angles[3:]))
    f = read_framework(path)
    assert f.elements == ("O",) * copies + ("Si",) * copies
    assert sorted(f.cell) == pytest.approx(cell, rel=1e-5)
    assert f.mass == pytest.approx(copies * (15.999 + 28.0855), abs=1e-3)
    a, b, c, *angles = edges_and_angles
    alpha, beta, gamma = np.radians(angles)
    y = (math.cos(alpha) - math.cos(beta) * math.cos(gamma)) / math.sin(gamma)
    skewed = np.array([
        [a, 0, 0], [b * math.cos(gamma), b * math.sin(gamma), 0],
        [c * math.cos(beta), c * y, c * math.sqrt(1 - math.cos(beta) ** 2 - y**2)],
    ])  # fmt: skip

    def distances(lattice, atoms, center):
        n = np.arange(-8, 9)
        shifts = np.stack(np.meshgrid(n, n, n), axis=-1).reshape(-1, 1, 3)
        d = np.linalg.norm((atoms - center + shifts) @ lattice, axis=-1).ravel()
        return np.sort(d[d < 10])

    there = distances(skewed, np.array([[0.1, 0.2, 0.3], [0.65, 0.55, 0.9]]), [0.1, 0.2, 0.3])
    for center in f.fractional[:copies]:
        here = distances(np.diag(f.cell), f.fractional, center)
        assert here == pytest.approx(there, abs=2e-3)


def test_missing_gemmi_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "gemmi", None)
    with pytest.raises(ImportError, match=r"a CIF file needs gemmi: pip install gemmi$"):
        read_framework("MFI")


def test_framework_without_atoms_is_refused():
    f = small_framework()
    with pytest.raises(ValueError, match="no atoms"):
        Framework("void", f.cell, f.fractional[:0], (), 0.0)
