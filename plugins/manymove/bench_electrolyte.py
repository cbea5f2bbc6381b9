"""Speed of the Coulomb engines: `manymove bench electrolyte`.

Variants start from the same equilibrated configuration of the paper's 3:-1 salt and are timed in
turn, so that a change of the machine's clock meets all of them alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manymove import bench, bench_status
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
    threads: Sequence[int] | None,
    methods: Sequence[str],
    precisions: Sequence[str],
    threads_per_particle: Sequence[int] | None,
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
        threads: CPU variants; None for the engine's choice.
        methods: of "brush", "reduction" and "serial".
        precisions: of "mixed" and "double".
        threads_per_particle: GPU variants; None for the engine's choice.
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
        engines = [
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
            for method in methods
            for precision in precisions
            for eta in (
                threads_per_particle if method == "brush" and threads_per_particle else [None]
            )
            for count in (threads if start.device == "cpu" and threads else [None])
        ]
        variants = [_variant(engine) for engine in engines]
        bench.time_in_turn(variants, repeats, seconds)
        for engine, variant in zip(engines, variants, strict=True):
            result = {"ions": ions, "radius": radius, **_result(engine, variant)}
            print(_row(result))
            rows.append(result)
    bench_status.print_warnings(rows)
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
        write_json(json_file, report)
    return report


def _variant(engine: Electrolyte) -> bench.Variant:
    def run(sweeps: int) -> tuple[int, int]:
        before = engine.trial_moves, engine.accepted_moves
        engine.core.run(sweeps)
        return engine.trial_moves - before[0], engine.accepted_moves - before[1]

    return bench.Variant("", run, {})


def _result(engine: Electrolyte, variant: bench.Variant) -> dict[str, Any]:
    timed = variant.result()
    per_sweep = engine.N / timed["trial_moves_per_second"]
    evaluated = engine.evaluated_moves / engine.trial_moves
    return {
        "method": engine.method,
        "precision": engine.precision,
        "device": engine.device,
        "device_name": engine.device_name,
        "threads": engine.threads,
        "threads_per_particle": engine.threads_per_particle,
        "seconds_per_sweep": per_sweep,
        "lowest": engine.N / timed["highest"],
        "highest": engine.N / timed["lowest"],
        "repeats": timed["repeats"],
        "sweeps_per_repeat": timed["sweeps_per_repeat"],
        "acceptance": timed["acceptance"],
        "evaluated_share": evaluated,
        "warnings": timed["warnings"],
        # A pair term is one ion against another at the old and the new place; only those that are
        # computed count.
        "pair_terms_per_second": evaluated * engine.N**2 / per_sweep,
    }


HEADER = (
    f"{'ions':>9}  {'variant':<40} {'s/sweep':>9}  {'spread':>6}  {'accepted':>8}  "
    f"{'computed':>8}  {'pairs/s':>8}  status"
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
        f"{r['pair_terms_per_second']:>8.3g}  {bench_status.status(r)}"
    )
