# SPDX-License-Identifier: BSD-3-Clause
"""All benchmarks in one go, and the best of ours beside the best of the peers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manymove import bench, bench_adsorption, bench_dpd, bench_electrolyte, bench_hoomd
from manymove.report import write_json

Row = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One benchmark, and what its rows say."""

    title: str
    size: str  # keys of a row
    rate: str
    unit: str  # of the rate
    is_peer: Callable[[Row], bool]
    run: Callable[..., dict[str, Any]]  # of device, repeats, seconds and seed


def _disks(**common: Any) -> dict[str, Any]:
    return bench.disks(
        sizes=None,
        packing_fraction=0.698,
        threads=[None],
        max_displacement=None,
        moves_per_cell=None,
        melt=200,
        decorrelation=0,
        json_file=None,
        **common,
    )


def _hoomd(**common: Any) -> dict[str, Any]:
    return bench_hoomd.run(
        sizes=None,
        packing_fraction=0.698,
        threads=None,
        max_displacement=None,
        melt=200,
        decorrelation=0,
        json_file=None,
        **common,
    )


def _dpd(device: str, **common: Any) -> dict[str, Any]:
    return bench_dpd.run(
        sizes=None,
        densities=[3.0],
        cutoffs=[1.0],
        timestep=0.005,
        skins=[0.3],
        weight_exponent=1.0,
        device=device.partition(":")[0],
        precisions=["mixed", "double"],
        ranks=None,
        threads=[1],
        lammps=[],
        melt=1000,
        json_file=None,
        plot_file=None,
        **common,
    )


def _electrolyte(**common: Any) -> dict[str, Any]:
    return bench_electrolyte.run(
        sizes=None,
        debye_length=28.53,
        diameter=7.5,
        threads=[None],
        methods=["brush"],
        precisions=["mixed", "double"],
        threads_per_particle=[None],
        equilibrate=10,
        json_file=None,
        **common,
    )


def _adsorption(**common: Any) -> dict[str, Any]:
    return bench_adsorption.run(
        framework="MFI",
        molecules=[32, 128],
        methods=["metropolis", "pmc", "plj", "mup", "mdp", "mdp-dj"],
        proposals=[64],
        systems=None,
        interpolation="linear",
        grid_spacing=None,
        precision="mixed",
        cpu=False,
        threads=None,
        raspa=True,
        equilibrate=2000,
        json_file=None,
        **common,
    )


PARTS = {
    "disks": Part(
        "hard disks", "particles", "trial_moves_per_second", "trial moves/s",
        lambda row: row["variant"].startswith("HPMC"), _disks,
    ),
    "hoomd": Part(
        "hard disks in HOOMD-blue", "particles", "trial_moves_per_second", "trial moves/s",
        lambda row: row["variant"].startswith("HPMC"), _hoomd,
    ),
    "dpd": Part(
        "DPD", "particles", "million_particle_steps_per_second", "million particle-steps/s",
        lambda row: row["peer"], _dpd,
    ),
    "electrolyte": Part(
        "electrolytes", "ions", "pair_terms_per_second", "pair terms/s",
        lambda row: False, _electrolyte,
    ),
    "adsorption": Part(
        "adsorbates", "molecules", "trial_states_per_second", "trial states/s",
        lambda row: row["method"] == "RASPA3", _adsorption,
    ),
}  # fmt: skip


def run(
    *,
    device: str,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None,
    plot_file: Path | None,
) -> dict[str, Any]:
    """Run all benchmarks with their defaults, print a table, write the JSON file and the picture.

    What needs a program that is not installed is left out, with the reason.

    Args:
        device: "auto", "cpu", "cuda" or "cuda:<index>".
        repeats: timed runs per variant, at least 3.
        seconds: least length of a timed run.
        seed: of starts and engines.
        json_file: where the results go; None for nowhere.
        plot_file: picture of the speeds; None for none.

    Returns:
        what the JSON file holds: the report of each benchmark, and a summary row per size.

    Raises:
        ValueError: an argument is out of range.
        ImportError: a picture is asked for and matplotlib is not installed.
    """
    bench.check(repeats, seconds, 0, 0)
    reports: dict[str, dict[str, Any]] = {}
    absent: dict[str, str] = {}
    summary: list[Row] = []
    for name, part in PARTS.items():
        print(f"== {part.title}", flush=True)
        try:
            reports[name] = part.run(device=device, repeats=repeats, seconds=seconds, seed=seed)
        except (ImportError, RuntimeError) as error:
            absent[name] = str(error)
            print(f"left out: {error}")
            continue
        summary += summarise(part, reports[name]["results"])
    print(f"== all\n{HEADER}")
    for row in summary:
        print(_row(row))
    report = {**bench.machine(), "summary": summary, "benchmarks": reports, "absent": absent}
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        write_json(json_file, report)
    if plot_file is not None:
        plot(plot_file, summary)
    return report


def summarise(part: Part, results: Sequence[Row]) -> list[Row]:
    """The fastest of ours at each size, the fastest peer and the ratio of the two."""
    rows = [row for row in results if "failure" not in row]
    summary = []
    for size in dict.fromkeys(row[part.size] for row in rows):
        best = {}
        for whose in ("ours", "peer"):
            group = [
                row
                for row in rows
                if row[part.size] == size and part.is_peer(row) == (whose == "peer")
            ]
            if group:
                row = max(group, key=lambda row: row[part.rate])
                spread = (row["highest"] - row["lowest"]) / (row["highest"] + row["lowest"])
                best[whose] = {"variant": _variant(row), "rate": row[part.rate], "spread": spread}
        if "ours" in best:
            entry = {"algorithm": part.title, "size": size, "unit": part.unit, **best}
            if "peer" in best:
                entry["ratio"] = best["ours"]["rate"] / best["peer"]["rate"]
            summary.append(entry)
    return summary


def _variant(row: Row) -> str:
    return row.get("variant") or ", ".join(row[key] for key in ("device", "method", "precision"))


HEADER = (
    f"{'algorithm':<24}  {'size':>8}  {'ours':<40}  {'rate':>9}  {'spread':>6}  best peer and ratio"
)


def _row(row: Row) -> str:
    line = (
        f"{row['algorithm']:<24}  {row['size']:>8}  {row['ours']['variant'][:40]:<40}  "
        f"{row['ours']['rate']:>9.3g}  {row['ours']['spread']:>6.1%}"
    )
    if "peer" in row:
        line += f"  {row['ratio']:.3g} times {row['peer']['variant']} ({row['peer']['rate']:.3g})"
    return f"{line}  [{row['unit']}]"


def plot(path: Path, summary: Sequence[Row]) -> None:
    """Speed against size, a panel for each algorithm.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.ticker import NullFormatter
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'manymove[plot]'") from error
    titles = list(dict.fromkeys(row["algorithm"] for row in summary))
    figure = Figure(figsize=(3.6 * len(titles), 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    for panel, title in zip(figure.subplots(1, len(titles), squeeze=False)[0], titles, strict=True):
        rows = [row for row in summary if row["algorithm"] == title]
        for whose, marker in (("ours", "o-"), ("peer", "s--")):
            points = sorted((row["size"], row[whose]["rate"]) for row in rows if whose in row)
            if points:
                panel.loglog(*zip(*points, strict=True), marker, label=whose)
        panel.set_title(title)
        panel.set_xlabel("size")
        panel.set_ylabel(rows[0]["unit"])
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.grid(alpha=0.3)
        panel.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
