"""The fluid that DPD makes, against LAMMPS' own: temperature, pressure, momentum."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest
from documents import ROOT
from lammps_host import Run, needs_lammps, run_lammps
from laws import another, each_once

pytestmark = needs_lammps

ATOMS = 4 * 7**3


def groot_warren(
    style: str, steps: int, timestep: float = 0.01, tail: str = "", more: str = ""
) -> str:
    """The fluid of density 3 and a = 25 (Groot and Warren, J. Chem. Phys. 107, 4423)."""
    return f"""
units lj
comm_modify vel yes
lattice fcc 3.0
region box block 0 7 0 7 0 7
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 2.0 5 loop all
velocity all zero linear
pair_style {style} 1.0 1.0 4711 {tail}
pair_coeff 1 1 25.0 4.5
neighbor 0.4 bin
neigh_modify delay 0 every 1 check yes
timestep {timestep}
fix nve all nve
variable px equal vcm(all,x)
variable py equal vcm(all,y)
variable pz equal vcm(all,z)
compute moved all msd com yes
thermo 10
thermo_style custom step temp press pe atoms v_px v_py v_pz c_moved[4]
thermo_modify format float %.16g lost error
{more}
run {steps}
"""


PAIRS = """
compute pairs all rdf 25
fix pairs all ave/time 20 100 2000 c_pairs[*] file rdf mode vector
"""


def average(values: np.ndarray, blocks: int = 16) -> tuple[float, float]:
    """Mean and standard error, from blocks."""
    means = values[: len(values) // blocks * blocks].reshape(blocks, -1).mean(axis=1)
    return float(means.mean()), float(means.std(ddof=1) / math.sqrt(blocks))


def settled(run: Run, name: str) -> tuple[float, float]:
    """Without the first fifth."""
    values = run.thermo()[name]
    return average(values[len(values) // 5 :])


def assert_agree(a: tuple[float, float], b: tuple[float, float]) -> None:
    """Within seven joint errors: with 30 degrees of freedom a false alarm of 1e-7."""
    assert abs(a[0] - b[0]) < 7 * math.hypot(a[1], b[1]), (a, b)


@pytest.fixture(scope="module")
def lammps_fluid(tmp_path_factory) -> Run:
    return run_lammps(groot_warren("dpd", 4000, more=PAIRS), tmp_path_factory.mktemp("dpd"))


@pytest.fixture(scope="module")
def manymove_fluid(tmp_path_factory) -> Callable[[str], Run]:
    """The same fluid with our style, in a precision."""

    @functools.cache
    def fluid(precision: str) -> Run:
        script = groot_warren("manymove/dpd", 4000, tail=f"precision {precision}", more=PAIRS)
        return run_lammps(script, tmp_path_factory.mktemp(precision))

    return fluid


@pytest.mark.parametrize("precision", ["mixed", another("double")])
def test_temperature_and_pressure_are_those_of_lammps(precision, lammps_fluid, manymove_fluid):
    ours = manymove_fluid(precision)
    for name in ("Temp", "Press", "PotEng"):
        assert_agree(settled(ours, name), settled(lammps_fluid, name))
    temperature = settled(ours, "Temp")
    assert temperature[1] < 4e-3
    assert temperature[0] == pytest.approx(1, abs=0.015)  # velocity Verlet at dt = 0.01
    assert settled(ours, "Press")[0] == pytest.approx(23.7, abs=0.2)


def test_long_steps_heat_as_much_as_with_lammps(tmp_path):
    # Velocity Verlet with forces at the velocities of the half step: 3 % too hot at dt = 0.04.
    theirs, ours = (
        run_lammps(groot_warren(style, 1200, 0.04), tmp_path) for style in ("dpd", "manymove/dpd")
    )
    for name in ("Temp", "Press", "PotEng"):
        assert_agree(settled(ours, name), settled(theirs, name))
    assert settled(ours, "Temp")[1] < 6e-3
    assert settled(ours, "Temp")[0] > 1.015


def test_kinetic_energy_has_the_canonical_distribution(tmp_path):
    # A K-S test and the temperatures of mean and width, by physical_validation; the run's samples
    # are decorrelated there. False alarms: 1e-5 for p, 6e-7 for each of the temperatures.
    validation = pytest.importorskip("physical_validation")
    run = run_lammps(groot_warren("manymove/dpd", 6000, 0.004), tmp_path)
    temperature = run.thermo()["Temp"][100:]
    data = validation.data.SimulationData(
        units=validation.data.UnitData(
            kb=1,
            energy_conversion=1,
            length_conversion=1,
            volume_conversion=1,
            temperature_conversion=1,
            pressure_conversion=1,
            time_conversion=1,
        ),
        system=validation.data.SystemData(
            natoms=ATOMS, nconstraints=0, ndof_reduction_tra=3, ndof_reduction_rot=0
        ),
        ensemble=validation.data.EnsembleData(
            "NVT", natoms=ATOMS, volume=ATOMS / 3, temperature=1.0
        ),
        observables=validation.data.ObservableData(kinetic_energy=1.5 * (ATOMS - 1) * temperature),
    )
    check = validation.kinetic_energy.distribution
    assert check(data, strict=True, verbosity=0) > 1e-5
    assert max(check(data, strict=False, verbosity=0, bootstrap_seed=1)) < 5


def pair_distribution(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """r and g(r) up to the cutoff, over the second half of a run."""
    lines = (run.directory / "rdf").read_text().splitlines()[-25:]
    table = np.array([[float(w) for w in line.split()] for line in lines])
    return table[:, 1], table[:, 2]


def test_structure_and_diffusion_are_those_of_lammps(lammps_fluid, manymove_fluid):
    ours = manymove_fluid("mixed")
    r, g = pair_distribution(ours)
    _, expected = pair_distribution(lammps_fluid)
    # 100 frames with 100 to 700 pairs in each bin beyond 0.4: an error of 0.006 of the difference
    assert g.max() == pytest.approx(1.16, abs=0.03)
    assert np.abs(g - expected)[r > 0.4].max() < 0.035
    # The mean square displacement of 1,372 particles: 3 % of the difference
    distance, reference = (run.thermo()["c_moved[4]"][-1] for run in (ours, lammps_fluid))
    assert distance == pytest.approx(reference, rel=0.16)


@pytest.mark.parametrize(
    ("exponent", "gamma"), [(0.25, 3.0), another(0.5, 4.5), another(2.0, 30.0)]
)
def test_any_exponent_keeps_the_temperature(exponent, gamma, tmp_path):
    # Small steps, so that the integrator's own error is small.
    script = groot_warren("manymove/dpd", 4000, 0.005, f"weight_exponent {exponent}")
    script = script.replace("25.0 4.5", f"25.0 {gamma}")
    temperature = settled(run_lammps(script, tmp_path), "Temp")
    assert temperature[1] < 5e-3
    assert temperature[0] == pytest.approx(1, abs=0.004 + 7 * temperature[1])


@pytest.mark.parametrize(
    ("ranks", "newton", "precision"), each_once([1, 2], ["on", "off"], ["mixed", "double"])
)
def test_momentum_is_conserved(ranks, newton, precision, tmp_path):
    # Velocities of the center of mass: rounding of sums of 1,372 velocities, 1e-16 each and step.
    # A million steps: docs/benchmarks/results, of examples/dpd/momentum.py.
    script = f"newton {newton}\n" + groot_warren("manymove/dpd", 200, tail=f"precision {precision}")
    table = run_lammps(script, tmp_path, ranks).thermo()
    assert (table["Atoms"] == ATOMS).all()
    for name in ("v_px", "v_py", "v_pz"):
        assert np.abs(table[name]).max() < 1e-13


def test_the_same_script_gives_the_same_trajectory(tmp_path):
    script = groot_warren("manymove/dpd", 200)
    first, second = (run_lammps(script, tmp_path, 2).thermo() for _ in range(2))
    assert all((first[name] == second[name]).all() for name in first)


@pytest.mark.parametrize("style", ["manymove/dpd", "dpd"])
def test_the_script_runs_with_the_name_changed(style, tmp_path):
    script = ROOT / "examples" / "dpd" / "in.dpd"
    variables = f"variable edge index 6\nvariable steps index 300\nvariable style index {style}\n"
    run = run_lammps(variables + script.read_text(), tmp_path)
    assert f"pair {style}, perpetual" in run.output
    table = {name: values[len(values) // 2 :].mean() for name, values in run.thermo().items()}
    # 648 particles, four samples: a few per cent
    assert table["Temp"] == pytest.approx(1, abs=0.1)
    assert table["Press"] == pytest.approx(23.7, abs=1.5)


TWO_KINDS = """
units lj
boundary p p p
atom_style atomic
dimension 3
newton on
comm_modify vel yes
lattice fcc 3.0
region whole block 0 5 0 5 0 5
create_box 2 whole
create_atoms 1 random 100 811 whole
create_atoms 2 random 100 812 whole
mass 1 1.0
mass 2 2.0
pair_style STYLE 1.0 1.0 4711
pair_coeff 1 1 25.0 4.5 1.2
pair_coeff 1 2 25.1 4.51 1.21
pair_coeff 2 2 25.2 4.52 1.22
timestep 0.01
run_style verlet
velocity all create 1.0 17
thermo_style custom step time temp press
thermo 10
fix 1 all nve
run 8000
"""


def test_a_mixture_as_in_lammps_examples_gives_the_same(tmp_path):
    # What examples/PACKAGES/dpd-basic/dpd/in.dpd of LAMMPS' sources sets up: two kinds with masses,
    # coefficients and cutoffs of their own, LAMMPS' default neighbour settings.
    theirs, ours = (
        run_lammps(TWO_KINDS.replace("STYLE", style), tmp_path) for style in ("dpd", "manymove/dpd")
    )
    for name in ("Temp", "Press"):
        assert_agree(settled(ours, name), settled(theirs, name))
    assert settled(ours, "Temp")[0] == pytest.approx(1, abs=0.03)
