"""`fix langevin` in the engine of `run_style manymove/verlet`: the law of its forces, its
temperature, ramps, ranks and threads."""

from __future__ import annotations

import numpy as np
import pytest
from dpd_comparisons import Contract
from dpd_scripts import END, assert_close, assert_stays, fluid, pick, resident, state, system
from lammps_host import THERMO, needs_lammps, run_lammps

pytestmark = needs_lammps

# Without pair forces. Masses are 1 and 2, and the ratio of type 2 is 3.
IDEAL = system() + "pair_style manymove/dpd 0.0 1.0 4711 precision PRECISION\npair_coeff * * 0 0\n"
BATH = "fix l all langevin 1.5 1.5 0.5 7 scale 2 3\n"
EACH_STEP = "dump all all custom 1 each id type vx vy vz fx fy fz\n"
EACH_STEP += "dump_modify all sort id format float %.17g\n"


def forces(run, step: int) -> np.ndarray:
    return pick(run, "fx", "fy", "fz", file="each", frame=step)


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_forces_are_friction_and_independent_uniform_noise(precision, device, tmp_path):
    steps = 12
    script = IDEAL.replace("PRECISION", precision) + BATH + resident(device) + EACH_STEP
    run = run_lammps(script + f"run {steps}\n", tmp_path)
    assert_stays(run)
    type = pick(run, "type", file="each")[:, 0]
    friction = np.where(type == 1, 1.0, 2.0 / 3)[:, None] / 0.5
    mass = np.where(type == 1, 1.0, 2.0)[:, None]
    noise = np.sqrt(24 * 1.5 * friction / 0.01)  # LAMMPS' gamma2
    numbers = []
    for step in range(1, steps + 1):
        f, v = forces(run, step), pick(run, "vx", "vy", "vz", file="each", frame=step)
        middle = v - 0.5 * 0.01 * f / mass
        numbers.append((f + friction * middle) / noise)
    numbers = np.array(numbers)
    assert np.abs(numbers).max() < 0.5 * (1 + 1e-4)
    assert np.abs(numbers).max() > 0.499  # 37,000 numbers: fails in exp(-74)
    count = numbers.size
    for which in (type == 1, type == 2):  # each with half of the numbers
        some = numbers[:, which]
        assert abs(some.mean()) < 5 * np.sqrt(1 / 12 / some.size)
        assert some.var() == pytest.approx(1 / 12, rel=5 * np.sqrt(0.8 / some.size))
    for other in (
        np.roll(numbers, 1, axis=0),  # the step before
        np.roll(numbers, 1, axis=1),  # another particle
        np.roll(numbers, 1, axis=2),  # another component
    ):
        assert abs((numbers * other).mean()) < 5 / 12 / np.sqrt(count)


def test_other_seeds_fixes_and_runs_have_other_numbers(device, tmp_path):
    def numbers(bath: str, more: str = "run 3\n") -> np.ndarray:
        script = IDEAL.replace("PRECISION", "double") + bath + resident(device) + EACH_STEP
        return forces(run_lammps(script + more, tmp_path), -1)

    first = numbers(BATH)
    assert (numbers(BATH) == first).all()
    others = [
        numbers(BATH.replace(" 7 ", " 8 ")),
        numbers("fix m all langevin 0 0 1 7\n" + BATH),
        numbers(BATH, "run 3\nundump all\nreset_timestep 0\n" + EACH_STEP + "run 3\n"),
    ]
    for other in others:
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 5 / np.sqrt(first.size)


def test_temperature_and_pressure_are_those_of_lammps(device, tmp_path):
    # A fluid without friction of pairs. 20 blocks of 150 steps, which are longer than the period
    # of 0.2; 7.5 standard errors of a difference are exceeded in 1e-8 of the runs.
    results = []
    for style in ("", resident(device)):
        script = system(atoms=700, timestep=0.02) + fluid("mixed").replace(" 4.5", " 0")
        script = script.replace(" 3.0 1.2", " 0 1.2").replace(" 6.0 0.9", " 0 0.9")
        script += "fix l all langevin 1.2 1.2 0.2 7 scale 2 2\n" + style + THERMO
        run = run_lammps(script + "thermo 0\nrun 300\nthermo 5\nrun 3000\n", tmp_path)
        results.append(run)
    assert_stays(results[1])
    for column in ("Temp", "Press", "PotEng"):
        theirs, ours = (run.thermo()[column][1:].reshape(20, -1).mean(axis=1) for run in results)
        error = np.sqrt((np.var(theirs, ddof=1) + np.var(ours, ddof=1)) / 20)
        assert abs(ours.mean() - theirs.mean()) < 7.5 * error, column
        assert error < 0.02 * abs(theirs.mean()), column
        if column == "Temp":  # a step of a tenth of the period: LAMMPS' scheme is 1 % off
            assert ours.mean() == pytest.approx(1.2, rel=0.03)


@pytest.mark.parametrize("bath", ["0.5 2.5", "v_t 1.0"])
def test_ramped_temperatures(bath, device, tmp_path):
    # The temperature follows within the period of 0.05 (five steps).
    script = "variable t equal 0.5+2*elapsed/1000\n" + IDEAL.replace("PRECISION", "double")
    script += f"fix l all langevin {bath} 0.05 7\n" + resident(device) + THERMO
    run = run_lammps(script + "thermo 1\nrun 1000\n", tmp_path)
    assert_stays(run)
    temperature = run.thermo()["Temp"][1:].reshape(10, -1).mean(axis=1)
    target = 0.5 + 2 * (np.arange(10) + 0.5) / 10
    # Of 3,084 velocities, in 100 steps about 10 times: 5 errors of sqrt(2 / 30,840) are 4 %.
    np.testing.assert_allclose(temperature[1:], target[1:], rtol=0.04)


COURSE = (
    system()
    + fluid()
    + "variable f equal 0.3*sin(step/9)\nfix a all addforce v_f 0 0.1\n"
    + "group t type 1\nfix l t langevin 0.5 1.5 0.5 7\nfix m all langevin 1 1 2 9\n"
)


class TestLangevin(Contract):
    scripts = {"course": COURSE}
    steps, bits = (), ["course"]  # LAMMPS draws other random numbers
    threads = output = ["course"]
    looks, bits_after = ("thermo 40\n", "thermo 1\n"), 100


def test_looking_does_not_change_the_trajectory_of_ranks_that_heat_up(device, tmp_path):
    # Particles leave their neighbors sooner than the steps before let expect. The steps that are
    # repeated on a GPU have the temperatures of their own course.
    script = COURSE.replace("langevin 0.5 1.5 0.5 7", "langevin 0.5 80 0.05 7") + resident(device)
    runs = [
        run_lammps(script + f"thermo {every}\nrun 20\n" + END, tmp_path, ranks=2)
        for every in (20, 5, 1)
    ]
    for run in runs:
        assert_stays(run)
        assert_close(state(run), state(runs[0]), 1e-8)


def test_several_ranks(device, tmp_path):
    # LAMMPS draws the forces of step 0 by rank: the runs begin from one restart file, at rest.
    start = COURSE + resident(device) + "run 5\nwrite_data start nocoeff\n"
    data = run_lammps(start, tmp_path).directory / "start"
    script = f"units lj\natom_style bond\ncomm_modify vel yes\nread_data {data}\n" + fluid()
    script += "timestep 0.01\nneighbor 0.3 bin\nfix nve all nve\n"
    script += "fix l all langevin 0 0 0.5 7\nrun 0\nfix l all langevin 0 1.5 0.5 7\n"
    script += "variable f equal 0.3*sin(step/9)\nfix a all addforce v_f 0 0.1\n" + resident(device)
    runs = [run_lammps(script + "run 20\n" + END, tmp_path, ranks) for ranks in (1, 2, 4)]
    for run in runs:
        assert_stays(run)
        assert_close(state(run), state(runs[0]), 1e-9)


def test_a_negative_temperature_is_an_error(tmp_path):
    script = COURSE + "variable t equal 1-elapsed/10\nfix n all langevin v_t 1 1 3\n"
    with pytest.raises(AssertionError, match="negative temperature"):
        run_lammps(script + resident("cpu") + "run 20\n", tmp_path)
