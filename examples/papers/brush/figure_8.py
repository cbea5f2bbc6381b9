# SPDX-License-Identifier: BSD-3-Clause
"""Time of a sweep against N for the brush, the parallel reduction and one core: Figure 8.

The brush is timed with each number of threads per particle (eta) and with the default number. The
kernel of the paper (literal_brush.cu), which needs nvcc, is also timed with each eta. The paper's
CPU program computes one pair term at a time, as the method "serial" does. The brush on one core
uses SIMD instructions.

    python figure_8.py --device cuda
    python figure_9.py --times out/figure_8/summary.json
    python table_1.py --times out/figure_8/summary.json
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from literal import ETAS, GROUP, Function, LiteralBrush, compiled
from matplotlib.figure import Figure
from trivalent import BJERRUM, WHERE, cell

from manymove import Brush, Electrolyte, Ions, script
from manymove.devices import on_gpu

PAPER_SIZES = [8192, 16384, 24576, 32768, 65536, 131072, 262144, 524288, 1048576]
PAPER_SWEEP = 5 * 86400 / 2000  # s of 1,048,576 ions on a K20: 2,000 sweeps in 5 days (section 5.2)
PAPER_IONS = 1048576
MOST_WITH_ALL = 32768  # ions, up to which Table 1 has values of eta
LARGE = 131072  # ions, the size of Figure 10
LITERAL = "paper's kernel"
LINEAR_BELOW = 50_000  # ions, below which the paper's time grows in proportion to N (section 4)
SHOWN = (f"{LITERAL}, eta 1", "brush, eta 1", "brush", "reduction")
Row = dict[str, Any]


def parsed(text: str | None, name: str, draw: Callable[[dict[str, Any]], Figure]) -> Any:
    """The options of a script that needs the measurement, as of `script.parse`."""
    parser = script.Parser(text, seed=1, device="auto")
    parser.option(
        "--sizes",
        int,
        "Numbers of ions, multiples of 4 (default: the paper's on a GPU, up to 8,192 else).",
        nargs="+",
        metavar="N",
    )
    parser.option("--seconds", 0.3, "Minimum duration of a measurement in seconds.")
    parser.option(
        "--largest-serial",
        16384,
        "Largest number of ions that one core is timed with (default 16,384).",
        metavar="N",
    )
    parser.option("--minutes", float, "Time in minutes after which no size begins.")
    parser.option(
        "--times", str, "Summary of figure_8.py, from which the times are read.", metavar="FILE"
    )
    quick = {"sizes": [256, 512], "seconds": 0.01}
    return script.parse(parser, name, quick, draw=draw)


def times(options: argparse.Namespace) -> dict[str, Any]:
    """Entry `results`, a row for each size and variant, and where it was measured.

    Raises:
        OSError, ValueError: --times is not a summary of figure_8.py, or an option is out of range.
    """
    if options.times is not None:
        content = json.loads(Path(options.times).read_text())
        names = (*WHERE, "device", "device_name", "results")
        if "results" not in content:
            raise ValueError(f"--times: {options.times} is not a summary of figure_8.py")
        return {name: content[name] for name in names if name in content}
    probe = Electrolyte.random(*cell(4), seed=1, device=options.device)
    if options.sizes is None:
        options.sizes = PAPER_SIZES if on_gpu(probe.device) else PAPER_SIZES[:1]
    script.at_least(options, sizes=4)
    parts = script.Parts(options)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        function = compiled(folder) if on_gpu(probe.device) else None
        for ions in options.sizes:
            results += parts.run(f"{ions} ions", lambda n=ions: of_size(options, n, function))
    names = {row["device"]: row["device_name"] for row in results}
    device = next((name for name in names if name != "cpu"), "cpu")
    return {"device": device, "device_name": names[device], "results": results}


def of_size(options: argparse.Namespace, ions: int, function: Function | None) -> list[Row]:
    """All variants from the same equilibrated state. Without a function the paper's kernel is left
    out."""
    start = Electrolyte.random(
        *cell(ions), bjerrum_length=BJERRUM, seed=options.seed, device=options.device
    )
    start.run(10)
    gpu = start.device != "cpu"
    # Large systems have all variants in the precision of the paper only.
    large = ions > LARGE
    variants: list[tuple[str, str, int, str]] = [
        ("brush", precision, eta, start.device)
        for precision in ("mixed", "double")
        for eta in ((0, *ETAS[: 1 if large and precision == "mixed" else None]) if gpu else (0,))
    ]
    if gpu:
        precisions = ("double",) if large else ("mixed", "double")
        variants += [("reduction", precision, 0, start.device) for precision in precisions]
    if ions <= options.largest_serial:
        methods = ("serial", "brush") if gpu else ("serial",)
        variants += [(m, p, 0, "cpu") for m in methods for p in ("mixed", "double")]
    rows = []
    for method, precision, eta, device in variants:
        engine = Electrolyte(
            start.positions, start_cell(start), Ions(start.types, start.species),
            bjerrum_length=BJERRUM, method=Brush(eta) if eta else method, precision=precision,
            seed=options.seed, first_sweep=start.sweeps, device=device, threads=1,
        )  # fmt: skip
        rows.append(
            {
                "ions": ions, "method": method, "precision": precision, "device": engine.device,
                "device_name": engine.device_name, "chosen": not eta,
                "threads_per_particle": engine.threads_per_particle,
                **timed(engine, options.seconds),
            }
        )  # fmt: skip
        print(
            f"{ions:>8}  {method}, {precision}, eta {engine.threads_per_particle}, "
            f"{engine.device}: {rows[-1]['seconds_per_sweep']:.4g} s",
            flush=True,
        )
    if function is not None and ions % GROUP == 0:
        rows += of_literal(options, start, function)
    return rows


def of_literal(options: argparse.Namespace, start: Electrolyte, function: Function) -> list[Row]:
    """The paper's kernel with each eta, or with one thread per particle for large systems. Its
    first sweep is compared with the first sweep of the engine."""
    product = Electrolyte(
        start.positions, start_cell(start), Ions(start.types, start.species), seed=options.seed,
        bjerrum_length=BJERRUM, precision="double", first_sweep=start.sweeps, device=start.device,
    )  # fmt: skip
    product.run(1)
    rows = []
    for eta in ETAS if start.N <= MOST_WITH_ALL else ETAS[:1]:
        chain = LiteralBrush(start, eta, function)
        chain.run(1)
        same = chain.share_at(product)
        rows.append(
            {
                "ions": start.N, "method": LITERAL, "precision": "double", "device": start.device,
                "device_name": start.device_name, "chosen": False, "threads_per_particle": eta,
                "ions_where_the_product_has_them": same, **timed(chain, options.seconds),
            }
        )  # fmt: skip
        print(
            f"{start.N:>8}  {LITERAL}, double, eta {eta}: {rows[-1]['seconds_per_sweep']:.4g} s, "
            f"{same:.6f} of the ions as in the product",
            flush=True,
        )
    return rows


def start_cell(ions: Electrolyte) -> Any:
    return cell(ions.N)[1]


def timed(engine: Electrolyte | LiteralBrush, seconds: float) -> Row:
    """The best time of a sweep of three measurements, each of the least time. A sweep that takes
    longer than this is measured once."""

    def measure(sweeps: int) -> float:
        before = engine.seconds
        engine.run(sweeps)
        return (engine.seconds - before) / sweeps

    found = [measure(1)]
    if found[0] < seconds:
        sweeps = max(1, round(seconds / measure(1)))
        found = [measure(sweeps) for _ in range(3)]
    row = {
        "seconds_per_sweep": min(found), "highest": max(found), "repeats": len(found),
        "acceptance": engine.acceptance,
    }  # fmt: skip
    if isinstance(engine, Electrolyte):
        row["evaluated_share"] = engine.evaluated_moves / engine.trial_moves
    return row


def curve(results: list[Row], **wanted: Any) -> dict[int, float]:
    """Best seconds per sweep by the number of ions, of the rows with these values."""
    found: dict[int, float] = {}
    for row in results:
        if all(row[key] == value for key, value in wanted.items()):
            best = found.get(row["ions"], math.inf)
            found[row["ions"]] = min(best, row["seconds_per_sweep"])
    return dict(sorted(found.items()))


def curves(results: list[Row]) -> dict[tuple[str, str, str], dict[int, float]]:
    """Curves by name, precision and device. The brush has one for each eta, and one of the best;
    the paper's kernel has one for each eta."""
    found = {}
    for precision in ("mixed", "double"):
        for method in ("brush", LITERAL, "reduction", "serial"):
            for where in dict.fromkeys(row["device"] for row in results):
                some = [
                    row
                    for row in results
                    if (row["method"], row["precision"], row["device"])
                    == (method, precision, where)
                ]
                if not some:
                    continue
                etas = sorted({row["threads_per_particle"] for row in some})
                if method in ("brush", LITERAL) and where != "cpu":
                    for eta in etas:
                        one = curve(some, threads_per_particle=eta)
                        found[(f"{method}, eta {eta}", precision, where)] = one
                    if method == LITERAL:
                        continue
                name = f"{method}, one core" if where == "cpu" else method
                found[(name, precision, where)] = curve(some)
    return found


def exponent(one: dict[int, float], low: int, high: int) -> float:
    """d ln t / d ln N between two sizes."""
    return math.log(one[high] / one[low]) / math.log(high / low)


def rows(results: list[Row]) -> list[Row]:
    found = []
    length = "best of three measurements"
    for (name, precision, where), one in curves(results).items():
        if PAPER_IONS in one and where != "cpu" and name in SHOWN:
            literal = name == f"{LITERAL}, eta 1"
            paper = (PAPER_SWEEP, None) if literal else None
            with_eta = "brush with the fastest $\\eta$" if name == "brush" else name
            text = f"{with_eta}, {precision}: time of a sweep (s)"
            ours = (one[PAPER_IONS], None)
            found.append(script.compared(text, ours, paper, f"{PAPER_IONS:,} ions", length))
    for (name, precision, where), one in curves(results).items():
        if where == "cpu" or precision != "double" or name not in SHOWN or name == "brush":
            continue
        small = [n for n in one if 8192 <= n < LINEAR_BELOW]
        large = [n for n in one if n >= PAPER_IONS // 2]
        for sizes, law in ((small, 1), (large, 2)):
            if len(sizes) > 1:
                text = f"{name}, {precision}: exponent of N in the time of a sweep"
                ours = (exponent(one, sizes[0], sizes[-1]), None)
                paper = (law, None) if name.startswith(LITERAL) else None
                size = f"{sizes[0]:,} to {sizes[-1]:,} ions"
                found.append(script.compared(text, ours, paper, size, length))
    return found


def draw(result: dict[str, Any]) -> Figure:
    """Seconds per sweep against N in both precisions."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    for axes, precision in zip(figure.subplots(1, 2), ("double", "mixed"), strict=True):
        for (name, other, where), one in curves(result["results"]).items():
            if other == precision:
                other_kernel = name == "reduction" or name.startswith(LITERAL)
                style = "o--" if where == "cpu" else "s:" if other_kernel else "o-"
                axes.loglog(list(one), list(one.values()), style, ms=3, lw=1, label=name)
        if precision == "double":
            axes.plot([PAPER_IONS], [PAPER_SWEEP], "k*", ms=10, label="paper, K20 (section 5.2)")
        axes.set(
            xlabel="number of ions", ylabel="time of a sweep (s)",
            title=f"3:-1 salt, {precision} precision, {result['device_name']}",
        )  # fmt: skip
        axes.title.set_fontsize(9)
        axes.legend(fontsize=7)
    return figure


def main() -> None:
    options = parsed(__doc__, "figure_8", draw)
    result = times(options)
    script.finish(options, {**result, "rows": rows(result["results"])}, draw)


if __name__ == "__main__":
    script.run_script(main)
