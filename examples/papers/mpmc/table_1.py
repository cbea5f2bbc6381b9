# SPDX-License-Identifier: BSD-3-Clause
"""Table 1 of the paper with its own GPU kernel, and the rules of section 2.4 for leaving a cell.

The program paper_kernel.cu follows Algorithms 2 to 4 of the paper. Every variant continues from the
same configurations, which `HardDisks` has equilibrated from crystals. The four variants of Table 1
share their launches. The variants of section 2.4, in which disks may leave their cell, also share
their launches: one has n_m moves in each cell ("leave"), and the other has one trial move of each
disk in each sweep ("leave, once each"). Each packing fraction and group of variants is a part of
this script, which takes --seconds and is kept when it has ended.

The number of cells along an edge is the paper's (section 3.1), a multiple of 64. Cells of 65,536
disks are therefore 1.06 diameters wide at 0.698, and 1.40 diameters at 0.708 and 0.712.

    python table_1.py --columns 2 --device cuda
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from paper_kernel import MULTIPLE, RULES, PaperSystems
from programs import COLUMNS, TABLE_1, VARIANTS, Function, check_piece, compiled
from table_2 import start_of

from manymove import Estimate, HardDisks, Replicas, script
from manymove.analysis import estimate, pool
from manymove.analysis.notation import with_error
from manymove.devices import on_gpu

GROUPS = {"shuffles": [*VARIANTS], "leaving": [rule for rule in RULES if rule not in VARIANTS]}
RECORDS = 16  # of a piece


def equilibrated(phi: float, options: argparse.Namespace) -> tuple[list[np.ndarray], float]:
    """Configurations of all replicas, and the edge of the box."""
    replicas = Replicas(
        partial(start_of, "crystal", options.particles, phi), options.replicas,
        seed=options.seed, device=options.device,
    )  # fmt: skip
    replicas.run_until(options.equilibrate)
    return replicas.map(lambda disks: disks.positions), replicas.simulations[0].box[0]


def measure(
    phi: float, group: str, function: Function, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """All replicas of the variants of a group at a packing fraction."""
    starts, edge = equilibrated(phi, options)
    rules = [rule for rule in GROUPS[group] if rule in options.rules]
    systems = PaperSystems(
        [start for _ in rules for start in starts],
        edge,
        [rule for rule in rules for _ in starts],
        options.seed,
        function,
        multiple=options.multiple,
    )
    systems.run(options.relax)
    first, began, pieces = systems.moves.copy(), time.perf_counter(), []
    while not pieces or time.perf_counter() - began < options.seconds:
        pieces.append(systems.run(options.piece, options.every, RECORDS))
    records = np.concatenate(pieces, axis=1)
    trials, accepted = (systems.moves - first).T.astype(float)
    results = []
    for k, (rule, row) in enumerate(zip(systems.rules, records, strict=True)):
        found = estimate(row)
        where = systems.positions(k), (edge, edge)
        end = HardDisks(*where, seed=options.seed, device="cpu", threads=1)
        order = end.psi6()
        results.append(
            {
                "packing_fraction": phi,
                "rule": rule,
                "replica": k % options.replicas,
                "pressure": found.value,
                "pressure_error": found.error,
                "error_converged": found.converged,
                "quarters": [float(part.mean()) for part in np.array_split(row, 4)],
                "sweeps": trials[k] / systems.N,
                "acceptance": accepted[k] / trials[k],
                "cell_width": systems.width,
                "psi6": abs(order),
                # Direction of the bonds, from 0 to 60 degrees.
                "orientation": math.degrees(np.angle(order)) % 360 / 6,
                "max_overlap": end.max_overlap(),
                "trial_moves_per_second": systems.moves[:, 0].sum() / systems.seconds,
            }
        )
    return results


def mean_of(runs: list[dict[str, Any]]) -> tuple[float, float]:
    """P* and its error of several runs."""
    mean = pool([Estimate(run["pressure"], run["pressure_error"]) for run in runs])
    return mean.value, mean.error


def unshuffled(values: list[tuple[float, float]]) -> tuple[float, float]:
    """What P* gains if the particles are not shuffled, from P* and its error of the VARIANTS, with
    and without the shuffle of the sets."""
    (both, particles, sets, neither), errors = zip(*values, strict=True)
    return (sets + neither - both - particles) / 2, math.hypot(*errors) / 2


def rows(results: list[dict[str, Any]], particles: int) -> list[dict[str, Any]]:
    """The comparison with Table 1, and the effect of each change."""
    made = []
    for phi in dict.fromkeys(run["packing_fraction"] for run in results):
        some = {
            rule: [r for r in results if (r["packing_fraction"], r["rule"]) == (phi, rule)]
            for rule in RULES
        }
        some = {rule: runs for rule, runs in some.items() if runs}
        column = COLUMNS.index(phi) if phi in COLUMNS else None
        size = f"{particles:,} disks"
        lengths = {
            rule: f"{len(runs)} runs of {np.mean([r['sweeps'] for r in runs]):.2g} sweeps"
            for rule, runs in some.items()
        }
        for rule, runs in some.items():
            known = rule in TABLE_1 and column is not None
            published = TABLE_1[rule][column] if known else None
            what = f"shuffled: {rule}" if rule in VARIANTS else f"disks may {rule}"
            found = script.compared(
                f"P* at {phi:.3f}, {what}", mean_of(runs), published, size, lengths[rule]
            )
            made.append(found)
        if some.keys() >= VARIANTS.keys():
            paper = None if column is None else unshuffled([TABLE_1[v][column] for v in VARIANTS])
            what = f"P* at {phi:.3f}, particles not shuffled minus shuffled"
            ours = unshuffled([mean_of(some[v]) for v in VARIANTS])
            made.append(script.compared(what, ours, paper, size, f"four times {lengths['both']}"))
        for rule in GROUPS["leaving"]:
            if "both" in some and rule in some:
                (value, error), (correct, its) = mean_of(some[rule]), mean_of(some["both"])
                what = f"P* at {phi:.3f}, disks may {rule}, minus both shuffles"
                ours = value - correct, math.hypot(error, its)
                made.append(script.compared(what, ours, None, size, lengths[rule]))
    return made


def run(options: argparse.Namespace) -> dict[str, Any]:
    parts = script.Parts(options, without=("device", "columns"))
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        gpu = on_gpu(options.device)
        function = compiled("paper_kernel", folder, gpu, "paper_kernel.cu")
        for column in options.columns:
            for group in GROUPS:
                if not {*GROUPS[group]} & {*options.rules}:
                    continue
                phi = options.packing_fractions[column - 1]
                task = partial(measure, phi, group, function, options)
                results += parts.run(f"{phi}, {group}", task)
                show(rows(results, options.particles))
    return script.save(options, {"results": results, "rows": rows(results, options.particles)})


def show(found: list[dict[str, Any]]) -> None:
    """Print the comparison so far."""
    for row in found:
        paper = f"paper {with_error(*row['published'])}  " if row["published"] else ""
        ours = with_error(*row["ours"])
        print(f"{row['quantity']:<60} {ours:<14} {paper}{row['length']}")
    print(flush=True)


def draw(report: dict[str, Any]) -> Figure:
    """P* of each variant and the paper's, a panel for each packing fraction."""
    fractions = list(dict.fromkeys(run["packing_fraction"] for run in report["results"]))
    figure = Figure(figsize=(1.5 + 4 * len(fractions), 4), layout="constrained")
    panels = figure.subplots(1, len(fractions), squeeze=False)[0]
    for axes, phi in zip(panels, fractions, strict=True):
        runs = [run for run in report["results"] if run["packing_fraction"] == phi]
        rules = list(dict.fromkeys(run["rule"] for run in runs))
        points = [mean_of([run for run in runs if run["rule"] == rule]) for rule in rules]
        at = np.arange(len(rules))
        axes.errorbar(at - 0.1, *np.transpose(points), fmt="o", capsize=3, label="here")
        if phi in COLUMNS and (known := [k for k, rule in enumerate(rules) if rule in TABLE_1]):
            paper = np.array([TABLE_1[rules[k]][COLUMNS.index(phi)] for k in known])
            axes.errorbar(at[known] + 0.1, *paper.T, fmt="s", mfc="none", capsize=3,
                          label="paper, Table 1")  # fmt: skip
        axes.set_xticks(at, [rule.replace(", ", ",\n") for rule in rules], fontsize=8)
        axes.set(
            xlabel="shuffled, or what disks may do", ylabel=r"pressure $P^* = \beta P d^2$",
            title=f"{report['particles']:,} disks, packing fraction {phi:g}",
        )  # fmt: skip
        axes.legend(fontsize=8)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--particles", 65536)
    parser.option("--packing-fractions", COLUMNS, nargs=3)
    parser.option("--columns", [1, 2, 3], "Columns of Table 1.", choices=(1, 2, 3))
    parser.option("--rules", list(RULES), choices=RULES)
    parser.option("--replicas", 4, "Systems of each variant.")
    parser.option("--equilibrate", 4e6, "Sweeps of `HardDisks` from the crystal.")
    parser.option("--relax", 200_000, "Number of first sweeps over the cells, which are left out.")
    parser.option("--piece", 16_000, "Number of sweeps over the cells in one call.")
    parser.option("--every", 50, "Number of sweeps between two samples.")
    parser.option("--seconds", 200, "Minimum duration of a part in seconds.", type=float)
    parser.option(
        "--multiple", MULTIPLE, "The number of cells along an edge is a multiple of this."
    )
    parser.option("--minutes", float, "Time in minutes after which no part begins.")
    quick = {"particles": 144, "packing_fractions": [0.6, 0.65, 0.66], "columns": [1],
             "replicas": 1, "equilibrate": 200, "relax": 50, "piece": 160, "every": 5,
             "seconds": 0.2, "multiple": 2}  # fmt: skip
    options = script.parse(parser, "table_1", quick)
    script.fractions(options, "packing_fractions")
    script.at_least(options, particles=1, replicas=1, every=1, relax=0, multiple=2)
    check_piece(options, RECORDS)
    reports = script.read(options) if options.draw else [run(options)]
    results = [run for report in reports for run in report["results"]]
    script.picture(options, draw({**reports[0], "results": results}))


if __name__ == "__main__":
    script.run_script(main)
