"""Comparisons that all commands served by `run_style manymove/verlet` have to pass: the same input
script with LAMMPS' own styles, on CPU and GPU, on several ranks, with several threads, and from a
restart file. `Contract` makes the tests of a module from its input scripts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

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
from machine import on_gpu

STRESSES = ("Pxx", "Pyy", "Pzz", "Pxy", "Pxz", "Pyz")


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
    script: str, rest: str, device: str, folder: Path, table: str = THERMO, ranks: int = 1
) -> tuple[Run, Run]:
    """Assert that a run from a restart file continues. rest: the commands that restart files do not
    contain. Returns the run from the file and the one without it."""
    script += resident(device) + table
    whole = run_lammps(script + "restart 8 half\nrun 16\n", folder, ranks)
    resumed = run_lammps(
        f"read_restart {whole.directory / 'half'}.8\ncomm_modify vel yes\n"
        f"{resident(device)}{rest}{table}run 8\n{END}",
        folder,
        ranks,
    )
    again = run_lammps(script + "run 8\nrun 8\n" + END, folder, ranks)
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
    assert_stays(many)
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
    assert STAYS in cuda.output and WARNING not in cuda.output
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


MOVED = ("xu", "yu", "zu", "vx", "vy", "vz")


class Contract:
    """Tests of the input scripts of a module. The module derives a class from this one, whose
    attributes name the scripts that each test has; a test without any is left out.

    Attributes:
        scripts: input scripts in double precision by name, or what `script` makes them from.
        forces: names of scripts whose forces, energies and stresses are compared with LAMMPS'
            where nothing moves; `still` makes them so.
        steps: names of scripts of which a few steps are compared with LAMMPS'; all by default.
        ranks: names of scripts that LAMMPS and the engine run on two and on four ranks.
        chains: names of scripts of chains that several ranks run as one does.
        restarts: by name, the commands that a restart file does not contain.
        threads, output: names of scripts in which threads, and output, do not change a bit.
        sums: names of scripts whose stresses per atom add up to the pressure.
        stresses: names of scripts whose stresses per atom are LAMMPS'.
        refused: scripts that stay on the host, by the reason that the warning gives.
        bits: names of scripts that have the same bits on CPU and GPU (default: those of `steps`).
        table: commands of the thermodynamic output; columns are names in it.
        kinds: what combines names and precisions (`each_once`, or all of them).
    """

    scripts: Mapping[str, Any] = {}
    forces: Iterable[str] = ()
    steps: Iterable[str] | None = None
    ranks: Iterable[str] = ()
    chains: Iterable[str] = ()
    restarts: Mapping[str, str] = {}
    threads: Iterable[str] = ()
    output: Iterable[str] = ()
    sums: Iterable[str] = ()
    stresses: Iterable[str] = ()
    refused: Mapping[str, str] = {}
    bits: Iterable[str] | None = None

    table, columns = THERMO, ("PotEng", "Press")
    digits = 1e-12  # of forces
    precisions: tuple[str, ...] = ("double", "mixed")
    kinds: Callable[..., Iterable[Any]] = staticmethod(itertools.product)
    factor = 1.0  # of the tolerance of a few steps
    runs, runs_on_ranks = "thermo 4\nrun 8\nrun 4\n", "thermo 10\nrun 20\n"
    stresses_on, refused_on = (1,), (1,)  # ranks
    looks = ("thermo 40\n", OF_PARTICLES + "thermo 1\n")
    unchanged = (*MOVED, "fx", "fy", "fz")  # by the output
    instead = ""  # what the warning says of the forces
    bits_after = 200  # steps

    def __init_subclass__(cls) -> None:
        if unknown := [name for name in vars(cls) if not hasattr(Contract, name)]:
            raise TypeError(f"{cls.__name__}: Contract has no {', '.join(unknown)}")
        cls.steps = cls.scripts if cls.steps is None else cls.steps
        cls.bits = cls.steps if cls.bits is None else cls.bits
        for test, names in CASES.items():
            if not getattr(cls, names):
                setattr(cls, test, None)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        test = metafunc.function.__name__
        if "precision" in metafunc.fixturenames:
            pairs = list(self.kinds(self.steps, self.precisions))
            metafunc.parametrize(("name", "precision"), pairs)
        elif test in CASES:
            metafunc.parametrize("name", getattr(self, CASES[test]))
        numbers = {"ranks": (2, 4), "stresses": self.stresses_on, "refused": self.refused_on}
        if "ranks" in metafunc.fixturenames:
            metafunc.parametrize("ranks", numbers[CASES[test]])

    def script(self, name: str, folder: Path) -> str:
        return self.scripts[name]

    def still(self, name: str, folder: Path) -> str:
        """The script without random forces, and with a time step that is so short that particles
        do not move beyond rounding."""
        raise NotImplementedError

    def test_forces_energies_and_stresses_are_those_of_lammps(self, name, device, tmp_path):
        ours, host = compare(
            self.still(name, tmp_path), self.table + "thermo 1\nrun 1\n", device, tmp_path
        )
        assert_close(pick(ours, "fx", "fy", "fz"), pick(host, "fx", "fy", "fz"), self.digits)
        for column, expected in host.thermo().items():
            if column.startswith(("P", "E_")):
                values = ours.thermo()[column]
                assert values == pytest.approx(expected, rel=1e-12, abs=1e-12), column

    def test_a_few_steps_are_those_of_the_host(self, name, precision, device, tmp_path):
        script = self.script(name, tmp_path)
        assert_steps_of_lammps(
            script, precision, device, tmp_path, self.runs, self.table, self.factor
        )

    def test_several_ranks(self, name, ranks, device, tmp_path):
        script = self.script(name, tmp_path)
        assert_ranks_of_lammps(script, ranks, device, tmp_path, self.runs_on_ranks)

    @pytest.mark.parametrize("newton", ["on", "off"])
    @pytest.mark.parametrize("processors", ["2 1 1", "2 2 1"])
    def test_ranks_share_chains(self, name, processors, newton, device, tmp_path):
        script = self.script(name, tmp_path) + resident(device) + self.table
        script += "velocity all ramp vx -4 4 y 0 7 sum yes\ntimestep 0.002\n"
        script += "thermo 15\nrun 30\n" + END
        before = f"newton {newton}\nprocessors {processors}\n"
        ranks = math.prod(map(int, processors.split()))
        one, many = run_lammps(script, tmp_path), run_lammps(before + script, tmp_path, ranks)
        assert_same_state(many, one, (*self.columns, "Pxy"))

    def test_restart_continues(self, name, device, tmp_path):
        script = self.script(name, tmp_path)
        resumed, again = assert_restart_continues(
            script, self.restarts[name], device, tmp_path, self.table
        )
        for column in self.columns:
            last = again.thermo()[column][-1]
            assert resumed.thermo()[column][-1] == pytest.approx(last, rel=1e-6), column

    def test_threads_do_not_count(self, name, tmp_path):
        script = self.script(name, tmp_path)
        assert_threads_do_not_count(script, tmp_path, self.table, self.columns)

    def test_output_does_not_count(self, name, device, tmp_path):
        script = self.script(name, tmp_path) + resident(device) + self.table
        first, *others = (
            run_lammps(script + look + "run 40\n" + END, tmp_path) for look in self.looks
        )
        for run in others:
            assert_stays(run)
            assert (pick(run, *self.unchanged) == pick(first, *self.unchanged)).all()
            for column in self.columns:
                last = first.thermo()[column][-1]
                assert run.thermo()[column][-1] == pytest.approx(last, rel=1e-12), column

    def test_stresses_of_particles_sum_to_the_pressure(self, name, device, tmp_path):
        assert_stresses_of_particles(self.script(name, tmp_path), device, tmp_path)

    def test_stresses_of_particles(self, name, ranks, device, tmp_path):
        script = self.script(name, tmp_path)
        assert_stresses_of_lammps(script, device, tmp_path, self.table, ranks)

    def test_what_is_not_served_is_named(self, name, ranks, tmp_path):
        assert self.instead in assert_named(self.refused[name], name, tmp_path, ranks)

    @on_gpu
    def test_cpu_and_gpu_give_the_same_bits(self, name, tmp_path):
        script, columns = self.script(name, tmp_path), (*self.columns, "Pxx", "Pxy")
        assert_same_bits(script, tmp_path, self.bits_after, self.table, columns)


# The attribute of `Contract` with the scripts of each test.
CASES = {
    "test_forces_energies_and_stresses_are_those_of_lammps": "forces",
    "test_a_few_steps_are_those_of_the_host": "steps",
    "test_several_ranks": "ranks",
    "test_ranks_share_chains": "chains",
    "test_restart_continues": "restarts",
    "test_threads_do_not_count": "threads",
    "test_output_does_not_count": "output",
    "test_stresses_of_particles_sum_to_the_pressure": "sums",
    "test_stresses_of_particles": "stresses",
    "test_what_is_not_served_is_named": "refused",
    "test_cpu_and_gpu_give_the_same_bits": "bits",
}
