"""Comparisons that all commands served by `run_style manymove/verlet` have to pass: the same input
script with LAMMPS' own styles, on CPU and GPU, on several ranks, with several threads, and from a
restart file."""

from __future__ import annotations

from pathlib import Path

import pytest
from dpd_scripts import (
    END,
    STAYS,
    TOLERANCE,
    WARNING,
    assert_close,
    assert_same_steps,
    assert_stays,
    compare,
    pick,
    resident,
    state,
)
from lammps_host import THERMO, Run, run_lammps

STRESSES = ("Pxx", "Pyy", "Pzz", "Pxy", "Pxz", "Pyz")


def assert_forces_of_lammps(script: str, device: str, folder: Path, table: str = THERMO) -> None:
    """Assert that forces, energies and stresses agree to 12 digits. The script needs a time step
    that is so short that particles do not move beyond rounding."""
    end = table + "thermo 1\nrun 1\n" + END
    host = run_lammps(script + end, folder)
    ours = run_lammps(script + resident(device) + end, folder)
    assert_stays(ours)
    assert_close(pick(ours, "fx", "fy", "fz"), pick(host, "fx", "fy", "fz"), 1e-12)
    for name, expected in host.thermo().items():
        if name.startswith(("P", "E_")):
            assert ours.thermo()[name] == pytest.approx(expected, rel=1e-12, abs=1e-12), name


def assert_steps_of_lammps(
    script: str,
    precision: str,
    device: str,
    folder: Path,
    runs: str = "thermo 4\nrun 8\nrun 4\n",
    table: str = THERMO,
    factor: float = 1.0,
) -> None:
    """Assert that a few steps agree. The script is in double precision. A GPU evaluates float32
    with other roundings than LAMMPS, and may differ twice as much."""
    factor *= 2 if (device, precision) == ("cuda", "mixed") else 1
    script = script.replace("double", precision)
    host = run_lammps(script + table + runs + END, folder)
    ours = run_lammps(script + resident(device) + table + runs + END, folder)
    assert_stays(ours)
    assert_same_steps(ours, host, factor * TOLERANCE[precision])


def assert_same_state(many: Run, one: Run, columns: tuple[str, ...] = ()) -> None:
    """Assert that a run on several ranks has the final state of another run."""
    assert STAYS in many.output
    assert_close(state(many), state(one), 1e-8)
    for name in columns:
        assert many.thermo()[name] == pytest.approx(one.thermo()[name], rel=1e-8), name


def assert_ranks_of_lammps(script: str, ranks: int, device: str, folder: Path, runs: str) -> None:
    """Assert that `verlet` and the engine agree on several ranks."""
    end = THERMO + runs + END
    host = run_lammps(script + end, folder, ranks)
    assert_same_state(run_lammps(script + resident(device) + end, folder, ranks), host)


def assert_restart_continues(
    script: str, rest: str, device: str, folder: Path, table: str = THERMO
) -> tuple[Run, Run]:
    """Assert that a run from a restart file continues. rest: the commands that restart files do not
    contain. Returns the run from the file and the one without it."""
    script += resident(device) + table
    whole = run_lammps(script + "restart 8 half\nrun 16\n", folder)
    resumed = run_lammps(
        f"read_restart {whole.directory / 'half'}.8\ncomm_modify vel yes\n"
        f"{resident(device)}{table}{rest}run 8\n{END}",
        folder,
    )
    again = run_lammps(script + "run 8\nrun 8\n" + END, folder)
    assert_stays(resumed)
    assert_close(state(resumed), state(again), 1e-9)
    return resumed, again


def assert_threads_do_not_count(
    script: str, folder: Path, table: str = THERMO, columns: tuple[str, ...] = ("PotEng", "Press")
) -> None:
    """Assert that one thread and five have the same bits."""
    one, many = (
        run_lammps(script + resident("cpu", f"threads {n}") + table + "run 20\n" + END, folder)
        for n in (1, 5)
    )
    assert (state(many) == state(one)).all()
    for name in columns:
        assert (many.thermo()[name] == one.thermo()[name]).all(), name


def assert_same_bits(
    script: str,
    folder: Path,
    steps: int = 300,
    table: str = THERMO,
    columns: tuple[str, ...] = ("PotEng", "Pxx", "Pxy"),
) -> None:
    """Assert that CPU and GPU have the same bits, and the same sums to rounding."""
    cpu, cuda = (
        run_lammps(script + table + resident(device) + f"run {steps}\n" + END, folder)
        for device in ("cpu", "cuda")
    )
    assert_stays(cuda)
    assert (state(cuda) == state(cpu)).all()
    for name in columns:
        assert cuda.thermo()[name] == pytest.approx(cpu.thermo()[name], rel=1e-11, abs=1e-11), name


def assert_stresses_of_particles(script: str, device: str, folder: Path) -> None:
    """Assert that the stresses per atom of LAMMPS' styles add up to the pressure of the engine."""
    script += resident(device) + (
        "compute s all stress/atom NULL virial\ncompute sum all reduce sum c_s[1] c_s[5]\n"
        "compute v all pressure NULL virial\n"
        "thermo_style custom step c_v[1] c_v[5] c_sum[*] vol\n"
        "thermo_modify format float %.16g norm no\nthermo 5\nrun 10\n"
    )
    run = run_lammps(script, folder)
    assert_stays(run)
    table = run.thermo()
    for pressure, stress in (("c_v[1]", "c_sum[1]"), ("c_v[5]", "c_sum[2]")):
        expected = -table[stress] / table["Volume"]
        assert table[pressure] == pytest.approx(expected, rel=1e-6, abs=1e-6)


# A dump of them.
OF_PARTICLES = "compute s all stress/atom NULL\ndump s all custom 5 s id c_s[1] c_s[4]\n"
OF_PARTICLES += "dump_modify s sort id format float %.17g\n"


def assert_stresses_of_lammps(
    script: str, device: str, folder: Path, table: str = THERMO, ranks: int = 1
) -> None:
    """Assert that stresses per atom and thermodynamic output agree, also where a thermostat or a
    barostat changes velocities and the box after the forces."""
    more = OF_PARTICLES + table + "thermo 5\nrun 20\n"
    ours, host = compare(script, more, device, folder, ranks)
    for frame in (1, -1):
        of_ours, of_host = (
            pick(run, "c_s[1]", "c_s[4]", file="s", frame=frame) for run in (ours, host)
        )
        assert_close(of_ours, of_host, 1e-9)
    scale = abs(host.thermo()["Press"]).max()
    for name, expected in host.thermo().items():
        assert ours.thermo()[name] == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale), name


def assert_named(
    script: str, reason: str, folder: Path, ranks: int = 1, device: str = "cpu"
) -> str:
    """Assert that one warning names what is not served. Returns the warning."""
    output = run_lammps(script + resident(device) + "run 2\n", folder, ranks=ranks).output
    (warning,) = (line for line in output.splitlines() if WARNING in line)
    assert f"on the device: {reason}" in warning
    return warning
