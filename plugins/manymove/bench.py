"""Speed of the hard-disk engines: `manymove bench disks`.

Variants (threads, and HOOMD-blue's HPMC where it is installed) start from the same melted
configuration and are timed in turn, so that a change of the machine's clock meets all of them
alike.
"""

from __future__ import annotations

import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from manymove import bench_status
from manymove.analysis.autocorrelation import autocorrelation_time
from manymove.devices import on_gpu
from manymove.harddisk import HardDisks
from manymove.packing import random_packing
from manymove.report import made_by, too_short, write_json

GPU_SIZES = [4096, 16384, 65536, 262144, 1048576]
CPU_SIZES = [4096, 16384, 65536]
HPMC_NSELECT = 16  # moves per disk and time step: the best of 8 to 32 on an H100 for most sizes
SAMPLES = 2000  # of psi_6 for the autocorrelation time


@dataclass
class Variant:
    """Something to time: `run(sweeps)` returns its trial and accepted moves once it is done."""

    name: str
    run: Callable[[int], tuple[int, int]]
    settings: dict[str, Any]
    rates: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)  # seconds of each timed run
    trial_moves: int = 0
    accepted_moves: int = 0
    sweeps: int = 1  # of one timed run
    shortest: int = 0  # of a run that is taken off: what a program spends on a beginning
    look: Callable[[], None] = lambda: None  # called after each timed run

    def calibrate(self, seconds: float, agree: Callable[[float], float] = float) -> None:
        """Choose the number of sweeps that takes `seconds`, from a run at least a fifth as long.

        The first run that is does not count: it may have been the start of the device.

        Args:
            seconds: of one timed run.
            agree: the time of all ranks, from that of this one.
        """
        warm = False
        while True:
            elapsed, trial_moves, _ = self._measure()
            elapsed = agree(elapsed if trial_moves else 0.0)
            if elapsed <= 0.2 * seconds:
                self.sweeps *= 4
            elif warm or elapsed > 10 * seconds:  # of which the start is little
                wanted = int(1.2 * self.sweeps * seconds / elapsed)
                self.sweeps = max(1, self.shortest, wanted)
                return
            else:
                warm = True

    def time(self) -> None:
        elapsed, trial_moves = 0.0, 0
        while not trial_moves:  # a cycle may be more sweeps than these
            more, trial_moves, accepted = self._measure()
            elapsed += more
        self.rates.append(trial_moves / elapsed)
        self.times.append(elapsed)
        self.trial_moves += trial_moves
        self.accepted_moves += accepted
        self.look()

    def _measure(self) -> tuple[float, int, int]:
        """Seconds, trial and accepted moves of `sweeps`."""
        if not self.shortest:
            return self._run(self.sweeps)
        short, long = self._run(self.shortest), self._run(self.shortest + self.sweeps)
        elapsed, trial, accepted = (b - a for a, b in zip(short, long, strict=True))
        return max(elapsed, long[0] / 10), trial, accepted  # a disturbed short one leaves some time

    def _run(self, sweeps: int) -> tuple[float, int, int]:
        began = time.perf_counter()
        trial, accepted = self.run(sweeps)
        return time.perf_counter() - began, trial, accepted

    def result(self) -> dict[str, Any]:
        rate = median(self.rates)
        return {
            "variant": self.name,
            "trial_moves_per_second": rate,
            "lowest": min(self.rates),
            "highest": max(self.rates),
            "repeats": len(self.rates),
            "nanoseconds_per_trial_move": 1e9 / rate,
            "acceptance": self.accepted_moves / self.trial_moves,
            "sweeps_per_repeat": self.sweeps,
            "warnings": bench_status.of_timing(min(self.times)),
            **self.settings,
        }


def disks(
    *,
    sizes: Sequence[int] | None,
    packing_fraction: float,
    device: str,
    threads: Sequence[int] | None,
    max_displacement: float | None,
    moves_per_cell: int | None,
    melt: int,
    repeats: int,
    seconds: float,
    decorrelation: int,
    seed: int,
    json_file: Path | None,
) -> dict[str, Any]:
    """Time every size, print a table, write the JSON file.

    Args:
        sizes: numbers of disks; None for the usual ones of the device.
        packing_fraction: of all, up to 0.72.
        device: "auto", "cpu", "cuda" or "cuda:<index>".
        threads: CPU variants; None for the engine's choice.
        max_displacement, moves_per_cell: None for the engine's choice.
        melt: sweeps from the random packing before anything is timed.
        repeats: timed runs per variant, at least 3.
        seconds: least length of a timed run.
        decorrelation: sweeps run for the autocorrelation time of the global psi_6; 0 leaves it out.
        seed: of packing and engines.
        json_file: where the results go; None for nowhere.

    Returns:
        what the JSON file holds.

    Raises:
        ValueError: an argument is out of range.
    """
    check(repeats, seconds, melt, decorrelation)
    rows: list[dict[str, Any]] = []
    print(HEADER)
    for N in sizes or (GPU_SIZES if on_gpu(device) else CPU_SIZES):
        engines = melted_engines(
            N,
            packing_fraction,
            device,
            threads or [None],
            max_displacement,
            moves_per_cell,
            melt,
            seed,
        )
        variants = [standalone(engine) for engine in engines] + _hpmc(engines[0], seed)
        time_in_turn(variants, repeats, seconds)
        results = [{"particles": N, **variant.result()} for variant in variants]
        if decorrelation:
            add_decorrelation(results[0], variants[0], engines[0].psi6, decorrelation)
        if len(variants) > len(engines):
            peer = results[-1]["trial_moves_per_second"]
            for result in results[:-1]:
                result["ratio_to_hoomd"] = result["trial_moves_per_second"] / peer
        for result in results:
            print(row(result))
        rows += results
    bench_status.print_warnings(rows)
    report = {**machine(), "packing_fraction": packing_fraction, "melt": melt, "results": rows}
    if json_file is not None:
        write_json(json_file, report)
    return report


def check(repeats: int, seconds: float, melt: int, decorrelation: int) -> None:
    """Refuse the settings of a benchmark that are out of range."""
    if repeats < 3:
        raise ValueError(f"--repeats is {repeats}; a spread needs at least 3")
    if not seconds > 0 or melt < 0 or decorrelation < 0:
        raise ValueError(
            "--seconds must be positive, --equilibrate and --decorrelation not negative"
        )


def time_in_turn(variants: Sequence[Variant], repeats: int, seconds: float) -> None:
    """Time each variant `repeats` times, alternating."""
    for variant in variants:
        variant.calibrate(seconds)
    for _ in range(repeats):
        for variant in variants:
            variant.time()


HEADER = (
    f"{'disks':>9}  {'variant':<44} {'moves/s':>9}  {'spread':>6}  {'ns/move':>8}  "
    f"{'accepted':>8}  {'status':<{bench_status.WIDTH}}"
)


def row(result: dict[str, Any]) -> str:
    rate = result["trial_moves_per_second"]
    spread = (result["highest"] - result["lowest"]) / 2 / rate
    line = (
        f"{result['particles']:>9}  {result['variant']:<44} {rate:>9.3g}  {spread:>6.1%}  "
        f"{result['nanoseconds_per_trial_move']:>8.3g}  {result['acceptance']:>8.2%}  "
        f"{bench_status.status(result):<{bench_status.WIDTH}}"
    )
    if "ratio_to_hoomd" in result:
        line += f"  {result['ratio_to_hoomd']:.1f} times HOOMD-blue"
    if "decorrelation_sweeps" in result:
        line += (
            f"  psi_6 decorrelates in {result['decorrelation_sweeps']:.3g} sweeps, "
            f"{result['decorrelation_seconds']:.3g} s"
        )
    return line


def melted_engines(
    N: int,
    packing_fraction: float,
    device: str,
    threads: Sequence[int | None],
    max_displacement: float | None,
    moves_per_cell: int | None,
    melt: int,
    seed: int,
) -> list[HardDisks]:
    """One engine per number of threads, all with the same melted configuration."""

    def engine(positions: np.ndarray, count: int | None) -> HardDisks:
        return HardDisks(
            positions,
            box,
            max_displacement=max_displacement,
            moves_per_cell=moves_per_cell,
            seed=seed,
            device=device,
            threads=count,
        )

    positions, box = random_packing(N, packing_fraction, seed=seed)
    melted = engine(positions, None)
    if melt:
        melted.run(melt)
    return [engine(melted.positions, count) for count in threads]


def standalone(engine: HardDisks) -> Variant:
    def run(sweeps: int) -> tuple[int, int]:
        trial, accepted = engine.trial_moves, engine.accepted_moves
        engine.run(sweeps)
        return engine.trial_moves - trial, engine.accepted_moves - accepted

    name = f"{engine.device}"
    if engine.device == "cpu":
        name += f", {engine.threads} thread{'s' if engine.threads != 1 else ''}"
    return Variant(
        name,
        run,
        {
            "device": engine.device,
            "device_name": engine.device_name,
            "threads": engine.threads,
            "max_displacement": engine.max_displacement,
            "moves_per_cell": engine.moves_per_cell,
        },
    )


def _hpmc(engine: HardDisks, seed: int) -> list[Variant]:
    """HOOMD-blue's hpmc.integrate.Sphere on the same disks; nothing if it is not installed."""
    from manymove import bench_hoomd

    try:
        return bench_hoomd.hpmc(engine, seed, [HPMC_NSELECT])[0]
    except ImportError:
        return []


def add_decorrelation(
    result: dict[str, Any], variant: Variant, psi6: Callable[[], complex], sweeps: int
) -> None:
    """Add the integrated autocorrelation time of the global psi_6 to a row, in sweeps and in
    seconds, the length of the run that it is from, and a warning if that run is too short.

    Args:
        result: row of the variant, to which keys are added.
        variant: what runs the disks.
        psi6: returns the global psi_6 of the present configuration.
        sweeps: length of the run.
    """
    N, rate = result["particles"], result["trial_moves_per_second"]
    interval = max(1, sweeps // SAMPLES)
    series, times, trial_moves = [], [], 0
    for _ in range(max(10, sweeps // interval)):
        trial_moves += variant.run(interval)[0]
        series.append(psi6())
        times.append(trial_moves / N)
        if times[-1] > sweeps and len(times) >= 10:
            break
    between = (times[-1] - times[0]) / (len(times) - 1)
    tau = autocorrelation_time(np.array(series), between)
    length = times[-1] - times[0]
    result |= {
        "decorrelation_sweeps": tau,
        "decorrelation_seconds": tau * N / rate,
        "decorrelation_run_sweeps": length,
    }
    result["warnings"] = result["warnings"] + too_short(
        length, "sweeps", "psi_6", tau, "--decorrelation"
    )


def machine() -> dict[str, Any]:
    """Machine, driver, date, version and commit: what a file of results must name."""
    from manymove.info import collect

    described = collect()
    return {
        **made_by(),
        "commit": _commit(),
        "machine": platform.machine(),
        "cpu": described["cpu"],
        "gpus": described["cuda"]["devices"],
        "driver": _driver(),
        "build": described["build"],
        "hoomd": described["hoomd"],
    }


def _output_of(*command: str) -> str | None:
    folder = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _commit() -> str | None:
    """Of the checkout that the command runs in or is installed from, if it is one of manymove."""
    for folder in (Path.cwd(), Path(__file__).resolve().parent):
        project = _output_of("git", "-C", str(folder), "rev-parse", "--show-toplevel")
        if project and (Path(project) / "plugins" / "manymove" / "bench.py").is_file():
            return _output_of("git", "-C", project, "describe", "--always", "--dirty", "--tags")
    return None


def _driver() -> str | None:
    lines = _output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return lines.splitlines()[0] if lines else None
