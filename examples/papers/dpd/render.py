# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of amphiphiles from LAMMPS' text dumps: shaded spheres behind a cut, and a thin slab."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

COLORS = {1: (0.93, 0.93, 0.90), 2: (0.80, 0.16, 0.12)}  # A nearly white, B red, as in the paper
BACKGROUND = (0.10, 0.12, 0.16)
LIGHT = np.array([-0.4, 0.5, 0.77])
TIMESTEP = 0.01
PIXELS = 480  # width and height of one view
DPI = PIXELS * 2 // 5  # about one pixel of the picture for one of a view


def read_dump(path: Path) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """The one frame of a dump with columns type x y z.

    Args:
        path: the file.

    Returns:
        step; edges of the box (3,); types (N,); positions from its corner (N, 3).

    Raises:
        ValueError: a column is missing.
    """
    with path.open() as file:
        header = [file.readline().split() for _ in range(9)]
        columns = header[8][2:]
        missing = {"type", "x", "y", "z"} - set(columns)
        if missing:
            raise ValueError(f"{path} has no column {', '.join(sorted(missing))}")
        table = np.loadtxt(file, ndmin=2)
    bounds = np.array([[float(word) for word in line[:2]] for line in header[5:8]])
    positions = table[:, [columns.index(axis) for axis in "xyz"]] - bounds[:, 0]
    types = table[:, columns.index("type")].astype(int)
    return int(header[1][0]), bounds[:, 1] - bounds[:, 0], types, positions


def spheres(
    positions: np.ndarray, types: np.ndarray, edges: np.ndarray, pixels: int, radius: float,
    colors: dict[int, tuple[float, float, float]] = COLORS,
) -> np.ndarray:  # fmt: skip
    """Orthographic view along -z with a depth buffer.

    Args:
        positions: (N, 3).
        types: (N,), of `colors`.
        edges: of the box; x and y span the picture.
        pixels: width and height.
        radius: of a sphere.
        colors: RGB by type.

    Returns:
        RGB, (pixels, pixels, 3), row 0 at the top.
    """
    scale = pixels / edges[:2].max()
    R = radius * scale
    image = np.tile(np.array(BACKGROUND), (pixels * pixels, 1))
    depth = np.full(pixels * pixels, -np.inf)
    palette = np.zeros((max(colors) + 1, 3))
    palette[list(colors)] = list(colors.values())
    center = positions[:, :2] * scale
    reach = int(np.ceil(R))
    for pass_ in ("depth", "color"):
        for dy in range(-reach, reach + 1):
            for dx in range(-reach, reach + 1):
                column, row = (np.floor(center) + np.array([dx, dy])).astype(int).T
                normal = (np.stack([column, row], axis=1) + 0.5 - center) / R
                squared = (normal**2).sum(axis=1)
                seen = (squared < 1) & (column >= 0) & (column < pixels)
                seen &= (row >= 0) & (row < pixels)
                height = np.sqrt(1 - squared[seen])
                z = positions[seen, 2] + radius * height
                at = (pixels - 1 - row[seen]) * pixels + column[seen]
                if pass_ == "depth":
                    np.maximum.at(depth, at, z)
                    continue
                front = z == depth[at]
                light = normal[seen][front] @ LIGHT[:2] + height[front] * LIGHT[2]
                # Far away is darker: the eye needs a sign of depth without perspective.
                fog = 0.35 + 0.65 * (z[front] / edges[2]).clip(0, 1)
                shade = (0.25 + 0.75 * light.clip(0)) * fog
                image[at[front]] = palette[types[seen][front]] * shade[:, None]
    return image.reshape(pixels, pixels, 3)


def picture(path: Path, slab: float, pixels: int) -> tuple[int, float, list[np.ndarray]]:
    """Step, width of the box, and the two views of one dump."""
    step, edges, types, positions = read_dump(path)
    middle = edges[2] / 2
    below = positions[:, 2] < middle
    cut = np.abs(positions[:, 2] - middle) < slab / 2
    # The cut alone: its own depth instead of the box's.
    flat = positions[cut] - (0, 0, middle - slab / 2)
    thin = np.array([edges[0], edges[1], slab])
    half = np.array([edges[0], edges[1], middle])
    radius = max(0.35, 0.8 * edges[0] / pixels)
    return (
        step,
        float(edges[0]),
        [
            spheres(positions[below], types[below], half, pixels, radius),
            spheres(flat, types[cut], thin, pixels, radius),
        ],
    )


def montage(paths: list[Path], slab: float = 2.0) -> Figure:
    """All frames next to each other: above the half behind a cut, below a slab at the cut.

    Args:
        paths: dumps, one frame each.
        slab: thickness of the slab.
    """
    figure = Figure(figsize=(2.6 * len(paths), 5.8), layout="constrained")
    axes = figure.subplots(2, len(paths), squeeze=False)
    figure.suptitle("BBBAABBB, 10 % in a solvent, density 5\nred: B, white: A", fontsize=8)
    for column, path in enumerate(paths):
        step, width, views = picture(path, slab, PIXELS)
        for row, view in enumerate(views):
            axes[row, column].imshow(view, extent=(0, width, 0, width))
            axes[row, column].set_axis_off()
        axes[0, column].set_title(f"time {step * TIMESTEP:g}", fontsize=9)
        bar = 10 ** np.floor(np.log10(width / 3))
        axes[1, column].plot([0.05 * width, 0.05 * width + bar], [0.05 * width] * 2, "w", lw=2)
        axes[1, column].text(0.05 * width, 0.07 * width, f"{bar:g} $r_c$", color="w", fontsize=7)
    return figure


def transmission(
    positions: np.ndarray, types: np.ndarray, edges: np.ndarray, pixels: int
) -> np.ndarray:
    """A picture as of a transmission electron microscope: the hydrophobic beads along each line of
    sight absorb light.

    Args:
        positions: (N, 3).
        types: (N,).
        edges: of the box; x and y span the picture.
        pixels: width and height.

    Returns:
        brightness from 0 to 1, (pixels, pixels), row 0 at the top.
    """
    dark = positions[types == 2]
    image, _, _ = np.histogram2d(
        dark[:, 1], dark[:, 0], bins=pixels, range=[[0, edges[1]], [0, edges[0]]]
    )
    reach = max(1, round(0.4 * pixels / edges[0]))  # a bead is 0.8 wide
    for axis in (0, 1):
        image = sum(np.roll(image, k, axis) for k in range(-reach, reach + 1))
    return np.exp(-2 * image / max(np.quantile(image, 0.99), 1e-9))[::-1]
