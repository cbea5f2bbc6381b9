"""Speed of hard disks inside HOOMD-blue: `manymove bench hoomd`.

All variants of `disk_variants` start from the same melted configuration and are timed in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import util
from pathlib import Path
from statistics import median
from typing import Any

from manymove import devices
from manymove.bench import status
from manymove.bench.disk_variants import (
    add_decorrelation,
    component,
    hpmc,
    melted_engines,
    python_only,
    standalone,
)
from manymove.bench.harness import Variant, check, machine, time_in_turn
from manymove.jobs.report import write_json

GPU_SIZES = [65536, 1048576]
CPU_SIZES = [16384]


def run(
    *,
    sizes: Sequence[int] | None,
    packing_fraction: float,
    device: str,
    threads: int | None,
    max_displacement: float | None,
    equilibrate: int,
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
        threads: of our CPU engines; None for their choice. HPMC has one rank.
        max_displacement: along an axis; None for the engine's choice.
        equilibrate: sweeps from the random packing before anything is timed.
        repeats: timed runs per variant, at least 3.
        seconds: least length of a timed run.
        decorrelation: sweeps run for the autocorrelation time of the global psi_6 of the standalone
            engine and of HPMC at its best; 0 leaves it out.
        seed: of packing, engines and simulations.
        json_file: where the results go; None for nowhere.

    Returns:
        what the JSON file holds.

    Raises:
        ImportError: HOOMD-blue is not installed.
        ValueError: an argument is out of range, or a GPU is asked for and HOOMD-blue has none.
    """
    check(repeats, seconds, equilibrate, decorrelation)
    if util.find_spec("hoomd") is None:
        raise ImportError(
            "bench hoomd needs HOOMD-blue, which is not installed here; `manymove bench disks` "
            "times the standalone engine"
        )
    import hoomd

    on_gpu = devices.on_gpu(device)
    if on_gpu and not hoomd.version.gpu_enabled:
        raise ValueError(
            f"this HOOMD-blue {hoomd.version.version} is built without GPU: use --device cpu"
        )
    rows: list[dict[str, Any]] = []
    absent: dict[str, str] = {}
    print(HEADER)
    for N in sizes or (GPU_SIZES if on_gpu else CPU_SIZES):
        (engine,) = melted_engines(
            N, packing_fraction, device, [threads], max_displacement, None, equilibrate, seed
        )
        variants = [standalone(engine)]
        variants[0].name = f"standalone, {variants[0].name}"
        psi6: dict[int, Callable[[], complex]] = {0: engine.psi6}
        for make in (component, python_only, hpmc):
            try:
                made, others_psi6 = make(engine, seed)
            except ImportError as error:
                absent[make.__name__] = str(error)
                continue
            if others_psi6 is not None:
                psi6 |= dict.fromkeys(range(len(variants), len(variants) + len(made)), others_psi6)
            variants += made
        time_in_turn(variants, repeats, seconds)
        results = [{"particles": N, **variant.result()} for variant in variants]
        rates = [result["trial_moves_per_second"] for result in results]
        best = max((k for k in psi6 if k > 0), key=lambda k: rates[k], default=None)
        for variant, result in zip(variants, results, strict=True):
            result |= _ratio("standalone", variant, variants[0])
            if best is not None:
                result |= _ratio("hpmc", variant, variants[best])
        if decorrelation:
            for k in (0,) if best is None else (0, best):
                add_decorrelation(results[k], variants[k], psi6[k], decorrelation)
        for result in results:
            print(_row(result))
        rows += results
    status.print_warnings(rows)
    for reason in absent.values():
        print(f"left out: {reason}")
    report = {
        **machine(),
        "packing_fraction": packing_fraction,
        "melt": equilibrate,
        "results": rows,
        "absent": absent,
    }
    if json_file is not None:
        write_json(json_file, report)
    return report


def _ratio(name: str, variant: Variant, other: Variant) -> dict[str, Any]:
    """Of the rates, one ratio per round: their median and extremes."""
    ratios = [a / b for a, b in zip(variant.rates, other.rates, strict=True)]
    key = f"ratio_to_{name}"
    return {key: median(ratios), f"{key}_lowest": min(ratios), f"{key}_highest": max(ratios)}


HEADER = (
    f"{'disks':>9}  {'variant':<44} {'moves/s':>9}  {'spread':>6}  {'accepted':>8}  "
    f"{'status':<{status.WIDTH}}  {'/ standalone':<24}  / HPMC at its best"
)


def _row(result: dict[str, Any]) -> str:
    rate = result["trial_moves_per_second"]
    spread = (result["highest"] - result["lowest"]) / 2 / rate
    line = (
        f"{result['particles']:>9}  {result['variant']:<44} {rate:>9.3g}  {spread:>6.1%}  "
        f"{result['acceptance']:>8.2%}  {status.status(result):<{status.WIDTH}}"
    )
    for key in ("ratio_to_standalone", "ratio_to_hpmc"):
        if key in result:
            extremes = f"({result[f'{key}_lowest']:.3g} to {result[f'{key}_highest']:.3g})"
            line += f"  {f'{result[key]:.3g} {extremes}':<24}"
    if "decorrelation_sweeps" in result:
        line += (
            f"  psi_6 decorrelates in {result['decorrelation_sweeps']:.3g} sweeps, "
            f"{result['decorrelation_seconds']:.3g} s"
        )
    return line.rstrip()
