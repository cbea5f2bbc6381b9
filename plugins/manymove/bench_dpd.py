"""Speed of DPD in LAMMPS: `manymove bench dpd`.

Every variant reads the same melted fluid, runs a while to warm up, and is then timed by LAMMPS' own
clock ("Loop time"); variants take turns. Ours: pair_style manymove/dpd on MPI ranks, and with
run_style manymove/verlet on a GPU. Beside them LAMMPS' dpd on the same ranks, and dpd/kk and
dpd/gpu of any LAMMPS that has them for a GPU.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import manymove.lammps
from manymove import _core, bench
from manymove.lammps import host
from manymove.report import write_json

GPU_SIZES = [100_000, 2_000_000]
CPU_SIZES = [24_000]
FIGURE_11 = {
    "densities": [3.0, 6.0, 50.0],
    "cutoffs": [1.0, 1.5],
    "sizes": [8192, 65536, 262144, 1_000_000, 2_000_000],
}
WARM_UP = 50  # steps before each timed run
FEWEST_STEPS = 20
SHORTEST_MELT = 100  # steps: before, the overlaps of the start have not heated it yet
MELTED = 0.1  # largest deviation of the temperature
RECORD = re.compile(r"^\s*\d+\s+(\d\S*)\s+\S+\s*$", re.MULTILINE)  # step, temperature, pressure
# Of one GPU. dpd must be computed once per pair: half lists and newton on.
ACCELERATORS = {
    "dpd/kk": ["-k", "on", "g", "1", "-sf", "kk", "-pk", "kokkos", "newton", "on", "neigh", "half"],
    "dpd/gpu": ["-sf", "gpu", "-pk", "gpu", "1"],
}


@dataclass(frozen=True)
class Case:
    """A fluid; mass, kT and the friction 4.5 are those of Groot and Warren."""

    particles: int
    density: float
    cutoff: float
    timestep: float
    skin: float
    weight_exponent: float
    seed: int

    def __post_init__(self) -> None:
        for name in ("particles", "density", "cutoff", "timestep", "skin", "seed"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")
        if not self.weight_exponent >= 0:
            raise ValueError(f"weight_exponent must not be negative, not {self.weight_exponent}")
        if self.edge < 2 * (self.cutoff + self.skin):
            raise ValueError(
                f"the box of {self.particles} particles at density {self.density:g} is "
                f"{self.edge:.3g} wide, less than twice cutoff and skin"
            )

    @property
    def edge(self) -> float:
        return (self.particles / self.density) ** (1 / 3)

    @property
    def a(self) -> float:
        """Groot and Warren's a = 75 kT / rho, in units of r_c."""
        return 75 / (self.density * self.cutoff**4)

    def pair(self, name: str) -> str:
        """pair_style and pair_coeff; `name` may end with a precision."""
        style, *precision = name.split()
        tail = ""
        if style.startswith("manymove"):
            tail = f" weight_exponent {self.weight_exponent:g} precision {precision[0]}"
        return (
            f"pair_style {style} 1.0 {self.cutoff:g} {self.seed}{tail}\n"
            f"pair_coeff 1 1 {self.a:.10g} 4.5\n"
        )

    def integrate(self, run_style: str) -> str:
        return (
            f"run_style {run_style}\nneighbor {self.skin:g} bin\n"
            "neigh_modify delay 0 every 1 check yes\n"
            f"timestep {self.timestep:g}\nfix integrate all nve\n"
        )


@dataclass
class Variant:
    """Something to time."""

    name: str
    pair: str  # of Case.pair
    command: list[str]  # without deck and log
    environment: dict[str, str]
    settings: dict[str, Any]
    run_style: str = "verlet"
    peer: bool = False
    steps: int = FEWEST_STEPS
    rates: list[float] = field(default_factory=list)  # particle-steps per second
    temperature: float = math.nan
    failure: str = ""

    def run(self, case: Case, start: Path) -> None:
        """One timed run; its rate, or why there is none, is kept."""
        deck = (
            f"comm_modify mode single vel yes\nread_restart {start}\n"
            f"comm_modify mode single vel yes\n{case.pair(self.pair)}"
            f"{case.integrate(self.run_style)}thermo_style custom step temp press\n"
            f"thermo {max(WARM_UP, self.steps)}\nrun {WARM_UP}\nrun {self.steps}\n"
        )
        output, code = _lammps(deck, self.command, self.environment)
        loops = re.findall(r"Loop time of ([\d.eE+-]+) on", output)
        if code or len(loops) != 2:
            errors = [line for line in output.splitlines() if "ERROR" in line]
            self.failure = (errors or output.strip().splitlines()[-1:] or ["no output"])[0].strip()
            return
        self.rates.append(case.particles * self.steps / float(loops[-1]))
        self.temperature = float(RECORD.findall(output)[-1])

    def calibrate(self, case: Case, start: Path, seconds: float) -> None:
        """Choose the number of steps that takes `seconds`."""
        for _ in range(2):  # the first timing is of a few steps only
            self.run(case, start)
            if self.failure:
                return
            steps = int(1.2 * seconds * self.rates.pop() / case.particles)
            self.steps = max(FEWEST_STEPS, steps)

    def result(self) -> dict[str, Any]:
        row = {"variant": self.name, "peer": self.peer, **self.settings}
        if self.failure:
            return {**row, "failure": self.failure}
        return {
            **row,
            "million_particle_steps_per_second": median(self.rates) / 1e6,
            "lowest": min(self.rates) / 1e6,
            "highest": max(self.rates) / 1e6,
            "repeats": len(self.rates),
            "steps_per_repeat": self.steps,
            "temperature": self.temperature,
        }


def run(
    *,
    sizes: Sequence[int] | None,
    densities: Sequence[float],
    cutoffs: Sequence[float],
    timestep: float,
    skin: float,
    weight_exponent: float,
    ranks: Sequence[int] | None,
    lammps: Sequence[Path],
    melt: int,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None,
) -> dict[str, Any]:
    """Time every size at every density and cutoff, print a table, write the JSON file.

    Args:
        sizes: numbers of particles; None for the usual ones of the machine.
        densities: rho.
        cutoffs: r_c.
        timestep: of velocity Verlet.
        skin: of the neighbour lists that are LAMMPS'.
        weight_exponent: s of ours; LAMMPS' dpd has 1.
        ranks: MPI processes of the variants on the CPU; None for as many as there are cores.
        lammps: executables to look for dpd/kk and dpd/gpu in, beside those that are found.
        melt: steps from the random start before anything is timed, at least 100.
        repeats: timed runs per variant, at least 3.
        seconds: least length of a timed run.
        seed: of start and random forces.
        json_file: where the results go; None for nowhere.

    Returns:
        what the JSON file holds.

    Raises:
        ValueError: an argument is out of range.
        RuntimeError: LAMMPS, its MPI or the plugin is missing, or the fluid does not melt.
    """
    bench.check(repeats, seconds, melt, 0)
    if melt < SHORTEST_MELT:
        raise ValueError(f"--melt is {melt}; the random start needs at least {SHORTEST_MELT} steps")
    if ranks is not None and min(ranks) < 1:
        raise ValueError(f"--ranks is {min(ranks)}; it must be positive")
    for executable in lammps:
        if shutil.which(executable) is None:
            raise ValueError(f"--lammps {executable} is not an executable")
    host.command()  # raises if something is missing
    on_gpu = resident()
    cores = len(os.sched_getaffinity(0))
    sizes = sizes or (GPU_SIZES if on_gpu else CPU_SIZES)
    cases = [
        Case(N, density, cutoff, timestep, skin, weight_exponent, seed)
        for density, cutoff, N in itertools.product(densities, cutoffs, sizes)
    ]
    rows: list[dict[str, Any]] = []
    accelerated = _accelerated(lammps)
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            start = Path(folder) / "melted.restart"
            _melt(case, melt, cores, start)
            variants = [*_ours(ranks or [cores]), *_dpd(ranks or [cores]), *accelerated()]
            results = _time(case, variants, start, repeats, seconds)
            for result in results:
                print(_row(result), flush=True)
            rows += results
    report = {
        **bench.machine(),
        "timestep": timestep,
        "skin": skin,
        "weight_exponent": weight_exponent,
        "melt": melt,
        "cores": cores,
        "lammps": lammps_version(),
        "results": rows,
    }
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        write_json(json_file, report)
    return report


def resident() -> bool:
    """Whether run_style manymove/verlet is built and has a GPU."""
    return ("run", "manymove/verlet") in manymove.lammps.STYLES and bool(_core.cuda_devices())


def lammps_version() -> str:
    """Of the LAMMPS that our styles and `dpd` run in."""
    text = _lammps("", host.command(), host.environment())[0]
    return re.search(r"LAMMPS \((.+?)\)", text).group(1)


def _lammps(deck: str, command: list[str], environment: dict[str, str]) -> tuple[str, int]:
    """Output and exit code of a deck."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in").write_text(deck)
        done = subprocess.run(
            [*command, "-in", "in", "-log", "none", "-nocite"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    return done.stdout, done.returncode


def _melt(case: Case, steps: int, cores: int, start: Path) -> None:
    """Writes the restart file that every variant begins with; it names no pair style."""
    style = "manymove/verlet" if resident() else "verlet"
    edge = f"{case.edge:.17g}"
    deck = (
        "units lj\natom_style atomic\ncomm_modify mode single vel yes\n"
        f"region box block 0 {edge} 0 {edge} 0 {edge}\ncreate_box 1 box\n"
        f"create_atoms 1 random {case.particles} {case.seed} box\nmass 1 1.0\n"
        f"velocity all create 1.0 {case.seed} loop geom\nvelocity all zero linear\n"
        f"{case.pair('manymove/dpd mixed')}{case.integrate(style)}"
        f"thermo_style custom step temp press\nthermo {max(1, steps)}\n"
        # Particles that start on top of each other are fast at first.
        f"timestep {0.2 * case.timestep:g}\nrun {steps // 4}\n"
        f"timestep {case.timestep:g}\nrun {steps}\n"
        f"run_style verlet\npair_style none\nreset_timestep 0\nwrite_restart {start}\n"
    )
    command = host.command(1 if resident() else cores)
    output, code = _lammps(deck, command, host.environment())
    if code:
        errors = [line for line in output.splitlines() if "ERROR" in line]
        raise RuntimeError(f"the fluid does not melt: {(errors or [output[-200:]])[0].strip()}")
    temperature = float(RECORD.findall(output)[-1])
    if abs(temperature - 1) > MELTED:
        raise RuntimeError(
            f"after {steps} steps the random start still has the temperature {temperature:.3g} "
            "instead of 1; --melt must be larger"
        )


def _ours(ranks: Sequence[int]) -> list[Variant]:
    variants = []
    for precision in ("mixed", "double"):
        pair = f"manymove/dpd {precision}"
        if resident():
            variants.append(
                Variant(
                    f"run_style manymove/verlet, {precision}",
                    pair,
                    host.command(),
                    host.environment(),
                    {"device": "cuda", "ranks": 1, "precision": precision},
                    "manymove/verlet",
                )
            )
        variants += [_on_ranks(pair, count, {"precision": precision}) for count in ranks]
    return variants


def _dpd(ranks: Sequence[int]) -> list[Variant]:
    return [_on_ranks("dpd", count, {"precision": "double"}) for count in ranks]


def _on_ranks(pair: str, ranks: int, settings: dict[str, Any]) -> Variant:
    name = f"pair_style {pair.replace(' ', ', ')}, {ranks} rank{'s' if ranks > 1 else ''}"
    settings = {"device": "cpu", "ranks": ranks, **settings}
    command, environment = host.command(ranks), host.environment()
    return Variant(name, pair, command, environment, settings, peer=pair == "dpd")


def _accelerated(executables: Sequence[Path]):
    """A function that makes the variants of dpd/kk and dpd/gpu, one process on one GPU each."""
    found = [str(path) for path in executables] + [host.command()[0], shutil.which("lmp") or ""]
    usable = []
    for executable in dict.fromkeys(filter(None, found)):
        wheel = executable == host.command()[0]
        environment = host.environment() if wheel else dict(os.environ)
        try:
            about = subprocess.run(
                [executable, "-h"], env=environment, capture_output=True, text=True, timeout=60
            ).stdout
        except (OSError, subprocess.SubprocessError):
            continue
        version = re.search(r"Simulator - (.+)", about)
        for style, arguments in ACCELERATORS.items():
            package = "KOKKOS" if style == "dpd/kk" else "GPU"
            api = re.search(rf"^{package} package API:(.*)$", about, re.MULTILINE)
            if style in about.split() and api and re.search("CUDA|HIP|SYCL|OpenCL", api.group(1)):
                label = version.group(1).strip() if version else executable
                usable.append((style, label, [executable, *arguments], environment))

    def variants() -> list[Variant]:
        return [
            Variant(
                f"pair_style {style}, LAMMPS {label}",
                "dpd",
                command,
                environment,
                {"device": "gpu", "ranks": 1, "arguments": command[1:]},
                peer=True,
            )
            for style, label, command, environment in usable
        ]

    return variants


def _time(
    case: Case, variants: list[Variant], start: Path, repeats: int, seconds: float
) -> list[dict[str, Any]]:
    """Results of all variants, ours with the ratios to each peer, round by round."""
    for variant in variants:
        variant.calibrate(case, start, seconds)
    for _ in range(repeats):
        for variant in variants:
            if not variant.failure:
                variant.run(case, start)
    results = []
    for variant in variants:
        result = {
            "particles": case.particles,
            "density": case.density,
            "cutoff": case.cutoff,
            **variant.result(),
        }
        if not variant.peer and not variant.failure:
            result["ratios"] = {
                peer.name: _ratio(variant, peer)
                for peer in variants
                if peer.peer and not peer.failure
            }
        results.append(result)
    return results


def _ratio(variant: Variant, peer: Variant) -> dict[str, float]:
    """Of the rates, one ratio per round: their median and extremes."""
    ratios = [a / b for a, b in zip(variant.rates, peer.rates, strict=True)]
    return {"median": median(ratios), "lowest": min(ratios), "highest": max(ratios)}


HEADER = (
    f"{'particles':>9}  {'rho':>4}  {'r_c':>4}  {'variant':<44} {'MPS':>9}  {'spread':>6}  "
    f"{'T':>6}  ratio to peers"
)


def _row(result: dict[str, Any]) -> str:
    line = (
        f"{result['particles']:>9}  {result['density']:>4g}  {result['cutoff']:>4g}  "
        f"{result['variant']:<44} "
    )
    if "failure" in result:
        return f"{line}failed: {result['failure']}"
    rate = result["million_particle_steps_per_second"]
    spread = (result["highest"] - result["lowest"]) / 2 / rate
    line += f"{rate:>9.4g}  {spread:>6.1%}  {result['temperature']:>6.3f}"
    for name, ratio in result.get("ratios", {}).items():
        extremes = f"({ratio['lowest']:.3g} to {ratio['highest']:.3g})"
        line += f"  {ratio['median']:.3g} {extremes} times {name.removeprefix('pair_style ')}"
    return line
