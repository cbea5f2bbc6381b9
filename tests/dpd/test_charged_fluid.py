# SPDX-License-Identifier: BSD-3-Clause
"""Charges of `manymove.DPDFluid`: energies, checkpoints and files, and what is refused."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from lammps_host import needs_lammps, run_lammps

import manymove
from manymove import DPDFluid, Electrostatics, Forces, Replicas

pytestmark = needs_lammps

N, EDGE, PAIRS = 1029, 7.0, 40
CHARGES = np.zeros(N)
CHARGES[:PAIRS], CHARGES[PAIRS : 2 * PAIRS] = 1.5, -1.5
STRONG = Electrostatics(coupling=2.0, smearing=0.3, cutoff=2.5, accuracy=1e-5)


def ions(**options) -> DPDFluid:
    settings = {"seed": 7, "device": "cpu", "precision": "double", "charges": CHARGES}
    return DPDFluid(N, (EDGE,) * 3, **{**settings, "electrostatics": STRONG, **options})


def of_lammps(positions: np.ndarray, tmp_path) -> float:
    """Energy of the charges by LAMMPS' own styles."""
    places = "".join(
        f"create_atoms {1 if q > 0 else 2} single {x:.17g} {y:.17g} {z:.17g}\n"
        for (x, y, z), q in zip(positions, CHARGES, strict=True)
        if q
    )
    half = EDGE / 2
    run = run_lammps(
        f"""
units lj
atom_style charge
region box block {-half} {half} {-half} {half} {-half} {half}
create_box 2 box
{places}
mass * 1.0
set type 1 charge 1.5
set type 2 charge -1.5
pair_style coul/slater/long 0.3 2.5
pair_coeff * *
kspace_style pppm 1e-5
dielectric 0.5
thermo_style custom step ecoul elong
thermo_modify norm no format float %.15g
run 0
""",
        tmp_path,
    )
    thermo = run.thermo()
    return thermo["E_coul"][0] + thermo["E_long"][0]


def test_the_energy_of_charges_is_that_of_lammps(device, tmp_path):
    fluid = ions(device=device)
    for steps in (0, 30):
        fluid.run(steps)
        expected = of_lammps(fluid.positions, tmp_path)
        assert abs(expected) > 5
        assert fluid.charge_energy == pytest.approx(expected, rel=1e-4)
        points, velocities = fluid.positions, fluid.velocities
        plain = {"seed": 7, "device": "cpu", "precision": "double", "velocities": velocities}
        neutral = DPDFluid(points, fluid.box, **plain)
        assert neutral.charge_energy == 0 and neutral.charges is neutral.electrostatics is None
        assert fluid.energy - fluid.charge_energy == pytest.approx(neutral.energy, rel=1e-9)


def test_opposite_charges_move_together(device):
    """Two charges at rest, without other forces: their accelerations are the smeared force."""
    still = Forces(a=0.0, gamma=0.0)
    points = np.array([[0.0, 0, 0], [0.8, 0, 0]])
    settings = {"seed": 1, "device": device, "temperature": 0.0, "precision": "double"}
    fluid = DPDFluid(
        points, (20.0,) * 3, charges=[1, -1], velocities=0 * points, forces=still, timestep=1e-3,
        electrostatics=Electrostatics(coupling=3.0, smearing=0.25, accuracy=1e-6), **settings,
    )  # fmt: skip
    fluid.run(1)
    x = 0.8 / 0.25
    force = 3 * (1 - (1 + 2 * x + 2 * x**2) * np.exp(-2 * x)) / 0.8**2
    # The field of the images is about the dipole moment over the cube of the edge.
    assert fluid.velocities[0, 0] == pytest.approx(1e-3 * force, rel=2e-3)
    assert fluid.velocities[1] == pytest.approx(-fluid.velocities[0], abs=1e-9)


def test_a_loaded_fluid_has_the_same_charges_and_bits(device, tmp_path):
    fluid = ions(device=device)
    fluid.run(137)
    fluid.save(tmp_path / "ions")
    loaded = manymove.load(tmp_path / "ions", device=device, threads=1)
    assert loaded.electrostatics == STRONG and (loaded.charges == CHARGES).all()
    assert loaded.charge_energy == fluid.charge_energy
    for one in (fluid, loaded):
        one.run(600)
    assert loaded.state_hash == fluid.state_hash
    assert loaded.charge_energy == fluid.charge_energy
    other = loaded.replace(temperature=0.5)
    assert other.set_temperature == 0.5 and (other.charges == CHARGES).all()


def test_the_order_of_uneven_charges_does_not_matter(device, tmp_path):
    charges = np.random.default_rng(4).uniform(0.3, 1.7, N)
    charges[1::2] = -charges[:-1:2]
    charges[-1] = 0  # N is odd
    fluid = ions(charges=charges, device=device)
    fluid.run(37)
    fluid.save(tmp_path / "ions")
    loaded = DPDFluid.load(tmp_path / "ions", device=device)
    for one in (fluid, loaded):
        one.run(60)
    assert loaded.state_hash == fluid.state_hash
    assert loaded.charge_energy == fluid.charge_energy


def test_the_skin_of_a_long_cutoff_is_that_of_the_model():
    count, far = 3000, Electrostatics(cutoff=3.0)
    charges = np.resize([1.0, -1.0], count)
    fluid = DPDFluid(count, (6.0,) * 3, seed=1, device="cpu", charges=charges, electrostatics=far)
    fluid.run(1)
    with pytest.raises(ValueError, match=r"neighbors within 3\.4, but LAMMPS' lists allow"):
        DPDFluid(2 * count, (6.0,) * 3, seed=1, charges=np.tile(charges, 2), electrostatics=far)


def test_a_stopped_fluid_continues_with_the_same_random_numbers(tmp_path):
    def stop(fluid: DPDFluid) -> None:
        if fluid.steps == 20:
            raise KeyboardInterrupt

    stopped, whole = ions(), ions()
    with pytest.raises(KeyboardInterrupt):
        stopped.run(40, [(10, stop)])
    stopped.save(tmp_path / "fluid")
    loaded = DPDFluid.load(tmp_path / "fluid", device="cpu")
    for fluid in (stopped, loaded):
        fluid.run(20)
    whole.run(40)
    assert stopped.state_hash == loaded.state_hash
    assert np.abs(stopped.positions - whole.positions).max() < 1e-9


def test_a_coarse_mesh_and_one_that_is_not_possible(tmp_path):
    coarse = ions(electrostatics=Electrostatics(accuracy=0.01))
    coarse.run(10)
    coarse.save(tmp_path / "ions")
    loaded = DPDFluid.load(tmp_path / "ions", device="cpu")
    for one in (coarse, loaded):
        one.run(30)
    assert loaded.state_hash == coarse.state_hash
    with pytest.raises(ValueError, match=r"not possible: .*mesh of charges"):
        ions(electrostatics=Electrostatics(coupling=0.01, accuracy=0.5))


def test_charges_in_gsd_files(tmp_path):
    pytest.importorskip("gsd")
    fluid = ions()
    fluid.write_gsd(tmp_path / "ions.gsd")
    again = DPDFluid.from_gsd(tmp_path / "ions.gsd", seed=7, electrostatics=STRONG, device="cpu")
    assert (again.charges == CHARGES).all()
    assert again.charge_energy == pytest.approx(fluid.charge_energy, rel=1e-4)  # float32
    read = functools.partial(DPDFluid.from_gsd, tmp_path / "ions.gsd", seed=7, device="cpu")
    assert read(charges=None).charges is None
    with pytest.raises(ValueError, match="charges=None leaves the charges out"):
        read(electrostatics=Electrostatics(cutoff=3.6))
    assert np.abs(read().charges).sum() == pytest.approx(np.abs(again.charges).sum())
    uneven = np.full(N, 0.1)
    uneven[-1] = -uneven[:-1].sum()
    ions(charges=uneven).write_gsd(tmp_path / "uneven.gsd")
    again = DPDFluid.from_gsd(tmp_path / "uneven.gsd", seed=7, electrostatics=STRONG, device="cpu")
    assert abs(again.charges.sum()) < 1e-9 and again.charges == pytest.approx(uneven, rel=1e-6)


def test_replicas_of_charged_fluids():
    replicas = Replicas(lambda **place: ions(**place), 2, seed=3, device="cpu")
    replicas.run(20)
    first, second = replicas.map(lambda one: one.charge_energy)
    assert first != second and first != 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"charges": CHARGES[1:]}, r"charges must have shape \(1029,\), got \(1028,\)"),
        ({"charges": abs(CHARGES)}, "charges must have the sum 0, got 120"),
        ({"charges": 0 * CHARGES}, "at least one not 0"),
        ({"charges": CHARGES * np.nan}, "charges must be finite"),
        ({"charges": "+-"}, "charges must be an array"),
        ({"charges": None}, "electrostatics is given without charges"),
        ({"electrostatics": Electrostatics(cutoff=3.6)}, "twice the cutoff of charges 3.6"),
    ],
)
def test_wrong_charges_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ions(**options)


@pytest.mark.parametrize("name", ["coupling", "smearing", "cutoff", "accuracy"])
def test_settings_of_charges_are_positive(name):
    with pytest.raises(ValueError, match=f"{name} must be positive"):
        Electrostatics(**{name: 0.0})
