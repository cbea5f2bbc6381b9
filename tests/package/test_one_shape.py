"""One script for all classes: only the function that makes the object differs."""

from __future__ import annotations

import numpy as np
import pytest
from lammps_host import needs_lammps

import manymove
from manymove import Adsorption, DPDFluid, Electrolyte, HardDisks, HardSpheres, Salt
from manymove.io import read_log

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
    return Adsorption("LTA", 0, method="plj", systems=4, fugacity=50.0, **HERE)


def fluid() -> DPDFluid:
    return DPDFluid.random(375, 3.0, **HERE)


MAKE = [disks, spheres_at_constant_pressure, ions, gas, pytest.param(fluid, marks=needs_lammps)]
NAMES = (
    "pressure_records", "pair_histogram", "volume_records", "energies", "energy_average",
    "pressure_average", "records", "loading",
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
    x.run(500, [(3, lambda s: seen.append(s.timestep)), (7, lambda s: s.positions)])
    x.write_gsd(None)
    plain.run(500)
    assert x.state_hash == plain.state_hash and averages(x) == averages(plain)
    assert seen == list(range(3, x.timestep + 1, 3))
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
    assert manymove.load(tmp_path / "within", device="cpu").timestep % 125 == 0
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
    assert one.timestep == 0


@pytest.mark.parametrize("make", MAKE)
def test_an_error_of_a_callback_leaves_a_valid_state(make):
    one = make()

    def fail(s):
        raise ZeroDivisionError("at step 5")

    with pytest.raises(ZeroDivisionError, match="at step 5"):
        one.run(1000, [(5, fail)])
    assert one.timestep == 5
    with pytest.raises(RuntimeError, match="a callback cannot run the object that calls it"):
        one.run(1000, [(1, lambda s: s.run(1))])
    with pytest.raises(TypeError, match="has no argument no_such_name"):
        one.replace(no_such_name=1)


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
    assert a.configuration.step == one.timestep
    assert (a.configuration.box == b.configuration.box).all()
    assert np.allclose(a.particles.position, b.particles.position, atol=1e-5)
    for name in ("N", "types", "typeid", "diameter", "charge", "image", "orientation"):
        assert np.array_equal(getattr(a.particles, name), getattr(b.particles, name)), name
    assert np.allclose(a.particles.velocity, b.particles.velocity, atol=1e-6)


def test_molecules_are_read_back(tmp_path):
    one = gas()
    one.run(500)
    one.write_gsd(tmp_path / "a.gsd", system=2)
    again = Adsorption.from_gsd(tmp_path / "a.gsd", framework="LTA", method="plj", **HERE)
    assert (again.counts[0] == one.counts[2]).all()
    assert again.energies[0] == pytest.approx(one.energies[2], rel=1e-6)
    with pytest.raises(ValueError, match="the box is not that of framework and cells"):
        Adsorption.from_gsd(
            tmp_path / "a.gsd", framework="LTA", cells=(3, 3, 3), method="plj", **HERE
        )
