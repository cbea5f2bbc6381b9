# SPDX-License-Identifier: BSD-3-Clause
"""Weak and strong scaling of the paper's fluids over MPI ranks, for Figures 12 and 13."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from fluid import CUTOFFS, DENSITIES, Fluid, cores, resident_speed
from matplotlib.figure import Figure

from manymove import _core, script
from manymove.devices import on_gpu

Row = dict[str, Any]


def options_of(name: str, about: str, size: str, least: int) -> argparse.Namespace:
    """The options of both scripts; `size` is the help text of --sizes, and `least` the size of a
    quick run."""
    parser = script.Parser(about, seed=1, device="auto")
    parser.option("--densities", list(DENSITIES))
    parser.option("--cutoffs", list(CUTOFFS))
    parser.option("--sizes", [], f"{size}, for each density.", type=int)
    parser.option(
        "--ranks", [1, 2, 4], "MPI ranks (default 1, 2 and 4). Ranks share GPUs if there are fewer."
    )
    parser.option("--threads", 1, "Threads of a rank on a CPU.")
    parser.option("--precision", "mixed", choices=("mixed", "double"))
    parser.option("--seconds", 0.3, "Duration of a run in seconds.")
    parser.option("--minutes", float, "Time in minutes after which no measurement begins.")
    parser.option(
        "--from-record",
        Path,
        "Record of `python -m benchmarks scaling` to read instead of running anything.",
        metavar="FILE",
    )
    quick = {
        "densities": [3.0], "cutoffs": [1.0], "sizes": [least], "ranks": [1, 2], "device": "cpu",
        "seconds": 0.01,
    }  # fmt: skip
    options = script.parse(parser, name, quick, draw=draw)
    if options.from_record and len(options.sizes) != 1:
        parser.error("--from-record needs one number as --sizes")
    if not options.from_record:
        script.at_least(options, sizes=1, ranks=1, threads=1)
        if options.sizes and len(options.sizes) != len(options.densities):
            parser.error("--sizes needs one number for each of --densities")
    return options


def measure(options: argparse.Namespace, fluid: Fluid, ranks: int) -> Row:
    """Speed of one fluid on a number of ranks."""
    speed, steps = resident_speed(
        fluid, options.device, ranks, options.threads, options.precision, options.seconds,
        options.seed,
    )  # fmt: skip
    gpus = len(_core.cuda_devices()) if on_gpu(options.device) else 0
    print(f"{fluid.name}, {ranks} ranks: {speed / 1e6:.4g} million particle-steps/s", flush=True)
    return {
        "density": fluid.density, "cutoff": fluid.cutoff, "particles": fluid.particles,
        "ranks": ranks, "processors": min(ranks, gpus) if gpus else min(ranks, cores()),
        "on_gpu": bool(gpus), "speed": speed, "steps": steps,
    }  # fmt: skip


def recorded(file: Path, scaling: str, size: int) -> tuple[list[Row], Row]:
    """Rows of a record of `python -m benchmarks scaling`, and what it says of machine and date.

    Raises:
        ValueError: the record has no such rows.
    """
    for part in json.loads(file.read_text())["parts"].values():
        found = [
            {
                "density": 3.0, "cutoff": 1.0, "particles": row["size"], "ranks": row["ranks"],
                "processors": row["ranks"], "on_gpu": row["measured"]["device"] == "cuda",
                "speed": row["rate"] * 1e6,
                "steps": row["measured"]["steps_per_repeat"] * row["measured"]["repeats"],
            }
            for row in part["results"]
            if row["algorithm"] == "dpd" and row["scaling"] == scaling
            and row["size"] == size * (row["ranks"] if scaling == "weak" else 1)
        ]  # fmt: skip
        if found:
            keys = ("version", "date", "commit", "machine", "cpu", "gpus", "driver", "build",
                    "seconds", "seed")  # fmt: skip
            return found, {key: part[key] for key in keys if key in part}
    raise ValueError(f"{file} has no {scaling} scaling of {size:,} particles")


def processors(row: Row) -> str:
    """Such as "4 GPUs" or "4 ranks that share 1 GPU"."""
    kind = "GPU" if row["on_gpu"] else "core"
    have = f"{row['processors']} {kind}{'s' if row['processors'] > 1 else ''}"
    if row["processors"] == row["ranks"]:
        return have
    return f"{row['ranks']} ranks that share {have}"


def efficiency(row: Row, results: Sequence[Row]) -> float:
    """Speed over the speed of the first number of ranks with the same fluid, by processor. Ranks
    that share a processor are compared with its speed."""
    same = ("density", "cutoff")
    first = next(r for r in results if all(r[key] == row[key] for key in same))
    return row["speed"] / row["processors"] / (first["speed"] / first["processors"])


def rows(results: Sequence[Row], scaling: str) -> list[Row]:
    """The comparisons for docs/papers.md."""
    lines = []
    for row in results:
        fluid = Fluid(row["density"], row["cutoff"], row["particles"])
        where = f"{fluid.name}, {processors(row)}"
        size, length = f"{row['particles']:,} particles", f"{row['steps']:,} steps"
        value = (row["speed"] / 1e6, None)
        quantity = f"million particle-steps per second, {where}"
        lines.append(script.compared(quantity, value, None, size, length))
        if row["ranks"] > 1:
            share = (efficiency(row, results), None)
            quantity = f"{scaling} parallel efficiency, {where}"
            lines.append(script.compared(quantity, share, None, size, length))
    return lines


def draw(report: Row) -> Figure:
    """Speed and efficiency against the number of ranks."""
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    speeds, shares = figure.subplots(1, 2)
    results = report["results"]
    for k, case in enumerate(dict.fromkeys((r["density"], r["cutoff"]) for r in results)):
        some = [r for r in results if (r["density"], r["cutoff"]) == case]
        ranks, values = [r["ranks"] for r in some], [r["speed"] / 1e6 for r in some]
        label = f"density {case[0]:g}, $r_c$ = {case[1]:g}"
        speeds.loglog(ranks, values, "o-", color=f"C{k}", label=label)
        ideal = [values[0] * r["processors"] / some[0]["processors"] for r in some]
        speeds.loglog(ranks, ideal, ":", lw=1, color=f"C{k}")
        shares.semilogx(ranks, [efficiency(r, some) for r in some], "o-", color=f"C{k}")
    ticks = sorted({row["ranks"] for row in results})
    for axes in (speeds, shares):
        axes.set_xticks(ticks, list(map(str, ticks)))
        axes.minorticks_off()
        axes.set_xlabel("number of ranks")
    shared = any(row["ranks"] > row["processors"] for row in results)
    title = "ranks share processors" if shared else "one processor for each rank"
    speeds.set(ylabel="million particle-steps per second", title=f"{title}; dotted: linear")
    shares.set(ylabel="efficiency", ylim=(0, 1.1))
    speeds.legend(fontsize="small")
    return figure


def run(options: argparse.Namespace, scaling: str, sizes: dict[float, int]) -> None:
    """Measure, draw or convert what the options ask for.

    Args:
        options: result of :func:`options_of`.
        scaling: "weak" or "strong".
        sizes: particles of a rank (weak) or in total (strong), by density.
    """
    if options.from_record:
        results, about = recorded(options.from_record, scaling, options.sizes[0])
        options.ranks = [row["ranks"] for row in results]
        options.densities, options.cutoffs, options.device = [3.0], [1.0], "cuda"
        options.from_record = options.from_record.name
    else:
        if options.sizes:
            sizes = dict(zip(options.densities, options.sizes, strict=True))
        parts, results, about = script.Parts(options), [], {}
        for density, cutoff, ranks in product(options.densities, options.cutoffs, options.ranks):
            size = sizes[density] * (ranks if scaling == "weak" else 1)
            fluid = Fluid(density, cutoff, size)
            results.append(
                parts.run(
                    f"{fluid.name}, {ranks}",
                    lambda fluid=fluid, ranks=ranks: measure(options, fluid, ranks),
                )
            )
    report = {**about, "results": results, "rows": rows(results, scaling)}
    script.finish(options, report, draw)
