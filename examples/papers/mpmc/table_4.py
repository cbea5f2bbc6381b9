# SPDX-License-Identifier: BSD-3-Clause
"""Table 4 of the paper: efficiencies, and speeds relative to one core.

The script makes the measurements of figure_4.py. The paper compares one Tesla K20 and eight cores
of two Intel Xeon E5540 with one of these cores, all with the same algorithm. Here the program
paper_kernel.cu, compiled for the GPU and for one core, and `HardDisks` are measured on both.

    python table_4.py --device cuda --threads 8
"""

from __future__ import annotations

from typing import Any

import numpy as np
from figure_4 import K20_EFFICIENCY, K20_SPEEDUPS, measure, speed_of
from matplotlib.figure import Figure
from paper_kernel import MULTIPLE

from manymove import script

# Table 4, eight cores: efficiency and speed relative to one core, at 4,096 disks and at the most.
CORES_EFFICIENCY, CORES_SPEEDUPS = (0.900, 0.820), (7.65, 7.16)
CORE_EFFICIENCY = (0.880, 0.858)  # of one core


def rows(report: dict[str, Any], threads: int) -> list[dict[str, Any]]:
    """The first and the last column of Table 4. The text at hand has lost the numbers of disks of
    the others."""
    pairs = {
        "paper's kernel, GPU": ("paper's program, 1 core", (K20_EFFICIENCY, 1.0), K20_SPEEDUPS),
        "HardDisks, GPU": ("HardDisks, 1 core", (K20_EFFICIENCY, 1.0), K20_SPEEDUPS),
        f"HardDisks, {threads} cores": ("HardDisks, 1 core", CORES_EFFICIENCY, CORES_SPEEDUPS),
        "paper's program, 1 core": (None, CORE_EFFICIENCY, None),
        "HardDisks, 1 core": (None, CORE_EFFICIENCY, None),
    }
    made = []
    for variant, (core, efficiencies, speedups) in pairs.items():
        speeds = speed_of(report, variant)
        if not speeds:
            continue
        for place, N in enumerate((min(speeds), max(speeds))):
            size, one = f"{N:,} disks", speeds[N] / max(speeds.values())
            known = place == 1 or N == 4096
            published = (efficiencies[place], None) if known else None
            what = f"{variant}: efficiency"
            made.append(script.compared(what, (one, None), published, size, "3 runs"))
            if core and speedups:
                ratio = speeds[N] / speed_of(report, core)[N]
                published = (speedups[place], None) if known else None
                what = f"{variant}: speed relative to {core}"
                made.append(script.compared(what, (ratio, None), published, size, "3 runs"))
    return made


def draw(report: dict[str, Any]) -> Figure:
    """Ours and the paper's numbers of each row."""
    found = report["rows"]
    figure = Figure(figsize=(9, 1 + 0.35 * len(found)), layout="constrained")
    axes = figure.add_subplot()
    at = np.arange(len(found))
    axes.barh(at, [row["ours"][0] for row in found], label="here")
    published = [(k, row["published"][0]) for k, row in enumerate(found) if row["published"]]
    if published:
        places, values = zip(*published, strict=True)
        axes.plot(values, places, "kD", mfc="none", label="paper, Table 4")
    axes.set_yticks(at, [f"{row['quantity']}, {row['size']}" for row in found], fontsize=8)
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="efficiency or ratio of speeds")
    axes.legend(fontsize=8)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, device="auto")
    parser.option("--sizes", [4096, 65536, 262144, 1048576], "Numbers of disks.")
    parser.option("--seconds", 0.4, "Minimum duration of a measurement in seconds.")
    parser.option("--threads", 8, "Number of cores of an additional measurement.")
    parser.option(
        "--multiple", MULTIPLE, "The number of cells along an edge is a multiple of this."
    )
    quick = {"sizes": [256, 576], "seconds": 0.02, "multiple": 2, "threads": 2}
    options = script.parse(parser, "table_4", quick, draw=draw)
    script.at_least(options, sizes=16, seconds=0, threads=1, multiple=2)
    options.scan = 0
    report = measure(options)
    script.finish(options, {**report, "rows": rows(report, options.threads)}, draw)


if __name__ == "__main__":
    script.run_script(main)
