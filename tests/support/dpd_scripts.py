"""Input scripts for `run_style manymove/verlet`, and comparisons of its tests."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from lammps_host import Run, release, run_lammps

STAYS = "the particles are on"
WARNING = "cannot keep the particles on the device"


def two_types(
    box: str = "block 0 7 0 7 0 7",
    atoms: int = 1028,
    before: str = "",
    skin: float = 0.3,
    timestep: float = 0.01,
    bonds: str = "bond/types 2 extra/bond/per/atom 10 extra/special/per/atom 100",
) -> str:
    """A random configuration of two types with thermal velocities."""
    return f"""
units lj
atom_style bond
comm_modify vel yes
{before}
region box {box}
create_box 2 box {bonds}
create_atoms 1 random {atoms // 2} 11 NULL
create_atoms 2 random {atoms - atoms // 2} 12 NULL
mass 1 1.0
mass 2 2.0
velocity all create 1.3 13 loop all
timestep {timestep}
neighbor {skin} bin
"""


def system(*arguments: Any, **settings: Any) -> str:
    """`two_types` and fix nve."""
    return two_types(*arguments, **settings) + "fix nve all nve\n"


def one_type(
    create: str,
    box: str = "block 0 8 0 8 0 8",
    pair: str = "0.0 1.0 7 precision double",
    law: str = "25.0 4.5",
    before: str = "",
    skin: float = 0.3,
    timestep: float = 0.01,
    bonds: str = "",
) -> str:
    """Particles of one type, laws for them, and fix nve."""
    return f"""
units lj
{before}
comm_modify vel yes
region box {box}
create_box 1 box {bonds}
{create}
mass 1 1.0
pair_style manymove/dpd {pair}
pair_coeff * * {law}
neighbor {skin} bin
timestep {timestep}
fix nve all nve
"""


def plain_fluid(style: str = "manymove/dpd", temperature: float = 0.0, tail: str = "") -> str:
    """Laws of two types that LAMMPS' own styles have, too."""
    return f"""
pair_style {style} {temperature} 1.0 4711 {tail}
pair_coeff 1 1 25.0 4.5
pair_coeff 1 2 40.0 3.0 1.2
pair_coeff 2 2 15.0 6.0 0.9
"""


def fluid(precision: str = "double", temperature: float = 1.0) -> str:
    return f"""
pair_style manymove/dpd {temperature} 1.0 4711 precision {precision}
pair_coeff 1 1 25.0 4.5
pair_coeff 1 2 40.0 3.0 1.2 weight_exponent 0.5
pair_coeff 2 2 15.0 6.0 0.9 weight_exponent 1.7
"""


BONDS = """
bond_style manymove/harmonic
bond_coeff 1 20.0 0.5
bond_coeff 2 40.0 0.4
special_bonds lj 0 1 1
create_bonds many all all 1 0.1 0.22
create_bonds many all all 2 0.22 0.25
special_bonds lj 0.0 0.5 1.0
"""

WALLS = """
fix walls all manymove/wall xlo EDGE xhi EDGE zlo 0.02 zhi 6.97
"""

FORCES = """
region lower block INF INF 1 6 INF 3.5
region upper block INF INF 2 5 3.5 INF
group first type 1
fix down first addforce 0.3 0.0 0.1 region lower
fix up all addforce -0.3 0.0 0.0 region upper
fix all all addforce 0.0 0.02 0.0
"""

SCRIPTS = {
    "several types": system() + fluid(),
    "one type": system().replace("create_atoms 2", "create_atoms 1")
    + fluid().replace("1 1 25.0 4.5", "* * 25.0 4.5"),
    "triclinic": system("prism 0 7 0 7.5 0 7 2 1 -1.5") + fluid(),
    "bonds": system() + fluid() + BONDS,
    "walls and body forces": system(before="boundary f p f") + fluid() + BONDS + WALLS + FORCES,
    "small box": system("block 0 4 0 5 0 6", 360) + fluid(),
    "frozen particles": system() + fluid() + "unfix nve\ngroup some id <= 700\nfix nve some nve\n",
    "newton off": system(before="newton off") + fluid() + BONDS,
    "two dimensions": system("block 0 9 0 8 -0.5 0.5", 300, "dimension 2")
    + fluid()
    + "set group all z 0.0\nvelocity all set NULL NULL 0.0\nfix flat all enforce2d\n"
    + "fix push all addforce 0.2 -0.1 0.0\n",
}


# Positions are unwrapped, because the run style chooses when they are wrapped.
END = """
write_dump all custom end id type xu yu zu vx vy vz fx fy fz modify sort id format float %.17g
"""


def with_energies() -> str:
    """With `atom_style dpd`, whose temperatures and energies no style that is served changes."""
    script = system().replace("atom_style bond", "atom_style dpd").replace(" bond/types 2", "#")
    return script + "set group all dpd/theta 1.5\n" + fluid()


TOLERANCE = {"double": 1e-10, "mixed": 1e-5}


SINCE_TWO_INTEGRATORS = 20260211


def legacy() -> str:
    """The integrator of fix nvt/sllod that an engine has, where LAMMPS has two."""
    return "integrator legacy" if release() >= SINCE_TWO_INTEGRATORS else ""


def resident(device: str, more: str = "") -> str:
    return f"run_style manymove/verlet device {device} {more}\n"


def pick(run: Run, *names: str, file: str = "end", frame: int = -1) -> np.ndarray:
    columns = run.dump(file, frame)
    return np.stack([columns[name] for name in names], axis=-1)


def state(run: Run) -> np.ndarray:
    return pick(run, "xu", "yu", "zu", "vx", "vy", "vz", "fx", "fy", "fz")


def assert_close(a: np.ndarray, b: np.ndarray, tolerance: float) -> None:
    scale = np.abs(b).max()
    assert scale > 0
    assert np.abs(a - b).max() <= tolerance * scale, np.abs(a - b).max() / scale


def assert_same_steps(ours: Run, reference: Run, tolerance: float) -> None:
    """Positions, velocities, forces, and thermodynamic output of a few steps."""
    for names in (("xu", "yu", "zu"), ("vx", "vy", "vz"), ("fx", "fy", "fz")):
        assert_close(pick(ours, *names), pick(reference, *names), tolerance)
    scale = abs(reference.thermo()["Press"]).max()
    for name, expected in reference.thermo().items():
        assert ours.thermo()[name] == pytest.approx(
            expected, rel=10 * tolerance, abs=10 * tolerance * scale
        ), name


def assert_stays(run: Run) -> None:
    """Assert that the particles stayed in the engine, without warnings."""
    assert STAYS in run.output
    assert "manymove" not in "".join(re.findall("WARNING.*", run.output)), run.output


def compare(script: str, more: str, device: str, tmp_path, ranks: int = 1) -> tuple[Run, Run]:
    """The same on the host and with the engine, for a few steps: not yet chaotic."""
    host = run_lammps(script + more + END, tmp_path, ranks)
    ours = run_lammps(script + resident(device) + more + END, tmp_path, ranks)
    assert_stays(ours)
    return ours, host


# Two free particles, of which the first flies up.
THROWN = """
create_atoms 1 single 2 2 6.5
create_atoms 1 single 6 6 1.5
set atom 1 vz 12.0
"""

NARROW = one_type(
    "create_atoms 1 random 37 12345 box",
    "prism 0 2.3 0 2.05 0 2.6 1.15 0 0",
    "1.0 1.0 34387 precision double",
    skin=0.5,
    timestep=0.005,
)
NARROW += "velocity all create 1.0 97 loop geom\n"
