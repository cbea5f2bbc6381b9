"""Speed of the Coulomb engines: `manymove bench electrolyte`.

Variants start from the same equilibrated configuration of the paper's 3:-1 salt and are timed in
turn, so that a change of the machine's clock meets all of them alike.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from manymove import bench
from manymove.devices import on_gpu
from manymove.electrolyte import WATER_300K, Electrolyte
from manymove.ions import Salt
from manymove.report import write_json

GPU_SIZES = [16384, 131072, 1048576]
CPU_SIZES = [4096, 16384]


def run(
    *,
    sizes: Sequence[int] | None,
    debye_length: float,
    diameter: float,
    device: str,
    threads: Sequence[int | None],
    methods: Sequence[str],
    precisions: Sequence[str],
    threads_per_particle: Sequence[int | None],
    equilibrate: int,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None,
) -> dict[str, Any]:
    """Time every size, print a table, write the JSON file.

    Args:
        sizes: numbers of ions, multiples of four; None for the usual ones of the device.
        debye_length, diameter: of the 3:-1 salt, in angstrom.
        device: "auto", "cpu", "cuda" or "cuda:<index>".
        threads: CPU variants; None stands for the engine's choice.
        methods: of "brush", "reduction" and "serial".
        precisions: of "mixed" and "double".
        threads_per_particle: GPU variants; None stands for the engine's choice.
        equilibrate: sweeps from the random start before anything is timed.
        repeats: timed runs per variant, at least 3.
        seconds: least length of a timed run (one sweep at least).
        seed: of start and chain.
        json_file: where the results go; None for nowhere.

    Returns:
        what the JSON file holds.

    Raises:
        ValueError: an argument is out of range.
    """
    bench.check(repeats, seconds, equilibrate, 0)
    rows: list[dict[str, Any]] = []
    print(HEADER)
    for ions in sizes or (GPU_SIZES if on_gpu(device) else CPU_SIZES):
        salt = Salt.of(ions, (3, -1), (diameter, diameter))
        radius = (3 * ions / salt.density(debye_length, WATER_300K) / (4 * math.pi)) ** (1 / 3)
        start = Electrolyte.random(salt, radius=radius, seed=seed, device=device)
        start.run(equilibrate)
        positions = start.positions
        variants = [
            _Timed(
                Electrolyte(
                    positions,
                    start.types,
                    salt.species,
                    radius=radius,
                    precision=precision,
                    method=method,
                    threads_per_particle=eta,
                    seed=seed,
                    first_sweep=start.sweep,
                    device=device,
                    threads=count,
                )
            )
            for method in methods
            for precision in precisions
            for eta in (threads_per_particle if method == "brush" else [None])
            for count in (threads if start.device == "cpu" else [None])
        ]
        for variant in variants:
            variant.calibrate(seconds)
        for _ in range(repeats):
            for variant in variants:
                variant.time()
        for variant in variants:
            result = {"ions": ions, "radius": radius, **variant.result()}
            print(_row(result))
            rows.append(result)
    report = {
        **bench.machine(),
        "salt": "3:-1",
        "debye_length": debye_length,
        "diameter": diameter,
        "bjerrum_length": WATER_300K,
        "equilibrate": equilibrate,
        "results": rows,
    }
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        write_json(json_file, report)
    return report


class _Timed:
    """An engine whose sweeps are timed, from call to done."""

    def __init__(self, engine: Electrolyte) -> None:
        self._engine = engine
        self._sweeps = 1
        self._times: list[float] = []
        self._counters: tuple[int, ...] = ()

    def _run(self) -> float:
        began = time.perf_counter()
        self._engine._engine.run(self._sweeps)
        return time.perf_counter() - began

    def calibrate(self, seconds: float) -> None:
        """Choose the sweeps of a timed run; the runs before also warm up."""
        while (elapsed := self._run()) < 0.2 * seconds:
            self._sweeps *= 4
        self._sweeps = max(1, round(1.2 * self._sweeps * seconds / elapsed))
        self._counters = self._engine._engine.counters

    def time(self) -> None:
        self._times.append(self._run() / self._sweeps)

    def result(self) -> dict[str, Any]:
        engine = self._engine
        trial, accepted, evaluated = (
            now - before
            for now, before in zip(engine._engine.counters[1:], self._counters[1:], strict=True)
        )
        per_sweep = median(self._times)
        return {
            "method": engine.method,
            "precision": engine.precision,
            "device": engine.device,
            "device_name": engine.device_name,
            "threads": engine.threads,
            "threads_per_particle": engine.threads_per_particle,
            "seconds_per_sweep": per_sweep,
            "lowest": min(self._times),
            "highest": max(self._times),
            "repeats": len(self._times),
            "sweeps_per_repeat": self._sweeps,
            "acceptance": accepted / trial,
            "evaluated_share": evaluated / trial,
            # A pair term is one ion against another at the old and the new place; only those that
            # are computed count.
            "pair_terms_per_second": evaluated / trial * engine.N**2 / per_sweep,
        }


HEADER = (
    f"{'ions':>9}  {'variant':<40} {'s/sweep':>9}  {'spread':>6}  {'accepted':>8}  "
    f"{'computed':>8}  {'pairs/s':>8}"
)


def _row(r: dict[str, Any]) -> str:
    name = f"{r['device']}, {r['method']}, {r['precision']}"
    if r["device"] == "cpu":
        name += f", {r['threads']} thread{'s' if r['threads'] != 1 else ''}"
    elif r["method"] == "brush":
        name += f", eta {r['threads_per_particle']}"
    spread = (r["highest"] - r["lowest"]) / 2 / r["seconds_per_sweep"]
    return (
        f"{r['ions']:>9}  {name:<40} {r['seconds_per_sweep']:>9.4g}  {spread:>6.1%}  "
        f"{r['acceptance']:>8.2%}  {r['evaluated_share']:>8.2%}  "
        f"{r['pair_terms_per_second']:>8.3g}"
    )
