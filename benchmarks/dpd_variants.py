"""Variants of the benchmark of DPD: our styles in LAMMPS, LAMMPS' own dpd, and HOOMD-blue's DPD."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import manymove.lammps
from benchmarks.process import environment
from manymove import _core
from manymove.devices import usable_cores
from manymove.errors import ParameterError
from manymove.lammps import host

# The time is the difference of two parts of a run between outputs, of which the second is longer,
# after a warm-up. It does not contain the constant times of a run and of an output in any program.
WARM_UP = 20  # steps, also of the shorter stretch
FEWEST_STEPS = 20  # timed
TUNING_STEPS = {"cpu": 20, "cuda": 200}  # of each candidate for the fastest settings, at most
MELTED = 0.1  # largest deviation of the temperature
RECORD = re.compile(r"^\s*\d+\s+(\d\S*)\s+\S+\s+(\d\S*)\s*$", re.MULTILINE)
THERMO = "thermo_style custom step temp press cpu\nthermo_modify format float %.9g\n"
# Our pair styles, without "manymove/". Each has LAMMPS' style of the same name as its peer.
CHARGED = "dpd/coul/slater/long"
PAIRS = ("dpd", "dpd/tstat", "dpd/ext", "mdpd", CHARGED)
SMEARING, CHARGE_CUTOFF, ACCURACY = 0.25, 3.0, 1e-4  # of charges
# Options for one GPU. dpd/kk refuses full lists and newton off.
ACCELERATORS = {
    "kk": "-k on g 1 -sf kk -pk kokkos newton on neigh half comm device".split(),
    "gpu": "-sf gpu -pk gpu 1".split(),
}
# Commands, of which the first are LAMMPS' defaults. A variant takes the fastest of each pair.
CHOICES = {
    "kk": (
        ("atom_modify sort 1000 0.0", "atom_modify sort 100 0.0"),
        ("neigh_modify binsize 0.0", "neigh_modify binsize {half_range:g}"),
    ),
    "gpu": (),
}
# A, B and r_d of the liquid of P. B. Warren, Phys. Rev. E 68, 066702 (2003), in units of r_c = 1.
MANY_BODY = (-40.0, 25.0, 0.75)


@dataclass(frozen=True)
class Case:
    """A fluid with the mass, kT and friction 4.5 of Groot and Warren."""

    particles: int
    density: float
    cutoff: float
    timestep: float
    skins: tuple[float, ...]  # each variant takes its fastest
    weight_exponent: float
    seed: int
    many_body: bool = False  # the liquid MANY_BODY, for the pair style mdpd only
    shear: float = 0.0  # rate at which fix deform shears the box
    charged: float = 0.0  # share of the particles that CHARGED gives charges of 1 and -1

    def __post_init__(self) -> None:
        for name in ("particles", "density", "cutoff", "timestep", "seed"):
            if not getattr(self, name) > 0:
                raise ParameterError(name, f"must be positive, got {getattr(self, name)}")
        if not min(self.skins) > 0:
            raise ParameterError("skin", f"must be positive, got {min(self.skins)}")
        if not self.weight_exponent >= 0:
            raise ParameterError(
                "weight_exponent", f"must not be negative, got {self.weight_exponent}"
            )
        if self.many_body and self.cutoff != 1:
            raise ValueError(f"the cutoff of many-body DPD must be 1, got {self.cutoff:g}")
        if self.many_body and self.shear:
            raise ValueError("many-body DPD is timed without shear")
        if not 0 <= self.charged <= 1:
            raise ParameterError("charged", f"must be from 0 to 1, not {self.charged}")
        if self.charged and self.shear:
            raise ValueError("charges are timed without shear: leave out --shear")
        if self.charged and self.edge < 2 * CHARGE_CUTOFF:
            raise ValueError(
                f"the box of {self.particles} particles at density {self.density:g} is "
                f"{self.edge:.3g} wide, less than twice the cutoff of charges {CHARGE_CUTOFF:g}: "
                "give larger --sizes"
            )
        if not abs(self.shear) < math.inf:
            raise ParameterError("shear", f"must be finite, not {self.shear}")
        if self.edge < 2 * (self.cutoff + max(self.skins)):
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
        """pair_style and pair_coeff. `name` may be followed by a precision and further keywords."""
        style, *more = name.split()
        ours, kind = style.startswith("manymove/"), style.removeprefix("manymove/")
        exponent, tail = f"{self.weight_exponent:g}", ""
        if ours:
            of_all_pairs = "" if kind == "dpd/ext" else f" weight_exponent {exponent}"
            tail = f"{of_all_pairs} precision {' '.join(more)}"
        temperatures = "1.0 1.0" if kind == "dpd/tstat" else "1.0"
        of_charges = f" {SMEARING:g} {CHARGE_CUTOFF:g}" if kind == CHARGED else ""
        arguments = f"{temperatures} {self.cutoff:g} {self.seed}{of_charges}{tail}"
        if kind == "mdpd":
            a, b, density_cutoff = MANY_BODY
            law = f"{a:g} {b:g} 4.5 {self.cutoff:g} {density_cutoff:g}\n"
            if ours:
                return f"pair_style {style} {arguments}\npair_coeff 1 1 {law}"
            return (
                f"pair_style hybrid/overlay mdpd/rhosum mdpd {arguments}\n"
                f"pair_coeff 1 1 mdpd/rhosum {density_cutoff:g}\npair_coeff 1 1 mdpd {law}"
            )
        if kind == CHARGED:
            law = f"{self.a:.10g} 4.5"
            return (
                f"pair_style {style} {arguments}\npair_coeff * * {law}\n"
                f"pair_coeff 2 2 {law} yes\nkspace_style pppm {ACCURACY:g}\n"
            )
        coefficients = {
            "dpd": f"{self.a:.10g} 4.5",
            "dpd/tstat": "4.5",
            "dpd/ext": f"{self.a:.10g} 4.5 4.5 {exponent} {exponent}",
        }[kind]
        return f"pair_style {style} {arguments}\npair_coeff 1 1 {coefficients}\n"

    def begin(self, pair: str, start: Path) -> str:
        """Commands that read the melted fluid, for the pair style of `pair`."""
        communicate = "comm_modify mode single vel yes\n"
        if CHARGED in pair:
            pairs = int(self.charged * self.particles / 2)
            return (
                f"units lj\natom_style charge\n{communicate}"
                f"{self.box.replace('create_box 1', 'create_box 2')}mass * 1.0\n"
                f'read_dump "{start}.dump" 0 x y z vx vy vz box no add keep\n'
                f"set atom 1*{2 * pairs} type 2\nset atom 1*{pairs} charge 1.0\n"
                f"set atom {pairs + 1}*{2 * pairs} charge -1.0\n"
            )
        if self.many_body and not pair.startswith("manymove"):  # atoms with a density
            return (
                f"units lj\natom_style mdpd\n{communicate}{self.box}mass 1 1.0\n"
                f'read_dump "{start}.dump" 0 x y z vx vy vz box no add yes\n'
            )
        return f'{communicate}read_restart "{start}"\n{communicate}'

    @property
    def box(self) -> str:
        return f"{self.region([self.edge] * 3)}create_box 1 box\n"

    def region(self, sides: Sequence[float]) -> str:
        """The command for a box with these sides, which can be tilted if the fluid is sheared."""
        shape, tilts = ("prism", " 0 0 0") if self.shear else ("block", "")
        return f"region box {shape} {' '.join(f'0 {side:.17g}' for side in sides)}{tilts}\n"

    def flow(self, height: float) -> str:
        """Commands that shear the melted fluid in a box of this height, beginning with the
        velocities of the flow."""
        if not self.shear:
            return ""
        return (
            f"velocity all ramp vx 0 {self.shear * height:.17g} y 0 {height:.17g} sum yes\n"
            f"fix shear all deform 1 xy erate {self.shear:.17g} remap v\n"
            "compute thermal all temp/deform\nthermo_modify temp thermal\n"
        )

    def integrate(self, run_style: str, skin: float) -> str:
        return (
            f"run_style {run_style}\nneighbor {skin:g} bin\n"
            "neigh_modify delay 0 every 1 check yes\n"
            f"timestep {self.timestep:g}\nfix integrate all nve\n"
        )


@dataclass
class Variant(ABC):
    """A program or style that is timed."""

    name: str
    settings: dict[str, Any]  # "device" is "cpu" or "cuda"
    peer: bool
    steps: int = field(default=FEWEST_STEPS, kw_only=True)
    rates: list[float] = field(default_factory=list, kw_only=True)  # particle-steps per second
    temperature: float = field(default=math.nan, kw_only=True)
    failure: str = field(default="", kw_only=True)

    @abstractmethod
    def tune(self, case: Case, start: Path, seconds: float) -> float:
        """Choose the fastest settings.

        Each candidate runs for about `seconds` at most.

        Returns:
            their rate, or 0 with the reason in `failure`.
        """

    @abstractmethod
    def run(self, case: Case, start: Path) -> None:
        """Make a timed run, and store its rate or the reason of a failure."""

    def close(self) -> None:  # noqa: B027
        """Release resources; most variants have none."""

    def prepare(self, case: Case, start: Path, seconds: float) -> None:
        """Choose settings and a number of steps that takes `seconds`."""
        rate = self.tune(case, start, seconds)
        if not self.failure:
            self.steps = max(FEWEST_STEPS, int(1.2 * seconds * rate / case.particles))

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


def more(short: float, long: float) -> float:
    """Difference of the times of the long and the short run, positive even if the short run was
    disturbed. The resolution of LAMMPS' clock is a microsecond."""
    return max(long - short, long / 10, 1e-6)


def tuning_steps(step: float, seconds: float) -> int:
    """Number of steps of a candidate on a GPU, where a step takes about `step` seconds."""
    return max(FEWEST_STEPS, min(TUNING_STEPS["cuda"], int(seconds / step)))


# ---- LAMMPS ------------------------------------------------------------------------------------


def lammps(script: str, command: list[str], environment: dict[str, str]) -> tuple[str, int]:
    """Output and exit code of an input script."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in").write_text(script)
        done = subprocess.run(
            [*command, "-in", "in", "-log", "none", "-nocite"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    return done.stdout, done.returncode


def why_not(output: str) -> str:
    """The first error of LAMMPS, or its last output before the addresses of a backtrace."""
    lines = [line.strip() for line in output.splitlines()]
    errors = [line for line in lines if "ERROR" in line]
    words = [line for line in lines if line and not re.match(r"\[?0x|Backtrace", line)]
    return (errors or words[-1:] or ["no output"])[0]


class Session:
    """A LAMMPS that waits for commands and returns their output."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name)
        self._logs = 0
        with open(self._path / "screen", "w") as screen:
            self._process = subprocess.Popen(
                [*command, "-log", "log.0", "-nocite"],
                cwd=self._path,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=screen,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def ask(self, script: str) -> str:
        """Raises RuntimeError with LAMMPS' error if it ends."""
        log, following = (self._path / f"log.{k}" for k in (self._logs, self._logs + 1))
        self._logs += 1
        try:
            # The next log is opened after this one was closed.
            self._process.stdin.write(f"{script}log {following.name}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._process.wait()
        while not following.exists():
            if (code := self._process.poll()) is not None:
                why = why_not((self._path / "screen").read_text())
                raise RuntimeError(f"{why} (exit code {code})")
            time.sleep(0.002)
        return log.read_text()

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()


@dataclass
class LammpsVariant(Variant):
    """A pair style in a LAMMPS, timed by its own clock.

    A process on a GPU waits for its turn. Several ranks would keep their cores busy while they
    wait, therefore they are started for each run.
    """

    pair: str  # of Case.pair
    command: list[str]  # without input script and log
    environment: dict[str, str]
    run_style: str = "verlet"
    choices: Sequence[tuple[str, str]] = ()  # of CHOICES
    session: Session | None = field(default=None, kw_only=True)
    steps_done: int = field(default=0, kw_only=True)  # by the session
    last: tuple[float, list[str]] = field(default=(0.0, []), kw_only=True)  # skin and commands

    def tune(self, case: Case, start: Path, seconds: float) -> float:
        steps = TUNING_STEPS[self.settings["device"]]
        commands = [default for default, _ in self.choices]
        if steps > FEWEST_STEPS:
            times = self._times(case, start, case.skins[:1], commands, FEWEST_STEPS)
            if times is None:
                return 0.0
            steps = tuning_steps(times[0] / FEWEST_STEPS, seconds)
        # The first one finds a GPU that is not yet warm.
        skins = [skin for skin in case.skins for _ in range(2)]
        times = self._times(case, start, skins, commands, steps)
        if times is None:
            return 0.0
        fastest, skin = min(zip(times, skins, strict=True))
        for k, (_, other) in enumerate(self.choices):
            trial = commands.copy()
            trial[k] = other.format(half_range=0.5 * (case.cutoff + skin))
            times = self._times(case, start, [skin, skin], trial, steps)
            if times is None:
                return 0.0
            if min(times) < fastest:
                fastest, commands = min(times), trial
        self.settings["skin"] = skin
        if commands:
            self.settings["commands"] = commands
        return case.particles * steps / fastest

    def run(self, case: Case, start: Path) -> None:
        commands = self.settings.get("commands", [])
        times = self._times(case, start, [self.settings["skin"]], commands, self.steps)
        if times is not None:
            self.rates.append(case.particles * self.steps / times[0])

    def close(self) -> None:
        if self.session is not None:
            self.session.close()
            self.session = None

    def _times(
        self, case: Case, start: Path, skins: Sequence[float], commands: list[str], steps: int
    ) -> list[float] | None:
        """Time in seconds of a number of steps with each skin, all after the same commands."""
        script = ""
        if self.session is None:
            self.session = Session(self.command, self.environment)
            self.steps_done, self.last = 0, (0.0, [])
            script = (
                f"{case.begin(self.pair, start)}{case.pair(self.pair)}"
                f"{case.integrate(self.run_style, skins[0])}{THERMO}{case.flow(case.edge)}"
            )
        script += "".join(f"{command}\n" for command in commands)
        for skin in skins:
            begin = self.steps_done + WARM_UP
            middle = begin + WARM_UP
            self.steps_done = middle + WARM_UP + steps
            # The setup of a run takes LAMMPS seconds with millions of particles. Without it, fix
            # deform would begin again with the first box.
            settings = (skin, commands)
            again = " pre no" if settings == self.last and not case.shear else ""
            self.last = settings
            script += (
                f"variable output equal (step<{begin})*{begin}"
                f"+(step>={begin}&&step<{middle})*{middle}+(step>={middle})*{self.steps_done + 1}\n"
                f"thermo v_output\nneighbor {skin:g} bin\nrun {self.steps_done - begin + WARM_UP}"
                f"{again}\n"
            )
        try:
            output = self.session.ask(script)
        except RuntimeError as error:
            self.failure = str(error)
            return None
        if self.settings["device"] == "cpu" or self.settings["ranks"] > 1:
            self.close()
        records = RECORD.findall(output)  # four of each run
        self.temperature = float(records[-1][0])
        clock = [float(seconds) for _, seconds in records]
        return [
            more(b - a, c - b)
            for a, b, c in zip(clock[1::4], clock[2::4], clock[3::4], strict=True)
        ]


def melt(case: Case, steps: int, on_gpu: bool, start: Path) -> None:
    """Write the restart file with which every variant in LAMMPS begins; it names no pair style.

    Raises:
        RuntimeError: LAMMPS fails, or the temperature is not yet 1.
    """
    columns = "id type x y z vx vy vz"
    dump = (
        f'write_dump all custom "{start}.dump" {columns}\n'
        if case.many_body or case.charged
        else ""
    )
    script = (
        "units lj\natom_style atomic\ncomm_modify mode single vel yes\n"
        f"{case.box}create_atoms 1 random {case.particles} {case.seed} box\nmass 1 1.0\n"
        f"velocity all create 1.0 {case.seed} loop geom\nvelocity all zero linear\n"
        f"{case.pair('manymove/mdpd mixed' if case.many_body else 'manymove/dpd mixed')}"
        f"{case.integrate('manymove/verlet' if on_gpu else 'verlet', case.skins[0])}"
        f"{THERMO}thermo {max(1, steps)}\n"
        # Particles that overlap at the start are fast at first.
        f"timestep {0.2 * case.timestep:g}\nrun {steps // 4}\n"
        f"timestep {case.timestep:g}\nrun {steps} pre no\n"
        "run_style verlet\npair_style none\nreset_timestep 0\n"
        f'write_restart "{start}"\n{dump}'
    )
    command = host.command(1 if on_gpu else len(usable_cores()))
    output, code = lammps(script, command, host.environment())
    if code:
        raise RuntimeError(f"the fluid does not melt: {why_not(output)}")
    temperature = float(RECORD.findall(output)[-1][0])
    if abs(temperature - 1) > MELTED:
        raise RuntimeError(
            f"after {steps} steps the random start still has the temperature {temperature:.3g} "
            "instead of 1; --equilibrate must be larger"
        )


def resident() -> bool:
    """Whether run_style manymove/verlet is built and has a GPU."""
    return ("run", "manymove/verlet") in manymove.lammps.STYLES and bool(_core.cuda_devices())


def of_style(text: str, pair: str) -> str:
    """The name of a variant, with its pair style unless that is dpd."""
    return text if pair == "dpd" else f"{text}, {pair}"


def ours_on_gpu(pair: str, precisions: Sequence[str]) -> list[Variant]:
    return [
        LammpsVariant(
            f"{of_style('run_style manymove/verlet', pair)}, {precision}",
            {"device": "cuda", "pair": pair, "ranks": 1, "precision": precision},
            False,
            f"manymove/{pair} {precision}",
            host.command(),
            host.environment(),
            "manymove/verlet",
        )
        for precision in precisions
    ]


def on_cpu(
    pair: str, precisions: Sequence[str], ranks: Sequence[int], threads: Sequence[int]
) -> list[Variant]:
    """Our style and LAMMPS' on numbers of ranks, and our style on numbers of threads.

    Ours is the pair style in LAMMPS' own verlet, and in the run style.
    """
    shares = [(n, 1) for n in ranks] + [(1, n) for n in threads if n > 1]
    variants: list[Variant] = []
    for precision in precisions:
        variants += [_pair_style(pair, False, *share, precision) for share in shares]
        variants += [_run_style(pair, *share, precision) for share in shares]
    return variants + [_pair_style(pair, True, n, 1, "double") for n in ranks]


def _shared_by(ranks: int, threads: int) -> str:
    text = f"{ranks} rank{'s' if ranks > 1 else ''}"
    return text if threads == 1 else f"{text} of {threads} threads"


def _settings(pair: str, ranks: int, threads: int, precision: str) -> dict[str, Any]:
    return {
        "device": "cpu",
        "pair": pair,
        "ranks": ranks,
        "threads": threads,
        "precision": precision,
    }


def _pair_style(pair: str, peer: bool, ranks: int, threads: int, precision: str) -> Variant:
    style = pair if peer else f"manymove/{pair}"
    return LammpsVariant(
        f"pair_style {style}, {'' if peer else f'{precision}, '}{_shared_by(ranks, threads)}",
        _settings(pair, ranks, threads, precision),
        peer,
        style if peer else f"{style} {precision} threads {threads}",
        host.command(ranks),
        host.environment(),
    )


def _run_style(pair: str, ranks: int, threads: int, precision: str) -> Variant:
    name = of_style("run_style manymove/verlet device cpu", pair)
    return LammpsVariant(
        f"{name}, {precision}, {_shared_by(ranks, threads)}",
        _settings(pair, ranks, threads, precision),
        False,
        f"manymove/{pair} {precision}",
        host.command(ranks),
        host.environment(),
        f"manymove/verlet device cpu threads {threads}",
    )


def accelerated(pair: str, executables: Sequence[Path], ranks: Sequence[int]) -> list[Variant]:
    """The style's /kk and /gpu on one GPU, of the given LAMMPS, of the installed one and of the one
    in PATH. /kk has one process. /gpu has each of these numbers of ranks, because it leaves work to
    the host."""
    found = [str(path) for path in executables] + [host.command()[0], shutil.which("lmp") or ""]
    variants: list[Variant] = []
    for executable in dict.fromkeys(filter(None, found)):
        environment = host.environment() if executable == host.command()[0] else dict(os.environ)
        try:
            about = subprocess.run(
                [executable, "-h"], env=environment, capture_output=True, text=True, timeout=60
            ).stdout
        except (OSError, subprocess.SubprocessError):
            continue
        version = re.search(r"Simulator - (.+)", about)
        for suffix, arguments in ACCELERATORS.items():
            style, package = f"{pair}/{suffix}", "KOKKOS" if suffix == "kk" else "GPU"
            precision = re.search(rf"^{package} package precision: (\w+)", about, re.MULTILINE)
            if style == "mdpd/gpu":  # in a hybrid style, for which the GPU package makes no lists
                arguments = [*arguments, "neigh", "no"]
            api = re.search(rf"^{package} package API:(.*)$", about, re.MULTILINE)
            if style in about.split() and api and re.search("CUDA|HIP|SYCL|OpenCL", api.group(1)):
                label = version.group(1).strip() if version else executable
                settings = {"device": "cuda", "pair": pair, "arguments": arguments}
                name = f"pair_style {style}"
                if precision:
                    settings["precision"] = precision.group(1)
                    name += f", {precision.group(1)}"
                variants += [
                    LammpsVariant(
                        f"{name}, LAMMPS {label}{f', {number} ranks' if number > 1 else ''}",
                        {**settings, "ranks": number},
                        True,
                        pair,
                        [*host.command(number)[:-1], executable, *arguments],
                        environment,
                        choices=CHOICES[suffix],
                    )
                    for number in (ranks if suffix == "gpu" else [1])
                ]
    return variants


# ---- HOOMD-blue --------------------------------------------------------------------------------

HOOMD = [sys.executable, "-m", "benchmarks.dpd_hoomd"]


@dataclass
class HoomdVariant(Variant):
    """md.pair.DPD of HOOMD-blue on a GPU, in a separate process (dpd_hoomd.py).

    It melts its own random start for as long as the others, and keeps the fluid between runs.
    """

    melt: int
    process: subprocess.Popen[str] | None = field(default=None, kw_only=True)

    def tune(self, case: Case, start: Path, seconds: float) -> float:
        self.process = subprocess.Popen(
            HOOMD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
        )
        reply = self._ask(
            {
                "device": "gpu",
                "particles": case.particles,
                "edge": case.edge,
                "cutoff": case.cutoff,
                "a": case.a,
                "timestep": case.timestep,
                "buffers": list(case.skins),
                "seed": case.seed,
                "melt": self.melt,
                "warm_up": WARM_UP,
                "tuning_seconds": seconds,
            }
        )
        if self.failure:
            return 0.0
        self.settings["skin"] = reply["buffer"]
        return reply["rate"]

    def run(self, case: Case, start: Path) -> None:
        reply = self._ask({"steps": self.steps})
        if not self.failure:
            self.rates.append(case.particles * self.steps / reply["seconds"])
            self.temperature = reply["temperature"]

    def close(self) -> None:
        if self.process is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        with contextlib.suppress(BrokenPipeError):  # then it does not answer
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        reply = json.loads(line) if line else {"failure": "it ended before its time"}
        self.failure = reply.get("failure", "")
        return reply


def hoomd() -> tuple[str, str]:
    """Version of HOOMD-blue; if it cannot run, an empty text and the reason."""
    done = subprocess.run([*HOOMD, "--version"], capture_output=True, text=True, env=environment())
    if done.returncode:
        return "", (done.stderr.strip().splitlines() or ["hoomd cannot be imported"])[-1]
    return done.stdout.strip().splitlines()[-1], ""


def hoomd_variant(version: str, melt: int) -> Variant:
    return HoomdVariant(
        f"md.pair.DPD, HOOMD-blue {version}",
        {"device": "cuda", "pair": "dpd", "ranks": 1},
        True,
        melt,
    )
