# SPDX-License-Identifier: BSD-3-Clause
"""Rows BK of Table 2: pressures by event chains, a serial method, beside those of `HardDisks`.

The program event_chain.cpp shares nothing with the engine except its random number generator. Each
run of event chains has one core. It starts from a crystal that `HardDisks` has equilibrated, and
its first chains are left out. --jobs runs of event chains are simultaneous with the runs of
`HardDisks`, which start from other crystals. The script also measures the speed of one core:
contacts or trial moves per second, accepted displacement per second, and seconds per
autocorrelation time of the bond-orientational order of --relaxing disks.

    python table_2_event_chain.py --jobs 12 --replicas 6 --device cuda

A run of event chains is a part of this script, which is kept when it has ended.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from event_chain import EventChains
from matplotlib.figure import Figure
from programs import Function, compiled
from table_2 import start_of

from manymove import Estimate, HardDisks, Replicas, script
from manymove.analysis import autocorrelation_time, estimate, pool
from manymove.analysis.notation import with_error

# Table 2, rows BK: P* and its error of (disks, packing fraction), E. P. Bernard and W. Krauth.
BK = {
    (65536, 0.698): (9.1708, 0.0004), (65536, 0.702): (9.1924, 0.0004),
    (65536, 0.706): (9.1858, 0.0005), (65536, 0.710): (9.1790, 0.0004),
    (65536, 0.714): (9.1758, 0.0005), (65536, 0.718): (9.186, 0.001),
    (262144, 0.698): (9.1700, 0.0002), (262144, 0.702): (9.1899, 0.0006),
    (262144, 0.706): (9.1856, 0.0006), (262144, 0.710): (9.1821, 0.0005),
    (262144, 0.714): (9.1803, 0.0004), (262144, 0.718): (9.1937, 0.0002),
    (1048576, 0.698): (9.1693, 0.0001), (1048576, 0.702): (9.1880, 0.0002),
    (1048576, 0.706): (9.1855, 0.0002), (1048576, 0.710): (9.1843, 0.0002),
    (1048576, 0.714): (9.1822, 0.0002), (1048576, 0.718): (9.1949, 0.0003),
}  # fmt: skip
RECORDS = 256  # of a run
LENGTH = 2000  # values of psi_6


def length_of(N: int) -> float:
    """Length of a chain in diameters. The chain has about as many contacts as the edge of the box
    has disks."""
    return 0.1 * math.sqrt(N)


def by_chains(
    N: int, phi: float, seed: int, function: Function, options: argparse.Namespace
) -> dict[str, Any]:
    """Pressure of a run of event chains."""
    start = start_of("crystal", N, phi, seed, options.device, None)
    start.run(options.melt)
    disks = EventChains(start.positions, start.box[0], length_of(N), seed, function)
    factor = options.largest / N
    disks.run(options.equilibrate * factor)
    before, began = disks.contacts, disks.seconds
    records = disks.run(options.displacement * factor, RECORDS)
    found = estimate(records)
    end = HardDisks(disks.positions, start.box, seed=seed, device="cpu", threads=1)
    contacts = disks.contacts - before
    return {
        "disks": N, "packing_fraction": phi, "seed": seed, "method": "event chains",
        "pressure": found.value, "pressure_error": found.error,
        "quarters": [float(part.mean()) for part in np.array_split(records, 4)],
        "psi6": abs(end.psi6()), "max_overlap": end.max_overlap(),
        "contacts": contacts, "contacts_per_second": contacts / (disks.seconds - began),
        "displacement": options.displacement * factor,
    }  # fmt: skip


def by_trials(N: int, phi: float, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Pressures of `HardDisks`, from crystals as well."""
    replicas = Replicas(
        partial(start_of, "crystal", N, phi), options.replicas, seed=options.seed + 1000,
        device=options.device,
    )  # fmt: skip
    replicas.run_until(options.melt)
    record = max(options.every, options.sweeps / RECORDS)
    replicas.map(lambda disks: disks.sample_pressure(options.every, record))
    replicas.run_until(options.melt + options.sweeps)
    return replicas.map(
        lambda disks: {
            "disks": N, "packing_fraction": phi, "seed": disks.seed, "method": "HardDisks",
            "pressure": disks.pressure_average.value,
            "pressure_error": disks.pressure_average.error,
            "psi6": abs(disks.psi6()), "sweeps": options.sweeps,
        }
    )  # fmt: skip


def speeds(function: Function, options: argparse.Namespace) -> dict[str, Any]:
    """What one core makes with either method."""
    N, phi, seed = options.relaxing, 0.698, options.seed
    trials = HardDisks.random(N, phi, seed=seed, device="cpu", threads=1)
    trials.run(options.relaxation / 10)
    chains = EventChains(trials.positions, trials.box[0], length_of(N), seed, function)
    moves, began = trials.trial_moves, trials.seconds
    orders = []
    for _ in range(LENGTH):
        trials.run(options.relaxation / LENGTH)
        orders.append(trials.psi6())
    moves, seconds = trials.trial_moves - moves, trials.seconds - began
    made: dict[str, Any] = {"disks": N, "packing_fraction": phi}
    made["HardDisks"] = {
        "trial_moves_per_second": moves / seconds,
        # The mean length of a displacement that is uniform in a square is 0.7652 times half its
        # edge; most accepted ones are shorter.
        "displacement_per_second_at_most": moves / seconds * trials.acceptance
        * 0.7652 * trials.max_displacement,
        "relaxation_seconds": autocorrelation_time(np.array(orders)) * seconds / LENGTH,
        "length": LENGTH / autocorrelation_time(np.array(orders)),
    }  # fmt: skip
    chains.run(options.relaxation / 400)
    before, began = chains.contacts, chains.seconds
    orders = []
    for _ in range(LENGTH):
        chains.run(options.relaxation / 100 / LENGTH)
        where = (chains.positions, trials.box)
        orders.append(HardDisks(*where, seed=seed, device="cpu", threads=1).psi6())
    contacts, seconds = chains.contacts - before, chains.seconds - began
    made["event chains"] = {
        "contacts_per_second": contacts / seconds,
        "displacement_per_second": options.relaxation / 100 * N / seconds,
        "relaxation_seconds": autocorrelation_time(np.array(orders)) * seconds / LENGTH,
        "length": LENGTH / autocorrelation_time(np.array(orders)),
    }
    return made


def mean_of(runs: list[dict[str, Any]]) -> tuple[float, float]:
    """P* and its error of several runs."""
    mean = pool([Estimate(run["pressure"], run["pressure_error"]) for run in runs])
    return mean.value, mean.error


def rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Event chains beside Table 2 and beside `HardDisks`, and the speeds of one core."""
    made = []
    states = dict.fromkeys((run["disks"], run["packing_fraction"]) for run in report["results"])
    for N, phi in states:
        runs = [r for r in report["results"] if (r["disks"], r["packing_fraction"]) == (N, phi)]
        chains, trials = (
            [r for r in runs if r["method"] == method] for method in ("event chains", "HardDisks")
        )
        size, (value, error) = f"{N:,} disks", mean_of(chains)
        count = sum(r["contacts"] for r in chains)
        length = f"{len(chains)} runs, {count:.2g} contacts"
        what = f"P* at {phi:.3f}, event chains"
        made.append(script.compared(what, (value, error), BK.get((N, phi)), size, length))
        if trials:
            ours, its = mean_of(trials)
            difference = ours - value, math.hypot(its, error)
            what = f"P* at {phi:.3f}, `HardDisks` minus event chains"
            length = f"{len(trials)} runs of {trials[0]['sweeps']:.2g} sweeps"
            made.append(script.compared(what, difference, None, size, length))
    if speed := report["speeds"]:
        chains, trials = speed["event chains"], speed["HardDisks"]
        size = f"{speed['disks']:,} disks"
        ratio = trials["relaxation_seconds"] / chains["relaxation_seconds"]
        shortest = min(chains["length"], trials["length"])
        for what, ours in (
            ("contacts/s of event chains, one core", chains["contacts_per_second"]),
            ("trial moves/s of `HardDisks`, one core", trials["trial_moves_per_second"]),
            ("d/s of event chains, one core", chains["displacement_per_second"]),
            ("d/s of `HardDisks`, one core, at most", trials["displacement_per_second_at_most"]),
            ("s per autocorrelation time of ψ6, event chains", chains["relaxation_seconds"]),
            ("s per autocorrelation time of ψ6, `HardDisks`", trials["relaxation_seconds"]),
            ("ratio of the time of `HardDisks` to that of event chains", ratio),
        ):
            length = f"{shortest:.2g} autocorrelation times"
            made.append(script.compared(what, (ours, None), None, size, length))
    return made


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run the event chains on the cores, and `HardDisks` on the device at the same time."""
    parts = script.Parts(options, without=("device", "jobs"))
    states = [(N, phi) for N in options.particles for phi in options.packing_fractions]
    with tempfile.TemporaryDirectory() as folder:
        function = compiled("event_chain", folder)
        speed = parts.run("speeds", lambda: speeds(function, options)) if options.relaxing else None
        with ThreadPoolExecutor(options.jobs + 1) as threads:
            began = time.perf_counter()
            # The longest runs first.
            chains = [
                threads.submit(
                    parts.run, f"event chains, {N}, {phi}, {k}",
                    partial(by_chains, N, phi, options.seed + k, function, options),
                )
                for N, phi in sorted(states, reverse=True)
                for k in range(options.replicas)
            ]  # fmt: skip
            trials = [
                parts.run(f"HardDisks, {N}, {phi}", partial(by_trials, N, phi, options))
                for N, phi in states
            ]
            results = [made.result() for made in chains]
            seconds = time.perf_counter() - began
    results.sort(key=lambda run: (run["disks"], run["packing_fraction"], run["seed"]))
    results += [run for runs in trials for run in runs]
    found = {"speeds": speed, "results": results, "seconds": seconds}
    return script.save(options, {**found, "rows": rows(found)})


def draw(report: dict[str, Any]) -> Figure:
    """P* of both methods and of Table 2, a panel for each number of disks."""
    sizes = sorted({run["disks"] for run in report["results"]})
    figure = Figure(figsize=(1 + 4 * len(sizes), 3.8), layout="constrained")
    for axes, N in zip(figure.subplots(1, len(sizes), squeeze=False)[0], sizes, strict=True):
        for shift, method in ((-0.0003, "event chains"), (0.0003, "HardDisks")):
            runs = [r for r in report["results"] if r["disks"] == N and r["method"] == method]
            fractions = sorted({r["packing_fraction"] for r in runs})
            points = [mean_of([r for r in runs if r["packing_fraction"] == p]) for p in fractions]
            if points:
                at = np.array(fractions) + shift
                axes.errorbar(at, *np.transpose(points), fmt="o", capsize=3, label=method)
        if paper := [(phi, *value) for (size, phi), value in BK.items() if size == N]:
            axes.errorbar(*np.transpose(paper), fmt="s", mfc="none", color="k", capsize=3,
                          label="paper, Table 2, BK")  # fmt: skip
        axes.set(xlabel=r"packing fraction $\phi$", ylabel=r"pressure $P^* = \beta P d^2$",
                 title=f"{N:,} hard disks")  # fmt: skip
        axes.legend(fontsize=8)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--particles", [4096, 65536])
    parser.option("--packing-fractions", [0.698, 0.716])
    parser.option("--replicas", 2, "Runs of each state and method.")
    parser.option(
        "--displacement",
        1600,
        "Displacement per disk of the largest system in diameters; others have more.",
        type=float,
    )
    parser.option(
        "--equilibrate",
        400,
        "Displacement per disk before the measurement in diameters.",
        type=float,
    )
    parser.option("--sweeps", 2e7, "Sweeps of `HardDisks`.")
    parser.option("--melt", 2e6, "Sweeps of `HardDisks` from the crystal.")
    parser.option("--every", 200, "Number of sweeps between two samples.", type=float)
    parser.option("--relaxing", 1024, "Number of disks for the speeds (0: no speeds).")
    parser.option("--relaxation", 2e6, "Number of sweeps for the speed of `HardDisks`.")
    parser.option("--jobs", 1, "Number of simultaneous event chains.")
    parser.option("--minutes", float, "Time in minutes after which no run begins.")
    quick = {"particles": [64], "packing_fractions": [0.5], "displacement": 40, "equilibrate": 4,
             "sweeps": 200, "melt": 100, "every": 15, "relaxing": 64,
             "relaxation": 4000}  # fmt: skip
    options = script.parse(parser, "table_2_event_chain", quick)
    script.fractions(options, "packing_fractions")
    script.at_least(options, particles=9, replicas=1, jobs=1)
    options.largest = max(options.particles)
    report = script.read(options)[0] if options.draw else run(options)
    for row in report["rows"]:
        value, error = row["ours"]
        print(f"{row['quantity']}: {with_error(value, error) if error else f'{value:.4g}'}")
    script.picture(options, draw(report))


if __name__ == "__main__":
    script.run_script(main)
