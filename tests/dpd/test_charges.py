"""Charges of DPD in `run_style manymove/verlet`: against Ewald's sum, against LAMMPS' own styles,
and what is not served."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from dpd_scripts import (
    END,
    WARNING,
    assert_close,
    assert_same_steps,
    assert_stays,
    compare,
    legacy,
    pick,
    resident,
    state,
)
from lammps_host import Run, needs_lammps, run_lammps
from machine import on_gpu

pytestmark = needs_lammps

EDGE, SMEARING, COUPLING = 7.0, 0.25, 2.0
STRESSES = ("Pxx", "Pyy", "Pzz", "Pxy", "Pxz", "Pyz")
LONG = "coul/slater/long 0.25"
TIGHT = "kspace_style pppm 1e-6\nkspace_modify gewald 2.0 mesh 72 75 80 order 7\n"
USUAL = "kspace_style pppm 1e-4\n"
EWALD = "kspace_style ewald 1e-5\n"
SLAB = "kspace_style pppm 1e-4\nkspace_modify slab 3.0\n"
THERMO = """
thermo_style custom step temp pe evdwl ecoul elong press pxx pyy pzz pxy pxz pyz
thermo_modify format float %.16g norm no
"""


def ions(
    coulomb: str = LONG + " 2.5",
    mesh: str = USUAL,
    dpd: str = "manymove/dpd 0.0 1.0 4711 precision double",
    law: str = "25.0 4.5",
    atoms: int = 800,
    pairs: int = 100,
    more: str = "",
    boundary: str = "p p p",
    style: str = "charge",
    tilt: str = "",
) -> str:
    """A random configuration of neutral particles, and of ions of charges 1 and -1."""
    name = coulomb.split()[0]
    shape = "prism" if tilt else "block"
    return f"""
units lj
atom_style {style}
boundary {boundary}
comm_modify vel yes
region box {shape} 0 {EDGE} 0 {EDGE} 0 {EDGE} {tilt}
create_box 3 box
region corner block 0.8 2.6 0.8 2.6 0.8 2.6
create_atoms 1 random {atoms} 11 NULL
create_atoms 2 random {pairs} 12 NULL
create_atoms 3 random {pairs} 13 NULL
mass * 1.0
set type 2 charge 1.0
set type 3 charge -1.0
velocity all create 1.3 13 loop all
{more}
pair_style hybrid/overlay {dpd} {coulomb}
pair_coeff * * {dpd.split()[0]} {law}
pair_coeff * * {name}
{mesh}
dielectric {1 / COUPLING}
neighbor 0.3 bin
timestep 0.001
fix nve all nve
{"fix walls all wall/reflect zlo EDGE zhi EDGE" if boundary != "p p p" else ""}
"""


COMBINED = """
pair_style {} 0.0 1.0 4711 0.25 2.5 {}
pair_coeff * * 25.0 4.5 no
pair_coeff 1 2 25.0 4.5
pair_coeff 2*3 2*3 30.0 4.5 yes 0.9
"""


def combined(style: str = "manymove/dpd/coul/slater/long", tail: str = "precision double") -> str:
    """The same ions with one style for both forces."""
    script = ions()
    first, last = script.index("pair_style"), script.index("kspace_style")
    return script[:first] + COMBINED.format(style, tail) + script[last:]


def places_of(run: Run) -> tuple[np.ndarray, np.ndarray]:
    columns = run.dump("end")
    return np.stack([columns[c] for c in "xyz"], axis=-1), columns["q"]


CHARGES = """
write_dump all custom end id q x y z fx fy fz modify sort id format float %.17g
"""


def ewald_and_slater(
    places: np.ndarray,
    charges: np.ndarray,
    box: np.ndarray,
    alpha: float = 2.6,
    longest: float = 30.0,
) -> tuple[np.ndarray, float, np.ndarray]:
    """Forces, energy and virial tensor of smeared charges with conducting surroundings: Ewald's sum
    of point charges, and the difference of the two laws, which decays with exp(-2 r / lambda). The
    rows of box are its edges."""
    inverse, volume = np.linalg.inv(box), np.linalg.det(box)
    forces, energy, virial = np.zeros_like(places), 0.0, np.zeros((3, 3))
    for i in range(len(charges) - 1):
        d = places[i] - places[i + 1 :]
        d -= np.rint(d @ inverse) @ box
        r = np.linalg.norm(d, axis=1)
        x = r / SMEARING
        erfc = np.array([math.erfc(alpha * one) for one in r])
        qq = COUPLING * charges[i] * charges[i + 1 :]
        energy += (qq * (erfc - (1 + x) * np.exp(-2 * x)) / r).sum()
        slope = erfc + 2 * alpha * r / math.sqrt(math.pi) * np.exp(-((alpha * r) ** 2))
        slope -= (1 + 2 * x + 2 * x**2) * np.exp(-2 * x)
        pair = (qq * slope / r**3)[:, None] * d
        forces[i] += pair.sum(axis=0)
        forces[i + 1 :] -= pair
        virial += d.T @ pair
    most = int(longest * np.linalg.norm(box, axis=1).max() / (2 * math.pi))
    n = np.stack(np.meshgrid(*3 * [np.arange(-most, most + 1)], indexing="ij"), axis=-1)
    k = 2 * math.pi * n.reshape(-1, 3) @ inverse.T
    squares = (k**2).sum(axis=1)
    k, squares = (values[(squares > 0) & (squares < longest**2)] for values in (k, squares))
    strength = COUPLING * 2 * math.pi / volume
    for some in np.array_split(np.arange(len(k)), 1 + len(k) // 4000):
        phase = np.exp(1j * places @ k[some].T)
        rho = charges @ phase
        weight = strength * np.exp(-squares[some] / (4 * alpha**2)) / squares[some]
        terms = weight * np.abs(rho) ** 2
        energy += terms.sum()
        forces += 2 * charges[:, None] * ((phase * rho.conj() * weight).imag @ k[some])
        scale = terms * 2 * (1 / squares[some] + 1 / (4 * alpha**2))
        virial += terms.sum() * np.eye(3) - (k[some] * scale[:, None]).T @ k[some]
    energy -= COUPLING * alpha / math.sqrt(math.pi) * (charges**2).sum()
    return forces, energy, virial


TILT = (2.0, -1.0, 1.5)
TILTED = " ".join(map(str, TILT))


@pytest.fixture(scope="module")
def tight() -> dict[tuple[str, str], Run]:
    """Charges without other forces, by device and tilt."""
    return {}


def run_tight(device: str, tilt: str, known: dict[tuple[str, str], Run], tmp_path) -> Run:
    script = ions(f"{LONG} {3.2 if tilt else 3.4}", TIGHT, law="0.0 0.0", tilt=tilt)
    script += THERMO + resident(device) + "run 1\n"
    if (device, tilt) not in known:
        known[device, tilt] = run_lammps(script + CHARGES, tmp_path)
        assert_stays(known[device, tilt])
    return known[device, tilt]


@pytest.mark.parametrize("tilt", ["", TILTED])
def test_forces_energy_and_stress_are_those_of_ewalds_sum(tilt, device, tight, tmp_path):
    run = run_tight(device, tilt, tight, tmp_path)
    places, charges = places_of(run)
    charged = charges != 0
    box = EDGE * np.eye(3)
    if tilt:
        box[[1, 2, 2], [0, 0, 1]] = TILT
    forces, energy, virial = ewald_and_slater(places[charged], charges[charged], box)
    found = pick(run, "fx", "fy", "fz")
    assert (found[~charged] == 0).all()
    assert_close(found[charged], forces, 1e-6)
    thermo = run.thermo()
    assert thermo["E_coul"][-1] + thermo["E_long"][-1] == pytest.approx(energy, rel=1e-6)
    kinetic = 1.5 * thermo["Temp"][-1] * (len(charges) - 1)
    pressure = (2 * kinetic + np.trace(virial)) / (3 * EDGE**3)
    assert thermo["Press"][-1] == pytest.approx(pressure, rel=1e-7)
    for name, (a, b) in {"Pxy": (0, 1), "Pxz": (0, 2), "Pyz": (1, 2)}.items():
        velocities = thermo[name][-1] - virial[a, b] / EDGE**3
        assert abs(velocities) < 1  # of 1000 particles: the sum of v_a v_b has this scale


@pytest.mark.parametrize("tilt", ["", TILTED])
def test_the_sum_of_forces_is_zero(tilt, device, tight, tmp_path):
    forces = pick(run_tight(device, tilt, tight, tmp_path), "fx", "fy", "fz")
    assert np.abs(forces.sum(axis=0)).max() < 1e-10 * np.abs(forces).sum()


CASES = {
    "usual": ions(),
    "low order": ions(mesh=USUAL + "kspace_modify order 3\n"),
    "even order": ions(mesh=USUAL + "kspace_modify order 4\n"),
    "few points": ions(mesh=USUAL + "kspace_modify mesh 5 6 8 gewald 0.6\n"),
    "odd mesh": ions(mesh=USUAL + "kspace_modify mesh 15 25 27 gewald 1.1\n"),
    "own mesh": ions(mesh=USUAL + "kspace_modify mesh 18 20 24 gewald 1.1 order 6\n"),
    "slab": ions(mesh=SLAB, boundary="p p f"),
    "waves one by one": ions(mesh=EWALD),
    "slab of waves": ions(mesh=EWALD + "kspace_modify slab 3.0\n", boundary="p p f"),
    "cutoff": ions("coul/slater/cut 0.3 3.0", mesh=""),
    "short cutoff": ions("coul/slater/cut 0.3 0.8", mesh=""),
    "points": ions("coul/cut 2.5", mesh="", more="set type 2 charge 0.3\nset type 3 charge -0.3"),
    "tilted": ions(tilt=TILTED),
    "tilted waves": ions(mesh=EWALD, tilt=TILTED),
    "tilted cutoff": ions("coul/slater/cut 0.3 3.0", mesh="", tilt=TILTED),
    # In one octant of the box, which belongs to one of four ranks.
    "ions of one rank": ions(pairs=20)
    .replace("12 NULL", "12 corner")
    .replace("13 NULL", "13 corner"),
    "no charges": ions("coul/slater/cut 0.3 2.5", mesh="", more="set group all charge 0.0"),
    "coefficients of ions alone": ions().replace(
        "pair_coeff * * coul/slater/long", "pair_coeff 2*3 2*3 coul/slater/long"
    ),
    "many bodies": ions(
        dpd="manymove/mdpd 0.0 1.0 4711 precision double", law="-40.0 25.0 4.5 1.0 0.75"
    ),
    "thermostat": ions(dpd="manymove/dpd/tstat 0.0 0.0 1.0 4711 precision double", law="4.5"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_few_steps_are_those_of_lammps(case, device, tmp_path):
    # LAMMPS' erfc has an error of 1.5e-7, which a pair at a small distance divides by its square.
    ours, host = compare(CASES[case], THERMO + "thermo 2\nrun 6\n", device, tmp_path)
    # On few points, the aliases that LAMMPS leaves out are larger.
    assert_same_steps(ours, host, 3e-5 if case == "few points" else 3e-6)


def test_the_combined_style_is_that_of_lammps(device, tmp_path):
    more = THERMO + "thermo 2\nrun 6\n" + END
    theirs = run_lammps(combined("dpd/coul/slater/long", "") + more, tmp_path)
    ours, host = compare(combined(), THERMO + "thermo 2\nrun 6\n", device, tmp_path)
    assert_same_steps(host, theirs, 3e-6)
    assert_same_steps(ours, theirs, 3e-6)


def test_the_combined_style_reads_restart_and_data_files(tmp_path):
    whole = run_lammps(
        combined() + "run 0\nwrite_restart half\nwrite_data data pair ij\n", tmp_path
    )
    same = f"{USUAL}dielectric {1 / COUPLING}\n" + THERMO + "run 0\n"
    restarted = f"read_restart {whole.directory}/half\ncomm_modify vel yes\n" + same
    style = "pair_style manymove/dpd/coul/slater/long 0.0 1.0 4711 0.25 2.5 precision double\n"
    read = "units lj\natom_style charge\ncomm_modify vel yes\n" + style
    read += f"read_data {whole.directory}/data\n" + same
    first = run_lammps(restarted, tmp_path).thermo()
    for name, values in run_lammps(read, tmp_path).thermo().items():
        assert values == pytest.approx(first[name], rel=1e-9), name
    assert first["E_coul"][0] != 0


def test_energies_of_pairs_are_those_of_the_combined_style(tmp_path):
    look = (
        "compute pair all pair/local eng force\ncompute sum all reduce sum c_pair[1] inputs local\n"
    )
    look += "thermo_style custom step c_sum evdwl ecoul\n"
    look += "thermo_modify norm no format float %.15g\nrun 0\n"
    thermo = run_lammps(combined() + look, tmp_path).thermo()
    assert thermo["c_sum"] == pytest.approx(thermo["E_vdwl"] + thermo["E_coul"], rel=1e-10)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (combined().replace("4711 0.25 2.5", "4711 0 2.5"), "lambda 0 must be positive"),
        (combined().replace("4711 0.25 2.5", "4711 0.25 -1"), "cutoff of charges -1 must be"),
        (combined().replace("kspace_style", "#"), "needs a kspace_style"),
    ],
)
def test_wrong_arguments_of_the_combined_style_are_errors(wrong, message, tmp_path):
    assert message in run_lammps(wrong + "run 0\n", tmp_path, fails=True).output


def test_mixed_precision_is_close_to_double(device, tmp_path):
    double = ions() + resident(device) + "run 2\n" + END
    mixed = double.replace("precision double", "precision mixed")
    assert_close(
        *(pick(run_lammps(script, tmp_path), "fx", "fy", "fz") for script in (mixed, double)),
        1e-5,
    )


@pytest.mark.parametrize(
    "mesh",
    [
        USUAL,
        USUAL + "kspace_modify order 4 mesh 24 18 50\n",
        USUAL + "kspace_modify order 7 mesh 20 27 45\n",
        SLAB,
    ],
)
def test_mixed_forces_of_charges_are_the_same_bits_on_every_device(mesh, device, tmp_path):
    """At rest and without forces of DPD, whose functions differ between CPU and GPU."""
    boundary = "p p f" if mesh == SLAB else "p p p"
    mixed = "manymove/dpd 0.0 1.0 4711 precision mixed"
    script = ions(dpd=mixed, law="0.0 0.0", mesh=mesh, boundary=boundary) + "unfix nve\n"
    one, other = (
        run_lammps(script + resident(on, more) + "run 2\n" + END, tmp_path)
        for on, more in (("cpu", ""), (device, "threads 3" if device == "cpu" else ""))
    )
    assert_stays(other)
    assert (state(other) == state(one)).all()


def restarted(
    run: Run,
    device: str,
    law: str = "25.0 4.5",
    more: str = "",
    coulomb: str = "coul/slater/long",
    mesh: str = USUAL,
) -> str:
    """The ions of a run that has written `half`, without steps."""
    return f"""
read_restart {run.directory}/half
comm_modify vel yes
pair_coeff * * manymove/dpd {law}
pair_coeff * * {coulomb}
{mesh}
dielectric {1 / COUPLING}
neighbor 0.3 bin
timestep 0.001
fix nve all nve
""" + resident(device, more)


@pytest.mark.parametrize(
    ("ranks", "coulomb", "mesh", "tilt"),
    [
        (2, LONG, USUAL, ""),
        (4, LONG, USUAL, ""),
        (2, LONG, EWALD, ""),
        (4, LONG, USUAL, TILTED),
        (2, LONG, EWALD, TILTED),
        (4, "coul/cut", "", ""),
        (2, "coul/debye 0.8", "", TILTED),
    ],
)
def test_forces_of_charges_are_the_same_bits_on_ranks_and_threads(
    ranks, coulomb, mesh, tilt, device, tmp_path
):
    """Ranks share a GPU."""
    law, style = "0.0 0.0", coulomb.split()[0]
    script = ions(f"{coulomb} 2.5", USUAL if mesh else "", law=law, tilt=tilt)
    start = run_lammps(script + "run 0\nwrite_restart half\n", tmp_path)
    # Particles at rest, because LAMMPS computes the first forces, in an order of its own.
    at_rest, end = "unfix nve\n", THERMO + "thermo 1\nrun 2\n" + END
    one, several, threads = (
        run_lammps(
            restarted(start, on, law, more, style, mesh) + at_rest + end,
            tmp_path,
            ranks=number,
        )
        for on, more, number in (("cpu", "", 1), (device, "", ranks), ("cpu", "threads 3", 1))
    )
    assert_stays(several)
    assert (state(threads) == state(one)).all()
    # LAMMPS sends atoms of a tilted box to other ranks in fractions of its edges, which rounds.
    same = slice(3 if tilt else 0, None)
    assert (state(several)[:, same] == state(one)[:, same]).all()
    assert_close(state(several)[:, :3], state(one)[:, :3], 1e-15)
    for name in ("E_coul", "E_long"):
        assert (several.thermo()[name][1:] == one.thermo()[name][1:]).all(), name


@on_gpu
@pytest.mark.parametrize("tilt", ["", TILTED])
@pytest.mark.parametrize(
    ("coulomb", "mesh"), [(LONG, USUAL), (LONG, EWALD), ("coul/cut", ""), ("coul/debye 0.8", "")]
)
def test_forces_are_the_same_bits_on_a_gpu(coulomb, mesh, tilt, tmp_path):
    script = ions(f"{coulomb} 2.5", mesh, law="0.0 0.0", tilt=tilt) + THERMO + "thermo 50\n"
    runs = [
        run_lammps(script + resident(device) + "run 100\n" + END, tmp_path)
        for device in ("cpu", "cuda")
    ]
    assert (state(runs[0]) == state(runs[1])).all()
    for name, values in runs[0].thermo().items():
        assert (values == runs[1].thermo()[name]).all(), name


@pytest.mark.parametrize(("coulomb", "mesh"), [(LONG, USUAL), ("coul/debye 0.8", "")])
def test_a_restart_continues(coulomb, mesh, device, tmp_path):
    dpd, style = "manymove/dpd 1.0 1.0 4711 precision double", coulomb.split()[0]
    script = ions(f"{coulomb} 2.5", mesh, dpd) + resident(device)
    whole = run_lammps(script + "run 10\nwrite_restart half\nrun 10\n" + END, tmp_path)
    again = restarted(whole, device, coulomb=style, mesh=mesh)
    continued = run_lammps(again + "run 10\n" + END, tmp_path)
    assert_stays(continued)
    assert_close(state(continued), state(whole), 1e-9)


def test_energies_by_particle_add_up(device, tmp_path):
    script = ions() + "compute each all pe/atom\ncompute sum all reduce sum c_each\n"
    script += "thermo_style custom step pe c_sum\nthermo_modify norm no format float %.15g\n"
    thermo = run_lammps(script + resident(device) + "thermo 3\nrun 6\n", tmp_path).thermo()
    assert thermo["c_sum"] == pytest.approx(thermo["PotEng"], rel=1e-8)


def test_energy_is_conserved(device, tmp_path):
    script = ions(law="25.0 0.0") + "thermo_style custom step etotal ecoul\n"
    script += "thermo_modify norm no format float %.15g\n" + resident(device)
    thermo = run_lammps(script + "thermo 100\nrun 1000\n", tmp_path).thermo()
    spread = np.ptp(thermo["TotEng"])
    assert np.ptp(thermo["E_coul"]) > 0.5  # energy flows
    assert spread < 0.2, spread


REFUSED = {
    "kspace_style pppm/cg (instead: kspace_style pppm)": ions(mesh="kspace_style pppm/cg 1e-4\n"),
    "kspace_modify diff ad (instead: kspace_modify diff ik)": ions(
        mesh=USUAL + "kspace_modify diff ad\n"
    ),
    "kspace_modify kmax/ewald": ions(mesh=EWALD + "kspace_modify kmax/ewald 8 8 8\n"),
    "kspace_modify compute no": ions(mesh=USUAL + "kspace_modify compute no\n"),
    "a net charge": ions(more="set atom 900 charge 2.0\n"),
    "pair_style coul/slater/long without coefficients of some charges": ions().replace(
        "pair_coeff * * coul/slater/long", "pair_coeff 2 2 coul/slater/long"
    ),
    "pair_style manymove/dpd/coul/slater/long without coefficients of some": combined()
    + "pair_coeff 2 3 25.0 4.5 no\n",
    "pair_style coul/slater/cut with several cutoffs": ions("coul/slater/cut 0.3 2.0", "")
    + "pair_coeff 2 2 coul/slater/cut 1.5\n",
    "pair_style coul/cut with several cutoffs": ions("coul/cut 2.0", "")
    + "pair_coeff 2 2 coul/cut 1.5\n",
    "pair_style coul/debye with a negative kappa": ions("coul/debye -0.1 2.0", ""),
    "pair_style coul/debye without coefficients of some charges": ions(
        "coul/debye 1.0 2.0", ""
    ).replace("pair_coeff * * coul/debye", "pair_coeff 2 2 coul/debye"),
    "pair_style hybrid/overlay": ions("coul/long 2.0"),
    "fix a adapt with charges": ions()
    + "variable one equal 1\nfix a all adapt 1 pair manymove/dpd a * * v_one\n",
    "neigh_modify exclude with charges": ions() + "neigh_modify exclude type 2 3\n",
    "less than twice the cutoff of charges 3.6": ions(LONG + " 3.6"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_not_served_is_named_and_runs_on_the_host(why, tmp_path):
    output = run_lammps(REFUSED[why] + resident("cpu") + "run 2\n", tmp_path).output
    (warning,) = (line for line in output.splitlines() if WARNING in line)
    assert why in warning, warning


def sheared(rate: float = 0.1, tilt: str = "xy", **arguments: str) -> str:
    """The same ions in a box that tilts, wrapped in each step as in the engine."""
    return (
        ions(tilt="0 0 0", **arguments).replace("timestep 0.001", "timestep 0.005")
        + "neigh_modify every 1 delay 0 check no\n"
        + f"fix shear all deform 1 {tilt} erate {rate} remap v\n"
    )


SHEARED = {
    "mesh": sheared(coulomb=LONG + " 2.4"),
    "mesh, even order": sheared(
        coulomb=LONG + " 2.4", mesh=USUAL + "kspace_modify mesh 18 20 25 gewald 1.1 order 4\n"
    ),
    "waves one by one": sheared(coulomb=LONG + " 2.4", mesh=EWALD),
    "mesh, gradient along z": sheared(tilt="yz", coulomb=LONG + " 2.4"),
    "waves, gradient along z": sheared(tilt="xz", coulomb=LONG + " 2.4", mesh=EWALD),
    "cutoff": sheared(coulomb="coul/slater/cut 0.3 2.4", mesh=""),
    "points": sheared(coulomb="coul/debye 0.8 2.4", mesh=""),
    # The box flips after 28 steps, when no atom crosses it along y.
    "flips": sheared(3.7, coulomb="coul/slater/cut 0.3 2.4", mesh=""),
    "sllod": sheared(coulomb=LONG + " 2.4").replace(
        "fix nve all nve", "fix nve all nvt/sllod temp 1.3 1.3 1 LEGACY"
    ),
}


# Two ranks have other atoms, of which one crosses the box in the step in which it flips.
@pytest.mark.parametrize(
    ("case", "ranks"),
    [*((case, 1) for case in SHEARED), *((case, 2) for case in SHEARED if case != "flips")],
)
def test_steps_of_charges_under_shear_are_those_of_lammps(case, ranks, device, tmp_path):
    script, more = SHEARED[case].replace("LEGACY", legacy()), THERMO + "thermo 5\n"
    more += f"run {40 if case == 'flips' else 10}\n"
    ours, host = compare(script, more, device, tmp_path, ranks)
    assert_same_steps(ours, host, 1e-5)
    if case != "mesh":
        return
    still = run_lammps(script.replace("fix shear", "# fix shear") + more, tmp_path)
    assert abs(still.thermo()["E_long"] - host.thermo()["E_long"])[-1] > 1e-3


@pytest.mark.parametrize(("steps", "tilt"), [(12, "xy"), (18, "xy"), (18, "xz"), (18, "yz")])
def test_forces_in_a_box_that_has_sheared_are_those_of_ewalds_sum(steps, tilt, device, tmp_path):
    """Against an independent sum, in a box whose tilt is not that of the start. In step 18 the
    engine has replaced the box by an equivalent one. LAMMPS' pppm has the influence function of the
    old box then, and a wrong energy for one step."""
    script = ions(f"{LONG} 3.0", TIGHT, law="0.0 0.0", tilt="0 0 0")
    script += f"fix shear all deform 1 {tilt} erate 30 remap v\nneighbor 0.6 bin\nthermo 1\n"
    script += THERMO.replace("step temp", f"step {tilt}") + resident(device)
    run = run_lammps(script + f"run {steps}\n" + CHARGES, tmp_path)
    assert_stays(run)
    places, charges = places_of(run)
    box = EDGE * np.eye(3)
    # The fix tilts the box at the end of a step, behind its forces.
    before, after = run.thermo()[tilt.capitalize()][-2:]
    box["xyz".index(tilt[1]), "xyz".index(tilt[0])] = before
    assert abs(before) > 2
    assert (after < 0) == (steps == 18)
    charged = charges != 0
    forces, energy, _ = ewald_and_slater(places[charged], charges[charged], box)
    assert_close(pick(run, "fx", "fy", "fz")[charged], forces, 1e-6)
    thermo = run.thermo()
    assert thermo["E_coul"][-1] + thermo["E_long"][-1] == pytest.approx(energy, rel=1e-6)


@on_gpu
@pytest.mark.parametrize("case", ["mesh", "waves one by one", "flips"])
def test_forces_under_shear_are_the_same_bits_on_a_gpu(case, tmp_path):
    script = SHEARED[case].replace("25.0 4.5", "0.0 0.0") + THERMO + "thermo 10\n"
    runs = [
        run_lammps(script + resident(device) + "run 40\n" + END, tmp_path)
        for device in ("cpu", "cuda")
    ]
    assert (state(runs[0]) == state(runs[1])).all()


def bonded_ions(
    factors: str, coulomb: str = LONG + " 2.5", mesh: str = USUAL, script: str | None = None
) -> str:
    """Ions with bonds to all that are close, and the Coulomb factors of special neighbors."""
    script = script or ions(coulomb, mesh)
    room = "create_box 3 box bond/types 1 extra/bond/per/atom 8 extra/special/per/atom 80"
    script = script.replace("atom_style charge", "atom_style full")
    script = script.replace("create_box 3 box", room)
    before, pairs = script.split("pair_style", 1)
    # create_bonds is incompatible with KSpace styles. Therefore the bonds are made before them.
    bonds = """
special_bonds lj 0 1 1 coul 0 1 1
pair_style zero 2.5
pair_coeff * *
bond_style harmonic
bond_coeff 1 20.0 0.5
group ions type 2 3
create_bonds many ions ions 1 0.1 0.7
create_bonds many all all 1 0.1 0.2
"""
    return f"{before}{bonds}pair_style{pairs}special_bonds lj 0 1 1 coul {factors}\n"


SPECIAL = {
    "long": bonded_ions("0 0 0"),
    "long, shares": bonded_ions("0 0.5 0.8333"),
    "long, shares of all": bonded_ions("0 0.5 0.8333").replace("lj 0 1 1", "lj 0 0.5 1"),
    "cut": bonded_ions("0 0 0.5", "coul/slater/cut 0.3 2.5", ""),
    "ewald": bonded_ions("0 0 0", mesh="kspace_style ewald 1e-4\n"),
    "combined": bonded_ions("0 0.25 1", script=combined()),
}


@pytest.mark.parametrize("case", SPECIAL)
def test_factors_of_charged_special_neighbors_are_those_of_lammps(case, device, tmp_path):
    end = THERMO + "thermo 2\nrun 4\n"
    ours, host = compare(SPECIAL[case], end, device, tmp_path)
    assert_same_steps(ours, host, 3e-6)
    whole = run_lammps(re.sub(r"coul [0-9. ]+\n$", "coul 1 1 1\n", SPECIAL[case]) + end, tmp_path)
    assert abs(whole.thermo()["E_coul"][0] - host.thermo()["E_coul"][0]) > 0.5


TSTAT = "manymove/dpd/tstat 0.0 0.0 1.0 4711 precision double"
POINTS = {
    "cut": ions("coul/cut 3.0", ""),
    "debye": ions("coul/debye 0.8 3.0", ""),
    "tilted": ions("coul/cut 2.8", "", tilt=TILTED),
    "walls": ions("coul/debye 0.3 3.0", "", boundary="p p f"),
    "thermostat and potential": ions("coul/cut 3.0 soft 1.0", "", TSTAT, "4.5")
    + "pair_coeff * * soft 12.0\n",
    "special neighbors": bonded_ions("0 0.3 0.5", "coul/cut 2.5", ""),
}


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("case", POINTS)
def test_charges_of_points_are_those_of_lammps(case, ranks, device, tmp_path):
    ours, host = compare(POINTS[case], THERMO + "thermo 2\nrun 6\n", device, tmp_path, ranks)
    assert_same_steps(ours, host, 1e-12)
    assert abs(host.thermo()["E_coul"][-1]) > 0.1


LIKE = ions("coul/cut 3.0", "", law="0.0 0.0", atoms=1, pairs=3000, more="set group all charge 1.0")
LIKE += "neigh_modify one 6000 page 100000\n"
LONG_BOX = """
units lj
atom_style charge
comm_modify vel yes
boundary f p p
region box block 0 3000 0 7 0 7
create_box 1 box
create_atoms 1 random 400 11 NULL
mass 1 1.0
set group all charge 1.0
velocity all create 1.3 13 loop all
pair_style hybrid/overlay manymove/dpd 0.0 1.0 4711 precision double coul/cut 3.0
pair_coeff * * manymove/dpd 25.0 4.5
pair_coeff * * coul/cut
timestep 0.001
fix nve all nve
fix walls all wall/reflect xlo EDGE xhi EDGE
"""
SUMS = {
    "like charges": (LIKE, 1000),
    "one large charge": (
        ions("coul/cut 3.0", "", more="set group all charge 0\nset type 2*3 charge 1e-4\n"
             "set atom 900 charge 100.0"), 0.1),
    "a long box": (LONG_BOX, 1e-3),
}  # fmt: skip


@pytest.mark.parametrize("case", SUMS)
def test_sums_of_points_have_room(case, device, tmp_path):
    script, least = SUMS[case]
    ours, host = compare(script, THERMO + "thermo 1\nrun 2\n", device, tmp_path)
    # Of 16 digits, LAMMPS' places in a long box leave fewer for distances.
    assert_same_steps(ours, host, 1e-11 if script == LONG_BOX else 1e-12)
    assert abs(host.thermo()["E_coul"]).min() > least


def test_points_that_nearly_meet_are_lost(device, tmp_path):
    """Below a 2,048th of the cutoff forces are linear; they still throw particles away."""
    script = ions("coul/cut 2.5", "", law="0.0 0.0", atoms=1, pairs=1)
    script += "set atom 2 x 3 y 3 z 3 charge 1.0\nset atom 3 x 3.000001 y 3 z 3 charge 1.0\n"
    output = run_lammps(script + resident(device) + "run 50\n", tmp_path, fails=True).output
    assert "Lost atoms" in output


def test_charged_special_neighbors_on_ranks(device, tmp_path):
    start = run_lammps(SPECIAL["long"] + "run 0\nwrite_restart half\n", tmp_path)
    one, several = (
        run_lammps(restarted(start, device) + "run 4\n" + END, tmp_path, ranks=ranks)
        for ranks in (1, 2)
    )
    assert_stays(several)
    assert_close(state(several), state(one), 1e-9)


@pytest.mark.parametrize(
    "case",
    [
        "usual",
        "slab",
        "waves one by one",
        "many bodies",
        "points",
        "tilted",
        "ions of one rank",
        "no charges",
    ],
)
def test_charges_that_change_their_ranks(case, device, tmp_path):
    """In 90 steps lists are built several times, and particles cross the faces between ranks."""
    script = CASES[case].replace("timestep 0.001", "timestep 0.005")
    # On ranks the same commands create atoms with other numbers.
    start = run_lammps(script + "run 0\nwrite_restart half\n", tmp_path)
    script = f"read_restart {start.directory}/half\ncomm_modify vel yes\n" + "".join(
        script.partition("pair_style")[1:]
    )
    script += resident(device) + THERMO + "thermo 30\nrun 60\nrun 30\n" + END
    several, one = (run_lammps(script, tmp_path, ranks=ranks) for ranks in (4, 1))
    assert_stays(several)
    assert_same_steps(several, one, 1e-8)


def test_long_waves_of_the_charge_are_screened(device, tmp_path):
    """F. H. Stillinger, R. Lovett, J. Chem. Phys. 48, 3858 (1968): the structure factor of charges
    is S(k) = k^2 / (4 pi l_B) at small k, whatever the ions are; without their forces it would be
    21 times as high here. Debye and Hueckel's next term is 1 / (1 + k^2 / kappa^2). Frames
    are independent: the bound is five standard errors and 0.02 for what lies beyond."""
    pairs = 120
    script = ions(dpd="manymove/dpd 1.0 1.0 4711", pairs=pairs).replace(
        "timestep 0.001", "timestep 0.03"
    )
    script += resident(device) + "run 500\ndump d all custom 20 waves id q x y z\n"
    run = run_lammps(script + "dump_modify d sort id first no\nrun 4000\n", tmp_path)
    frames = (run.directory / "waves").read_text().split("ITEM: TIMESTEP\n")[1:]
    n = np.array([(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1)])
    k = 2 * math.pi / EDGE * n
    squares = (k**2).sum(axis=1)
    found = []
    for frame in frames:
        rows = np.array([line.split() for line in frame.splitlines()[8:]], dtype=float)
        rho = np.exp(1j * rows[:, 2:] @ k.T).T @ rows[:, 1]
        found.append(np.abs(rho) ** 2 / EDGE**3)
    kappa_squared = 4 * math.pi * COUPLING * 2 * pairs / EDGE**3
    ratio = np.array(found) * (4 * math.pi * COUPLING / squares * (1 + squares / kappa_squared))
    by_frame = ratio.mean(axis=1)
    error = by_frame.std(ddof=1) / math.sqrt(len(by_frame))
    assert error < 0.04
    assert abs(by_frame.mean() - 1) < 5 * error + 0.02, (by_frame.mean(), error)
