"""Speed of the Coulomb engines: `python -m benchmarks electrolyte`.

Variants start from the same equilibrated configuration of the paper's 3:-1 salt. They are timed in
turn, so that changes of the machine's clock affect all of them equally.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manymove.analysis.ions import Salt
from manymove.arguments import PRECISIONS
from manymove.bench.harness import STATUS, Report, Table, Variant, check, spread, time_in_turn
from manymove.devices import on_gpu
from manymove.electrolyte.simulation import WATER_300K, Electrolyte
from manymove.settings import Brush, Ions, Sphere

GPU_SIZES = [16384, 131072, 1048576]
CPU_SIZES = [4096, 16384]


def run(
    *,
    sizes: Sequence[int] | None = None,
    debye_length: float = 28.53,
    diameter: float = 7.5,
    device: str,
    threads: Sequence[int] | None = None,
    methods: Sequence[str] = ("brush",),
    precisions: Sequence[str] = PRECISIONS,
    threads_per_particle: Sequence[int] | None = None,
    equilibrate: int = 10,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None = None,
) -> dict[str, Any]:
    """Time every size, print a table, and write the JSON file after each size.

    The arguments are the options of the command; None stands for their defaults.

    Returns:
        the content of the JSON file.

    Raises:
        ValueError: an argument is out of range.
    """
    check(repeats, seconds, equilibrate, 0)
    about = {
        "salt": "3:-1",
        "debye_length": debye_length,
        "diameter": diameter,
        "bjerrum_length": WATER_300K,
        "equilibrate": equilibrate,
    }
    report = Report(TABLE, json_file, **about)
    for ions in sizes or (GPU_SIZES if on_gpu(device) else CPU_SIZES):
        start = trivalent(ions, debye_length, diameter, seed=seed, device=device)
        start.run(equilibrate)
        positions, cell = start.positions, Sphere(start.radius)
        engines = [
            Electrolyte(
                positions,
                ions=Ions(start.types, start.species),
                box=cell,
                precision=precision,
                method=Brush(eta) if eta else method,
                seed=seed,
                first_sweep=start.sweeps,
                device=device,
                threads=count,
            )
            for method in methods
            for precision in (precisions if method != "tree" else ["double"])
            for eta in (
                threads_per_particle if method == "brush" and threads_per_particle else [None]
            )
            for count in (threads if start.device == "cpu" and threads else [None])
        ]
        variants = [_variant(engine) for engine in engines]
        time_in_turn(variants, repeats, seconds)
        timed = zip(engines, variants, strict=True)
        report.add([{"ions": ions, "radius": start.radius, **_result(*pair)} for pair in timed])
    return report.end()


def trivalent(
    ions: int, debye_length: float = 28.53, diameter: float = 7.5, **options: Any
) -> Electrolyte:
    """The 3:-1 electrolyte in a spherical cell, lengths in angstrom."""
    salt = Salt.of(ions, (3, -1), (diameter, diameter))
    radius = (3 * ions / salt.density(debye_length, WATER_300K) / (4 * math.pi)) ** (1 / 3)
    return Electrolyte.random(salt, box=Sphere(radius), **options)


def _variant(engine: Electrolyte) -> Variant:
    def run(sweeps: int) -> tuple[int, int]:
        before = engine.trial_moves, engine.accepted_moves
        engine.core.run(sweeps)
        return engine.trial_moves - before[0], engine.accepted_moves - before[1]

    return Variant("", run, {})


def _result(engine: Electrolyte, variant: Variant) -> dict[str, Any]:
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
        "direct_share": engine.direct_moves / max(1, engine.evaluated_moves),
        "warnings": timed["warnings"],
        # A pair term counts one ion with another at the old and the new position. Only those
        # that are computed count, for the tree those that the brush would compute.
        "pair_terms_per_second": evaluated * engine.N**2 / per_sweep,
    }


def _name(row: dict[str, Any]) -> str:
    name = f"{row['device']}, {row['method']}, {row['precision']}"
    if row["device"] == "cpu":
        name += f", {row['threads']} thread{'s' if row['threads'] != 1 else ''}"
    elif row["method"] == "brush":
        name += f", eta {row['threads_per_particle']}"
    return name


TABLE = Table(
    (
        ("ions", ">9", "ions"),
        ("variant", "<40", _name),
        ("s/sweep", ">9.4g", "seconds_per_sweep"),
        ("spread", ">6.1%", spread("seconds_per_sweep")),
        ("accepted", ">8.2%", "acceptance"),
        ("computed", ">8.2%", "evaluated_share"),
        ("direct", ">8.3%", "direct_share"),
        ("pairs/s", ">8.3g", "pair_terms_per_second"),
        STATUS,
    )
)
