# SPDX-License-Identifier: BSD-3-Clause
"""Table 1 of the paper with the moves of the engine: what happens without the shuffles.

Cells are 1.41 diameters wide, and the grid is shifted after each pass over the four checkerboard
sets. Disks that enter a cell are appended to its list, and lists are partly kept. Therefore the
chain has a memory without the shuffle of the particles. The engines have no switches for the
shuffles, because a chain without them is wrong. The separate program ablation.cpp makes the moves
of the engine without these parts on the CPU. A chain has one thread, and --jobs chains run
simultaneously.

The grid is shifted along one axis by up to half a cell, as in the paper. With --shift box it is
shifted over the whole box, as in the engine. The results are in docs/papers.md.

These chains are slow, and so is equilibration between the liquid and the solid. Each replica of a
packing fraction is therefore equilibrated once, with the default settings and both shuffles. It
starts from the crystal, which equilibrates faster (records of table_2.py). Its pressure after the
equilibration is a reference that does not depend on the settings above. All variants start from its
last state, and their first sweeps are left out.

    python table_1_engine.py --replicas 2 --jobs 24
"""

from __future__ import annotations

import argparse
import ctypes
import math
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from programs import COLUMNS, TABLE_1, VARIANTS, Function, compiled
from table_1 import unshuffled
from table_2 import crystal

from manymove import Estimate, Grid, HardDisks, script
from manymove.analysis import BINS, DELTA_R, estimate, pool, pressure_from_histogram
from manymove.analysis.notation import with_error

PIECES = 128  # of a measurement; block means in the file
Start = tuple[np.ndarray, tuple[float, float]]


class Setup(ctypes.Structure):
    """Setup in ablation.cpp."""

    _fields_ = (
        *[(name, ctypes.c_int32) for name in
          ("shuffle_particles", "shuffle_sets", "shift_along_axis")],
        ("cells", ctypes.c_int32 * 2),
        *[(name, ctypes.c_int32) for name in ("tile", "moves_per_cell", "rounds")],
        ("half", ctypes.c_int64 * 2),
        ("diameter", ctypes.c_double), ("step", ctypes.c_double),
        *[(name, ctypes.c_uint64) for name in
          ("seed", "first_cycle", "cycles", "every", "record")],
        ("bin_width", ctypes.c_double), ("bins", ctypes.c_int32),
    )  # fmt: skip


class AblatedDisks:
    """Disks that move as `HardDisks` do, but for what is left out.

    Args:
        disks: disks at the start, with the settings of the chain.
        function: function of ablation.cpp.
        shuffle_particles, shuffle_sets: whether the disks of a cell, and the sets of cells, are
            visited in random order.
        shift_along_axis: whether the grid is shifted as in the paper.
    """

    def __init__(
        self, disks: HardDisks, function: Function, shuffle_particles: bool = True,
        shuffle_sets: bool = True, shift_along_axis: bool = False,
    ) -> None:  # fmt: skip
        grid = disks.core.grid
        step = grid["max_displacement"] / grid["unit"] / 16383.5
        self.setup = Setup(
            shuffle_particles, shuffle_sets, shift_along_axis, grid["cells"], grid["tile"],
            grid["moves_per_cell"], grid["rounds"],
            tuple(e // (2 * n) for e, n in zip(grid["extent"], grid["cells"], strict=True)),
            disks.diameter / grid["unit"], step, disks.seed, bin_width=DELTA_R, bins=BINS,
        )  # fmt: skip
        self.snapshot = disks.core.snapshot()
        self.N, self.packing_fraction = disks.N, disks.packing_fraction
        self.sweeps_per_cycle, self.seconds = disks.sweeps_per_cycle, 0.0
        self.pressure_records = np.empty(0)
        self._due = 0.0  # cycles
        self._function = function

    @property
    def trial_moves(self) -> int:
        """Trial moves so far."""
        return self.snapshot["counters"][1]

    @property
    def sweeps(self) -> float:
        """Trial moves per disk so far."""
        return self.trial_moves / self.N

    def sample_pressure(self, every: float, record: float) -> None:
        """Sample the pressure, as `HardDisks.sample_pressure` does."""
        self.setup.every = max(1, round(every / self.sweeps_per_cycle))
        samples = max(1, round(record / self.sweeps_per_cycle / self.setup.every))
        self.setup.record = self.setup.every * samples

    def run(self, sweeps: float) -> None:
        """Run for these sweeps, in whole records; the next call makes up for the rounding."""
        self._due += sweeps / self.sweeps_per_cycle
        record = self.setup.record or 1
        cycles = int(self._due // record) * record
        self._due -= cycles
        if cycles:
            self.run_cycles(cycles)

    def run_cycles(self, cycles: int) -> None:
        """Run for these cycles, a multiple of those of a record."""
        began, setup = time.perf_counter(), self.setup
        setup.cycles = cycles
        setup.first_cycle, *moves = self.snapshot["counters"]
        counted, origin = np.array(moves, dtype=np.uint64), np.array(self.snapshot["origin"])
        rows = np.zeros((cycles // setup.record if setup.every else 0, BINS), dtype=np.uint64)
        arrays = (self.snapshot["cells"], self.snapshot["ids"], origin, rows, counted)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
        if wrong := self._function(ctypes.byref(setup), *pointers):
            raise RuntimeError(wrong.decode())
        self.snapshot["origin"] = tuple(origin.tolist())
        self.snapshot["counters"] = (setup.first_cycle + setup.cycles, *counted.tolist())
        if len(rows):
            samples = setup.record // setup.every
            new = pressure_from_histogram(rows, samples, self.N, self.packing_fraction)
            self.pressure_records = np.concatenate((self.pressure_records, new))
        self.seconds += time.perf_counter() - began


def measured(
    disks: HardDisks | AblatedDisks, sweeps: float, deadline: float, every: float
) -> dict[str, Any]:
    """Run these sweeps, or as many as the time allows, and return the pressure."""
    before = disks.sweeps
    disks.sample_pressure(every=every, record=max(every, sweeps / 1024))
    for piece in range(PIECES):
        if piece == 0 or time.perf_counter() < deadline:
            disks.run(sweeps / PIECES)
    records = disks.pressure_records
    result = estimate(records)
    return {
        "sweeps": disks.sweeps - before,
        "pressure": result.value,
        "pressure_error": result.error,
        "error_converged": result.converged,
        "quarters": [float(part.mean()) for part in np.array_split(records, 4)],
        "trial_moves_per_second": disks.trial_moves / disks.seconds,
        "records": [
            round(float(part.mean()), 5) for part in np.array_split(records, PIECES) if part.size
        ],
    }


def reference(
    column: int, replica: int, options: argparse.Namespace
) -> tuple[Start, dict[str, Any]]:
    """Where the correct chain ends at its fastest, and its pressure."""
    phi = options.packing_fractions[column]
    seed = options.seed + replica
    disks = HardDisks(*crystal(options.particles, phi, seed), seed=seed, device=options.device)
    disks.run(options.equilibrate)
    result = measured(disks, options.reference, math.inf, options.every)
    return (disks.positions, disks.box), {"packing_fraction": phi, "replica": replica, **result}


def measure(
    column: int, replica: int, name: str, start: Start, deadline: float,
    function: Function, options: argparse.Namespace,
) -> dict[str, Any]:  # fmt: skip
    """One chain of one variant at one packing fraction."""
    particles, sets = VARIANTS[name]
    disks = HardDisks(
        *start,
        grid=Grid(moves_per_cell=options.moves_per_cell, rounds=1, cell_width=1.41),
        max_displacement=0.16,
        seed=options.seed + replica,
        device="cpu",
    )
    chain = AblatedDisks(disks, function, particles, sets, options.shift == "axis")
    chain.run(options.relax)
    return {
        "packing_fraction": options.packing_fractions[column],
        "replica": replica,
        "shuffle_particles": particles,
        "shuffle_sets": sets,
        "paper": TABLE_1[name][column],
        **measured(chain, options.sweeps, deadline, options.every),
    }


def pooled(chains: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean over chains, with its error."""
    result = pool(
        [Estimate(r["pressure"], r["pressure_error"], r["error_converged"]) for r in chains]
    )
    return {
        "packing_fraction": chains[0]["packing_fraction"],
        "chains": len(chains),
        "sweeps": sum(r["sweeps"] for r in chains),
        "pressure": result.value,
        "pressure_error": result.error,
    }


def table(
    references: list[dict[str, Any]], results: list[dict[str, Any]], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """The replicas of each packing fraction and variant pooled, the reference first."""
    rows = []
    for column in range(3):
        phi = options.packing_fractions[column]
        if chains := [r for r in references if r["packing_fraction"] == phi]:
            rows.append(
                {"variant": "reference", **pooled(chains), "paper": TABLE_1["both"][column]}
            )
        for name, switches in VARIANTS.items():
            if chains := [
                r
                for r in results
                if r["packing_fraction"] == phi
                and (r["shuffle_particles"], r["shuffle_sets"]) == switches
            ]:
                rows.append({"variant": name, **pooled(chains), "paper": TABLE_1[name][column]})
    return rows


def rows(found: list[dict[str, Any]], particles: int, shift: str) -> list[dict[str, Any]]:
    """The comparison with Table 1: the reference and all variants."""
    moved = {"axis": "shift along an axis", "box": "shift over the box"}[shift]
    made = []
    for row in found:
        what = f"{row['packing_fraction']:.3f}, {moved}, shuffled: {row['variant']}"
        if row["variant"] == "reference":
            what = f"{row['packing_fraction']:.3f}, `HardDisks`"
        size, length = f"{particles:,} disks", f"{row['sweeps']:.2g} sweeps"
        ours = row["pressure"], row["pressure_error"]
        made.append(script.compared(f"P* at {what}", ours, row["paper"], size, length))
    for phi in dict.fromkeys(row["packing_fraction"] for row in found):
        some = {row["variant"]: row for row in found if row["packing_fraction"] == phi}
        if some.keys() >= VARIANTS.keys():
            ours = unshuffled([(some[v]["pressure"], some[v]["pressure_error"]) for v in VARIANTS])
            paper = unshuffled([some[v]["paper"] for v in VARIANTS])
            what = f"P* at {phi:.3f}, {moved}, particles not shuffled minus shuffled"
            sweeps = sum(some[v]["sweeps"] for v in VARIANTS)
            made.append(
                script.compared(what, ours, paper, f"{particles:,} disks", f"{sweeps:.2g} sweeps")
            )
    return made


def show(rows: list[dict[str, Any]]) -> None:
    print("phi     shuffled   chains  sweeps    P*                    paper")
    for row in rows:
        print(
            f"{row['packing_fraction']:.4f}  {row['variant']:<9}  {row['chains']:<6}"
            f"  {row['sweeps']:.2e}  {with_error(row['pressure'], row['pressure_error']):<20}"
            f"  {with_error(*row['paper'])}",
            flush=True,
        )


def draw(reports: list[dict[str, Any]]) -> Figure:
    """P* of each variant and the paper's, a panel for each packing fraction of each report."""
    panels = [
        (report, phi)
        for report in reports
        for phi in dict.fromkeys(row["packing_fraction"] for row in report["table"])
    ]
    figure = Figure(figsize=(1.5 + 3.5 * len(panels), 3.8), layout="constrained")
    for axes, (report, phi) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels,
                                   strict=True):  # fmt: skip
        some = [row for row in report["table"] if row["packing_fraction"] == phi]
        at = np.arange(len(some))
        values, errors = ([row[key] for row in some] for key in ("pressure", "pressure_error"))
        axes.errorbar(at - 0.1, values, errors, fmt="o", capsize=3, label="manymove")
        paper = np.array([row["paper"] for row in some])
        axes.errorbar(at + 0.1, *paper.T, fmt="s", mfc="none", capsize=3, label="paper, Table 1")
        axes.set_xticks(at, [row["variant"] for row in some], fontsize=8)
        axes.set(
            xlabel="what is shuffled", ylabel=r"pressure $P^* = \beta P d^2$",
            title=f"{report['particles']:,} disks, packing fraction {phi:g}",
        )  # fmt: skip
        axes.legend(fontsize=8)
    return figure


def main() -> None:
    """Equilibrate, run the variants from there, print the table, write the file."""
    parser = script.Parser(__doc__, seed=1)
    parser.option("--particles", 65536)
    parser.option("--packing-fractions", COLUMNS, nargs=3)
    parser.option("--columns", [1, 2, 3], "Columns of Table 1 to run.")
    parser.option(
        "--variants", list(VARIANTS), "Shuffles of the variants (default all).", choices=VARIANTS
    )
    parser.option("--replicas", 1, "Number of independent starts.")
    parser.option("--sweeps", 4_000_000, type=float)
    parser.option("--equilibrate", 4_000_000, "Sweeps from the crystal on.", type=float)
    parser.option("--reference", 4_000_000, "Sweeps of the reference after that.", type=float)
    parser.option("--relax", 500_000, "First sweeps of each variant that are left out.", type=float)
    parser.option("--minutes", math.inf, "Time after which all chains stop.")
    parser.option("--moves-per-cell", 4)
    parser.option("--shift", "axis", "Shift of the paper, or ours (box).", choices=["axis", "box"])
    parser.option("--every", 50, "Sweeps between two samples.", type=float)
    parser.option("--jobs", 1, "Simultaneous chains.")
    parser.option("--device", "auto", "Device of the reference.")
    quick = {"particles": 256, "columns": [1], "sweeps": 500, "equilibrate": 200, "reference": 500,
             "relax": 100, "jobs": 2}  # fmt: skip
    options = script.parse(parser, "table_1_engine", quick, draw_all=draw)
    script.fractions(options, "packing_fractions")
    script.at_least(options, particles=1, replicas=1, jobs=1)
    began = time.perf_counter()
    deadline = began + 60 * options.minutes
    results: list[dict[str, Any]] = []
    states = [(c - 1, r) for r in range(options.replicas) for c in options.columns]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as threads:
        function = compiled("ablation", folder)
        equilibrated = list(threads.map(lambda state: reference(*state, options), states))
        seconds = time.perf_counter() - began
        chains = [
            threads.submit(measure, *state, name, start, deadline, function, options)
            for state, (start, _) in zip(states, equilibrated, strict=True)
            for name in options.variants
        ]
        references = [result for _, result in equilibrated]
        show(table(references, [], options))
        for done in as_completed(chains):
            results.append(done.result())
            report = script.save(
                options,
                {
                    "minutes": options.minutes if math.isfinite(options.minutes) else None,
                    "seconds_of_references": seconds,
                    "seconds": time.perf_counter() - began,
                    "table": (found := table(references, results, options)),
                    "rows": rows(found, options.particles, options.shift),
                    "references": references,
                    "results": results,
                },
            )
    show(report["table"])
    script.picture(options, draw([report]))


if __name__ == "__main__":
    script.run_script(main)
