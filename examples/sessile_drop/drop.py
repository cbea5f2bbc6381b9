# SPDX-License-Identifier: BSD-3-Clause
"""Sessile drops of a many-body DPD liquid: contact angles on walls of different attraction.

python drop.py
lmp -in in.drop
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis.notation import with_error
from manymove.lammps import host

SCRIPT = Path(__file__).parent / "in.drop"
SPACING = 6.1 ** (-1 / 3)  # of the lattice
LAYER = 0.5  # thickness of the layers in which the radius of the drop is found
NEAR_WALL = 1.5  # lower layers, which are ordered by the wall, are left out of the fit
SLAB = 0.8  # half the thickness of the slab that is drawn
BLOCKS = 4  # of frames, for the error
COLORS = {"liquid": "#2b6ca3", "wall": "#a0a0a0"}


def dumps(folder: Path) -> list[Path]:
    """Files of frames, in the order of their steps."""
    return sorted(folder.glob("frame.*.dump"), key=lambda path: int(path.name.split(".")[1]))


def run(options: argparse.Namespace, wall: float) -> list[np.ndarray]:
    """Positions of the liquid in each frame, with the drop's axis at x = y = 0."""
    for path in dumps(options.output):
        path.unlink()
    names = ("edge", "width", "settle", "steps", "frame", "seed")
    given = {name: getattr(options, name) for name in names}
    host.run(SCRIPT, options.output, wall=wall, **given)
    edge = options.edge * SPACING
    frames = []
    for path in dumps(options.output):
        position = np.loadtxt(path, skiprows=9)
        path.unlink()
        # The center of mass along periodic directions is that on a circle.
        angle = 2 * np.pi * position[:, :2] / edge
        center = np.angle(np.exp(1j * angle).mean(axis=0)) * edge / (2 * np.pi)
        position[:, :2] -= center
        position[:, :2] -= edge * np.rint(position[:, :2] / edge)
        frames.append(position)
    return frames


def profile(frames: list[np.ndarray], density: float = 6.1) -> tuple[np.ndarray, np.ndarray]:
    """Heights of the layers of the drop, and its radius in each of them.

    The radius is that at which the density of rings of equal area falls below half that of the
    liquid.
    """
    position = np.concatenate(frames)
    area = 1.0
    layers = np.arange(0, position[:, 2].max(), LAYER)
    heights, radii = [], []
    for low in layers:
        inside = position[(position[:, 2] >= low) & (position[:, 2] < low + LAYER)]
        square = (inside[:, :2] ** 2).sum(axis=1)
        rings = np.arange(0, max(square.max(initial=0.0), area) * math.pi + 2 * area, area)
        counts = np.histogram(math.pi * square, rings)[0] / (len(frames) * area * LAYER)
        # Rings are noisy: neighbors are averaged.
        smooth = np.convolve(np.pad(counts, 2, mode="edge"), np.full(5, 0.2), mode="valid")
        below = np.flatnonzero(smooth < density / 2)
        if below.size == 0 or below[0] < 3:
            continue
        k = below[0]
        share = (smooth[k - 1] - density / 2) / (smooth[k - 1] - smooth[k])
        heights.append(low + LAYER / 2)
        radii.append(math.sqrt((k - 0.5 + share) * area / math.pi))
    return np.array(heights), np.array(radii)


def contact_angle(frames: list[np.ndarray]) -> tuple[float, float, float]:
    """Contact angle in degrees, radius and height of the center of the sphere.

    r^2 + z^2 = (R^2 - z_0^2) + 2 z_0 z is fitted to the surface of the drop.
    """
    z, r = profile(frames)
    fitted = z > NEAR_WALL
    design = np.stack([np.ones(fitted.sum()), 2 * z[fitted]], axis=1)
    (constant, center), *_ = np.linalg.lstsq(design, r[fitted] ** 2 + z[fitted] ** 2, rcond=None)
    radius = math.sqrt(constant + center**2)
    return math.degrees(math.acos(max(-1.0, min(1.0, -center / radius)))), radius, center


def simulate(options: argparse.Namespace) -> dict[str, Any]:
    """A drop for each attraction of the wall."""
    drops = []
    for wall in options.walls:
        frames = run(options, wall)
        angle, radius, center = contact_angle(frames)
        # Blocks of frames for the error.
        parts = np.array_split(np.arange(len(frames)), BLOCKS)
        blocks = [contact_angle([frames[k] for k in part])[0] for part in parts]
        last = frames[-1]
        slab = last[np.abs(last[:, 1]) < SLAB][:, [0, 2]].round(2)
        drops.append(
            {
                "wall": wall,
                "contact_angle": angle,
                "contact_angle_error": float(np.std(blocks, ddof=1) / math.sqrt(BLOCKS)),
                "radius": radius,
                "center": center,
                "particles": len(last),
                "slab": slab.tolist(),
            }
        )
    return script.save(options, {"drops": drops})


def disks(axes: Any, places: np.ndarray, color: str) -> None:
    size = np.full(len(places), 0.5)
    axes.add_collection(
        EllipseCollection(
            size, size, np.zeros_like(size), units="xy", offsets=places,
            offset_transform=axes.transData, facecolors=color, edgecolors="white", linewidths=0.2,
        )
    )  # fmt: skip


def draw(report: dict[str, Any]) -> Figure:
    """The particles of a slab through each drop, and the fitted circles."""
    drops = report["drops"]
    figure = Figure(figsize=(4.2 * len(drops), 2.9), layout="constrained")
    half = 0.5 * report["edge"] * SPACING
    columns, layers = np.arange(-half, half, SPACING), SPACING * np.arange(-3, 0)
    frozen = np.stack(np.meshgrid(columns, layers), axis=-1).reshape(-1, 2)
    for axes, drop in zip(figure.subplots(1, len(drops), squeeze=False)[0], drops, strict=True):
        disks(axes, frozen, COLORS["wall"])
        disks(axes, np.array(drop["slab"]), COLORS["liquid"])
        angle = np.linspace(0, 2 * np.pi, 400)
        x, z = drop["radius"] * np.cos(angle), drop["center"] + drop["radius"] * np.sin(angle)
        axes.plot(np.where(z > 0, x, np.nan), z, color="black", linewidth=1)
        axes.set(
            xlim=(-half, half), ylim=(-2, 1.05 * half), aspect="equal", xlabel="x ($r_c$)",
            title=f"A = {drop['wall']:g}: contact angle {drop['contact_angle']:.0f}°",
        )  # fmt: skip
    figure.axes[0].set_ylabel("z ($r_c$)")
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option(
        "--walls",
        [-15, -25, -35],
        "Attractions A between liquid and wall; that of the liquid is -40.",
        type=float,
    )
    parser.option("--edge", 36, "Edge of the box in lattice cells.")
    parser.option("--width", 15, "Edge of the first cube in cells.")
    parser.option("--settle", 3000, "Steps before the measurement.")
    parser.option("--steps", 3000, "Steps of the measurement.")
    parser.option("--frame", 100, "Steps between frames.")
    quick = {"walls": [-15, -35], "edge": 24, "width": 10, "settle": 400, "steps": 200, "frame": 25}
    options = script.parse(parser, "drop", quick)
    # LAMMPS writes frames in the steps that are multiples of --frame.
    last = options.settle + options.steps
    if options.frame < 1 or last // options.frame - (options.settle - 1) // options.frame < BLOCKS:
        parser.error(f"--steps must contain at least {BLOCKS} frames")
    report = script.read(options)[0] if options.draw else simulate(options)
    for drop in report["drops"]:
        angle = with_error(drop["contact_angle"], drop["contact_angle_error"])
        print(f"A = {drop['wall']:g}: contact angle {angle} degrees")
    script.picture(options, draw(report), dpi=100)


if __name__ == "__main__":
    script.run_script(main)
