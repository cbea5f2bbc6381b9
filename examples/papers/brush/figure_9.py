# SPDX-License-Identifier: BSD-3-Clause
"""Speed of the brush and of the parallel reduction relative to one core: Figure 9.

The paper divides by the time of its CPU program, which computes one pair term at a time (method
"serial"). Beyond the largest measured size the time of one core is scaled as N^2. The brush on one
core, which uses SIMD instructions, is the second reference.

    python figure_9.py --device cuda
    python figure_9.py --times out/figure_8/summary.json
"""

from __future__ import annotations

from typing import Any

from figure_8 import LITERAL, PAPER_IONS, PAPER_SWEEP, Row, curves, parsed, times
from matplotlib.figure import Figure

from manymove import script

PAPER_SPEED = 440  # of large systems with one thread per particle (section 4)
LONGEST = 131072  # ions, the size of Figure 10
NAMES = {"brush": "brush with the fastest $\\eta$"}
REFERENCES = ("serial, one core", "brush, one core")


def speeds(results: list[Row]) -> list[dict[str, Any]]:
    """A row for each curve of a GPU (or, without one, of the brush), reference and size."""
    found = []
    all_curves = curves(results)
    for reference in REFERENCES:
        for (name, precision, where), one in all_curves.items():
            slow = all_curves.get((reference, precision, "cpu"))
            if not slow or name in REFERENCES:
                continue
            for ions, seconds in one.items():
                if ions >= min(slow):
                    largest = max(n for n in slow if n <= ions)
                    core = slow[largest] * (ions / largest) ** 2
                    found.append(
                        {
                            "name": name, "precision": precision, "reference": reference,
                            "ions": ions, "speed": core / seconds, "device": where,
                            "core_seconds": core, "core_measured": largest,
                        }
                    )  # fmt: skip
    return found


def rows(found: list[dict[str, Any]]) -> list[Row]:
    result = []
    literal = f"{LITERAL}, eta 1"  # one thread per particle, as for the paper's 440
    for one in found:
        if one["ions"] not in (LONGEST, PAPER_IONS):
            continue
        if one["name"] not in (literal, "brush, eta 1", "brush", "reduction"):
            continue
        paper = None
        if (one["name"], one["precision"], one["ions"]) == (literal, "double", PAPER_IONS):
            paper = (float(PAPER_SPEED), None)
        text = f"{NAMES.get(one['name'], one['name'])}, {one['precision']}: speed relative to "
        text += one["reference"]
        size = f"{one['ions']:,} ions, the core with {one['core_measured']:,}"
        length = "best of three measurements"
        result.append(script.compared(text, (one["speed"], None), paper, size, length))
    for one in found:
        if (one["name"], one["precision"], one["ions"]) == ("brush", "double", PAPER_IONS):
            if one["reference"] == REFERENCES[0]:
                text = "one core, serial, double: time of a sweep (s), scaled by $N^2$"
                paper = (PAPER_SPEED * PAPER_SWEEP, None)
                size = f"from {one['core_measured']:,} to {PAPER_IONS:,} ions"
                ours = (one["core_seconds"], None)
                result.append(script.compared(text, ours, paper, size, "one sweep"))
    return result


def draw(result: dict[str, Any]) -> Figure:
    """Speed relative to one core against N, in both precisions."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    for axes, precision in zip(figure.subplots(1, 2), ("double", "mixed"), strict=True):
        for reference, style in zip(REFERENCES, ("o-", "x:"), strict=True):
            some = [
                one
                for one in result["speeds"]
                if (one["precision"], one["reference"]) == (precision, reference)
            ]
            for name in dict.fromkeys(one["name"] for one in some):
                if reference != REFERENCES[0] and name != "brush":
                    continue
                points = [(one["ions"], one["speed"]) for one in some if one["name"] == name]
                axes.loglog(
                    *zip(*points, strict=True), style, ms=3, lw=1, label=f"{name} / {reference}"
                )
        axes.axhline(PAPER_SPEED, color="k", lw=0.8, ls="--", label="paper, large N: 440")
        axes.set(
            xlabel="number of ions", ylabel="speed relative to one core",
            title=f"3:-1 salt, {precision} precision, {result.get('device_name', '')}",
        )  # fmt: skip
        axes.title.set_fontsize(9)
        axes.legend(fontsize=6)
    return figure


def main() -> None:
    options = parsed(__doc__, "figure_9", draw)
    result = times(options)
    found = speeds(result.pop("results"))
    script.finish(options, {**result, "speeds": found, "rows": rows(found)}, draw)


if __name__ == "__main__":
    script.run_script(main)
