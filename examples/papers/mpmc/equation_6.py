# SPDX-License-Identifier: BSD-3-Clause
"""Eq. 6 of the paper: systematic error and noise of the pressure on a model distribution.

The paper (section 4) tunes the fit of g(r) near contact on a model distribution until it shows no
bias. Here g(r) = exp(a (r - 1) + b (r - 1)^2) with the slopes a and curvatures b that simulations
of 4,096 and 16,384 disks at packing fractions 0.698, 0.710 and 0.718 gave (a from -7.0 to -7.5, b
between -2 and 2). For each range and degree it prints

    bias     the largest relative error of the contact value over the models,
    noise    the relative error of the contact value times the square root of n(1) d, the density of
             pair distances at contact: what independent counting statistics make of it.

    python equation_6.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis import BINS, DEGREE, DELTA_R
from manymove.analysis.pressure import contact_weights

MODELS = [(a, b) for a in (-6.5, -7.3, -8.0) for b in (-2.0, 0.0, 2.0)]
DEGREES = range(1, 7)


def counts(a: float, b: float, bins: int, delta_r: float) -> np.ndarray:
    """Integral of r g(r) over each bin, exact to rounding, (bins,)."""
    nodes, weights = np.polynomial.legendre.leggauss(10)
    x = (np.arange(bins)[:, None] + (nodes + 1) / 2) * delta_r
    return ((1 + x) * np.exp(a * x + b * x**2) * weights).sum(axis=1) * delta_r / 2


def bias_and_noise(bins: int, delta_r: float, degree: int) -> tuple[float, float]:
    """Largest relative bias over the models; noise on the model with the middle slope."""
    weights = contact_weights(bins, delta_r, degree)
    bias = max(abs(weights @ counts(a, b, bins, delta_r) - 1) for a, b in MODELS)
    noise = np.sqrt(weights**2 @ counts(-7.3, 0.0, bins, delta_r))
    return float(bias), float(noise)


def main() -> None:
    """Print the table and draw it."""
    parser = script.Parser(__doc__)
    parser.option(
        "--ranges", [20, 30, 40, 51, 64, 77, 90, 102, 128, 154], "Numbers of bins of the fit."
    )
    options = script.parse(parser, "equation_6", {"ranges": [40, 77, 128]}, draw=draw)
    ranges = np.array(options.ranges)
    print("range/d  " + "".join(f"    degree {p}      " for p in DEGREES))
    print(9 * " " + "     bias  noise  " * len(DEGREES))
    results = np.array([[bias_and_noise(m, DELTA_R, p) for p in DEGREES] for m in ranges])
    for m, row in zip(ranges, results, strict=True):
        cells = "".join(f"{bias:>9.1e} {noise:>6.2f}  " for bias, noise in row)
        print(f"{m * DELTA_R:<9.4f}{cells}")
    bias, noise = bias_and_noise(BINS, DELTA_R, DEGREE)
    print(f"\nchosen: degree {DEGREE}, {BINS} bins of {DELTA_R:.6f} d up to {BINS * DELTA_R:.4f} d")
    print(f"bias {bias:.1e}, noise {noise:.2f}")
    print("The width of the bins does not matter, for the polynomial is integrated over each:")
    for divisor in (4, 1, 0.25):
        width, bins = DELTA_R / divisor, round(BINS * divisor)
        print(
            "  {} bins: bias {:.1e}, noise {:.2f}".format(
                bins, *bias_and_noise(bins, width, DEGREE)
            )
        )

    # Eq. 6 is exact for a straight line in a bin. Here the polynomial is integrated over each bin.
    size = f"{BINS} bins of {DELTA_R:.3g} d, degree {DEGREE}"
    rows = [
        script.compared("Relative systematic error of g at contact", (bias, None), None, size,
                        f"{len(MODELS)} model distributions"),
        script.compared("Relative noise of g at contact for one pair per diameter", (noise, None),
                        None, size, "one model distribution"),
    ]  # fmt: skip
    chosen = {"degree": DEGREE, "bias": bias, "noise": noise}
    result = {"chosen": chosen, "bias_and_noise": results.tolist(), "rows": rows}
    script.finish(options, result, draw)


def draw(report: dict[str, Any]) -> Figure:
    """Systematic error against noise for each degree."""
    results, chosen = np.array(report["bias_and_noise"]), report["chosen"]
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for index, degree in enumerate(DEGREES):
        axes.loglog(results[:, index, 1], results[:, index, 0], "o-", label=f"degree {degree}")
    axes.loglog(chosen["noise"], chosen["bias"], "k*", ms=14, label="chosen")
    axes.set(
        xlabel=r"noise, relative error times $\sqrt{n(1)\, d}$",
        ylabel="relative systematic error of the contact value",
        title="Fits to model distributions of packing fractions 0.698 to 0.718",
    )
    axes.legend(fontsize=8)
    return figure


if __name__ == "__main__":
    script.run_script(main)
