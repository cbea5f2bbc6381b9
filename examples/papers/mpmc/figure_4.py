# SPDX-License-Identifier: BSD-3-Clause
"""Figure 4 of the paper: trial moves per second against the number of disks.

The variants are `HardDisks` on the device and on one core, and the paper's own kernel
(paper_kernel.cu) on a GPU and on one core. The blocks of threads of the paper's kernel are compared
as in section 3.2.

    python figure_4.py --device cuda
    python figure_4.py --draw figure_4.json
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

from matplotlib.figure import Figure
from paper_kernel import BLOCK, MULTIPLE, PaperSystems, fits
from programs import compiled
from table_2 import start_of

from manymove import HardDisks, script
from manymove.devices import on_gpu

PHI = 0.698
# Table 4: efficiency of the K20 at the fewest disks, which are 4,096, and its speed relative to one
# core there and at its best. The text of the paper at hand has lost the other numbers of disks.
K20_EFFICIENCY, K20_SPEEDUPS = 0.567, (83.6, 148.0)
K20_SPEED = 1e9  # trial moves per second: "over one billion" (abstract)
SLOWEST_BLOCK = 1.55  # the fastest block of threads outperforms the slowest by 55 % (section 3.2)
BLOCKS = [(32, 1), (32, 2), (32, 4), (32, 8), (32, 16), (16, 2), (16, 4), (16, 8), (16, 16),
          (8, 4), (8, 8), (8, 16)]  # fmt: skip
MELT = 200  # sweeps before a measurement
REPEATS = 3


def rates(advance: Callable[[float], tuple[float, float]], least: float) -> dict[str, float]:
    """Trial moves per second of three runs: median, lowest and highest.

    Args:
        advance: function that runs for some sweeps, and returns trial moves and seconds.
        least: least time of a run in seconds.
    """
    sweeps, (_, seconds) = 2.0, advance(2.0)
    while seconds < least:
        sweeps *= min(100.0, max(1.5, 1.2 * least / max(seconds, 1e-6)))
        moves, seconds = advance(sweeps)
    found = [moves / seconds] if sweeps > 2 else []
    while len(found) < REPEATS:
        moves, seconds = advance(sweeps)
        found.append(moves / seconds)
    return {
        "trial_moves_per_second": median(found), "lowest": min(found), "highest": max(found)
    }  # fmt: skip


def of_engine(N: int, device: str, threads: int | None, seconds: float) -> dict[str, float]:
    """Speed of `HardDisks`."""
    disks = start_of("crystal", N, PHI, 1, device, threads)
    disks.run(MELT)

    def advance(sweeps: float) -> tuple[float, float]:
        moves, began = disks.trial_moves, disks.seconds
        disks.run(sweeps)
        return disks.trial_moves - moves, disks.seconds - began

    return rates(advance, seconds)


def of_paper(
    start: HardDisks, function: Callable[..., Any], multiple: int, block: tuple[int, int],
    seconds: float,
) -> dict[str, float]:  # fmt: skip
    """Speed of the paper's kernel. A sweep is one over the cells. Small systems have narrower
    blocks, so that their cells are as wide as a disk."""
    while not fits(start.box[0], multiple) and multiple > 2:
        multiple //= 2
        block = max(1, block[0] // 2), 2 * block[1]
    systems = PaperSystems(
        [start.positions], start.box[0], ["both"], 1, function, multiple=multiple, block=block
    )

    def advance(sweeps: float) -> tuple[float, float]:
        moves, began = int(systems.moves[0, 0]), systems.seconds
        systems.run(max(1, round(sweeps)))
        return int(systems.moves[0, 0]) - moves, systems.seconds - began

    return {"cell_width": systems.width, **rates(advance, seconds)}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Time all variants."""
    gpu, results, blocks = on_gpu(options.device), [], []
    least, sizes = options.seconds, options.sizes
    with tempfile.TemporaryDirectory() as folder:
        cpu = compiled("paper_kernel", folder, False, "paper_kernel.cu")
        nvcc = gpu and shutil.which("nvcc") is not None
        if gpu and not nvcc:
            print("nvcc is not installed: the paper's kernel is left out")
        kernel = compiled("paper_kernel", folder, True, "paper_kernel.cu") if nvcc else None
        for N in sizes:
            start = start_of("crystal", N, PHI, 1, options.device, None)
            start.run(MELT)
            variants = {
                "HardDisks, 1 core": partial(of_engine, N, "cpu", 1, least),
                "paper's program, 1 core": partial(
                    of_paper, start, cpu, options.multiple, BLOCK, least
                ),
            }
            if options.threads > 1:
                name = f"HardDisks, {options.threads} cores"
                variants[name] = partial(of_engine, N, "cpu", options.threads, least)
            if gpu:
                variants["HardDisks, GPU"] = partial(of_engine, N, options.device, None, least)
            if kernel:
                variants["paper's kernel, GPU"] = partial(
                    of_paper, start, kernel, options.multiple, BLOCK, least
                )
            for variant, measured in variants.items():
                results.append({"particles": N, "variant": variant, **measured()})
                speed = results[-1]["trial_moves_per_second"]
                print(f"{N:>9,}  {variant:<24} {speed:.3g} trial moves/s", flush=True)
            if kernel and N == options.scan:
                for block in BLOCKS:
                    found = of_paper(start, kernel, options.multiple, block, least)
                    blocks.append({"particles": N, "block": block, **found})
                    print(
                        f"{N:>9,}  {block} {blocks[-1]['trial_moves_per_second']:.3g}", flush=True
                    )
    found = {"packing_fraction": PHI, "melt": MELT, "results": results, "blocks": blocks}
    return script.save(options, {**found, "rows": rows(found)})


def speed_of(report: dict[str, Any], variant: str) -> dict[int, float]:
    """Trial moves per second of a variant for each number of disks."""
    return {
        row["particles"]: row["trial_moves_per_second"]
        for row in report["results"]
        if row["variant"] == variant
    }


def rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Speeds at the largest size, efficiencies at the smallest, and the blocks of threads."""
    made = []
    for variant in dict.fromkeys(row["variant"] for row in report["results"]):
        speeds = speed_of(report, variant)
        first, last = min(speeds), max(speeds)
        kernel = variant == "paper's kernel, GPU"
        for what, ours, published, N in (
            ("trial moves/s", speeds[last], K20_SPEED if kernel else None, last),
            ("efficiency (speed / highest speed)", speeds[first] / max(speeds.values()),
             K20_EFFICIENCY if variant.endswith("GPU") and first == 4096 else None, first),
        ):  # fmt: skip
            paper = None if published is None else (published, None)
            name = f"{variant}: {what}"
            made.append(script.compared(name, (ours, None), paper, f"{N:,} disks", "3 runs"))
    if blocks := report.get("blocks"):
        speeds = [row["trial_moves_per_second"] for row in blocks]
        best = max(blocks, key=lambda row: row["trial_moves_per_second"])["block"]
        what = f"paper's kernel, GPU: fastest / slowest block, {tuple(best)} is the fastest"
        size = f"{blocks[0]['particles']:,} disks"
        ours = max(speeds) / min(speeds), None
        made.append(script.compared(what, ours, (SLOWEST_BLOCK, None), size, "3 runs"))
    return made


def draw(reports: list[dict[str, Any]]) -> Figure:
    """(a) speed, (b) speed relative to the largest of the same variant."""
    curves: dict[str, list[tuple[int, float, float, float]]] = defaultdict(list)
    for report in reports:
        for row in report["results"]:
            label = row["variant"]
            if row.get("device_name"):
                label += f" ({row['device_name']})"
            rates = (row["trial_moves_per_second"], row["lowest"], row["highest"])
            curves[label].append((row["particles"], *rates))
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    speed, relative = figure.subplots(1, 2)
    for label, points in curves.items():
        sizes, rates, lowest, highest = zip(*sorted(points), strict=True)
        below = [r - low for r, low in zip(rates, lowest, strict=True)]
        above = [high - r for r, high in zip(rates, highest, strict=True)]
        speed.errorbar(sizes, rates, (below, above), fmt="o-", capsize=3, label=label)
        relative.plot(sizes, [r / max(rates) for r in rates], "o-")
    speed.set(xscale="log", yscale="log", xlabel="number of disks", title="(a)",
              ylabel="speed (trial moves/s)")  # fmt: skip
    relative.set(xscale="log", ylim=(0, 1.05), xlabel="number of disks", title="(b)",
                 ylabel="speed relative to the largest")  # fmt: skip
    speed.legend(fontsize=8)
    phi = reports[0].get("packing_fraction")
    figure.suptitle("Hard disks" + (f", packing fraction {phi:g}" if phi else ""), fontsize=9)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, device="auto")
    parser.option("--sizes", [1024, 4096, 16384, 65536, 262144, 1048576], "Numbers of disks.")
    parser.option("--seconds", 0.4, "Minimum duration of a measurement in seconds.")
    parser.option("--threads", 1, "Number of cores of an additional measurement.")
    parser.option("--scan", 65536, "Number of disks for the scan of the thread blocks.")
    parser.option(
        "--multiple", MULTIPLE, "The number of cells along an edge is a multiple of this."
    )
    quick = {"sizes": [256, 576], "seconds": 0.02, "multiple": 2}
    options = script.parse(parser, "figure_4", quick)
    script.at_least(options, sizes=16, seconds=0, threads=1, multiple=2)
    reports = script.read(options) if options.draw else [measure(options)]
    script.picture(options, draw(reports))


if __name__ == "__main__":
    script.run_script(main)
