"""Pictures of hard disks and spheres. They need matplotlib, and for psi_6 freud (the extra
"plot")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manymove.analysis import sphere_reference
from manymove.analysis.notation import Estimate
from manymove.analysis.reference import VIRIAL_LIMIT, published, virial_pressure
from manymove.jobs.figures import draw_records, new_figure, new_panels, write_picture
from manymove.optional import need

_DISKS_DRAWN_AS_CIRCLES = 100_000
_INCHES = 9.0  # longer edge of the box in the picture
_WHEEL = 1.2  # width of the color wheel to the right of the box
_OKLAB_TO_LMS = np.array(  # cube roots
    [
        [1, 0.3963377774, 0.2158037573],
        [1, -0.1055613458, -0.0638541728],
        [1, -0.0894841775, -1.2914855480],
    ]
)
_LMS_TO_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)
_MOST_TYPES_IN_LEGEND = 6


def local_psi6(positions: np.ndarray, box: tuple[float, float]) -> np.ndarray:
    """Local bond-orientational order psi_6 with the six nearest disks, complex (N,), by freud.

    Source: Ramasubramani et al., Comput. Phys. Commun. 254, 107275 (2020).

    Raises:
        ImportError: freud is not installed.
    """
    freud = need("freud", "psi_6")
    points = np.column_stack((positions, np.zeros(len(positions))))
    hexatic = freud.order.Hexatic(k=6)
    hexatic.compute((box, points), neighbors={"num_neighbors": 6})
    return np.asarray(hexatic.particle_order)


def configuration(
    path: str | Path, positions: np.ndarray, box: tuple[float, float], diameter: float
) -> None:
    """Picture of the disks, colored by their local psi_6, with a color wheel next to them.

    Args:
        path: path of the PNG file.
        positions: centers of the disks, (N, 2), in [-L/2, L/2).
        box: edges (Lx, Ly) of the box.
        diameter: diameter of the disks.
    """
    psi6 = local_psi6(positions, box)
    from matplotlib.collections import EllipseCollection

    width, height = (_INCHES * edge / max(box) for edge in box)
    inches = max(width, 2.0), max(height, 2.0)
    figure, panels = new_panels(
        (inches[0] + _WHEEL, inches[1] + 0.4), (1, 2), width_ratios=(inches[0], _WHEEL)
    )
    axes, wheel = panels[0]
    colors = _psi6_colors(psi6)
    if len(positions) <= _DISKS_DRAWN_AS_CIRCLES:
        size = np.full(len(positions), diameter)
        axes.add_collection(
            EllipseCollection(
                size, size, np.zeros_like(size), units="xy", offsets=positions,
                offset_transform=axes.transData, facecolors=colors, linewidths=0,
            )
        )  # fmt: skip
    else:
        axes.imshow(
            _averaged_image(positions, box, psi6), origin="lower", interpolation="nearest",
            extent=(-box[0] / 2, box[0] / 2, -box[1] / 2, box[1] / 2),
        )  # fmt: skip
    _show_box(axes, box)
    packing_fraction = len(positions) * np.pi * diameter**2 / (4 * box[0] * box[1])
    axes.set_title(
        f"{len(positions):,} hard disks, packing fraction {packing_fraction:.4g}, "
        f"global |$\\psi_6$| = {abs(psi6.mean()):.3f}",
        fontsize=10,
    )
    _color_wheel(wheel)
    write_picture(path, figure, dpi=200)


def _psi6_colors(psi6: np.ndarray) -> np.ndarray:
    """RGB (..., 3): the complex plane as a plane of lightness (real part) and orange to blue
    (imaginary part), which color-blind readers can distinguish. A red or green tint of the
    diagonals helps other readers.

    The space is OKLab (B. Ottosson, 2020), in which equal distances look equal.
    """
    modulus = np.abs(psi6)
    z = psi6 / np.maximum(modulus, 1.0)
    tint = 2 * z.real * z.imag / np.maximum(np.abs(z), 1e-12)
    lab = np.stack((0.60 + 0.27 * z.real, 0.035 * z.imag + 0.075 * tint, 0.115 * z.imag), axis=-1)
    light = np.clip(((lab @ _OKLAB_TO_LMS.T) ** 3) @ _LMS_TO_RGB.T, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def _averaged_image(
    positions: np.ndarray, box: tuple[float, float], psi6: np.ndarray
) -> np.ndarray:
    """The mean of psi_6 over about two disks per pixel: (rows, columns, 3)."""
    pixels = math.sqrt(len(positions) / 2 * max(box) / min(box))
    shape = tuple(max(1, round(pixels * edge / max(box))) for edge in (box[1], box[0]))
    column = np.clip(((positions[:, 0] / box[0] + 0.5) * shape[1]).astype(int), 0, shape[1] - 1)
    row = np.clip(((positions[:, 1] / box[1] + 0.5) * shape[0]).astype(int), 0, shape[0] - 1)
    pixel = row * shape[1] + column
    cells = shape[0] * shape[1]
    count = np.maximum(np.bincount(pixel, minlength=cells), 1)
    real = np.bincount(pixel, weights=psi6.real, minlength=cells) / count
    imag = np.bincount(pixel, weights=psi6.imag, minlength=cells) / count
    return _psi6_colors((real + 1j * imag).reshape(shape))


def _show_box(axes: Any, box: Sequence[float]) -> None:
    """Limit the axes to the box, in units of length, in which a diameter is one by default."""
    axes.set(
        xlim=(-box[0] / 2, box[0] / 2), ylim=(-box[1] / 2, box[1] / 2), aspect="equal",
        xlabel="x", ylabel="y",
    )  # fmt: skip


def _color_wheel(wheel: Any) -> None:
    """Draw the colors of psi_6 in the unit disk of the complex plane."""
    axis = np.linspace(-1, 1, 101)
    z = axis[None, :] + 1j * axis[:, None]
    image = np.ones((*z.shape, 4))
    image[..., :3] = _psi6_colors(z)
    image[..., 3] = np.abs(z) <= 1
    wheel.imshow(image, origin="lower", extent=(-1, 1, -1, 1))
    wheel.set_title("local $\\psi_6$\n(phase, modulus)", fontsize=8, pad=2)
    wheel.set_anchor("N")
    wheel.set_axis_off()


def records_against_sweeps(
    path: str | Path,
    series: Sequence[tuple[np.ndarray, np.ndarray]],
    estimate: Estimate,
    title: str,
    quantity: str,
    reference: Estimate | None = None,
) -> None:
    """Picture of the records of each replica, their running means and the result.

    Args:
        path: path of the PNG file.
        series: sweeps (K,) and values (K,) of each replica.
        estimate: pooled estimate of all replicas.
        title: state point of the run.
        quantity: label of the values.
        reference: published value.
    """
    figure, axes = new_figure(7.0, 4.2)
    draw_records(axes, series, estimate)
    if reference is not None:
        label = f"literature {reference}"
        axes.axhline(reference.value, color="C3", ls="--", lw=1, label=label)
    axes.set(xlabel="sweeps since the start", ylabel=quantity, title=title)
    axes.legend(fontsize=8, markerscale=3)
    write_picture(path, figure, dpi=160)


def density_profile(path: str | Path, profile: np.ndarray, axis: str) -> None:
    """Picture of the number density along an axis, with a band of plus and minus its error.

    Args:
        path: path of the PNG file.
        profile: coordinate, density and its error, (bins, 3).
        axis: name of the axis.
    """
    place, density, error = profile.T
    figure, axes = new_figure(7.0, 4.2)
    axes.plot(place, density, lw=1)
    axes.fill_between(place, density - error, density + error, alpha=0.3, lw=0)
    axes.set(xlabel=f"${axis}$", ylabel=r"number density $\rho$", ylim=(0, None))
    write_picture(path, figure, dpi=160)


def slice_of(
    path: str | Path,
    positions: np.ndarray,
    box: tuple[float, ...],
    diameters: np.ndarray,
    types: np.ndarray | None = None,
) -> None:
    """Picture of the disks of a mixture, or of spheres cut by the plane z = 0. The color is the
    type, or the diameter of particles without types.

    Args:
        path: path of the PNG file.
        positions: centers, (N, 2) or (N, 3), in [-L/2, L/2).
        box: edges of the box.
        diameters: diameters of the particles, (N,).
        types: types of the particles, (N,); several types may have one diameter.
    """
    from matplotlib import colormaps
    from matplotlib.collections import EllipseCollection

    N, flat = len(positions), positions.shape[1] == 2
    if types is None:
        sizes, kinds = np.unique(diameters, return_inverse=True)
    else:
        first = np.unique(types, return_index=True)[1]
        sizes, kinds = diameters[first], types
    widths, shown = diameters, slice(None)
    if not flat:
        # A periodic image of a sphere near the upper face may reach the plane in a flat box only.
        shown = np.abs(positions[:, 2]) < diameters / 2
        widths = np.sqrt(diameters[shown] ** 2 - 4 * positions[shown, 2] ** 2)
    width, height = (_INCHES * edge / max(box[:2]) for edge in box[:2])
    figure, axes = new_figure(width + 1.6 * (len(sizes) > 1), height + 0.4)
    disks = EllipseCollection(
        widths, widths, np.zeros_like(widths), units="xy", offsets=positions[shown, :2],
        offset_transform=axes.transData, linewidths=0,
    )  # fmt: skip
    axes.add_collection(disks)
    listed = len(sizes) <= _MOST_TYPES_IN_LEGEND
    if listed:
        colors = colormaps["viridis"](np.linspace(0.1, 0.95, max(2, len(sizes))))
        disks.set_facecolor(colors[kinds[shown]].tolist())
        for kind, size in enumerate(sizes):
            share = f", {(kinds == kind).mean():.3g}" if len(sizes) > 1 else ""
            axes.plot([], [], "o", color=colors[kind], label=f"{size:.4g}{share}")
        if len(sizes) > 1:
            axes.legend(title="diameter, fraction", loc="upper left", bbox_to_anchor=(1, 1))
    else:
        disks.set(cmap="viridis", array=diameters[shown])
        figure.colorbar(disks, ax=axes, label="diameter", shrink=0.6)
    _show_box(axes, box)
    what = "disks" if flat else "spheres, cut at z = 0"
    axes.set_title(f"{N:,} hard {what}", fontsize=10)
    write_picture(path, figure, dpi=150)


def of_spheres(
    path: str | Path, points: Sequence[tuple[Any, ...]], N: int, mixed: bool = False
) -> None:
    """Picture of P* against packing fraction of spheres, with the equations of state of the fluid
    and of the FCC crystal, and the pressure at coexistence.

    The arguments have the meaning that they have in `equation_of_state`.
    """
    figure, axes = new_figure(7.0, 4.6)
    range_ = [point[0] for point in points]
    table = sphere_reference.published()
    low, high = min(range_), max(range_)
    if not mixed:
        limits = table["coexistence"]
        for name, factor, ends in (
            (
                "fluid (Kolafa, Labik, Malijevsky, 2004)",
                sphere_reference.fluid_factor,
                (low, min(high, table["fluid"]["largest"])),
            ),
            (
                "FCC crystal (Speedy, 1998)",
                sphere_reference.solid_factor,
                (max(low, table["solid"]["smallest"]), high),
            ),
        ):
            if ends[0] < ends[1]:
                phi = np.linspace(*ends, 100)
                axes.plot(phi, [6 * x / np.pi * factor(x) for x in phi], lw=1, label=name)
        if high > limits["freezing"]:
            pressure = Estimate(*limits["pressure"])
            ends = (limits["freezing"], limits["melting"])
            label = f"coexistence, {pressure}"
            axes.plot(ends, 2 * (pressure.value,), "k:", lw=1, label=label)
    _draw_runs(axes, points, N)
    axes.set(
        xlabel=r"packing fraction $\phi$", ylabel=r"pressure $P^* = \beta P d^3$",
        title=f"{N:,} hard spheres",
    )  # fmt: skip
    axes.legend(fontsize=8)
    write_picture(path, figure, dpi=160)


def _draw_runs(axes: Any, points: Sequence[tuple[Any, ...]], N: int) -> None:
    """Draw the results of runs, hollow if they have warnings."""
    for good in (True, False):
        ours = np.array([point[:3] + point[4:] for point in points if all(point[3:4]) == good])
        if len(ours):
            label = f"this run, N = {N:,}" + ("" if good else ", not equilibrated")
            axes.errorbar(
                *ours.T, fmt="o", ms=5, capsize=3, color="k", mfc="k" if good else "none",
                label=label, zorder=3,
            )  # fmt: skip


def equation_of_state(
    path: str | Path, points: Sequence[tuple[Any, ...]], N: int, mixed: bool = False
) -> None:
    """Picture of P* against packing fraction, with the paper's points (Table 2) and, at
    lower densities, the virial series.

    Args:
        path: path of the PNG file.
        points: (packing fraction, P*, error) of each run, and False if it is not equilibrated or
            its error is not converged; such a point is hollow. At constant pressure the error of
            the packing fraction is the last number.
        N: number of disks.
        mixed: whether they are a mixture, for which there are no published points.
    """
    figure, axes = new_figure(7.0, 4.6)
    range_ = [point[0] for point in points]
    if not mixed and min(range_) < VIRIAL_LIMIT:
        curve = np.linspace(min(range_), min(max(range_), VIRIAL_LIMIT), 50)
        values = [p.value for p in map(virial_pressure, curve) if p is not None]
        axes.plot(curve, values, lw=1, label="virial series (Clisby and McCoy, 2006)")
    table = published()
    if not mixed and max(range_) > VIRIAL_LIMIT:
        fractions = np.array(table["packing_fractions"])
        for index, (size, row) in enumerate(
            sorted(table["MPMC"].items(), key=lambda item: int(item[0]))
        ):
            values, errors = np.array(row).T
            same = int(size) == N
            axes.errorbar(
                fractions, values, errors, fmt="sD^"[index % 3] + "--", ms=6 if same else 4,
                mfc="none", lw=0.8,
                color=f"C{index}", alpha=1.0 if same else 0.5, label=f"paper, N = {int(size):,}",
            )  # fmt: skip
    _draw_runs(axes, points, N)
    axes.set(
        xlabel=r"packing fraction $\phi$", ylabel=r"pressure $P^* = \beta P d^2$",
        title=f"{N:,} hard disks",
    )  # fmt: skip
    if len(points[0]) < 5:  # given packing fractions
        axes.set_xticks(sorted({point[0] for point in points}))
    axes.legend(fontsize=8)
    write_picture(path, figure, dpi=160)
