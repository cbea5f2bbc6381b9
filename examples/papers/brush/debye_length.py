# SPDX-License-Identifier: BSD-3-Clause
"""Why the renormalized Debye length of the paper, 25.57 angstrom, is shorter than ours.

The paper fits straight lines to ln |r rho| "in the far field" and prints no range (section 5.2).
Each possible cause is changed alone: the range of the fit and the line that is fitted, the shell of
ions at the wall that are not counted, the number of ions, the length of the run, and the
normalization of g. The lines are fitted to the measured g and to the solution of the
hypernetted-chain equation, which has no noise and whose Debye length is known.

    python debye_length.py --run out/figure_12 --records other_sizes.json
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import trivalent
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis import charge_density, dressed_ions, hypernetted_chain
from manymove.analysis.pair_correlations import PairCorrelations

RANGES = [(30, 120), (40, 120), (50, 120), (60, 120), (60, 171), (75, 171), (100, 171), (120, 171)]
SHOWN = [(40, 120), (50, 120), (60, 120), (75, 171), (100, 171)]  # rows of the page
LINES = ("around +3", "around -1", "both")
USUAL = (50, 120)  # range of the fits that show the other causes
SHARES = 10  # of the samples, for errors
Estimator = Callable[[np.ndarray], float]


def slope(
    r: np.ndarray, y: np.ndarray, noise: np.ndarray, begin: float, end: float, line: str
) -> float:
    """-1 / slope of the straight lines through ln |y| from begin to end, in angstrom.

    Args:
        r: distances, float64 (bins,).
        y: r rho around both species, (2, bins).
        noise: standard errors of y, (2, bins). A point has the weight (y / noise)^2.
        begin, end: range in angstrom.
        line: one of `LINES`. Both lines have a common slope and their own amplitudes.
    """
    inside = (r >= begin) & (r <= end)
    total = [0.0, 0.0]
    for k in (0, 1):
        if line != LINES[1 - k]:
            size = y[k][inside] * (-1 if k == 0 else 1)  # the charge around an ion is opposite
            good = size > 0
            x, w = r[inside][good], (size[good] / noise[k][inside][good]) ** 2
            if x.size > 2:
                x = x - (w * x).sum() / w.sum()
                total[0] += float((w * x * np.log(size[good])).sum())
                total[1] += float((w * x * x).sum())
    return -total[1] / total[0] if total[0] else math.nan


def finite(value: float) -> float | None:
    """None for NaN, which JSON does not have."""
    return value if math.isfinite(value) else None


def jackknife(estimate: Estimator, samples: Sequence[np.ndarray]) -> float | None:
    """Standard error from leaving out a tenth of the samples at a time."""
    size = max(1, len(samples) // SHARES)
    shares = [np.mean(samples[k : k + size], axis=0) for k in range(0, len(samples), size)]
    n = len(shares)
    if n < 4:
        return None
    whole = np.sum(shares, axis=0)
    values = np.array([estimate((whole - one) / (n - 1)) for one in shares])
    error = float(np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum()))
    return error if math.isfinite(error) else None


class Lines:
    """Straight lines through the charge densities of chains.

    Args:
        r, g: distances and pair correlations in bins of 2 angstrom, (bins,) and (3, bins).
        densities: densities of both species per cubic angstrom.
        samples: g of parts of the chains, for errors; may be empty.
        normalize: whether g is divided by its mean in the tail.
        g_errors: standard errors of g, (3, bins), if there are no samples.
    """

    def __init__(
        self, r: np.ndarray, g: np.ndarray, densities: np.ndarray, samples: list[np.ndarray],
        normalize: bool = True, g_errors: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.r, self.g, self.densities, self.samples = r, g, densities, samples
        self._normalize = normalize
        if g_errors is None:
            spread = [self._y(one) for one in samples]
            noise = np.std(spread, axis=0, ddof=1 if len(spread) > 1 else 0)
            noise = noise / math.sqrt(max(2, len(spread)))
        else:
            nz = densities * np.array(trivalent.VALENCES)
            noise = r * np.hypot(nz[0] * g_errors[:2], nz[1] * g_errors[1:])
        self.noise = np.where(noise > 0, noise, np.inf)

    @classmethod
    def of(cls, correlations: list[PairCorrelations], normalize: bool = True) -> Lines:
        """The lines of the pair correlations of chains."""
        samples = trivalent.samples_of(correlations)
        densities = trivalent.pooled_densities(correlations)
        return cls(*trivalent.coarse(correlations), densities, samples, normalize)

    @classmethod
    def of_record(cls, part: dict[str, Any]) -> Lines:
        """The lines of a recorded g. Its weights assume independent pairs."""
        r, g, (a, b) = np.array(part["r"]), np.array(part["g"]), part["interior_ions"]
        interior = part["radius"] - trivalent.MARGIN * trivalent.DEBYE_LENGTH
        shell = 3 * (r / interior) ** 2 * (trivalent.DRAWN / interior)
        pairs = np.array([a * a / 2, a * b, b * b / 2]) * part["sweeps"] / part["every"]
        errors = np.sqrt(np.maximum(g, 0) / (pairs[:, None] * shell))
        return cls(r, g, np.array(part["densities"]), [], g_errors=errors)

    def _y(self, g: np.ndarray) -> np.ndarray:
        g = trivalent.normalized(self.r, g) if self._normalize else g
        return self.r * charge_density(g, self.densities, trivalent.VALENCES)

    def fit(self, begin: float, end: float, line: str) -> tuple[float | None, float | None]:
        """Debye length and its standard error in angstrom."""

        def estimate(g: np.ndarray) -> float:
            return slope(self.r, self._y(g), self.noise, begin, end, line)

        return finite(estimate(self.g)), jackknife(estimate, self.samples)

    def fit_theory(self, theory: Any, begin: float, end: float, line: str) -> float | None:
        """The same fit, with the same weights, to a solution of the hypernetted-chain equation."""
        h = np.array([np.interp(self.r, theory.r, row) for row in theory.h])
        y = self.r * charge_density(1 + h, self.densities, trivalent.VALENCES)
        return finite(slope(self.r, y, self.noise, begin, end, line))


def pole(correlations: list[PairCorrelations]) -> tuple[float | None, float | None]:
    """Debye length from the Ornstein-Zernike equation and its standard error; None if the run is
    too short."""
    try:
        found = dressed_ions(correlations, trivalent.BJERRUM)
    except ValueError:
        return None, None
    return finite(found.pole_debye_length), finite(found.pole_debye_length_error)


def analyzed(options: argparse.Namespace, found: list[trivalent.Chain]) -> dict[str, Any]:
    """A row for each cause and case."""
    first = options.margins[0]
    others = [
        part
        for file in options.records
        for part in json.loads(Path(file).read_text())["parts"].values()
    ]
    of_margin = {m: [one.correlations[m] for one in found] for m in options.margins if found}
    lines = Lines.of(of_margin[first]) if found else Lines.of_record(others[0])
    theory = hypernetted_chain(
        lines.densities, trivalent.VALENCES, trivalent.DIAMETER, trivalent.BJERRUM
    )
    ranges = [
        {
            "begin": begin, "end": end, "line": line,
            "debye_length": (both := lines.fit(begin, end, line))[0], "error": both[1],
            "theory": lines.fit_theory(theory, begin, end, line),
        }
        for begin, end in RANGES
        for line in LINES
    ]  # fmt: skip
    size, length = trivalent.size_of(options), trivalent.length_of(options)
    if not found:
        size, length = f"{others[0]['ions']:,} ions", f"{others[0]['sweeps']:,} sweeps"
    about = {"size": size, "length": length}
    cases: list[dict[str, Any]] = []

    def add(cause: str, case: str, correlations: list[PairCorrelations]) -> None:
        value, error = pole(correlations)
        line = Lines.of(correlations).fit(*USUAL, LINES[1])
        cases.append({"cause": cause, "case": case, "pole": value, "pole_error": error,
                      "line": line[0], "line_error": line[1], **about})  # fmt: skip

    for margin, some in of_margin.items():
        add("shell", f"ions {margin:g} bare Debye lengths from the wall or farther", some)
    for k, one in enumerate(of_margin[first] if found else []):
        if len(found) > 1:
            add("sampling", f"chain {k + 1} alone", [one])
        half = len(one.blocks) // 2
        if half > 3 and k == 0:
            # Blocks of g have equal numbers of samples.
            early = replace(one, blocks=one.blocks[:half], g=one.blocks[:half].mean(axis=0),
                            counts=one.blocks[:half].mean(axis=0) * one.ideal)  # fmt: skip
            add("sampling", "first half of chain 1", [early])
    if found:
        line = Lines.of(of_margin[first], normalize=False).fit(*USUAL, LINES[1])
        cases.append({"cause": "normalization", "case": "g not normalized in its tail",
                      "pole": None, "pole_error": None, "line": line[0], "line_error": line[1],
                      **about})  # fmt: skip
    for part in others:
        dressed, line = part["dressed"], Lines.of_record(part).fit(*USUAL, LINES[1])
        cases.append({
            "cause": "size", "case": f"{part['ions']:,} ions", "size": f"{part['ions']:,} ions",
            "length": f"{part['sweeps']:,} sweeps", "pole": dressed["pole_debye_length"],
            "pole_error": dressed["pole_debye_length_error"], "line": line[0], "line_error": None,
        })  # fmt: skip
    return {**about, "ranges": ranges, "cases": cases,
            "theory": theory.screening().debye_length}  # fmt: skip


def rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    size, length = result["size"], result["length"]
    paper = (trivalent.PAPER["debye_length"], None)
    found = []
    for one in result["ranges"]:
        if (one["begin"], one["end"]) in SHOWN and one["debye_length"] is not None:
            text = f"range: line {one['line']}, {one['begin']} to {one['end']} Å (Å)"
            ours = (one["debye_length"], one["error"])
            found.append(script.compared(text, ours, paper, size, length))
            if one["line"] != "both" and one["theory"] is not None:
                text += ", hypernetted-chain equation"
                ours = (one["theory"], None)
                found.append(script.compared(text, ours, paper, "infinite", "no noise"))
    for one in result["cases"]:
        if one["pole"] is not None:
            text = f"{one['cause']}: {one['case']}, Ornstein-Zernike equation (Å)"
            ours = (one["pole"], one["pole_error"])
            found.append(script.compared(text, ours, paper, one["size"], one["length"]))
        if one["line"] is not None:
            text = f"{one['cause']}: {one['case']}, line around -1, {USUAL[0]} to {USUAL[1]} Å (Å)"
            ours = (one["line"], one["line_error"])
            found.append(script.compared(text, ours, paper, one["size"], one["length"]))
    text = "hypernetted-chain equation, which needs no simulation (Å)"
    theory = (result["theory"], None)
    return [*found, script.compared(text, theory, paper, "infinite", "no noise")]


def draw(result: dict[str, Any]) -> Figure:
    """Debye length of each line against the beginning of the fit, and of the other causes."""
    figure = Figure(figsize=(12, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.2))
    for k, line in enumerate(LINES):
        for end, style in ((120, "o"), (171, "s")):
            some = [one for one in result["ranges"] if (one["line"], one["end"]) == (line, end)]
            at = [one["begin"] for one in some]
            values = [one["debye_length"] or math.nan for one in some]
            errors = [one["error"] or 0 for one in some]
            left.errorbar(at, values, errors, fmt=style, color=f"C{k}", ms=4, capsize=2,
                          label=f"{line}, to {end} Å")  # fmt: skip
            left.plot(at, [one["theory"] or math.nan for one in some], color=f"C{k}", lw=0.8)
    cases = [one for one in result["cases"] if one["pole"] is not None]
    for k, one in enumerate(cases):
        right.errorbar(one["pole"], k, xerr=one["pole_error"] or 0, fmt="o", color="C0", capsize=2)
    right.set_yticks(range(len(cases)), [f"{c['cause']}: {c['case']}" for c in cases], fontsize=7)
    right.invert_yaxis()
    for axes, mark in ((left, left.axhline), (right, right.axvline)):
        mark(trivalent.PAPER["debye_length"], color="k", ls="--", lw=0.8, label="paper, 25.57 Å")
        mark(result["theory"], color="grey", lw=0.8, label="hypernetted-chain equation")
        axes.legend(fontsize=7)
    left.title.set_fontsize(9)
    left.set(xlabel="beginning of the fit (Å)", ylabel="Debye length of straight lines (Å)",
             ylim=(24.5, 30), title="lines: the same fits to the equation")  # fmt: skip
    right.set(xlabel="Debye length from the Ornstein-Zernike equation (Å)")
    figure.suptitle(
        f"{result['size']} +3:-1, {result['length']}, {result['device_name']}", fontsize=8
    )
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    trivalent.arguments(parser)
    parser.option(
        "--records",
        [],
        "Records of other sizes; with --chains 0 nothing else is analyzed.",
        type=str,
        nargs="*",
        metavar="FILE",
    )
    options = script.parse(
        parser, "debye_length", {**trivalent.QUICK, "margins": [10.0, 0.0]}, draw=draw
    )
    if options.chains == 0 and not options.records:
        raise ValueError("--chains is 0; there must be a chain or a record")
    found = trivalent.chains(options) if options.chains or options.run else []
    result = analyzed(options, found)
    if found:
        about = trivalent.described(found)
    else:
        part = next(iter(json.loads(Path(options.records[0]).read_text())["parts"].values()))
        about = {key: part[key] for key in (*trivalent.WHERE, "device", "device_name")}
    summary = script.save(options, {**about, **result, "rows": rows(result)})
    for row in summary["rows"]:
        print(f"{row['quantity']}: {row['ours'][0]:.2f}")
    script.picture(options, draw(summary))


if __name__ == "__main__":
    script.run_script(main)
