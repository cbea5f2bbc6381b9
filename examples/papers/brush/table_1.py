# SPDX-License-Identifier: BSD-3-Clause
"""The best number of threads per particle, eta, of small systems: Table 1.

A block of the paper has 1,024 threads for each eta, and therefore groups of 1,024 / eta ions
(literal_brush.cu). The kernel of `Electrolyte` has blocks of 1,024 threads for eta = 16, 512 for 8
and 4, and 256 for 2 and 1.

    python table_1.py --device cuda
    python table_1.py --times out/figure_8/summary.json
"""

from __future__ import annotations

from typing import Any

from figure_8 import LITERAL, Row, curve, parsed, times
from matplotlib.figure import Figure

from manymove import script

PAPER = {8192: 16, 16384: 8, 24576: 4, 32768: 4}  # eta by the number of ions


def table(results: list[Row]) -> list[dict[str, Any]]:
    """Times of each size by eta, of the kernels on the device with the most values of eta."""
    found = []
    kernels = [row for row in results if row["method"] in (LITERAL, "brush")]
    where = max((row["threads_per_particle"], row["device"]) for row in kernels)[1]
    for method, precision in ((LITERAL, "double"), ("brush", "double"), ("brush", "mixed")):
        wanted = (method, precision, where)
        some = [r for r in kernels if (r["method"], r["precision"], r["device"]) == wanted]
        for ions in sorted({row["ions"] for row in some}):
            etas = sorted({row["threads_per_particle"] for row in some if row["ions"] == ions})
            seconds = [curve(some, ions=ions, threads_per_particle=eta)[ions] for eta in etas]
            best = min(zip(seconds, etas, strict=True))[1]
            found.append(
                {"ions": ions, "method": method, "precision": precision, "etas": etas,
                 "seconds": seconds, "best": best}
            )  # fmt: skip
    return found


def rows(found: list[dict[str, Any]]) -> list[Row]:
    result = []
    length = "best of three measurements"
    for one in found:
        if one["ions"] not in PAPER:
            continue
        paper = (PAPER[one["ions"]], None) if one["method"] == LITERAL else None
        kernel = f"{one['method']}, {one['precision']}"
        text = f"$\\eta$ with the shortest time of a sweep, {kernel}"
        size = f"{one['ions']:,} ions"
        result.append(script.compared(text, (one["best"], None), paper, size, length))
        if one["precision"] == "double" and PAPER[one["ions"]] in one["etas"]:
            at = one["seconds"][one["etas"].index(PAPER[one["ions"]])]
            ratio = at / min(one["seconds"])
            text = f"time with the published $\\eta$ over the shortest, {kernel}"
            result.append(script.compared(text, (ratio, None), None, size, length))
    return result


def draw(result: dict[str, Any]) -> Figure:
    """Time of a sweep against eta, relative to the shortest."""
    kernels = list(dict.fromkeys((one["method"], one["precision"]) for one in result["table"]))
    figure = Figure(figsize=(1 + 4.2 * len(kernels), 4), layout="constrained")
    panels = figure.subplots(1, len(kernels), squeeze=False)[0]
    for axes, kernel in zip(panels, kernels, strict=True):
        for one in result["table"]:
            if (one["method"], one["precision"]) == kernel and len(one["etas"]) > 1:
                ratios = [seconds / min(one["seconds"]) for seconds in one["seconds"]]
                (line,) = axes.plot(
                    one["etas"], ratios, "o-", ms=3, lw=1, label=f"{one['ions']:,} ions"
                )
                if one["ions"] in PAPER:
                    axes.plot(PAPER[one["ions"]], 1, "*", ms=10, color=line.get_color())
        axes.set(
            xlabel=r"threads per particle $\eta$ (stars: Table 1 of the paper)",
            ylabel="time of a sweep over the shortest", xscale="log",
            title=f"{', '.join(kernel)} precision, {result.get('device_name', '')}",
        )  # fmt: skip
        axes.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
        axes.minorticks_off()
        axes.title.set_fontsize(8)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7)
    return figure


def main() -> None:
    options = parsed(__doc__, "table_1", draw)
    result = times(options)
    found = table(result.pop("results"))
    script.finish(options, {**result, "table": found, "rows": rows(found)}, draw)


if __name__ == "__main__":
    script.run_script(main)
