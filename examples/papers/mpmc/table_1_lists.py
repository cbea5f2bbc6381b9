# SPDX-License-Identifier: BSD-3-Clause
"""Table 1 of the paper with many small systems and the paper's lists of disks.

The program literal_lists.cpp shares nothing with the engine except the random number generator and
the extrapolation of the pressure. It has a fixed grid and lists of up to four disks. Every cell is
visited in every sweep, and the grid is shifted along one axis by up to half a cell. Each block of a
GPU runs one system. All systems are equilibrated with both shuffles. The variants
continue from there in turn, a piece of --piece sweeps each, until the standard error of P*, from
the spread of the systems, is --error for all of them, or --seconds are over. After each round of
pieces the results so far are printed and saved, so that an interrupted run leaves equally long runs
of all variants.

The cells of a set are shared by the threads of a block, so that 448 and 1,792 disks (sets of 64 and
256 cells) fill the warps, whereas 256 disks (36 cells) leave nearly half of their lanes empty.

    python table_1_lists.py --disks 448 1792 --packing-fractions 0.698 0.708 0.712
    python table_1_lists.py --draw out/table_1_lists/summary.json

The script compiles the program with nvcc for a GPU and with the C++ compiler for a CPU.
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import math
import tempfile
import time
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from programs import COLUMNS, TABLE_1, VARIANTS, Function, check_piece, compiled

from manymove import script
from manymove.analysis.notation import with_error
from manymove.analysis.pressure import pressure_from_histogram
from manymove.devices import on_gpu
from manymove.hard_particles.packing import random_packing

SLOTS, BINS = 4, 77
WIDEST = 1.41  # of a cell
STARTS = 8  # random packings that the systems share
RECORDS = 4  # of a piece
STEP, MOVES_PER_CELL = 0.16, 4  # largest displacement and n_m; the text at hand has lost them


class Setup(ctypes.Structure):
    """Setup in literal_lists.cpp."""

    _fields_ = (
        *[
            (name, ctypes.c_int32)
            for name in ("systems", "cells", "moves_per_cell", "shuffle_particles", "shuffle_sets",
                         "sample_every", "sweeps", "records")
        ],
        ("width", ctypes.c_float), ("step", ctypes.c_float),
        ("seed", ctypes.c_uint64), ("first_sweep", ctypes.c_uint64),
    )  # fmt: skip


class Systems:
    """Independent systems of N disks in square boxes.

    Args:
        N: number of disks of each system.
        packing_fraction: packing fraction.
        systems: number of systems.
        seed: seed of the starts.
        function: function of literal_lists.cpp.
    """

    def __init__(
        self, N: int, packing_fraction: float, systems: int, seed: int,
        function: Function,
    ) -> None:  # fmt: skip
        self.N, self.packing_fraction = N, packing_fraction
        self._function = function
        edge = math.sqrt(N * math.pi / 4 / packing_fraction)
        self.cells = 2 * math.ceil(edge / WIDEST / 2)
        self.width = edge / self.cells
        self.disks = np.zeros((systems, SLOTS, self.cells**2, 2), dtype=np.float32)
        self.counts = np.zeros((systems, self.cells**2), dtype=np.int32)
        self.sweeps = 0  # sweeps over the cells, of n_m trial moves in each that is not empty
        self.trial_moves = self.accepted_moves = 0
        for k in range(min(STARTS, systems)):
            positions, _ = random_packing(N, packing_fraction, seed=seed + k)
            column, row = np.minimum((positions + edge / 2) // self.width, self.cells - 1).T
            centers = (np.column_stack((column, row)) + 0.5) * self.width - edge / 2
            # The even columns of a row come first, as in literal_lists.cpp.
            cells = row * self.cells + column % 2 * (self.cells // 2) + column // 2
            for place, cell in zip(positions - centers, cells.astype(int), strict=True):
                self.disks[k::STARTS, self.counts[k, cell], cell] = place
                self.counts[k::STARTS, cell] += 1

    def run(self, sweeps: int, variant: str, seed: int, every: int, records: int = 1) -> np.ndarray:
        """Run all systems.

        Returns:
            P* of each record of each system, float64 (systems, records).
        """
        particles, sets = VARIANTS[variant]
        systems = len(self.disks)
        setup = Setup(
            systems, self.cells, MOVES_PER_CELL, particles, sets, every, sweeps, records,
            self.width, STEP, seed, self.sweeps,
        )  # fmt: skip
        histograms = np.zeros((systems, records, BINS), dtype=np.uint64)
        moves = np.zeros(2, dtype=np.uint64)
        arrays = (self.disks, self.counts, histograms, moves)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
        if wrong := self._function(ctypes.byref(setup), *pointers):
            raise RuntimeError(wrong.decode())
        if (self.counts.sum(axis=1) != self.N).any():
            raise RuntimeError("a disk is lost")
        self.sweeps += sweeps
        self.trial_moves += int(moves[0])
        self.accepted_moves += int(moves[1])
        if not (samples := sweeps // records // every):
            return np.full((systems, records), np.nan)
        found = pressure_from_histogram(
            histograms.reshape(-1, BINS), samples, self.N, self.packing_fraction
        )
        return found.reshape(systems, records)


def standard_error(values: np.ndarray) -> float:
    """Standard error of the mean of independent values."""
    return float(values.std(ddof=1) / math.sqrt(len(values)))


class Chain:
    """A variant that continues from equilibrated systems.

    Args:
        start: the systems, which are copied.
        variant: what is shuffled, a key of VARIANTS.
        options: options of the script.
    """

    def __init__(self, start: Systems, variant: str, options: argparse.Namespace) -> None:
        self.systems, self.variant = copy.copy(start), variant
        self.systems.disks, self.systems.counts = start.disks.copy(), start.counts.copy()
        self._seed = options.seed + 1 + list(VARIANTS).index(variant)
        self._options = options
        self.systems.run(options.relax, variant, self._seed, options.every)
        self._moves = self.systems.trial_moves, self.systems.accepted_moves
        self._pieces: list[np.ndarray] = []
        self.seconds, self.error = 0.0, math.inf

    def advance(self) -> None:
        """Run a piece."""
        began = time.perf_counter()
        self._pieces.append(
            self.systems.run(
                self._options.piece, self.variant, self._seed, self._options.every, RECORDS
            )
        )
        self.seconds += time.perf_counter() - began
        self.error = standard_error(self.means())

    def means(self) -> np.ndarray:
        """P* of each system."""
        return np.concatenate(self._pieces, axis=1).mean(axis=1)

    def result(self, reference: Chain) -> dict[str, Any]:
        """What summary.json has. The difference from the reference compares the same systems,
        which have begun with the same configurations."""
        systems, records = self.systems, np.concatenate(self._pieces, axis=1)
        difference = self.means() - reference.means()
        trial = systems.trial_moves - self._moves[0]
        return {
            "disks": systems.N,
            "packing_fraction": systems.packing_fraction,
            "shuffled": self.variant,
            "systems": len(records),
            "pressure": float(records.mean()),
            "pressure_error": self.error,
            "difference": float(difference.mean()),
            "difference_error": standard_error(difference),
            "quarters": [float(part.mean()) for part in np.array_split(records, 4, axis=1)],
            "sweeps": trial / systems.N / len(records),
            "trial_moves": trial,
            "acceptance": (systems.accepted_moves - self._moves[1]) / trial,
            "seconds": self.seconds,
            "trial_moves_per_second": trial / self.seconds,
        }


def run(options: argparse.Namespace) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        function = compiled("literal_lists", folder, on_gpu(options.device))
        print(f"compiled in {time.perf_counter() - began:.1f} s", flush=True)
        for N in options.disks:
            for phi in options.packing_fractions:
                done = len(results)
                many = max(2, round(options.total / N))
                systems = Systems(N, phi, many, options.seed, function)
                began = time.perf_counter()
                systems.run(options.equilibrate, "both", options.seed, options.every)
                seconds = time.perf_counter() - began
                print(
                    f"{N} disks  {phi:.4f}  {many} systems  equilibrated in {seconds:.1f} s, "
                    f"{systems.trial_moves / seconds:.3g} moves/s",
                    flush=True,
                )
                chains = [Chain(systems, variant, options) for variant in options.variants]
                began, pieces = time.perf_counter(), 0
                while pieces < 2 or max(chain.error for chain in chains) > options.error:
                    for chain in chains:
                        chain.advance()
                    pieces += 1
                    results[done:] = [chain.result(chains[0]) for chain in chains]
                    report = script.save(options, {"results": results, "rows": rows(results)})
                    show(results[done:])
                    if pieces > 1 and time.perf_counter() - began > options.seconds:
                        break
    return report


def rows(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The comparison with Table 1: the effect of each variant on the pressure. The pressures
    themselves are those of small systems."""
    made = []
    for row in results:
        state = row["disks"], row["packing_fraction"]
        (both, *_) = (r for r in results if (r["disks"], r["packing_fraction"]) == state)
        if row is both or both["shuffled"] != "both":
            continue
        published = None
        if state[1] in COLUMNS:
            column = COLUMNS.index(state[1])
            (value, error), (correct, its) = (
                TABLE_1[name][column] for name in (row["shuffled"], "both")
            )
            published = value - correct, math.hypot(error, its)
        error = math.hypot(row["pressure_error"], both["pressure_error"])
        ours = (
            row.get("difference", row["pressure"] - both["pressure"]),
            row.get("difference_error", error),
        )
        what = f"P* at {state[1]:.3f}, shuffled: {row['shuffled']} minus both"
        size, length = f"{row['systems']} × {state[0]:,} disks", f"{row['sweeps']:.2g} sweeps"
        made.append(script.compared(what, ours, published, size, length))
    return made


def show(rows: list[dict[str, Any]]) -> None:
    """Print the results of the variants so far."""
    text = "  ".join(
        f"{row['shuffled']} {with_error(row['pressure'], row['pressure_error'])}" for row in rows
    )
    for row in rows[1:]:
        text += f"  {row['shuffled']} minus {rows[0]['shuffled']} "
        text += with_error(row["difference"], row["difference_error"])
    speed = sum(row["trial_moves"] for row in rows) / sum(row["seconds"] for row in rows)
    print(
        f"{rows[0]['disks']} disks  {rows[0]['packing_fraction']:.4f}  {rows[0]['sweeps']:.3g} "
        f"sweeps  P*: {text}  {speed:.3g} moves/s",
        flush=True,
    )


def draw(report: dict[str, Any]) -> Figure:
    """P* of each variant minus that with both shuffles."""
    states = list(
        dict.fromkeys((row["disks"], row["packing_fraction"]) for row in report["results"])
    )
    figure = Figure(figsize=(1.5 + 2.2 * len(states), 3.6), layout="constrained")
    for axes, state in zip(figure.subplots(1, len(states), squeeze=False)[0], states, strict=True):
        rows = [r for r in report["results"] if (r["disks"], r["packing_fraction"]) == state]
        reference = rows[0]["pressure"]
        values = [1e3 * (row["pressure"] - reference) for row in rows]
        errors = [1e3 * row["pressure_error"] for row in rows]
        axes.errorbar(range(len(rows)), values, errors, fmt="o", capsize=3)
        axes.axhline(0, color="k", lw=0.8)
        if rows[0]["shuffled"] == "both":
            axes.axhline(
                1e3 * (TABLE_1["sets"][1][0] - TABLE_1["both"][1][0]),
                color="C3",
                ls="--",
                lw=1,
                label="paper, no particle shuffle",
            )
        axes.set_xticks(range(len(rows)), [row["shuffled"] for row in rows], fontsize=8)
        axes.set(
            xlabel="what is shuffled", ylabel=r"$10^3\,\Delta P^*$",
            title=f"{state[0]:,} disks at {state[1]:g}",
        )  # fmt: skip
        axes.legend(fontsize=7)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--disks", [448, 1792], "Numbers of disks of a system.")
    parser.option("--packing-fractions", COLUMNS)
    parser.option("--variants", list(VARIANTS), choices=VARIANTS)
    parser.option("--total", 709_632, "Number of disks of all systems.")
    parser.option("--equilibrate", 100_000, "Sweeps over the cells.")
    parser.option("--relax", 20_000, "Sweeps of a variant that are left out.")
    parser.option("--piece", 10_000, "Sweeps of a piece.")
    parser.option("--every", 10, "Sweeps between two samples.")
    parser.option("--error", 0.001, "Error of P* to be reached.")
    parser.option("--seconds", 120, "Largest time of a state.", type=float)
    quick = {"disks": [64], "packing_fractions": [0.6], "total": 512, "equilibrate": 400,
             "relax": 200, "piece": 400, "error": 0.05, "seconds": 1}  # fmt: skip
    options = script.parse(parser, "table_1_lists", quick)
    script.fractions(options, "packing_fractions")
    script.at_least(options, disks=1, total=1, every=1, equilibrate=0, relax=0, error=0)
    check_piece(options, RECORDS)
    report = script.read(options)[0] if options.draw else run(options)
    script.picture(options, draw(report))


if __name__ == "__main__":
    script.run_script(main)
