"""Flory-Huggins parameter of two DPD liquids from the composition of coexisting phases.

    python mixing.py --more 12 15 18

At coexistence chi = ln((1 - x) / x) / (1 - 2 x), with the fraction x of the other species in the
middle of each phase. Groot and Warren found chi = 0.286 more at a density of 3, and that it is
proportional to the density, which is a little above 3 there because the interfaces are dilute.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis.notation import with_error
from manymove.lammps import host

LENGTH, DENSITY = 20.0, 3.0
WINDOW = 2.5  # the middle of a phase: so far from its center
PUBLISHED = (0.286, 0.002)  # R. D. Groot, P. B. Warren, J. Chem. Phys. 107, 4423 (1997)
COLORS = np.array([[0.80, 0.16, 0.12], [0.25, 0.45, 0.70]])


def read_profiles(path: Path, length: float = LENGTH) -> tuple[np.ndarray, np.ndarray]:
    """Centers of the slabs (slabs,), and densities of each block (blocks, slabs)."""
    rows = [line.split() for line in path.read_text().splitlines() if line[0] != "#"]
    slabs = int(rows[0][1])
    blocks = [rows[k + 1 : k + 1 + slabs] for k in range(0, len(rows), slabs + 1)]
    values = np.array(blocks, float)
    return values[0, :, 1] % length, values[:, :, 3]


def in_the_middle(
    z: np.ndarray, first: np.ndarray, both: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fraction of the other species and density in the middle of both phases, by block."""
    lower, upper = (np.abs(z - share * LENGTH) < WINDOW for share in (0.25, 0.75))
    others = (both - first)[:, lower].sum(axis=1) + first[:, upper].sum(axis=1)
    density = both[:, lower | upper].mean(axis=1)
    return others / both[:, lower | upper].sum(axis=1), density


def parameter(x: np.ndarray | float) -> np.ndarray | float:
    """The Flory-Huggins parameter of a fraction."""
    return np.log((1 - x) / x) / (1 - 2 * x)


def evaluate(path: Path) -> dict:
    """Profiles, fraction, density and parameter of one run, with errors from its blocks."""
    z, both = read_profiles(Path(f"{path}.all"))
    first = read_profiles(Path(f"{path}.first"))[1]
    x, densities = in_the_middle(z, first, both)
    mean, blocks, density = x.mean(), len(x), float(densities.mean())
    # Jackknife: the parameter without each block in turn.
    without = parameter((x.sum() - x) / (blocks - 1))
    error = np.sqrt((blocks - 1) * np.var(without))
    scale = DENSITY / density
    return {
        "z": z.tolist(), "first": first.mean(axis=0).tolist(), "both": both.mean(axis=0).tolist(),
        "fraction": float(mean), "density": density,
        "chi": float(parameter(mean) * scale), "chi_error": float(error * scale),
    }  # fmt: skip


def draw(report: dict, dump: Path | None) -> Figure:
    """Particles of a slice through the box, profiles, and the parameter."""
    figure = Figure(figsize=(7.2, 6.4), layout="constrained")
    panels = figure.subplot_mosaic([["particles", "particles"], ["profile", "chi"]])
    axes = panels["particles"]
    if dump and dump.exists():
        table = np.loadtxt(dump, skiprows=9)
        table = table[np.argsort(table[:, 2])]
        table = table[table[:, 2] < 2]
        size = np.full(len(table), 0.7)
        axes.add_collection(
            EllipseCollection(
                size, size, 0, units="x", offsets=table[:, [3, 1]], transOffset=axes.transData,
                facecolors=COLORS[table[:, 0].astype(int) - 1], edgecolors="white", linewidths=0.3,
            )
        )  # fmt: skip
    axes.set(xlim=(0, LENGTH), ylim=(0, 8), aspect="equal", xlabel="z ($r_c$)", ylabel="x ($r_c$)")
    axes.set_title(f"a slice, repulsion 25 and {25 + report['more'][-1]:g}")
    for more, run in zip(report["more"], report["runs"], strict=True):
        share = np.array(run["first"]) / np.array(run["both"])
        panels["profile"].semilogy(run["z"], share.clip(1e-4), label=f"Δa = {more:g}")
    panels["profile"].set(xlabel="z ($r_c$)", ylabel="fraction of the first species")
    panels["profile"].legend()
    chi = [run["chi"] for run in report["runs"]]
    errors = [run["chi_error"] for run in report["runs"]]
    panels["chi"].errorbar(report["more"], chi, errors, fmt="o", ms=4, label="manymove/dpd")
    line = np.array([0, 1.1 * max(report["more"])])
    panels["chi"].plot(line, PUBLISHED[0] * line, "k-", lw=1,
                       label=f"Groot and Warren (1997): {with_error(*PUBLISHED)} Δa")  # fmt: skip
    panels["chi"].set(xlabel="excess repulsion Δa", ylabel="χ", xlim=(0, None), ylim=(0, None))
    panels["chi"].legend(fontsize=8)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--more", [12.0, 15.0, 18.0], "Repulsion of different species minus 25.")
    parser.option("--settle", 10000, "Steps before the profile.")
    parser.option("--steps", 60000, "Steps of the profile.")
    parser.option("--blocks", 20, "Number of blocks of the profile.")
    parser.option("--ranks", 1)
    quick = {"more": [12.0], "settle": 500, "steps": 2000, "blocks": 5}
    options = script.parse(parser, "mixing", quick)
    if options.draw:
        last = options.draw[0].parent / "profile.dump"
        script.picture(options, draw(script.read(options)[0], last))
        return
    input_script = Path(__file__).parent / "in.mixing"
    path, runs = options.output / "profile", []
    for more in options.more:
        given = {name: getattr(options, name) for name in ("seed", "settle", "steps", "blocks")}
        log = f"{path}.log"
        host.run(input_script, ranks=options.ranks, log=log, more=more, out=path, **given)
        runs.append(evaluate(path))
        chi = with_error(runs[-1]["chi"], runs[-1]["chi_error"])
        print(f"excess repulsion {more:g}: fraction {runs[-1]['fraction']:.4f}, "
              f"density {runs[-1]['density']:.3f}, chi at density 3 {chi}", flush=True)  # fmt: skip
    # The slope of a line through the origin.
    a = np.array(options.more)
    chi, errors = (np.array([run[key] for run in runs]) for key in ("chi", "chi_error"))
    weight = (a / errors) ** 2
    slope, error = (weight * chi / a).sum() / weight.sum(), weight.sum() ** -0.5
    print(f"chi over excess repulsion {with_error(slope, error)}")
    print(f"published {with_error(*PUBLISHED)}")
    report = {"runs": runs, "slope": float(slope), "slope_error": float(error)}
    report = script.save(options, report)
    script.picture(options, draw(report, Path(f"{path}.dump")))


if __name__ == "__main__":
    script.run_script(main)
