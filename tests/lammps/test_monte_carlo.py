"""The Monte Carlo fixes in LAMMPS: bad input before the first step, contradictions with other
fixes, the input script's IDs and units in messages and output."""

from __future__ import annotations

import re

import pytest
from coulomb_scripts import BJERRUM, positions, script_of
from electrolytes import pair_energy, trivalent
from lammps_errors import errors_of
from lammps_host import needs_lammps, run_lammps

from manymove import _core

pytestmark = needs_lammps

# Four ions, with gaps between their IDs.
DATA = """ions

4 atoms
2 atom types

-20 20 xlo xhi
-20 20 ylo yhi
-20 20 zlo zhi

Masses

1 1.0
2 1.0

Atoms # charge

90 2 -1 -10 -10 10
7 1 1 -10 -10 -10
12 2 -1 -4 -10 -10
30 1 1 10 10 10
"""
IONS = """
units lj
atom_style charge
read_data ions.data
pair_style zero 8.0
pair_coeff * *
fix nve all nve
"""
MC = "fix mc all manymove/coulomb 1000 1 3 7 5 5"  # sweeps first at step 1000
SECOND = MC + "\nfix two all manymove/coulomb 1000 1 "
BAD_IONS = {
    "charge": (f"set atom 7 charge 4\n{MC}\nrun 0", "not neutral"),
    "no charge": (f"set atom 12 charge 0\n{MC}\nrun 0", "atom 12 has valence 0"),
    "overlap": (f"set atom 12 x -8\n{MC}\nrun 0", "atoms (7 and 12|12 and 7) overlap"),
    "sphere": (
        f"change_box all boundary f f f\nset atom 30 x 18\n{MC} radius 20\nrun 0",
        "atom 30 is outside the spherical cell",
    ),
    "displacement": (f"{MC} max_displacement 1e9\nrun 0", "max_displacement must be positive"),
    "device": (f"{MC} device tpu\nrun 0", "unknown device"),
    "deform": (
        f"{MC}\nfix d all deform 1 x erate 0.01\nrun 0",
        r"fix d \(deform\) changes the box, which must be constant; remove it \(unfix d\)",
    ),
    "npt": (
        f"{MC}\nunfix nve\nfix p all npt temp 1 1 1 iso 1 1 1\nrun 0",
        r"fix p \(npt\) changes the box",
    ),
    "berendsen": (
        f"{MC}\nfix p all press/berendsen iso 1 1 1\nrun 0",
        r"fix p \(press/berendsen\) changes the box",
    ),
    "shrink": (
        f"{MC} radius 5\nchange_box all boundary s s s\nrun 0",
        "shrink-wrapped boundary changes the box",
    ),
    "bjerrum": (
        f"{SECOND} 4 8 5 5\nrun 0",
        r"fixes mc and two have different values of bjerrum, 7 and 8; give both the same value, "
        r"or remove one of them \(unfix two\)",
    ),
    "diameter": (f"{SECOND} 4 7 5 4\nrun 0", "different values of diameter_2, 5 and 4"),
    "radius": (f"{SECOND} 4 7 5 5 radius 20\nrun 0", "different values of radius, 0 and 20"),
    "seed": (f"{SECOND} 3 7 5 5\nrun 0", "fixes mc and two have the same seed 3"),
    "energy": (f'{MC}\nprint "$(f_mc[4])"', "energy is not known before the first run"),
}


def test_bad_ions_are_found_before_the_first_step(tmp_path):
    (tmp_path / "ions.data").write_text(DATA)
    answers = errors_of([IONS + commands for commands, _ in BAD_IONS.values()], tmp_path)
    for (name, (_, message)), answer in zip(BAD_IONS.items(), answers, strict=True):
        assert answer is not None, name
        assert answer.startswith("ERROR") and re.search(message, answer), (name, answer)


@pytest.mark.skipif(bool(_core.cuda_devices()), reason="there is a GPU")
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize(
    "fix", [MC, "group g type 2\nfix w g manymove/wrmc 1000 1 7 1.0 4 1 2 framework 1 1 2"]
)
def test_a_missing_gpu_is_found_when_the_fix_is_created(ranks, fix, tmp_path):
    (tmp_path / "ions.data").write_text(DATA)
    script = IONS.replace("ions.data", str(tmp_path / "ions.data")) + fix + " device cuda:0\n"
    run = run_lammps(script, tmp_path, ranks=ranks, fails=True)
    message = r"ERROR: Fix manymove/\w+: device cuda:0 is not available: .+; use device cpu"
    assert re.search(message, run.output)


def test_two_fixes_of_one_model_sample_together(tmp_path):
    data = trivalent(100, periodic=True, device="cpu")
    second = "fix more all manymove/coulomb 1 1 4 7.117 7.5 7.5 max_displacement 1 device cpu"
    script = script_of(tmp_path, data, "1 1 3 7.117 7.5 7.5 device cpu")
    run = run_lammps(script.replace("thermo 1\n", f"{second}\nthermo 1\n"), tmp_path)
    assert run.thermo()["f_mc[1]"][-1] == 5


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_energy_at_step_0_is_that_of_the_start(ranks, tmp_path):
    data = trivalent(100, periodic=True, device="cpu")
    fix = "1000 1 3 7.117 7.5 7.5 precision double device cpu"
    script = script_of(tmp_path, data, fix, steps=1).replace("run 1\n", "run 0\n")
    run = run_lammps(script, tmp_path, ranks)
    exact = pair_energy(positions(run), run.dump()["q"], BJERRUM, data.box)
    assert run.thermo()["f_mc[4]"][0] == pytest.approx(exact, rel=1e-5)


# ---- fix manymove/wrmc ---------------------------------------------------------------------------

# Energies in kcal/mol, a box that does not begin at the origin, one atom (ID 2) beside a framework.
GAS = """
units real
atom_style atomic
lattice sc 2.0
region box block -37 -29 0 9 0 10 units box
create_box 2 box
create_atoms 1 single -36 1 1 units box
create_atoms 2 single -33 1 1 units box
mass * 1.0
group gas type 2
pair_style zero 4.0
pair_coeff * *
neighbor 0.0 bin
fix w gas manymove/wrmc {every} 10 7 150.0 {cutoff} 0.3 3.0 framework 1 {epsilon} 2.6 spacing 0.1 &
  device cpu {more}
thermo 1
thermo_style custom step f_w f_w[2] f_w[3] f_w[4] f_w[5] f_w[6]
thermo_modify format float %.12g
"""
KT = 0.0019872067 * 150
DEFAULTS = {"every": 1000, "cutoff": "4.0", "epsilon": 0.4, "more": ""}


def gas(commands: str, **options) -> str:
    return GAS.format(**{**DEFAULTS, **options}) + commands


def law(r: float, epsilon: float = 0.4, sigma: float = 2.6, cutoff: float = 4.0) -> float:
    def unshifted(x: float) -> float:
        return 4 * epsilon * ((sigma / x) ** 12 - (sigma / x) ** 6)

    return unshifted(r) - unshifted(cutoff)


BAD_GAS = {
    "cutoff": (
        gas("run 0", cutoff="4.5"),
        r"the box is 8 wide along x, less than twice the cutoff of 4\.5; use a larger box",
    ),
    "displacement": (
        gas("run 0", more="max_displacement 4.25"),
        r"max_displacement 4\.25 must be below half the box, 4 along x",
    ),
    "moved": (
        gas("fix nve all nve\nvelocity all set 0.05 0 0 units box\nrun 3", every=1),
        r"atom 1, which is outside the group, has moved by 0\.05; atoms outside the group and the "
        r"box must be rigid",
    ),
    "deform": (gas("fix d all deform 1 x erate 0.01\nrun 0"), r"fix d \(deform\) changes the box"),
    "no channel": (
        gas("run 0").replace("single -36 1 1 units box", "box"),
        rf"no channel leads .* below 20 kT = {20 * KT:.5g}",
    ),
    "no framework": (
        gas("set atom 1 type 2\ngroup gas type 2\nrun 0"),
        "there is no atom outside the group",
    ),
}


def test_bad_adsorbates_are_named_in_the_units_of_the_script(tmp_path):
    answers = errors_of([script for script, _ in BAD_GAS.values()], tmp_path)
    for (name, (_, message)), answer in zip(BAD_GAS.items(), answers, strict=True):
        assert answer is not None, name
        assert answer.startswith("ERROR") and re.search(message, answer), (name, answer)


@pytest.mark.parametrize("when", ["start", "later"])
def test_an_atom_on_a_hill_is_named_with_its_energy(when, tmp_path):
    to_hill = "set atom 2 x -34.0 y 1.0 z 1.0\n"
    commands = f"run 2\n{to_hill}run 1" if when == "later" else f"{to_hill}run 0"
    (answer,) = errors_of([gas(commands, every=1)], tmp_path)
    assert answer is not None
    found = re.search(
        r"atom 2 at \(-34, 1, 1\) is where the framework's energy is ([\d.]+); the "
        r"group's atoms must be in channels where the framework's energy is below "
        r"20 kT = ([\d.]+)",
        answer,
    )
    assert found, answer
    assert float(found[1]) == pytest.approx(law(2.0), rel=0.02)
    assert float(found[2]) == pytest.approx(20 * KT, rel=1e-5)


def test_the_numbers_at_step_0_are_those_of_the_start(tmp_path):
    """They are the energies of the start; acceptance and profile are 0 because no step was made."""
    script = gas('run 0\nprint "P $(f_w[3][2])"\n', more="profile x 4")
    thermo = run_lammps(script, tmp_path).thermo()
    for name in ("f_w", "f_w[2]", "f_w[3]", "f_w[6]"):
        assert thermo[name][0] == pytest.approx(law(3.0), rel=0.02)
    assert thermo["f_w[4]"][0] == thermo["f_w[5]"][0] == 0


def test_the_profile_has_the_coordinates_of_the_script(tmp_path):
    script = gas('run 2\nprint "at $(f_w[1][1]) $(f_w[4][1])"\n', every=1, more="profile x 4")
    assert "at -36 -30" in run_lammps(script, tmp_path).output
