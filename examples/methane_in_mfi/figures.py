"""The pictures of run.py, and the random-walker model of the paper's Appendix C."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

BOX = np.array([40.044, 39.798, 26.766])  # angstrom
SIGMA = 3.73
# Appendix C: the density of places that still add information times sigma^3, and from where to
# where they do, in angstrom.
WALKER = {"MFI": (10.0, 1.0, 4.0), "fluid": (1.0, 3.8, 8.0)}
# Table 2: total energies in kelvin and their standard deviations, by molecules and proposals.
PAPER = {
    32: [(-68354.59, 1.39), (-68353.49, 1.27), (-68354.19, 1.67), (-68355.18, 1.97),
         (-68352.43, 3.32)],
    64: [(-138027.62, 2.97), (-138027.38, 2.56), (-138027.66, 2.27), (-138028.18, 3.50),
         (-138028.45, 4.84)],
    96: [(-209278.78, 3.24), (-209278.40, 3.21), (-209280.23, 3.73), (-209278.08, 5.77),
         (-209277.23, 7.04)],
    128: [(-281343.57, 7.63), (-281340.17, 7.58), (-281340.30, 9.55), (-281343.87, 10.42),
          (-281344.35, 13.05)],
}  # fmt: skip
PAPER_SPEEDUP = {"pmc": {32: 44.11, 64: 53.18, 128: 56.90, 2048: 61.75},
                 "plj": {32: 9.47, 64: 14.93, 128: 21.68}}  # fmt: skip


def useful_proposals(system: str, max_displacement: float, proposals: int, walks: int = 20000):
    """The integral of Eq. 12, from random walks of section 4.4."""
    cap, nearest, farthest = WALKER[system]
    rng = np.random.default_rng(proposals)
    edges = np.linspace(0.0, farthest, 81)
    counts = np.zeros(80)
    batch = 2000
    for _ in range(walks // batch):
        steps = rng.uniform(-max_displacement, max_displacement, (batch, proposals - 1, 3))
        first = proposals - 1 - rng.integers(0, proposals, batch)[:, None, None]
        sums = np.cumsum(steps, axis=1)
        second = np.arange(proposals - 1)[None, :, None] >= first
        ends = np.take_along_axis(sums, np.maximum(first - 1, 0), axis=1)
        sums -= np.where(second & (first > 0), ends, 0.0)
        sums -= BOX * np.rint(sums / BOX)
        counts += np.histogram(np.sqrt((sums**2).sum(axis=-1)), bins=edges)[0]
    shells = 4 / 3 * np.pi * np.diff(edges**3)
    capped = np.minimum(counts / walks, cap / SIGMA**3 * shells)
    return capped[edges[:-1] >= nearest - 1e-9].sum()


def walker_model(system: str, rows: list[dict[str, Any]]) -> tuple[float, np.ndarray, float]:
    """A of Eq. 12 fitted to all rows, the model's standard deviations, and the root mean square of
    the ratio's logarithm."""
    shape = np.array([
        1 / np.sqrt(1 + useful_proposals(system, r["max_displacement"], r["proposals"]))
        for r in rows
    ])  # fmt: skip
    ratio = np.log([r["deviation_K"] for r in rows]) - np.log(shape)
    return float(np.exp(ratio.mean())), np.exp(ratio.mean()) * shape, float(ratio.std())


def _energies(result: dict[str, Any], axes: list[Any]) -> None:
    rows = result["rows"]
    left, right = axes
    for k, (label, pick) in enumerate(_variants(rows)):
        some = [r for r in rows if pick(r)]
        n = np.array([r["molecules"] for r in some])
        e, s = (np.array([r[key] for r in some]) for key in ("energy_K", "error_K"))
        paper = np.array([PAPER[m][0][0] for m in n])
        left.errorbar(n + k - 4, 100 * (e / paper - 1), 100 * s / -paper, fmt="o", ms=4, capsize=3,
                      label=label)  # fmt: skip
        right.semilogy(n, s, "o-", ms=4, label=label)
    left.axhspan(-0.6, 0.6, color="k", alpha=0.08, lw=0)
    left.set(
        xlabel="methane molecules per system", ylabel="energy relative to Table 2 (%)", ylim=(-1, 1)
    )
    right.set(xlabel="methane molecules per system", ylabel="standard error of the energy (K)")
    right.legend(fontsize=7)


def _variants(rows: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    names = dict.fromkeys((r["method"], r["proposals"]) for r in rows)
    return [
        (f"{m} {p or ''}", lambda r, m=m, p=p: (r["method"], r["proposals"]) == (m, p))
        for m, p in names
    ]


def _displacement(result: dict[str, Any], axes: list[Any]) -> None:
    for axis, system in zip(axes, WALKER, strict=True):
        rows = [r for r in result["rows"] if r["system"] == system and r["method"] == "mdp"]
        amplitude, model, spread = walker_model(system, rows)
        print(f"{system}: A = {amplitude:.1f} K, the model is {spread:.0%} off on average")
        for proposals in dict.fromkeys(r["proposals"] for r in rows):
            k = proposals.bit_length() - 6
            some = [i for i, r in enumerate(rows) if r["proposals"] == proposals]
            d = [rows[i]["max_displacement"] for i in some]
            axis.errorbar(d, [rows[i]["deviation_K"] for i in some],
                          [rows[i]["error_K"] for i in some], fmt="o", ms=5, capsize=3,
                          color=f"C{k}", label=f"mdp {proposals}")  # fmt: skip
            axis.plot(d, model[some], ".-", ms=3, lw=0.8, color=f"C{k}")
            (uniform,) = (r["deviation_K"] for r in result["rows"] if r["system"] == system
                          and r["method"] == "mup" and r["proposals"] == proposals)  # fmt: skip
            axis.axhline(uniform, color=f"C{k}", ls="--", lw=0.8)
        axis.set(xlabel="maximum displacement (Å)", ylabel="standard deviation (K)",
                 yscale="log", title=f"{system}: A = {amplitude:.0f} K")  # fmt: skip
    axes[0].legend(fontsize=7)


def _estimator(result: dict[str, Any], axes: list[Any]) -> None:
    paper = {32: {32: 66.74, 64: 136.20, 96: 224.92, 128: 400.40},
             128: {32: 43.14, 64: 89.93, 96: 162.07, 128: 321.72}}  # fmt: skip
    left, right = axes
    for k, proposals in enumerate((32, 128)):
        rows = [r for r in result["rows"] if r["proposals"] == proposals]
        n = [r["molecules"] for r in rows]
        for key, line in (("mc", ":"), ("mdp", "--"), ("mdp-dj", "-")):
            left.semilogy(n, [r[f"deviation_{key}_K"] for r in rows], f"o{line}", ms=4,
                          color=f"C{k}", label=f"{key}, {proposals} proposals")  # fmt: skip
        right.plot(n, [r["b_star"] for r in rows], "o-", ms=4, color=f"C{k}",
                   label=f"{proposals} proposals")  # fmt: skip
        right.plot(list(paper[proposals]), list(paper[proposals].values()), "x", color=f"C{k}",
                   label="Table 1")  # fmt: skip
    left.set(xlabel="methane molecules per system", ylabel="standard deviation (K)")
    right.set(xlabel="methane molecules per system", ylabel="optimal parameter $b^*$")
    left.legend(fontsize=7)
    right.legend(fontsize=7)


def _blocks(result: dict[str, Any], axes: list[Any]) -> None:
    for molecules in dict.fromkeys(r["molecules"] for r in result["rows"]):
        rows = [r for r in result["rows"] if r["molecules"] == molecules]
        p = [r["proposals"] for r in rows]
        axes[0].loglog(p, [1e6 * r["seconds_per_step"] for r in rows], "o-", ms=4,
                       label=f"{molecules} molecules")  # fmt: skip
        axes[1].loglog(p, [r["error_K"] for r in rows], "o-", ms=4)
    axes[0].set(xlabel="number of proposals", ylabel="time of a step of all systems (µs)")
    axes[1].set(xlabel="number of proposals", ylabel="error at equal time (K)")
    axes[0].legend(fontsize=7)


def _speedup(result: dict[str, Any], axes: list[Any]) -> None:
    n = [r["molecules"] for r in result["rows"]]
    for k, method in enumerate(("pmc", "plj")):
        axes[0].loglog(n, [r[f"speedup_{method}"] for r in result["rows"]], "o-", ms=4,
                       color=f"C{k}", label=method)  # fmt: skip
        axes[0].loglog(list(PAPER_SPEEDUP[method]), list(PAPER_SPEEDUP[method].values()), "x",
                       color=f"C{k}", label=f"{method}, the paper's C2050")  # fmt: skip
    for method in ("metropolis", "pmc", "plj"):
        axes[1].loglog(n, [r[method] for r in result["rows"]], "o-", ms=4, label=method)
    axes[0].set(xlabel="methane molecules per system", ylabel="speed relative to one core")
    axes[1].set(xlabel="methane molecules per system", ylabel="speed (trial moves/s)")
    axes[0].legend(fontsize=7)
    axes[1].legend(fontsize=7)


def _grid(result: dict[str, Any], axes: list[Any]) -> None:
    rows = result["rows"]
    n = [r["molecules"] for r in rows if r["grid"] == "linear"]
    a, b = ([r for r in rows if r["grid"] == name] for name in ("linear", "cubic"))
    off = [100 * (x["energy_K"] / y["energy_K"] - 1) for x, y in zip(a, b, strict=True)]
    error = [100 * np.hypot(x["error_K"], y["error_K"]) / -y["energy_K"]
             for x, y in zip(a, b, strict=True)]  # fmt: skip
    axes[0].errorbar(n, off, error, fmt="o-", capsize=3, label="mean energies of two runs")
    axes[0].plot(n, [100 * x["same_places"][0] for x in a], "s--", label="same places, framework")
    axes[0].axhline(-0.05, color="k", lw=0.8)
    axes[0].set(xlabel="methane molecules per system", ylabel="error of the linear grid (%)")
    axes[0].legend(fontsize=7)
    axes[1].plot(n, [x["same_places"][1] for x in a], "o-")
    axes[1].set(
        xlabel="methane molecules per system", ylabel="rms error per molecule (K)", ylim=(0, None)
    )


def draw(result: dict[str, Any]) -> Figure:
    """Picture of a summary of run.py."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots(1, 2)
    pictures = (_energies, _displacement, _estimator, _blocks, _speedup, _grid)
    {f.__name__[1:]: f for f in pictures}[result["what"]](result, axes)
    figure.suptitle(f"methane in MFI, 300 K, on {result['device']}", fontsize=9)
    return figure
