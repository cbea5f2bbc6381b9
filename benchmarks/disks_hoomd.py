"""Speed of hard disks or spheres inside HOOMD-blue: `python -m benchmarks hoomd`.

All variants of `disk_variants` start from the same melted configuration and are timed in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import util
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.disk_variants import (
    add_decorrelation,
    component,
    decorrelation_words,
    hpmc,
    melted_engines,
    python_only,
    slow_quantities_of,
    standalone,
)
from manymove import devices
from manymove.bench.harness import STATUS, Report, Table, Variant, check, spread, time_in_turn
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.spheres import HardSpheres

GPU_SIZES = [65536, 1048576]
CPU_SIZES = [16384]
PACKING_FRACTIONS = {HardDisks: 0.698, HardSpheres: 0.5}


def run(
    *,
    spheres: bool = False,
    sizes: Sequence[int] | None = None,
    packing_fraction: float | None = None,
    device: str,
    threads: int | None = None,
    max_displacement: float | None = None,
    equilibrate: int = 200,
    repeats: int,
    seconds: float,
    decorrelation: int = 0,
    seed: int,
    json_file: Path | None = None,
) -> dict[str, Any]:
    """Time every size, print a table, and write the JSON file after each size.

    The arguments are the options of the command; None stands for their defaults.

    Returns:
        the content of the JSON file.

    Raises:
        ImportError: HOOMD-blue is not installed.
        ValueError: an argument is out of range, or a GPU is asked for and HOOMD-blue has none.
    """
    check(repeats, seconds, equilibrate, decorrelation)
    if util.find_spec("hoomd") is None:
        raise ImportError(
            "the benchmark hoomd needs HOOMD-blue, which is not installed here; disks and spheres "
            "time the standalone engines"
        )
    import hoomd

    on_gpu = devices.on_gpu(device)
    if on_gpu and not hoomd.version.gpu_enabled:
        raise ValueError(
            f"this HOOMD-blue {hoomd.version.version} is built without GPU: use --device cpu"
        )
    kind = HardSpheres if spheres else HardDisks
    packing_fraction = packing_fraction or PACKING_FRACTIONS[kind]
    absent: dict[str, str] = {}
    about = {"packing_fraction": packing_fraction, "melt": equilibrate, "absent": absent}
    first = ("spheres" if spheres else "disks", *TABLE.columns[0][1:])
    table = Table((first, *TABLE.columns[1:]), TABLE.ending)
    report = Report(table, json_file, **about)
    for N in sizes or (GPU_SIZES if on_gpu else CPU_SIZES):
        (engine,) = melted_engines(
            N, packing_fraction, device, [threads], max_displacement, None, equilibrate, seed, kind
        )
        variants = [standalone(engine)]
        variants[0].name = f"standalone, {variants[0].name}"
        slow: dict[int, Callable[[], Any]] = {0: engine.slow_quantities}
        for make in (component, python_only, hpmc):
            try:
                made, others = make(engine, seed)
            except ImportError as error:
                absent[make.__name__] = str(error)
                continue
            if others is not None:
                quantities = slow_quantities_of(engine, others, seed)
                slow |= dict.fromkeys(range(len(variants), len(variants) + len(made)), quantities)
            variants += made
        time_in_turn(variants, repeats, seconds)
        results = [{"particles": N, **variant.result()} for variant in variants]
        rates = [result["trial_moves_per_second"] for result in results]
        best = max((k for k in slow if k > 0), key=lambda k: rates[k], default=None)
        for variant, result in zip(variants, results, strict=True):
            result |= _ratio("standalone", variant, variants[0])
            if best is not None:
                result |= _ratio("hpmc", variant, variants[best])
        if decorrelation:
            for k in (0,) if best is None else (0, best):
                quantity = "density modes" if spheres else "psi_6"
                add_decorrelation(results[k], variants[k], slow[k], decorrelation, quantity)
        report.add(results)
    found = report.end()
    for reason in absent.values():
        print(f"left out: {reason}")
    return found


def _ratio(name: str, variant: Variant, other: Variant) -> dict[str, Any]:
    """Median and extremes of the ratios of the rates, one ratio per round."""
    ratios = [a / b for a, b in zip(variant.rates, other.rates, strict=True)]
    key = f"ratio_to_{name}"
    return {key: median(ratios), f"{key}_lowest": min(ratios), f"{key}_highest": max(ratios)}


def _ratio_words(name: str) -> Callable[[dict[str, Any]], str]:
    key = f"ratio_to_{name}"

    def words(row: dict[str, Any]) -> str:
        if key not in row:
            return ""
        return f"{row[key]:.3g} ({row[f'{key}_lowest']:.3g} to {row[f'{key}_highest']:.3g})"

    return words


TABLE = Table(
    (
        ("disks", ">9", "particles"),
        ("variant", "<44", "variant"),
        ("moves/s", ">9.3g", "trial_moves_per_second"),
        ("spread", ">6.1%", spread("trial_moves_per_second")),
        ("accepted", ">8.2%", "acceptance"),
        STATUS,
        ("/ standalone", "<24", _ratio_words("standalone")),
        ("/ HPMC at its best", "<24", _ratio_words("hpmc")),
    ),
    lambda row: "".join(decorrelation_words(row)),
)
