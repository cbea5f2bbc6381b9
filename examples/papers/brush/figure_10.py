# SPDX-License-Identifier: BSD-3-Clause
"""Counters of the brush, of the paper's kernel and of the parallel reduction: Figure 10.

The paper measures them with nvprof for 131,072 particles and does not print the numbers of its
figure. On a GPU this script needs Nsight Compute (the program ncu, and the permission to read
counters). It profiles one sweep of the brush, which is one kernel, and some trials of the
reduction, each of which is a kernel. On a CPU, or with --no-counters, it measures only the pair
terms per second.

    python figure_10.py --device cuda
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from figure_8 import LITERAL, timed
from literal import GROUP, LiteralBrush, compiled
from matplotlib.figure import Figure
from trivalent import BJERRUM, cell

from manymove import Brush, Electrolyte, script

# What is shown: text, and its value from the metrics of ncu and the pair terms of the kernel.
METRICS = (
    "gpu__time_duration.sum",
    "lts__t_sector_hit_rate.pct",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sectors_op_read.sum",
    "dram__bytes_read.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    *[
        f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum"
        for name in ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma")
    ],
)
SECTOR = 32  # bytes
PROFILED = {"brush": 1, LITERAL: 1, "reduction": 20}  # kernels
KERNELS = {"brush": "brush_kernel", LITERAL: "^brush$", "reduction": "reduction_kernel"}
ETA = 1  # of the brush: one thread per particle, as in the paper's figure


def chain(
    method: str, precision: str, options: argparse.Namespace
) -> Electrolyte | LiteralBrush | None:
    """Chain of a method; None for the paper's kernel without a GPU and nvcc."""
    ions = Electrolyte.random(
        *cell(options.ions), bjerrum_length=BJERRUM, precision=precision, seed=options.seed,
        method="reduction" if method == "reduction" else Brush(ETA), device=options.device,
        threads=1,
    )  # fmt: skip
    if method != LITERAL:
        return ions
    if ions.device == "cpu" or ions.N % GROUP:
        return None
    with tempfile.TemporaryDirectory() as folder:
        function = compiled(folder)
    return None if function is None else LiteralBrush(ions, ETA, function)


def counters(method: str, precision: str, options: argparse.Namespace) -> dict[str, float]:
    """Metrics of a mean kernel of a method, in seconds, bytes, percent and numbers of operations.

    Raises:
        RuntimeError: ncu fails; the text has the end of its output.
    """
    own = [sys.executable, __file__, "--profile", method, precision, "--ions", str(options.ions),
           "--seed", str(options.seed), "--device", options.device,
           "--output", str(options.output / "profile")]  # fmt: skip
    command = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
               "--metrics", ",".join(METRICS), "--kernel-name", f"regex:{KERNELS[method]}",
               "--launch-count", str(PROFILED[method]), *own]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode or len(lines) < 3:
        raise RuntimeError(f"ncu failed: {(done.stdout + done.stderr)[-800:].strip()}")
    header, _, *kernels = csv.reader(lines)  # the second row has the units
    found = {}
    for name in METRICS:
        column = header.index(name)
        values = [float(row[column].replace(",", "")) for row in kernels]
        found[name] = sum(values) / len(values)
    found["gpu__time_duration.sum"] *= 1e-9  # base unit: ns
    return found


def described(found: dict[str, float], terms: float) -> dict[str, float]:
    """Ratios of the metrics to the time and to the pair terms of a kernel."""
    seconds = found["gpu__time_duration.sum"]
    single, double = (
        sum(
            weight * found[f"smsp__sass_thread_inst_executed_op_{kind}{name}_pred_on.sum"]
            for name, weight in (("add", 1), ("mul", 1), ("fma", 2))
        )
        for kind in ("f", "d")
    )
    return {
        "kernel_seconds": seconds,
        "L2 hit rate (%)": found["lts__t_sector_hit_rate.pct"],
        "L1 hit rate (%)": found["l1tex__t_sector_hit_rate.pct"],
        "bytes read from L2 per pair": SECTOR * found["lts__t_sectors_op_read.sum"] / terms,
        "bytes read from memory per pair": found["dram__bytes_read.sum"] / terms,
        "active threads of a warp": found["smsp__thread_inst_executed_per_inst_executed.ratio"],
        "float32 operations per second (Tflop/s)": single / seconds * 1e-12,
        "float64 operations per second (Tflop/s)": double / seconds * 1e-12,
    }


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    found = []
    probe = Electrolyte.random(*cell(4), seed=1, device=options.device)
    variants = [(m, p) for p in options.precisions for m in ("brush", "reduction")]
    for method, precision in [*variants, (LITERAL, "double")]:
        one = chain(method, precision, options)
        if one is None:
            continue
        one.run(2)
        time = timed(one, options.seconds)
        evaluated = time.get("evaluated_share", 1.0)  # the paper rejects no trial early
        pairs = evaluated * options.ions**2
        row: dict[str, Any] = {
            "method": method, "precision": precision, "device": probe.device,
            "device_name": probe.device_name, **time,
            "Pairs per second (1e9)": pairs / time["seconds_per_sweep"] * 1e-9,
        }  # fmt: skip
        if options.counters and probe.device != "cpu":
            # The kernel of the brush computes the pairs of a sweep. The kernel of the reduction
            # computes the pairs of one trial, and some of its launches end at once, because the
            # trial leaves the cell.
            terms = pairs / options.ions if method == "reduction" else pairs
            try:
                row["counters"] = counters(method, precision, options)
                row |= described(row["counters"], terms)
            except RuntimeError as error:
                print(error)
        found.append(row)
        print(
            f"{method}, {precision}:",
            ", ".join(f"{k} {v:.4g}" for k, v in row.items() if isinstance(v, float)),
        )
    return found


def quantities(found: list[dict[str, Any]]) -> list[str]:
    """Names of what all rows have, which are texts of several words."""
    return [name for name in found[0] if " " in name and all(name in one for one in found)]


def rows(options: argparse.Namespace, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    size, result = f"{options.ions:,} ions", []
    for name in quantities(found):
        for one in found:
            trials = one["method"] == "reduction"
            length = f"{PROFILED['reduction']} trials" if trials else "one sweep"
            text = f"{one['method']}, {one['precision']}: {name}"
            result.append(script.compared(text, (one[name], None), None, size, length))
    return result


def draw(result: dict[str, Any]) -> Figure:
    """Bars of each quantity, for both methods and precisions."""
    found = result["results"]
    names = quantities(found)
    columns = min(4, len(names))
    lines = -(-len(names) // columns)
    figure = Figure(figsize=(3 * columns + 1, 2.8 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes, name in zip(panels, names, strict=False):
        labels = [f"{one['method']}\n{one['precision']}" for one in found]
        colors = [f"C{list(PROFILED).index(one['method'])}" for one in found]
        axes.bar(labels, [one[name] for one in found], color=colors)
        axes.set_title(name, fontsize=8)
        axes.tick_params(labelsize=6)
    for axes in panels[len(names) :]:
        axes.set_axis_off()
    figure.suptitle(f"{result['ions']:,} ions +3:-1, {found[0]['device_name']}", fontsize=9)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--ions", 131072, "Number of ions, a multiple of 4.")
    parser.option("--precisions", ["double", "mixed"], choices=("mixed", "double"))
    parser.option("--seconds", 0.3, "Minimum duration of a measurement in seconds.")
    parser.add_argument(
        "--no-counters",
        dest="counters",
        action="store_false",
        help="Do not read hardware counters with ncu.",
    )
    parser.option(
        "--profile",
        str,
        "Run one sweep of this method, which ncu profiles.",
        nargs=2,
        metavar=("METHOD", "PRECISION"),
    )
    quick = {"ions": 512, "seconds": 0.01}
    options = script.parse(parser, "figure_10", quick, without_a_run=("profile",), draw=draw)
    if options.profile:
        one = chain(*options.profile, options)
        if one is not None:
            one.run(1)
        return
    if options.counters and shutil.which("ncu") is None:
        options.counters = False
        print("ncu is not installed: no counters")
    found = measure(options)
    about = {key: found[0][key] for key in ("device", "device_name")}
    script.finish(options, {**about, "results": found, "rows": rows(options, found)}, draw)


if __name__ == "__main__":
    script.run_script(main)
