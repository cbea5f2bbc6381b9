# SPDX-License-Identifier: BSD-3-Clause
"""Speed of hard spheres in external fields, with step potentials, and with insertions:
`python -m benchmarks interactions`.

All variants start from the same melted spheres. In fields, the box is longer along z, so that no
sphere touches a wall, and it may have more tiles. Each variant is therefore compared with plain
spheres in its own box. The variants are timed in turn. The peer of the square wells is HOOMD-blue's
HPMC in simultaneous processes, each with an equal share of the spheres.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import hpmc_processes
from benchmarks.disk_variants import melted_engines, standalone
from benchmarks.disks import COLUMNS
from manymove import GrandCanonical, HardSpheres, fields
from manymove.bench.harness import Report, Row, Table, Variant, check, time_in_turn
from manymove.steps import Step

WELLS = {"well of range 1.5": 1.5, "well of range 1.25": 1.25}
DEPTH = 0.5  # of the wells, in kT
LEAST_SHARE = 64  # spheres of a process of HPMC
INSERTIONS = "insertions and deletions"
LONGER = "plain in the longer box"


def run(
    *,
    sizes: Sequence[int],
    packing_fraction: float,
    device: str,
    threads: int | None,
    hpmc: tuple[int, ...] | None = None,
    equilibrate: int,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None = None,
) -> dict[str, Any]:
    """Time every size, print a table, and write the JSON file after each size.

    The arguments are the options of the command.

    Returns:
        the content of the JSON file. A row has the ratio of its speed to that without fields,
        steps and insertions in the same box. The row of the insertions also has the number of
        insertions and deletions per second, without the time of the moves. A row of HPMC has the
        ratio of the speed of manymove in the same well to its own.

    Raises:
        ImportError: HPMC is to be timed, and HOOMD-blue is not installed or has none.
        ValueError: an argument is out of range.
        RuntimeError: a process of HPMC has ended or failed.
    """
    check(repeats, seconds, equilibrate)
    if hpmc:
        hpmc_processes.require_hpmc(hpmc, "cpu")
        if few := [count for count in hpmc if min(sizes) < LEAST_SHARE * count]:
            raise ValueError(f"--hpmc {few[0]} needs at least {LEAST_SHARE * few[0]} spheres")
    report = Report(TABLE, json_file, packing_fraction=packing_fraction, melt=equilibrate)
    for N in sizes:
        of_melt = (N, packing_fraction, device, [threads], None, None, equilibrate, seed)
        (plain,) = melted_engines(*of_melt, HardSpheres)
        engines = {"plain": plain, **_others(plain, packing_fraction, threads)}
        variants = [_variant(engine, f", {name}") for name, engine in engines.items()]
        time_in_turn(variants, repeats, seconds)
        rows = [{"particles": N, **variant.result()} for variant in variants]
        speeds = [row["trial_moves_per_second"] for row in rows]
        for row, (name, engine) in zip(rows, engines.items(), strict=True):
            like = plain if engine.box == plain.box else engines[LONGER]
            of_plain = speeds[list(engines.values()).index(like)]
            row["share"] = row["trial_moves_per_second"] / of_plain
            if name == INSERTIONS:
                attempts = engine.insertion_trials + engine.deletion_trials
                # The moves take as long as without insertions, which take the rest of the time.
                rest = 1 / row["trial_moves_per_second"] - 1 / of_plain
                each = engine.trial_moves * max(rest, 0.0) / attempts
                row["insertions_per_second"] = 1 / each if each else math.inf
                row["insertion_acceptance"] = engine.insertion_acceptance
        report.add(rows)
        ours = dict(zip(engines, speeds, strict=True))
        for count in hpmc or ():
            of_processes = (N // count, packing_fraction, HardSpheres, "cpu", equilibrate, seed)
            for name, reach in WELLS.items():
                systems = hpmc_processes.Systems(*of_processes, (reach, -DEPTH))
                peers = hpmc_processes.rows(systems, count, repeats, seconds)
                for row in peers:
                    row["variant"] += (
                        f", {'1 process' if count == 1 else f'{count} processes'}, {name}"
                    )
                    row["ratio"] = ours[name] / row["trial_moves_per_second"]
                report.add(peers)
    return report.end()


def _others(
    plain: HardSpheres, packing_fraction: float, threads: int | None
) -> dict[str, HardSpheres]:
    """The same spheres with fields, steps or insertions, by the names of the variants."""
    positions, box = plain.positions, plain.box
    common: dict[str, Any] = {"seed": plain.seed, "device": plain.device, "threads": threads}
    high = (*box[:2], box[2] + 1.01 * plain.diameter)  # no sphere touches a wall
    planes = [fields.Plane((0, 0, side), (0, 0, -side * high[2] / 2)) for side in (1, -1)]
    walls = [fields.HardWall(plane) for plane in planes]
    of_fields: dict[str, Any] = {
        "two hard walls": walls,
        "harmonic wall": fields.HarmonicWall(planes[0], 5.0, 2.0),
        "gravity between walls": [*walls, fields.Linear(0.05)],
        "springs": fields.Springs(0.5, positions),
    }
    phi = packing_fraction  # the fugacity is that of Carnahan and Starling
    excess = (8 * phi - 9 * phi**2 + 3 * phi**3) / (1 - phi) ** 3
    z = len(positions) / math.prod(box) * math.exp(excess)
    return {
        **{
            name: HardSpheres(positions, high, fields=each, **common)
            for name, each in {LONGER: None, **of_fields}.items()
        },
        **{
            name: HardSpheres(positions, box, steps=Step(reach, -DEPTH), **common)
            for name, reach in WELLS.items()
        },
        INSERTIONS: HardSpheres(positions, box, fugacity=GrandCanonical(z, 8), **common),
    }


def _variant(engine: HardSpheres, what: str) -> Variant:
    found = standalone(engine, what)
    found.settings["box"] = list(engine.box)
    return found


def _ending(row: Row) -> str:
    if "ratio" in row:
        return f"manymove is {row['ratio']:.3g} times as fast"
    words = f"{row['share']:.0%} of plain spheres in its box"
    if "insertions_per_second" in row:
        words += f"  {row['insertions_per_second']:.3g} insertions and deletions/s"
    return words


TABLE = Table((("spheres", *COLUMNS[0][1:]), *COLUMNS[1:]), _ending)
