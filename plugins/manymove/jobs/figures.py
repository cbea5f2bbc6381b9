# SPDX-License-Identifier: BSD-3-Clause
"""The common part of all pictures, which need matplotlib (the extra "plot")."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from manymove import files
from manymove.analysis.notation import Estimate, with_error
from manymove.optional import need


def need_matplotlib() -> None:
    """Refuse to draw a picture before a run starts if matplotlib is missing.

    Raises:
        ImportError: matplotlib is not installed.
    """
    need("matplotlib", "a picture")


def new_panels(
    inches: tuple[float, float], shape: tuple[int, int] = (1, 1), **options: Any
) -> tuple[Any, Any]:
    """Figure (width, height) and its axes as an array (rows, columns), without a display.

    Raises:
        ImportError: matplotlib is not installed.
    """
    need_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=inches, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(*shape, squeeze=False, **options)


def new_figure(width: float, height: float) -> tuple[Any, Any]:
    """Figure and axes with a size in inches, without a display."""
    figure, panels = new_panels((width, height))
    return figure, panels[0, 0]


def draw_records(
    axes: Any,
    runs: Sequence[tuple[np.ndarray, np.ndarray]],
    mean: Estimate | tuple[float, float | None] | None,
    unit: str = "",
) -> None:
    """Draw the records of runs, their running means, and the mean of all with a band of plus and
    minus its standard error. A few outliers may lie outside the limits of the axes.

    Args:
        axes: axes of the picture.
        runs: abscissas and values of each run, (K,) and (K,).
        mean: the mean and its error, if they are known.
        unit: unit of the values.
    """
    for index, (x, values) in enumerate(runs):
        color, first = f"C{index % 10}", not index
        axes.plot(x, values, ".", ms=2, alpha=0.4, color=color, label="records" if first else None)
        running = np.cumsum(values) / np.arange(1, len(values) + 1)
        axes.plot(x, running, lw=1.5, color=color, label="running mean" if first else None)
    if mean is not None:
        value, error = mean
        if error is not None and math.isfinite(error):
            axes.axhspan(value - error, value + error, color="k", alpha=0.15, lw=0,
                         label="standard error")  # fmt: skip
        label = f"mean {with_error(value, error)} {unit}".strip()
        axes.axhline(value, color="k", lw=1, label=label)
    everything = np.concatenate([values for _, values in runs])
    if len(everything):
        low, high = np.percentile(everything, [1, 99])
        margin = 0.3 * (high - low) + 1e-6
        axes.set_ylim(low - margin, high + margin)


def hollow(
    axes: Any, x: Sequence[float], y: Sequence[float], warned: Sequence[bool], marker: str,
    color: str,
) -> None:  # fmt: skip
    """Draw hollow markers over the points of a line that have a warning."""
    points = [(a, b) for a, b, bad in zip(x, y, warned, strict=True) if bad]
    if points:
        axes.plot(*zip(*points, strict=True), marker, mfc="white", mec=color, zorder=3)


def write_picture(path: str | Path, figure: Any, dpi: int) -> None:
    """Replace a picture atomically, in the format of its suffix. Missing folders are made."""
    path = Path(path)
    files.make_folder(path.parent)
    with files.replace(path) as file:
        figure.savefig(file, format=path.suffix[1:] or "png", dpi=dpi)


@contextmanager
def pictures(quiet: bool) -> Iterator[None]:
    """A context in which a missing matplotlib is not an error and empty bins give no warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    except ImportError as error:
        if not quiet:
            print(f"no pictures: {error}")
