# SPDX-License-Identifier: BSD-3-Clause
"""The common part of all pictures, which need matplotlib (the extra "plot")."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from manymove import files


def need_matplotlib() -> None:
    """Refuse to draw a picture before a run starts if matplotlib is missing.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'manymove[plot]'") from error


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
