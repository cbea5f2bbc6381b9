"""Tension, area per lipid and bending rigidity of a DPD lipid bilayer.

    python bilayer.py
    python bilayer.py --spectrum 1.25

The tension of a flat membrane is the edge of the box normal to it times the difference of the
normal and the lateral pressure. It is zero at the area per lipid of a free membrane, and its slope
is the area compressibility modulus. The bending rigidity follows from the heights of a large
membrane (--spectrum), whose mode of wave number q has <|h|^2> = kT / [A (sigma q^2 + kappa q^4)].
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from manymove import script
from manymove.analysis.notation import with_error
from manymove.lammps import host

HERE = Path(__file__).parent
DENSITY = 3.0
HEADS, TAIL = 3, 4
BEADS = HEADS + 2 * TAIL
# Bonds and angles of a lipid: its tails are at the second and at the third head bead.
ENDS = (list(range(3, 3 + TAIL)), list(range(3 + TAIL, BEADS)))
BONDS = [(0, 1), (1, 2)] + [
    pair
    for head, tail in zip((1, 2), ENDS, strict=True)
    for pair in zip([head, *tail], tail, strict=False)
]
ANGLES = [
    triple
    for head, tail in zip((1, 2), ENDS, strict=True)
    for triple in zip([head, *tail], tail, tail[1:], strict=False)
]
COLORS = np.array([[0.25, 0.45, 0.70], [0.90, 0.70, 0.25]])
FLAT = 1.24  # areas per lipid of membranes that do not bend
LARGEST = 0.45  # wave numbers of the fit: modes that are longer than twice the thickness


def lipid() -> np.ndarray:
    """Beads of a stretched lipid of the upper leaflet; the middle of the membrane is at z = 0."""
    beads = np.zeros((BEADS, 3))
    tail = 0.45 * (np.arange(TAIL)[::-1] + 0.5)
    for x, ends in zip((-0.2, 0.2), ENDS, strict=True):
        beads[ends, 0], beads[ends, 2] = x, tail
    top = tail[0] + 0.45
    beads[:3] = [[-0.2, 0.3, top + 0.4], [-0.2, 0, top], [0.2, 0, top]]
    return beads


def start(edge: float, height: float, area: float, seed: int) -> tuple[np.ndarray, int]:
    """Positions of all beads, those of the upper leaflet first, then the lower one's, then water.

    Returns:
        positions (N, 3); number of lipids in a leaflet.
    """
    rng = np.random.default_rng(seed)
    lipids = round(edge**2 / area)
    rows = int(np.ceil(np.sqrt(lipids)))
    parts = []
    for side in (1, -1):
        place = rng.choice(rows**2, lipids, replace=False)
        at = (np.stack([place % rows, place // rows], 1) + rng.uniform(0.3, 0.7, (lipids, 2))) * (
            edge / rows
        )
        angle = rng.uniform(0, 2 * np.pi, lipids)
        c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
        x, y, z = lipid().T
        beads = np.stack(
            [c * x - s * y + at[:, :1], s * x + c * y + at[:, 1:],
             np.broadcast_to(height / 2 + side * z, (lipids, BEADS))], axis=-1
        )  # fmt: skip
        parts.append(beads.reshape(-1, 3))
    water = round(DENSITY * edge**2 * height) - 2 * lipids * BEADS
    top = lipid()[:, 2].max() + 0.3
    z = rng.uniform(height / 2 + top, 1.5 * height - top, water) % height
    parts.append(np.column_stack([rng.uniform(0, edge, (water, 2)), z]))
    return np.concatenate(parts), lipids


def write_data(path: Path, edge: float, height: float, area: float, seed: int) -> tuple[int, int]:
    """Write the start as a LAMMPS data file; returns the number of beads, and lipids a leaflet."""
    positions, leaflet = start(edge, height, area, seed)
    count, lipids = len(positions), 2 * leaflet
    chain = [1] * HEADS + [2] * (BEADS - HEADS)
    types = np.concatenate([np.tile(chain, lipids), np.full(count - lipids * BEADS, 3)])
    molecule = np.zeros(count, int)
    molecule[: lipids * BEADS] = np.repeat(np.arange(1, lipids + 1), BEADS)
    box = np.array([edge, edge, height])
    image = np.floor(positions / box).astype(int)
    image[:, 2] = 0
    wrapped = positions - image * box
    base = BEADS * np.arange(lipids)[:, None, None] + 1
    with path.open("w") as file:
        file.write(f"{lipids} lipids in water\n\n{count} atoms\n3 atom types\n")
        for name, rows in (("bond", BONDS), ("angle", ANGLES)):
            file.write(f"{lipids * len(rows)} {name}s\n1 {name} types\n")
        for axis, length in zip("xyz", box, strict=True):
            file.write(f"0 {length:.17g} {axis}lo {axis}hi\n")
        file.write("\nMasses\n\n1 1.0\n2 1.0\n3 1.0\n\nAtoms # angle\n\n")
        tag = np.arange(1, count + 1)
        rows = np.column_stack([tag, molecule, types, wrapped, image])
        np.savetxt(file, rows, "%d %d %d %.9g %.9g %.9g %d %d %d")
        for name, members in (("Bonds", BONDS), ("Angles", ANGLES)):
            table = (base + np.array(members)).reshape(-1, len(members[0]))
            file.write(f"\n{name}\n\n")
            number = np.arange(1, len(table) + 1)
            np.savetxt(file, np.column_stack([number, np.ones_like(number), table]), "%d")
    return count, leaflet


def blocks(values: np.ndarray, number: int = 20) -> tuple[float, float]:
    """Mean and standard error from the means of equal blocks."""
    number = min(number, len(values) // 2)
    size = len(values) // number
    means = values[: size * number].reshape(number, size).mean(axis=1)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(number))


def stress(log: Path) -> np.ndarray:
    """Rows of step, temp, pe, pxx, pyy, pzz of the last run of a log."""
    text = re.split(r"^\s*Step\s.*$", log.read_text(), flags=re.MULTILINE)[-1]
    rows = re.findall(r"^\s*\d+(?:\s+[-+.\deE]+){5}\s*$", text, re.MULTILINE)
    return np.array([row.split() for row in rows], float)


def heights(path: Path, bins: int) -> np.ndarray:
    """Mean heights of the bins, (frames, bins, bins); a bin without beads has the mean of
    the others of its frame."""
    rows = [line.split() for line in path.read_text().splitlines() if line[0] != "#"]
    size = bins * bins
    frames = [rows[k + 1 : k + 1 + size] for k in range(0, len(rows), size + 1)]
    table = np.array([[row[3:5] for row in frame] for frame in frames], float)
    table = table.reshape(-1, bins, bins, 2)
    empty = table[..., 0] == 0
    table[..., 1][empty] = (table[..., 1].sum(axis=(1, 2)) / (~empty).sum(axis=(1, 2)))[
        np.nonzero(empty)[0]
    ]
    return table[..., 1]


def spectrum(field: np.ndarray, edge: float, number: int = 20) -> dict:
    """Wave numbers and A <|h|^2> with errors of the modes of a field, and tension and rigidity.

    The mean over a bin damps a mode by sin(x) / x with x = q w / 2 along each axis, w its width.
    """
    number, bins = min(number, len(field) // 2), field.shape[1]
    index = np.fft.fftfreq(bins, 1 / bins)
    damping = np.outer(np.sinc(index / bins), np.sinc(index / bins))
    power = (np.abs(np.fft.fft2(field) / bins**2) / damping) ** 2 * edge**2
    squares = np.add.outer(index**2, index**2).round().astype(int)
    shells = [n for n in np.unique(squares) if n and n <= (bins // 3) ** 2]
    q = 2 * np.pi / edge * np.sqrt(shells)
    size = len(field) // number
    means = np.array(
        [power[:, squares == n].mean(axis=1)[: size * number].reshape(number, size).mean(axis=1)
         for n in shells]
    )  # fmt: skip
    value, error = means.mean(axis=1), means.std(axis=1, ddof=1) / np.sqrt(number)
    fitted = q < LARGEST

    def fit(power: np.ndarray) -> np.ndarray:
        # 1 / power = sigma q^2 + kappa q^4, weighted by the relative errors
        weight = (value / error)[fitted] * power[fitted]
        columns = np.stack([q[fitted] ** 2, q[fitted] ** 4], axis=1) * weight[:, None]
        return np.linalg.lstsq(columns, weight / power[fitted], rcond=None)[0]

    total = means.sum(axis=1)
    without = np.array([fit((total - means[:, k]) / (number - 1)) for k in range(number)])
    errors = np.sqrt((number - 1) * without.var(axis=0))
    tension, rigidity = fit(value)
    return {
        "q": q.tolist(), "power": value.tolist(), "power_error": error.tolist(),
        "tension": float(tension), "tension_error": float(errors[0]),
        "rigidity": float(rigidity), "rigidity_error": float(errors[1]),
    }  # fmt: skip


def run(options: argparse.Namespace, area: float, edge: float, bins: int, steps: int) -> dict:
    """One membrane: its tension, and the spectrum of its heights where `bins` is not 0."""
    name = options.output / (f"spectrum_{area:g}" if bins else f"area_{area:g}")
    data = Path(f"{name}.data")
    count, leaflet = write_data(data, edge, options.height, area, options.seed)
    values = {
        "file": data, "out": name, "seed": options.seed, "upper": leaflet * BEADS,
        "settle": options.settle, "steps": steps, "bins": bins,
        "every": 400 if bins else 20, "heights": 400, "pair": options.style,
        "verlet": "verlet" if options.style == "dpd" else "manymove/verlet",
    }  # fmt: skip
    host.run(HERE / "in.bilayer", ranks=options.ranks, log=f"{name}.log", **values)
    Path(f"{name}.dump").replace(options.output / "bilayer.dump")
    table = stress(Path(f"{name}.log"))
    tension = options.height * (table[:, 5] - (table[:, 3] + table[:, 4]) / 2)
    result = {"area": edge**2 / leaflet, "beads": count, "lipids": 2 * leaflet, "edge": edge}
    result["temperature"] = blocks(table[:, 1])
    result["tension"], result["tension_error"] = blocks(tension)
    if bins:
        above, below = (heights(Path(f"{name}.{side}"), bins) for side in ("above", "below"))
        thickness = blocks((above - below).mean(axis=(1, 2)))
        result["thickness"], result["thickness_error"] = thickness
        result["spectrum"] = spectrum((above + below) / 2, edge)
    return result


def line(runs: list[dict]) -> dict:
    """Area per lipid without tension and modulus from a line through tensions, with errors."""
    area, tension, error = (
        np.array([run[key] for run in runs]) for key in ("area", "tension", "tension_error")
    )
    slope, offset = np.polyfit(area, tension, 1, w=1 / error)
    rng = np.random.default_rng(0)
    trials = np.array(
        [np.polyfit(area, tension + error * rng.normal(size=len(area)), 1, w=1 / error)
         for _ in range(500)]
    )  # fmt: skip
    free = -trials[:, 1] / trials[:, 0]
    return {
        "free_area": float(-offset / slope), "free_area_error": float(free.std()),
        "modulus": float(-offset), "modulus_error": float(trials[:, 1].std()),
    }  # fmt: skip


def slice_of(axes: Axes, dump: Path, depth: float = 3.0) -> None:
    """The lipids of a slice of the membrane, colored by heads and tails, without water."""
    table = np.loadtxt(dump, skiprows=9)
    kinds, (x, y, z) = table[:, 2].astype(int), table[:, 3:].T
    seen = (kinds < 3) & (y < depth)
    order = np.nonzero(seen)[0][np.argsort(-y[seen])]
    size = np.full(len(order), 0.7)
    axes.add_collection(
        EllipseCollection(
            size, size, 0, units="x", offsets=np.stack([x, z], 1)[order],
            transOffset=axes.transData, facecolors=COLORS[kinds[order] - 1],
            edgecolors="white", linewidths=0.3,
        )
    )  # fmt: skip
    middle = np.median(z[seen])
    axes.set(xlim=(0, x.max()), ylim=(middle - 5, middle + 5), aspect="equal")
    axes.set(xlabel="x ($r_c$)", ylabel="z ($r_c$)")


def draw(report: dict, dump: Path | None) -> Figure:
    """Particles of a slice, tension against area, and the spectrum."""
    figure = Figure(figsize=(7.2, 6.4), layout="constrained")
    panels = figure.subplot_mosaic([["slice", "slice"], ["tension", "spectrum"]])
    if dump and dump.exists():
        slice_of(panels["slice"], dump)
    runs = report["runs"]
    axes = panels["tension"]
    area = np.array([run["area"] for run in runs])
    tension, error = ([run[key] for run in runs] for key in ("tension", "tension_error"))
    axes.errorbar(area, tension, error, fmt="o", ms=4)
    if report["line"]:
        modulus, free = report["line"]["modulus"], report["line"]["free_area"]
        flat = area[area > FLAT]
        axes.plot(flat, modulus * (flat / free - 1), "k-", lw=1)
    axes.axhline(0, color="gray", lw=0.8)
    axes.set(xlabel="area per lipid ($r_c^2$)", ylabel="tension ($kT / r_c^2$)")
    axes.set_title(f"edge {runs[0]['edge']:g}", fontsize=9)
    axes = panels["spectrum"]
    if report["large"]:
        modes = report["large"]["spectrum"]
        q, power = np.array(modes["q"]), np.array(modes["power"])
        axes.errorbar(q, power, modes["power_error"], fmt="o", ms=3)
        fit = 1 / (modes["tension"] * q**2 + modes["rigidity"] * q**4)
        axes.loglog(q[q < LARGEST], fit[q < LARGEST], "k-", lw=1)
        axes.set_title(f"edge {report['large']['edge']:g}", fontsize=9)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel="wave number ($1 / r_c$)", ylabel="$A\\,\\langle|h|^2\\rangle$ ($r_c^4$)")
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option(
        "--area", [1.25, 1.31, 1.37], "Areas per lipid of the runs that measure the tension."
    )
    parser.option("--edge", 9.0, "Edge of these membranes.")
    parser.option("--steps", 20000, "Steps of each run.")
    parser.option("--spectrum", float, "Area per lipid of the large membrane.")
    parser.option("--large", 40.0, "Edge of the large membrane.")
    parser.option("--long", 300000, "Steps of the large membrane.")
    parser.option("--height", 14.0, "Edge normal to the membrane.")
    parser.option("--settle", 4000, "Steps before each run.")
    parser.option("--ranks", 1)
    parser.option(
        "--style",
        "manymove/dpd",
        "Pair style; dpd is LAMMPS' own, on the host.",
        choices=("manymove/dpd", "dpd"),
    )
    quick = {"area": [1.25], "edge": 8.0, "height": 14.0, "settle": 300, "steps": 1200}
    options = script.parse(parser, "bilayer", quick)
    if options.draw:
        report = script.read(options)[0]
        script.picture(options, draw(report, options.draw[0].parent / "bilayer.dump"))
        return
    script.at_least(options, area=0.5, edge=4, height=4, settle=0, steps=400, ranks=1)
    runs = []
    for area in options.area:
        runs.append(run(options, area, options.edge, 0, options.steps))
        tension = with_error(runs[-1]["tension"], runs[-1]["tension_error"])
        print(f"area per lipid {runs[-1]['area']:.4f}: tension {tension}, "
              f"temperature {with_error(*runs[-1]['temperature'])}", flush=True)  # fmt: skip
    # Membranes with too little area bend, and have a small tension at any area.
    flat = [run for run in runs if run["area"] > FLAT]
    report = {"runs": runs, "line": line(flat) if len(flat) > 1 else None, "large": None}
    if report["line"]:
        found = report["line"]
        free = with_error(found["free_area"], found["free_area_error"])
        modulus = with_error(found["modulus"], found["modulus_error"])
        print(f"area per lipid without tension {free}, area compressibility modulus {modulus}")
    if options.spectrum:
        bins = max(6, round(options.large / 2.5))
        report["large"] = run(options, options.spectrum, options.large, bins, options.long)
        large = report["large"]
        modes = large["spectrum"]
        thickness = with_error(large["thickness"], large["thickness_error"])
        print(f"large membrane: thickness {thickness}, tension from stress "
              f"{with_error(large['tension'], large['tension_error'])}, from heights "
              f"{with_error(modes['tension'], modes['tension_error'])}")  # fmt: skip
        rigidity = with_error(modes["rigidity"], modes["rigidity_error"])
        print(f"bending rigidity {rigidity}", end="")
        if report["line"]:
            per_modulus = large["thickness"] ** 2 / 48
            moduli = (report["line"][key] * per_modulus for key in ("modulus", "modulus_error"))
            print(f", of two elastic sheets {with_error(*moduli)}", end="")
        print()
    report = script.save(options, report)
    script.picture(options, draw(report, options.output / "bilayer.dump"))


if __name__ == "__main__":
    script.run_script(main)
