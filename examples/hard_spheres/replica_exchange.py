# SPDX-License-Identifier: BSD-3-Clause
"""Polydisperse hard spheres up to a packing fraction of 0.60, equilibrated with swap moves and
replica exchange in the pressure.

The spheres have the diameters of swap_moves.py. The replicas start at packing fractions between
two, --starts, that are near the results at the first and the last pressure. The script prints the
packing fraction at each pressure, the acceptance of exchanges with the next one, and the mean time
of a round trip of a configuration from the first pressure to the last one and back.

    python replica_exchange.py
    python replica_exchange.py --pressures 18 18.5 19 19.5 20 20.5 21 --starts 0.556 0.568
    python replica_exchange.py --draw out/replica_exchange/summary.json
"""

from __future__ import annotations

import argparse
import math
import time
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from swap_moves import compressed, diameters

from manymove import Grid, HardSpheres, ReplicaExchange, Replicas, Start, script
from manymove.analysis.blocking import estimate
from manymove.analysis.notation import with_error

PRESSURES = [30.0, 31.0, 32.0]
STARTS = [0.5975, 0.603]
SETTINGS = {"grid": Grid(moves_per_cell=4, rounds=1), "max_displacement": 0.07, "swaps": 8}


def spheres_at(pressure: float, options: argparse.Namespace, **place: Any) -> HardSpheres:
    """Spheres at a pressure, with a packing fraction between those of the starts."""
    pressures = options.pressures[0], options.pressures[-1]
    phi = float(np.interp(pressure, pressures, options.starts))
    settings = {"grid": SETTINGS["grid"], "max_displacement": 0.07, "device": "cpu", "threads": 1}
    start = compressed(options.spheres, phi, place["seed"], settings)
    return HardSpheres(
        start.positions, start.box, start.diameters, pressure=pressure,
        start=Start(start.cycles), **SETTINGS, **place,
    )  # fmt: skip


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Equilibrate and measure all pressures."""
    began = time.perf_counter()
    makes = [partial(spheres_at, pressure, options) for pressure in options.pressures]
    replicas = Replicas(makes, seed=options.seed, device=options.device, threads=options.threads)
    # The step of the volume for the density of the start would be too small.
    replicas.map(lambda one: one.tune_volume(options.equilibrate / 4))
    cycle = replicas.simulations[0].sweeps_per_cycle
    every = max(1, round(options.exchange_every / cycle))
    equilibrate, measured = (
        math.ceil(sweeps / cycle / every) * every
        for sweeps in (options.equilibrate, options.sweeps)
    )
    replicas.map(lambda one: one.sample_volume(record=max(1.0, options.sweeps / 256)))
    exchange = ReplicaExchange(replicas, every)
    exchange.run_until(equilibrate + measured, equilibrate=equilibrate)
    trips, total = exchange.round_trips.tolist(), measured * cycle * len(replicas)
    rates = [*exchange.acceptance.tolist(), None]
    found = replicas.map(lambda one: estimate(one.packing_fraction_records))
    rows = [
        {
            "pressure": pressure,
            "packing_fraction": mean.value,
            "packing_fraction_error": mean.error,
            "exchange_acceptance": rate,
            "swap_acceptance": one.swap_acceptance,
            "max_overlap": one.max_overlap(),
        }
        for pressure, mean, rate, one in zip(
            options.pressures, found, rates, replicas.simulations, strict=True
        )
    ]
    report = {
        "results": rows,
        "diameters": [diameters(options.spheres).min(), diameters(options.spheres).max()],
        "sweeps": measured * cycle,
        "round_trips": trips,
        "round_trip_sweeps": total / sum(trips) if sum(trips) else None,
        "seconds": time.perf_counter() - began,
    }
    return script.save(options, report)


def table(report: dict[str, Any]) -> None:
    """Print packing fractions, acceptance and round trips."""
    print(f"{'P*':8}{'packing fraction':20}exchanges")
    for row in report["results"]:
        rate = row["exchange_acceptance"]
        text = with_error(row["packing_fraction"], row["packing_fraction_error"])
        print(f"{row['pressure']:<8g}{text:20}{'-' if rate is None else format(rate, '.1%')}")
    trips = sum(report["round_trips"])
    time_of_trip = report["round_trip_sweeps"]
    text = f", one in {time_of_trip:,.0f} sweeps of a configuration" if time_of_trip else ""
    print(f"{trips} round trips in {report['sweeps']:,.0f} sweeps{text}")


def draw(report: dict[str, Any]) -> Figure:
    rows = report["results"]
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, squeeze=False)
    left, right = panels[0]
    pressures = [row["pressure"] for row in rows]
    left.errorbar(
        [row["packing_fraction"] for row in rows], pressures,
        xerr=[row["packing_fraction_error"] for row in rows], fmt="o-", ms=4, lw=1,
    )  # fmt: skip
    left.set(xlabel=r"packing fraction $\phi$", ylabel=r"pressure $P^*$")
    middles = [(a + b) / 2 for a, b in pairwise(pressures)]
    right.plot(middles, [row["exchange_acceptance"] for row in rows[:-1]], "s-", ms=4, lw=1)
    right.set(xlabel=r"pressure $P^*$", ylabel="acceptance of exchanges", ylim=(0, 1))
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="cpu")
    parser.option("--spheres", 400)
    parser.option("--pressures", PRESSURES)
    parser.option("--starts", STARTS, "Packing fractions at both ends.", nargs=2)
    parser.option("--exchange-every", 10, "Sweeps between two exchanges.", type=float)
    parser.option("--equilibrate", 1500, "Sweeps before the measurement.", type=float)
    parser.option("--sweeps", 12_000, "Sweeps of the measurement.", type=float)
    parser.option("--threads", int, "CPU threads (default all cores)")
    quick = {"spheres": 300, "pressures": [5.0, 5.2, 5.4], "starts": [0.4, 0.4], "equilibrate": 100,
             "sweeps": 200, "exchange_every": 10}  # fmt: skip
    options = script.parse(parser, "replica_exchange", quick)
    report = script.read(options)[0] if options.draw else run(options)
    table(report)
    script.picture(options, draw(report))


if __name__ == "__main__":
    script.run_script(main)
