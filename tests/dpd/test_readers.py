"""Who reads or changes particles that stay with an engine: fixes, dumps, computes, in LAMMPS."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dpd_scripts import (
    END,
    SCRIPTS,
    assert_close,
    assert_stays,
    compare,
    fluid,
    one_type,
    pick,
    resident,
    state,
    system,
)
from lammps_host import THERMO, Run, needs_lammps, run_lammps
from machine import on_gpu

pytestmark = needs_lammps


def table(run: Run, name: str) -> np.ndarray:
    lines = (run.directory / name).read_text().splitlines()
    return np.array(
        [[float(w) for w in line.split()] for line in lines if line and line[0] != "#"],
        dtype=object,
    )


@pytest.mark.parametrize("ranks", [1, 2])
def test_fixes_at_the_end_of_a_step(ranks, device, tmp_path):
    more = """
fix m all momentum 3 linear 1 1 1
fix t all temp/rescale 4 1.3 1.0 0.0 0.7
fix a all ave/time 2 1 2 c_thermo_temp c_thermo_press file averages format " %.16g"
variable t equal temp
fix p all print 5 "here ${t}" file printed
thermo 6
run 12
"""
    ours, host = compare(SCRIPTS["bonds"] + THERMO, more, device, tmp_path, ranks)
    for name in ("averages", "printed"):
        a, b = ((r.directory / name).read_text().replace("here", "").split() for r in (ours, host))
        numbers = [(float(x), float(y)) for x, y in zip(a, b, strict=True) if x[0].isdigit()]
        assert len(numbers) > 2
        for x, y in numbers:
            assert x == pytest.approx(y, rel=1e-5 if name == "printed" else 1e-9)
    assert_close(state(ours), state(host), 1e-9)


AVERAGES = """
compute t all temp
compute p all pressure t
compute w all pressure NULL virial
fix a all ave/time 1 1 1 c_t c_p c_p[4] c_w[5] c_thermo_pe file averages format " %.16g"
fix b all ave/time 2 5 10 f_a[2] c_thermo_press file others format " %.16g"
run 20
"""


@pytest.mark.parametrize("more", ["", "fix f all viscous 2.0\n", "fix f all addforce 0.1 0 0\n"])
def test_averages_of_temperatures_and_pressures(more, device, tmp_path):
    # They need velocities alone, except with body forces.
    ours, host = compare(SCRIPTS["bonds"] + more, AVERAGES, device, tmp_path)
    for name, rows in (("averages", 21), ("others", 2)):
        a, b = (table(run, name).astype(float) for run in (ours, host))
        assert len(a) == rows
        assert a == pytest.approx(b, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(
    "columns", ["temp press pe fmax fnorm", "epair pe vol", "fmax epair", "c_thermo_temp f_t pxy"]
)
def test_thermodynamic_output_alone(columns, device, tmp_path):
    # Only what the columns need is copied.
    more = "fix t all temp/rescale 3 1.3 1.0 0.0 0.7\n" if "f_t" in columns else ""
    more += f"thermo_style custom step {columns}\nthermo_modify format float %.16g\n"
    more += "thermo 3\nrun 12\n"
    ours, host = compare(SCRIPTS["bonds"], more, device, tmp_path)
    for column, values in host.thermo().items():
        assert ours.thermo()[column] == pytest.approx(values, rel=1e-8, abs=1e-9), column


@pytest.mark.parametrize("ranks", [1, 2])
def test_temperatures_and_pressures_need_sums_only(ranks, device, tmp_path):
    # A variable makes LAMMPS read the particles themselves.
    more = "thermo_style custom step temp press ke etotal enthalpy pxx pyy pzz pxy pxz pyz lx\n"
    more += "thermo_modify format float %.16g\nthermo 1\n" + resident(device)
    sums, particles = (
        run_lammps(SCRIPTS["bonds"] + variable + more + "run 8\n", tmp_path, ranks)
        for variable in ("", "variable x equal step\n")
    )
    assert_stays(sums)
    for column, values in particles.thermo().items():
        assert sums.thermo()[column] == pytest.approx(values, rel=1e-12, abs=1e-11), column
    copied = [
        int(n) for run in (sums, particles) for n in re.findall(r"(\d+) for what", run.output)
    ]
    assert not copied or copied[0] < copied[1] / 4


PROFILES = """
compute c1 all chunk/atom bin/1d z lower 0.2 units reduced
compute c2 all chunk/atom bin/1d z lower 0.2 units reduced
compute c3 all chunk/atom bin/1d z lower 0.2 units reduced
compute c4 all chunk/atom bin/1d z lower 0.2 units reduced
compute c5 all chunk/atom bin/2d x center 1.1 y 0.5 0.7 units box bound y 1.0 4.0
compute c6 all chunk/atom bin/3d x upper 2.2 y lower 1.9 z 0.3 1.3 units box discard no
fix flow all ave/chunk 1 2 8 c1 vx density/number file flow format " %.16g"
fix across all ave/chunk 2 2 4 c2 vz vy density/mass norm sample file across format " %.16g"
fix warm all ave/chunk 1 3 4 c3 temp ave running file warm format " %.16g"
fix push all ave/chunk 4 1 4 c4 fx fz ave window 3 file push format " %.16g"
fix plane all ave/chunk 1 5 8 c5 vy mass temp density/mass file plane format " %.16g"
fix cube all ave/chunk 2 1 2 c6 vz density/number file cube format " %.16g"
thermo_modify format float %.16g
"""


@pytest.mark.parametrize("more", ["", "fix f all addforce 0.1 0 0\n"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_profiles_are_those_of_lammps(ranks, more, device, tmp_path):
    """The sums over bins are the engine's. With thermodynamic output in each step LAMMPS makes them
    from the same particles."""
    script = SCRIPTS["bonds"] + more + "thermo_style custom step temp press\n"
    ours, same, host = (
        run_lammps(
            script + place + f"thermo {thermo}\n" + PROFILES + "run 18\n" + END, tmp_path, ranks
        )
        for place, thermo in ((resident(device), 0), (resident(device), 1), ("", 0))
    )
    assert_stays(ours)
    assert (state(ours) == state(same)).all()
    for name in ("flow", "across", "warm", "push", "plane", "cube"):
        found, expected, of_host = (table(run, name) for run in (ours, same, host))
        assert len(found) == len(expected) > 4
        for a, b, c in zip(found, expected, of_host, strict=True):
            assert a == pytest.approx(b, rel=1e-12, abs=1e-12)
            assert a == pytest.approx(c, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("pressure", [20, 80])
def test_a_profile_has_the_bins_of_its_box(pressure, device, tmp_path):
    """The box changes in the first run, which ends within the samples of an average. LAMMPS makes
    other bins before those of the next one, in a run with a fixed box."""
    more = f"""
compute c all chunk/atom bin/1d z lower 0.37 units box
fix flow all ave/chunk 1 8 8 c vx density/number file flow format " %.16g"
unfix nve
fix p all nph z {pressure} {pressure} 0.05
thermo 0
run 5
unfix p
fix nve all nve
run 23
"""
    ours, host = compare(SCRIPTS["bonds"], more, device, tmp_path)
    found, expected = (table(run, "flow") for run in (ours, host))
    assert len(found) > 30
    for a, b in zip(found, expected, strict=True):
        assert a == pytest.approx(b, rel=1e-7, abs=1e-7)


@on_gpu
def test_profiles_copy_their_sums(tmp_path):
    """The first of four samples needs positions and a component of the velocities, and the end of
    the run needs 84 bytes per particle. The other three need the sums alone, below 8 kB each."""
    script = SCRIPTS["bonds"] + "compute c all chunk/atom bin/1d z lower 0.2 units reduced\n"
    script += "fix flow all ave/chunk 1 4 8 c vx density/number\nthermo 0\n"
    output = run_lammps(script + resident("cuda") + "run 8\n", tmp_path).output
    (particles,) = map(int, re.findall(r"with (\d+) atoms", output))
    (copied,) = map(int, re.findall(r"(\d+) for what", output))
    assert 0 <= copied - (24 + 8 + 84) * particles < 3 * 8000


COLD = "velocity all scale 1e-12\npair_coeff * * 0.0 1.0\n"


@pytest.mark.parametrize(
    ("timestep", "more"),
    [
        (1e-6, ""),
        (1e-9, ""),
        (0.01, COLD),
        (0.01, "mass 2 1e8\nvelocity all create 1.3 13 loop all\n"),
    ],
    ids=["short steps", "shorter ones", "cold", "unequal masses"],
)
@pytest.mark.parametrize("ranks", [1, 2])
def test_sums_have_all_digits(ranks, timestep, more, device, tmp_path):
    """Whatever the velocities are in cutoffs per step. The stresses are kinetic ones alone."""
    script = system(timestep=timestep) + fluid(temperature=0.0) + more
    script += "compute k all pressure thermo_temp ke\n"
    script += "thermo_style custom step temp ke c_k[*]\nthermo_modify norm no format float %.16g\n"
    host, ours = (
        run_lammps(script + place + "thermo 1\nrun 2\n", tmp_path, ranks)
        for place in ("", resident(device))
    )
    assert_stays(ours)
    scale = abs(host.thermo()["c_k[1]"][1])
    for column, values in host.thermo().items():
        tolerance = 1e-12 * scale if column.startswith("c_k") else 0.0
        assert ours.thermo()[column][1] == pytest.approx(values[1], rel=1e-12, abs=tolerance), (
            column
        )


def test_a_fix_that_changes_the_time_step(device, tmp_path):
    more = "fix dt all dt/reset 3 0.001 0.02 0.02\n" + THERMO + "run 9\n"
    ours, host = compare(SCRIPTS["bonds"], more, device, tmp_path)
    assert_close(state(ours), state(host), 1e-9)


def test_a_fix_that_stops_the_run(device, tmp_path):
    more = "variable s equal step\nfix h all halt 1 v_s >= 5 error continue\nrun 9\n"
    ours, host = compare(SCRIPTS["bonds"], more, device, tmp_path)
    assert "for 5 steps" in host.output and "for 5 steps" in ours.output
    assert_close(state(ours), state(host), 1e-10)


def test_dumps_on_odd_steps(device, tmp_path):
    more = """
dump d all custom 7 dump id type x y z vx vy vz fx fy fz ix iy iz
dump_modify d sort id format float %.17g
thermo 5
run 21
"""
    ours, host = compare(system() + fluid(), more, device, tmp_path)

    def columns(run: Run, frame: int, names: str) -> np.ndarray:
        return pick(run, *names.split(), file="dump", frame=frame)

    for frame in range(4):
        for names in ("vx vy vz", "fx fy fz"):
            assert_close(columns(ours, frame, names), columns(host, frame, names), 1e-8)
        unwrapped = [
            columns(r, frame, "x y z") + 7 * columns(r, frame, "ix iy iz") for r in (ours, host)
        ]
        assert_close(*unwrapped, 1e-9)
        wrapped = columns(ours, frame, "x y z")
        assert wrapped.min() >= 0 and wrapped.max() < 7


@pytest.mark.parametrize("ranks", [1, 2])
def test_computes_that_need_neighbours_and_values_by_particle(ranks, device, tmp_path):
    more = """
compute rdf all rdf 20
compute stress all stress/atom NULL
compute energy all pe/atom
compute sums all reduce sum c_energy c_stress[1] c_stress[4]
compute pairs all pair/local dist eng force
compute most all reduce sum c_pairs[1] c_pairs[2] c_pairs[3] inputs local
compute bonds all bond/local dist engpot
compute longest all reduce sum c_bonds[1] c_bonds[2] inputs local
fix rdf all ave/time 5 1 5 c_rdf[*] mode vector file rdf
thermo_style custom step pe press c_sums[1] c_sums[2] c_sums[3] c_most[1] c_most[2] c_most[3] &
  c_longest[1] c_longest[2]
thermo_modify format float %.16g norm no
thermo 3
dump d all custom 7 dump id c_energy c_stress[1] c_stress[2] c_stress[6]
dump_modify d sort id format float %.17g
run 15
"""
    # LAMMPS' rdf takes the pairs of the present list, which reaches its last bins when it is new.
    script = SCRIPTS["bonds"] + "neigh_modify delay 0 every 1 check no\n"
    ours, host = compare(script, more, device, tmp_path, ranks)
    for name, expected in host.thermo().items():
        assert ours.thermo()[name] == pytest.approx(expected, rel=1e-9), name
    for name in ("c_energy", "c_stress[1]", "c_stress[2]", "c_stress[6]"):
        assert_close(ours.dump()[name], host.dump()[name], 1e-9)
    a, b = ((r.directory / "rdf").read_text().split() for r in (ours, host))
    assert a == b


def test_what_body_forces_report(device, tmp_path):
    more = """
fix_modify up energy yes virial yes
thermo_style custom step pe press pxx f_up f_up[1] f_down[1] f_down[2]
thermo_modify format float %.16g norm no
thermo 2
run 6
"""
    ours, host = compare(SCRIPTS["walls and body forces"], more, device, tmp_path)
    for name, expected in host.thermo().items():
        assert ours.thermo()[name] == pytest.approx(expected, rel=1e-9, abs=1e-8), name


def test_a_region_ends_at_periodic_faces(device, tmp_path):
    # The first particle passes the face y = 0 before the third of five steps and is in the upper
    # half from then on: two and a half steps with a force of 1.
    create = "create_atoms 1 single 3 0.025 3\ncreate_atoms 1 single 1 3 3\nset atom 1 vy -1.0"
    script = one_type(create, "block 0 6 0 6 0 6", law="0.0 0.0")
    script += """
region upper block INF INF 3.5 6 INF INF
fix push all addforce 1.0 0.0 0.0 region upper
"""
    run = run_lammps(script + resident(device) + "run 5\n" + END, tmp_path)
    assert_stays(run)
    assert pick(run, "vx")[:, 0] == pytest.approx([0.025, 0.0], abs=1e-15)
    assert pick(run, "yu")[0, 0] == pytest.approx(-0.025, abs=1e-15)
