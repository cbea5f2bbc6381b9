# SPDX-License-Identifier: BSD-3-Clause
"""Table 2 of the paper: pressures of hard disks at six packing fractions, from several starts.

Each packing fraction is run from random packings and from crystals in the same box. Between the
liquid and the solid the starts agree only after all have equilibrated. In large systems this takes
long, because domains must coarsen. The starts less-solid and more-solid need no coarsening: they
have a crystal beside a random packing, with an area below and above the lever rule. All runs
advance together, --piece sweeps at a time, and share the device. With --minutes the script ends
after that time with the states of all runs in `states` and the results so far in
`so_far/summary.json`, and the same command continues it, also on another machine: it needs only
`parts.json` and `states` of --output. Packing fractions in folders of their own, each with its own
--seed, can run on several machines, and --draw shows their summaries as one. The picture
courses.png shows the pressure and the global bond-orientational order against sweeps.

    python table_2.py --particles 65536 --minutes 9
    python table_2.py --particles 1048576 --packing-fractions 0.710 --starts less-solid more-solid \
            --minutes 9 --output out/0.710
    python table_2.py --draw out/0.7*/so_far/summary.json
"""

from __future__ import annotations

import argparse
import math
import time
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import Estimate, HardDisks, Replicas, _core, random_packing, script
from manymove.analysis import estimate, pool, published_pressure
from manymove.analysis.notation import with_error

PACKING_FRACTIONS = [0.698, 0.702, 0.706, 0.710, 0.714, 0.718]
LIQUID, SOLID = 0.700, 0.716  # packing fractions that coexist: Phys. Rev. E 87, 042134 (2013)
# Crystalline share of the area less that of the lever rule, in units of --excess.
STARTS = {"random": -math.inf, "less-solid": -1.0, "more-solid": 1.0, "crystal": math.inf}
TOUCHING = 1 + 2e-4  # smallest distance, as in a random packing
RECORDS = 16  # of a piece
BLOCKS = 256  # means of consecutive records in the file
SAVE_EVERY = 120  # seconds between two checkpoints
ALIKE = ("particles", "starts", "excess", "equilibrate")  # options of runs that are shown as one


def crystal(N: int, phi: float, seed: int) -> tuple[np.ndarray, tuple[float, float]]:
    """A slightly strained hexagonal lattice in a square box, with as many vacancies as needed."""
    edge = math.sqrt(N * math.pi / (4 * phi))
    rows = 2 * round(math.sqrt(N * 2 / math.sqrt(3)) / 2)
    columns = math.ceil(N / rows)
    i, j = np.meshgrid(np.arange(columns), np.arange(rows))
    lattice = np.column_stack(((i + 0.5 * (j % 2)).ravel() / columns, j.ravel() / rows))
    kept = np.random.default_rng(seed).permutation(rows * columns)[:N]
    positions = (lattice[kept] + (0.25 / columns, 0.5 / rows) - 0.5) * edge
    return np.ascontiguousarray(positions), (edge, edge)


def order_of(positions: np.ndarray, solid: float, edge: float) -> np.ndarray:
    """Indices of the disks from the middle of the crystal outward. The shape with the shortest
    interface is a crystalline disk, a stripe, or a liquid disk in a crystal."""
    if 1 / math.pi < solid < 1 - 1 / math.pi:
        return np.argsort(np.abs(positions[:, 0]))
    distance = np.hypot(*positions.T)
    return np.argsort(distance if solid < 0.5 else -distance)


def coexistence(
    N: int, phi: float, solid: float, seed: int
) -> tuple[np.ndarray, tuple[float, float]]:
    """A crystal that has this share of the area, beside a random packing. Their packing fractions
    differ by as much as those of coexisting phases, and have the mean phi."""
    liquid_phi, solid_phi = (phi + (share - solid) * (SOLID - LIQUID) for share in (0, 1))
    liquid_N, solid_N = (round(N * part / phi) for part in (liquid_phi, solid_phi))
    edge = math.sqrt(N * math.pi / (4 * phi))
    outside = round((1 - solid) * liquid_N)
    parts = []
    if outside:
        disks, box = random_packing(liquid_N, liquid_phi, seed=seed)
        kept = np.sort(order_of(disks, solid, edge)[liquid_N - outside :])
        parts.append(disks[kept] * (edge / box[0]))  # the boxes differ, as liquid_N is an integer
    if outside < N:
        disks, box = crystal(solid_N, solid_phi, seed)
        kept = np.sort(order_of(disks, solid, edge)[: N - outside])
        parts.append(disks[kept] * (edge / box[0]))
    positions = np.concatenate(parts)
    for _ in range(400):  # overlaps at the interface are pushed apart
        _, depth = _core.relax_overlaps(positions, (edge, edge), TOUCHING, 10)
        if depth == 0:
            break
    return positions, (edge, edge)


def start_of(
    start: str, N: int, phi: float, seed: int, device: str, threads: int | None,
    excess: float = 0.1,
) -> HardDisks:  # fmt: skip
    """Disks at the beginning of a run."""
    lever = np.clip((phi - LIQUID) / (SOLID - LIQUID), 0, 1)
    solid = float(np.clip(lever + STARTS[start] * excess, 0, 1))
    return HardDisks(*coexistence(N, phi, solid, seed), seed=seed, device=device, threads=threads)


def averaged(records: np.ndarray, blocks: int) -> list[float]:
    """Means of that many blocks of consecutive records."""
    return [round(float(part.mean()), 6) for part in np.array_split(records, blocks) if part.size]


def result(
    disks: HardDisks, phi: float, start: str, course: list[list[float]], equilibrate: float
) -> dict[str, Any]:
    """Pressure and course of a run. The pressure is None before the end of the equilibration."""
    measured = disks.pressure_sweeps > equilibrate
    records = disks.pressure_records[measured]
    found = estimate(records) if records.size >= RECORDS else None
    return {
        "packing_fraction": phi,
        "start": start,
        "seed": disks.seed,
        "sweeps": max(0.0, disks.sweeps - equilibrate),
        "pressure": found and found.value,
        "pressure_error": found and found.error,
        "error_converged": found and found.converged,
        "quarters": averaged(records, 4),
        "psi6": course[-1][1],
        "acceptance": disks.acceptance,
        "max_overlap": disks.max_overlap(),
        "state_hash": disks.state_hash,
        "equilibration": averaged(disks.pressure_records[~measured], BLOCKS // 4),
        "records": averaged(records, BLOCKS),
        "psi6_course": course,
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run all states together in pieces."""
    N, folder = options.particles, options.output / "states"
    states = [
        (phi, start)
        for phi in options.packing_fractions
        for start in options.starts
        for _ in range(options.replicas)
    ]
    parts = script.Parts(options, without=("device", "sweeps"))
    if (folder / "replicas.json").exists() and not options.overwrite:
        replicas = Replicas.load(folder, device=options.device)
    else:
        makes = [partial(start_of, start, N, phi, excess=options.excess) for phi, start in states]
        replicas = Replicas(makes, seed=options.seed, device=options.device)
        replicas.map(lambda disks: disks.sample_pressure(options.every, options.piece / RECORDS))
        replicas.save(folder, overwrite=options.overwrite)
    saved = time.monotonic()
    courses: list[list[list[float]]] = [[] for _ in states]
    seconds = 0.0

    def piece(end: float) -> dict[str, Any]:
        began = time.perf_counter()
        replicas.run_until(end)
        elapsed = time.perf_counter() - began
        order = replicas.map(lambda d: [round(d.sweeps), round(abs(d.psi6()), 4)])
        return {"order": order, "seconds": elapsed}

    def report() -> dict[str, Any]:
        results = [
            result(disks, *state, course, options.equilibrate)
            for disks, state, course in zip(replicas.simulations, states, courses, strict=True)
        ]
        moves = sum(disks.trial_moves for disks in replicas.simulations)
        found = {"results": results, "seconds": seconds, "trial_moves_per_second": moves / seconds}
        return {**found, "rows": rows({**vars(options), **found})}

    total = options.equilibrate + options.sweeps
    try:
        for k in range(1, math.ceil(total / options.piece) + 1):
            made = parts.run(str(k), partial(piece, min(total, k * options.piece)))
            seconds += made["seconds"]
            for course, order in zip(courses, made["order"], strict=True):
                course.append(order)
            if time.monotonic() > saved + SAVE_EVERY:
                replicas.save(folder)
                saved = time.monotonic()
    except (SystemExit, KeyboardInterrupt):
        if seconds:
            replicas.save(folder)
            so_far = {**vars(options), "output": options.output / "so_far"}
            show(script.save(argparse.Namespace(**so_far), report()))
        raise
    replicas.run_until(total)  # if the states are older than the last part
    return script.save(options, report())


def together(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reports in which runs of the same kind, such as several packing fractions, are one report."""
    found: dict[str, dict[str, Any]] = {}
    for report in reports:
        kind = str([report.get(name) for name in ALIKE])
        first = found.setdefault(kind, report)
        if first is not report:
            first["results"] = first["results"] + report["results"]
    return [*found.values()]


def measured(report: dict[str, Any]) -> list[tuple[float, list[dict[str, Any]]]]:
    """(packing fraction, its runs that have a pressure)."""
    runs = [r for r in report["results"] if r["pressure"] is not None]
    fractions = sorted({r["packing_fraction"] for r in runs})
    return [(phi, [r for r in runs if r["packing_fraction"] == phi]) for phi in fractions]


def means(runs: list[dict[str, Any]]) -> list[Estimate]:
    """P* of each start, its replicas pooled."""
    return [
        pool([Estimate(r["pressure"], r["pressure_error"]) for r in runs if r["start"] == start])
        for start in dict.fromkeys(r["start"] for r in runs)
    ]


def states(report: dict[str, Any]) -> list[tuple[float, float, float]]:
    """(packing fraction, P*, error), the starts pooled. The error is not below half the difference
    between the starts."""
    points = []
    for phi, runs in measured(report):
        values = means(runs)
        mean = pool([Estimate(r["pressure"], r["pressure_error"]) for r in runs])
        spread = max(v.value for v in values) - min(v.value for v in values)
        points.append((phi, mean.value, max(mean.error, spread / 2)))
    return points


def rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The comparison with the rows MPMC of Table 2."""
    found = []
    for (phi, value, error), (_, runs) in zip(states(report), measured(report), strict=True):
        paper = published_pressure(report["particles"], phi)
        sweeps = np.mean([r.get("sweeps", report["sweeps"]) for r in runs])
        starts = " and ".join(sorted({r["start"] for r in runs}))
        length = f"{len(runs)} runs of {sweeps:.2g} sweeps, {starts}"
        published = (paper.value, paper.error) if paper else None
        size = f"{report['particles']:,} disks"
        found.append(script.compared(f"P* at {phi:.3f}", (value, error), published, size, length))
    return found


def show(report: dict[str, Any]) -> None:
    """Print the results."""
    for phi, runs in measured(report):
        paper = published_pressure(report["particles"], phi)
        starts = dict.fromkeys(r["start"] for r in runs)
        values = zip(starts, means(runs), strict=True)
        text = "  ".join(f"{start} {with_error(v.value, v.error)}" for start, v in values)
        orders = ", ".join(f"{r['psi6']:.2f}" for r in runs)
        print(
            f"{phi:.4f}  P*: {text}  paper {with_error(*paper) if paper else None}"
            f"  |psi_6| {orders}"
        )


def courses_of(report: dict[str, Any]) -> Figure:
    """Pressure and |psi_6| of all runs against sweeps, from the start on."""
    fractions = sorted({r["packing_fraction"] for r in report["results"]})
    figure = Figure(figsize=(max(4.0, 2.2 * len(fractions)), 4.6), layout="constrained")
    axes = figure.subplots(2, len(fractions), sharex=True, sharey="row", squeeze=False)
    for column, phi in zip(axes.T, fractions, strict=True):
        named: set[str] = set()
        for r in (r for r in report["results"] if r["packing_fraction"] == phi):
            color = {"random": "C3", "less-solid": "C1", "more-solid": "C2"}.get(r["start"], "C0")
            end, total = 0.0, report["equilibrate"] + r.get("sweeps", report["sweeps"])
            for part in ("equilibration", "records"):
                sweeps = report["equilibrate"]
                if part == "records":
                    sweeps = r.get("sweeps", report["sweeps"])
                if not (blocks := np.array(r[part])).size:
                    continue
                middle = (np.arange(blocks.size) + 0.5) * sweeps / max(1, blocks.size)
                column[0].plot((end + middle) / 1e6, blocks, color=color, lw=0.6, alpha=0.5)
                # Coarser means on top, of a 32nd of the run.
                means = np.array_split(blocks, max(1, round(32 * sweeps / total)))
                middle = (np.arange(len(means)) + 0.5) * sweeps / len(means)
                column[0].plot((end + middle) / 1e6, [m.mean() for m in means], color=color, lw=2)
                end += sweeps
            sweeps, order = np.array(r["psi6_course"]).T
            label = f"from {r['start']}" if r["start"] not in named else None
            named.add(r["start"])
            column[1].plot(sweeps / 1e6, order, color=color, label=label)
        published = published_pressure(report["particles"], phi)
        if published is not None:
            column[0].axhline(published.value, color="k", lw=0.8, ls="--")
        for axis in column:
            axis.axvspan(0, report["equilibrate"] / 1e6, color="0.93", lw=0)
        column[0].set_title(rf"$\phi$ = {phi:.3f}", fontsize=10)
        column[1].set_xlabel("sweeps (10$^6$)")
        column[0].margins(x=0)
    values = [p for r in report["results"] for p in r["records"] or r["equilibration"]]
    low, high = min(values), max(values)
    axes[0, 0].set(
        ylabel=r"pressure $P^* = \beta P d^2$",
        ylim=(low - 0.2 * (high - low), high + 0.5 * (high - low)),
    )
    axes[1, 0].set(ylabel=r"order $|\psi_6|$", ylim=(0, 1))
    axes[1, 0].legend(fontsize=8)
    figure.suptitle(f"{report['particles']:,} hard disks; dashed: the paper", fontsize=9)
    return figure


def draw(reports: list[dict[str, Any]]) -> Figure:
    """P* against the packing fraction, a panel for each number of disks."""
    figure = Figure(figsize=(1 + 4 * len(reports), 3.8), layout="constrained")
    panels = figure.subplots(1, len(reports), squeeze=False)[0]
    for axes, report in zip(panels, reports, strict=True):
        points = np.array(states(report)).reshape(-1, 3).T
        axes.errorbar(*points, fmt="o", capsize=3, label="manymove")
        found = [(phi, published_pressure(report["particles"], phi)) for phi in PACKING_FRACTIONS]
        if paper := [(phi, p.value, p.error) for phi, p in found if p]:
            axes.errorbar(*np.transpose(paper), fmt="s", mfc="none", capsize=3, color="k",
                          label="paper, Table 2")  # fmt: skip
        axes.set(
            xlabel=r"packing fraction $\phi$", ylabel=r"pressure $P^* = \beta P d^2$",
            title=f"{report['particles']:,} hard disks",
        )  # fmt: skip
        axes.legend(fontsize=8)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--particles", 65536)
    parser.option("--packing-fractions", PACKING_FRACTIONS)
    parser.option("--sweeps", 100_000_000, "Number of sweeps of each run.", type=float)
    parser.option(
        "--equilibrate", 12_000_000, "Number of first sweeps, which are left out.", type=float
    )
    parser.option("--starts", ["random", "crystal"], choices=list(STARTS))
    parser.option(
        "--excess",
        0.1,
        "Crystalline share of the area of more-solid above the lever rule, and of less-solid below "
        "it (default 0.1).",
    )
    parser.option("--replicas", 1, "Runs from each start.")
    parser.option("--piece", 250_000, "Number of sweeps of a piece.", type=float)
    parser.option("--every", 200, "Number of sweeps between two samples.", type=float)
    parser.option(
        "--minutes", float, "Time in minutes after which the script ends (default: none)."
    )
    quick = {"particles": 256, "packing_fractions": [0.698], "sweeps": 4000, "equilibrate": 1000,
             "piece": 1000, "every": 20}  # fmt: skip
    options = script.parse(parser, "table_2", quick)
    script.fractions(options, "packing_fractions")
    script.at_least(options, particles=1, replicas=1, piece=1, equilibrate=0, excess=1e-3)
    if options.draw:
        reports = together(script.read(options))
    else:
        reports = [run(options)]
    for report in reports:
        show(report)
    script.picture(options, draw(reports))
    courses_of(reports[0]).savefig(options.output / "courses.png", dpi=110)


if __name__ == "__main__":
    script.run_script(main)
