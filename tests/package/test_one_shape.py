"""One script for all classes: only the function that makes the object differs."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from lammps_host import needs_lammps

import manymove
from manymove import (
    Adsorption,
    Brush,
    ConstantPressure,
    Displacements,
    DPDFluid,
    Electrolyte,
    EnergyGrid,
    Ewald,
    Forces,
    Grid,
    HardDisks,
    HardSpheres,
    Interactions,
    Ions,
    Mixture,
    Molecules,
    Salt,
    Sphere,
    Start,
    Steps,
    Supercell,
    Swaps,
)
from manymove.io import read_log

pytest.importorskip("pandas")

HERE = {"seed": 3, "device": "cpu"}


def disks() -> HardDisks:
    one = HardDisks.random(300, 0.6, **HERE)
    one.sample_pressure(every=10, record=300)
    return one


def spheres_at_constant_pressure() -> HardSpheres:
    one = HardSpheres.random(300, 0.3, pressure=3.0, **HERE)
    one.sample_volume(300)
    return one


def ions() -> Electrolyte:
    one = Electrolyte.random(Salt.of(60, (1, -1), (4.0, 4.0)), box=(60.0,) * 3, **HERE)
    one.sample_pair_correlations(every=7)
    one.sample_structure_factors(every=11)
    return one


def gas() -> Adsorption:
    coarse = Interactions(grid=EnergyGrid(spacing=0.8))
    settings = {"method": "plj", "systems": 4, "interactions": coarse}
    return Adsorption("LTA", 0, fugacity=50.0, **settings, **HERE)


def fluid() -> DPDFluid:
    return DPDFluid.random(375, 3.0, **HERE)


MAKE = [disks, spheres_at_constant_pressure, ions, gas, pytest.param(fluid, marks=needs_lammps)]
NAMES = (
    "pressure_records", "pair_histogram", "volume_records", "energies", "energy_records",
    "energy_average", "pressure_average", "packing_fraction_average", "records", "loading",
)  # fmt: skip


def averages(one) -> dict[str, str]:
    """All averages that the object has, as texts with all digits."""
    found = {}
    for name in NAMES:
        if not hasattr(type(one), name):
            continue
        try:
            value = getattr(one, name)
        except RuntimeError:  # of the other ensemble
            continue
        found[name] = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    with contextlib.suppress(RuntimeError):
        found["table"] = one.to_dataframe().to_csv()
    if isinstance(one, Electrolyte):
        found["g"] = repr(one.pair_correlations.g.tolist())
        found["S"] = repr(one.structure_factors.charge.tolist())
    return found


@pytest.mark.filterwarnings("ignore:the error of the")
@pytest.mark.parametrize("make", MAKE)
def test_continuing_is_the_same_as_not_stopping(make, tmp_path):
    x, plain, seen = make(), make(), []
    start = x.state_hash
    assert type(x)(**x.settings).state_hash == start
    x.write_gsd(tmp_path / "run.gsd", every=10)
    x.run(500, [(3, lambda s: seen.append(s.elapsed)), (7, lambda s: s.positions)])
    x.write_gsd(None)
    plain.run(500)
    assert x.state_hash == plain.state_hash and averages(x) == averages(plain)
    assert seen == list(range(3, x.elapsed + 1, 3))
    assert type(x)(**x.settings).state_hash == start
    for one in (x, plain):
        one.reset_averages()
        one.run(500)
        one.run(500, [(125, lambda s: s.save(tmp_path / "within"))] if one is x else [])
    assert x.state_hash == plain.state_hash and averages(x) == averages(plain) != {}
    x.save(tmp_path / "state")
    again = manymove.load(tmp_path / "state", device="cpu")
    assert type(again) is type(x) and averages(again) == averages(x)
    for one in (x, again):
        one.run(500)
    assert x.state_hash == again.state_hash and averages(x) == averages(again)
    scan = again.replace(seed=7)
    assert scan.seed == 7 and scan.N == again.N
    assert np.allclose(np.nan_to_num(scan.positions), np.nan_to_num(again.positions), atol=1e-4)
    assert manymove.load(tmp_path / "within", device="cpu").elapsed % 125 == 0
    frames = {k: read_log(tmp_path / "run.gsd", k) for k in range(2)}
    assert all("box" in log for log in frames.values())


@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize(
    ("callbacks", "kind", "message"),
    [
        ([(0, print)], ValueError, "every must be positive and below 2..31, got 0"),
        ([(-2, print)], ValueError, "every must be positive"),
        ([(1.5, print)], TypeError, "every must be an integer, got 1.5"),
        ([(1, 7)], TypeError, "callbacks must be a sequence of pairs .*, got 7 as a function"),
        (print, TypeError, "callbacks must be a sequence of pairs"),
    ],
)
def test_bad_callbacks_are_refused(make, callbacks, kind, message):
    one = make()
    with pytest.raises(kind, match=message):
        one.run(10, callbacks)
    assert one.elapsed == 0


@pytest.mark.parametrize("make", MAKE)
def test_an_error_of_a_callback_leaves_a_valid_state(make):
    one = make()

    def fail(s):
        raise ZeroDivisionError("at step 5")

    with pytest.raises(ZeroDivisionError, match="at step 5"):
        one.run(1000, [(5, fail)])
    assert one.elapsed == 5
    with pytest.raises(RuntimeError, match="a callback cannot run the object that calls it"):
        one.run(1000, [(1, lambda s: s.run(1))])
    with pytest.raises(TypeError, match="has no argument no_such_name"):
        one.replace(no_such_name=1)


@pytest.mark.parametrize("make", MAKE)
def test_run_until_counts_from_the_start(make):
    one, other = make(), make()
    one.run(1500)
    for n in (500, 1500, 1000):
        other.run_until(n)
    assert other.elapsed == one.elapsed and other.state_hash == one.state_hash
    start = one.elapsed
    copy = one.replace(seed=7)  # some continue the counter
    first = copy.elapsed
    assert first in (0, start)
    copy.run_until(300)
    assert copy.elapsed - first == round(300 / getattr(copy, "sweeps_per_cycle", 1))
    with pytest.raises(TypeError, match=r"must be an? (integer|number), got 'far'"):
        other.run_until("far")


@pytest.mark.parametrize("make", [disks, ions, pytest.param(fluid, marks=needs_lammps)])
def test_gsd_in_is_gsd_out(make, tmp_path):
    gsd = pytest.importorskip("gsd.hoomd")
    one = make()
    one.run(500)
    one.write_gsd(tmp_path / "a.gsd")
    again = type(one).from_gsd(tmp_path / "a.gsd", **HERE)
    again.write_gsd(tmp_path / "b.gsd")
    with gsd.open(tmp_path / "a.gsd") as file, gsd.open(tmp_path / "b.gsd") as other:
        a, b = file[0], other[0]
    assert a.configuration.step == one.elapsed
    assert (a.configuration.box == b.configuration.box).all()
    assert np.allclose(a.particles.position, b.particles.position, atol=1e-5)
    for name in ("N", "types", "typeid", "diameter", "charge", "image", "orientation"):
        assert np.array_equal(getattr(a.particles, name), getattr(b.particles, name)), name
    assert np.allclose(a.particles.velocity, b.particles.velocity, atol=1e-6)


def polydisperse() -> HardDisks:
    one = HardDisks.random(150, 0.5, diameter=np.linspace(0.9, 1.1, 150), **HERE)
    return HardDisks(
        one.positions, one.box, one.diameters, pressure=ConstantPressure(3.0, every=2),
        swaps=Swaps(2, every=3), grid=Grid(8, tile=(8, 8)), start=Start(40, repair_depth=1e-3),
        **HERE,
    )  # fmt: skip


def nonadditive() -> HardSpheres:
    sizes = Mixture(np.arange(100) % 2, [[1.0, 1.2], [1.2, 1.1]])
    return HardSpheres.random(100, 0.2, diameter=sizes, max_displacement=0.1, **HERE)


def ions_in_a_vacuum() -> Electrolyte:
    one = Electrolyte.random(Salt.of(20, (1, -1), (4.0, 4.0)), (40.0,) * 3, **HERE)
    images = np.arange(60).reshape(20, 3) % 3
    return Electrolyte(
        one.positions, one.box, Ions(one.types, one.species), boundary=Ewald("vacuum", images),
        max_displacement=Displacements(1.0, 0.5), first_sweep=7, **HERE,
    )  # fmt: skip


def ions_in_a_sphere() -> Electrolyte:
    return Electrolyte.random(Salt.of(20, (1, -1), (4.0, 4.0)), Sphere(30.0), **HERE)


def adsorbed() -> Adsorption:
    where = Supercell("LTA", (1, 1, 1))
    with_each_other = Interactions(cutoff=5.0, grid=EnergyGrid(0.5))
    one = Adsorption(where, 3, systems=2, interactions=with_each_other, method="plj", **HERE)
    return Adsorption(
        where, Molecules(3, positions=one.positions), systems=2, interactions=with_each_other,
        method=Steps("plj", reinsertion=0.1), **HERE,
    )  # fmt: skip


def soft_fluid() -> DPDFluid:
    return DPDFluid.random(375, 3.0, forces=Forces(a=20.0, gamma=3.0), **HERE)


@pytest.mark.parametrize(
    "make",
    [
        polydisperse, nonadditive, ions_in_a_vacuum, ions_in_a_sphere, adsorbed,
        pytest.param(soft_fluid, marks=needs_lammps),
    ],
)  # fmt: skip
def test_groups_of_settings_rebuild_the_object(make, tmp_path):
    one, plain = make(), make()
    assert type(one)(**one.settings).state_hash == one.state_hash
    for value in one.settings.values():  # whose arrays are copies
        for array in [value, *getattr(value, "__dict__", {}).values()]:
            if isinstance(array, np.ndarray) and array.dtype.kind == "f":
                array[:] = np.nan
    assert type(one)(**one.settings).state_hash == one.state_hash
    one.run(50)
    plain.run(50)
    one.save(tmp_path / "state")
    again = manymove.load(tmp_path / "state", device="cpu")
    assert again.settings.keys() == one.settings.keys()
    rebuilt = type(one)(**again.settings)
    scan, other = again.replace(), plain.replace()
    assert scan.state_hash == other.state_hash == rebuilt.state_hash
    assert scan._parameters == other._parameters
    for each in (rebuilt, scan):
        assert each.N == one.N
        assert np.allclose(each.positions, one.positions, atol=1e-4)
    for name in ("diameters", "types", "images", "velocities"):
        if getattr(one, "surrounding", "vacuum") == "vacuum" and hasattr(one, name):
            assert np.allclose(getattr(rebuilt, name), getattr(one, name), atol=1e-6), name
    if isinstance(one, (HardDisks, Electrolyte)):
        assert scan.elapsed == one.elapsed


@pytest.mark.parametrize("make", [disks, ions, gas, pytest.param(fluid, marks=needs_lammps)])
def test_settings_of_another_version_do_not_refuse_a_checkpoint(make, tmp_path, monkeypatch):
    one = make()
    one.save(tmp_path / "state")
    monkeypatch.setattr(manymove.checkpoint, "_decoded", lambda value: {}["a name of another one"])
    again = manymove.load(tmp_path / "state", device="cpu")
    assert again.state_hash == one.state_hash
    with pytest.raises(RuntimeError, match="does not have its settings"):
        _ = again.settings


def test_another_method_has_its_own_number_of_threads_of_a_trial(tmp_path):
    one = Electrolyte.random(
        Salt.of(20, (1, -1), (4.0, 4.0)), Sphere(30.0), method=Brush(8), **HERE
    )
    one.save(tmp_path / "state")
    again = Electrolyte.load(tmp_path / "state", device="cpu", method="brush")
    assert one._parameters["threads_per_particle"] == 8
    assert again._parameters["threads_per_particle"] == 0  # the default
    assert again.settings["method"] == "brush"


@pytest.mark.parametrize("make", [polydisperse, nonadditive, ions_in_a_vacuum, ions_in_a_sphere])
def test_gsd_holds_sizes_cells_and_images(make, tmp_path):
    one = make()
    one.run(50)
    one.write_gsd(tmp_path / "a.gsd")
    options = {"boundary": Ewald("vacuum")} if make is ions_in_a_vacuum else {}
    again = type(one).from_gsd(tmp_path / "a.gsd", **HERE, **options)
    for name in ("positions", "types", "diameters", "contacts", "box", "radius"):
        if hasattr(one, name):
            mine, found = getattr(one, name), getattr(again, name)
            assert (mine is found is None) or np.allclose(mine, found, atol=1e-5), name
    if options:
        assert (again.images == one.images).all()


def test_molecules_are_read_back(tmp_path):
    one = gas()
    one.run(500)
    one.write_gsd(tmp_path / "a.gsd", system=2)
    given = {"method": "plj", "interactions": one.settings["interactions"]}
    again = Adsorption.from_gsd(tmp_path / "a.gsd", framework="LTA", **given, **HERE)
    assert (again.counts[0] == one.counts[2]).all()
    assert again.energies[0] == pytest.approx(one.energies[2], rel=1e-6)
    with pytest.raises(ValueError, match="the box does not fit framework and cells"):
        Adsorption.from_gsd(
            tmp_path / "a.gsd", framework=Supercell("LTA", (3, 3, 3)), method="plj", **HERE
        )
