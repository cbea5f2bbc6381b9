# SPDX-License-Identifier: BSD-3-Clause
"""All benchmarks, and our fastest variants compared with the fastest peers:
`python -m benchmarks all`.

Each part runs in a separate process, size after size, so that a peer that fails, crashes or hangs
ends its own part only: `python -m benchmarks.suite PART REQUEST FILE`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import disks
from benchmarks.process import report_of
from manymove.bench import harness, status
from manymove.devices import on_gpu
from manymove.info import record
from manymove.jobs.figures import hollow, need_matplotlib, new_panels, write_picture
from manymove.jobs.report import write_json

Row = dict[str, Any]

PEERS = ("hoomd", "raspalib")  # modules of peers that run in the process of a part
WORKER = [sys.executable, "-m", "benchmarks.suite"]
MOST_ON_RANKS = 500_000  # particles; on a machine with a GPU ranks are timed up to this size


@dataclass(frozen=True)
class Part:
    """A benchmark, and the keys of its rows."""

    title: str
    gpu_sizes: Sequence[int]
    cpu_sizes: Sequence[int]
    size: str  # keys of a row
    rate: str
    unit: str  # of the rate
    is_peer: Callable[[Row], bool]
    run: Callable[..., dict[str, Any]]  # of one size, device, repeats, seconds and seed
    hidden: Sequence[str] = ()  # modules that it does not use

    def sizes(self, device: str) -> list[int]:
        return list(self.gpu_sizes if on_gpu(device) else self.cpu_sizes)


def _disks(size: int, **common: Any) -> dict[str, Any]:
    return disks.run(sizes=[size], **common)


def _spheres(size: int, **common: Any) -> dict[str, Any]:
    from manymove.hard_particles.spheres import HardSpheres

    return disks.run(sizes=[size], packing_fraction=0.5, kind=HardSpheres, **common)


def _hoomd(size: int, **common: Any) -> dict[str, Any]:
    from benchmarks import disks_hoomd

    return disks_hoomd.run(sizes=[size], **common)


def _dpd(size: int, device: str, **common: Any) -> dict[str, Any]:
    from benchmarks import dpd

    device = device.partition(":")[0]
    if device == "auto" and on_gpu(device) and size > MOST_ON_RANKS:
        device = "cuda"
    return dpd.run(sizes=[size], device=device, **common)


def _electrolyte(size: int, **common: Any) -> dict[str, Any]:
    from benchmarks import electrolyte

    equilibrate = 10 if size < MOST_ON_RANKS else 2
    return electrolyte.run(sizes=[size], equilibrate=equilibrate, **common)


def _adsorption(size: int, device: str, **common: Any) -> dict[str, Any]:
    from benchmarks import adsorption

    about = {"interpolation": "linear", "equilibrate": 2000 if on_gpu(device) else 100}
    return adsorption.run(molecules=[size], device=device, raspa=True, **about, **common)


def _is_hpmc(row: Row) -> bool:
    return row["variant"].startswith("HPMC")


# HPMC is timed together with the disks in HOOMD-blue, with several settings.
PARTS = {
    "disks": Part(
        "hard disks", [65536, 1048576], [4096, 65536], "particles", "trial_moves_per_second",
        "trial moves/s", _is_hpmc, _disks, hidden=PEERS,
    ),
    "spheres": Part(
        "hard spheres", [65536, 1048576], [4096, 65536], "particles", "trial_moves_per_second",
        "trial moves/s", _is_hpmc, _spheres, hidden=PEERS,
    ),
    "hoomd": Part(
        "hard disks in HOOMD-blue", [1048576], [16384], "particles",
        "trial_moves_per_second", "trial moves/s",
        _is_hpmc, _hoomd,
    ),
    "dpd": Part(
        "DPD", [100_000, 2_000_000], [24_000], "particles", "million_particle_steps_per_second",
        "million particle-steps/s", lambda row: row["peer"], _dpd,
    ),
    "electrolyte": Part(
        "electrolytes", [16384, 131072, 1048576], [4096, 16384], "ions", "pair_terms_per_second",
        "pair terms/s", lambda row: False, _electrolyte,
    ),
    "adsorption": Part(
        "adsorbates", [32, 128], [32, 128], "molecules", "steps_per_second",
        "steps/s", lambda row: row["method"] == "RASPA3", _adsorption,
    ),
}  # fmt: skip


def run(
    *,
    parts: Sequence[str] | None,
    device: str,
    repeats: int,
    seconds: float,
    limit: float,
    seed: int,
    json_file: Path | None,
    plot_file: Path | None,
) -> dict[str, Any]:
    """Run the benchmarks with their defaults, print a table, write the JSON file and the picture.
    Adsorbates use the linear grid, as in the recorded results.

    Parts that need a program that is not installed are left out, with the reason. The same holds
    for sizes that fail or are not finished at the time limit, while finished sizes are kept. A part
    that fails is repeated without the peers in its process. The JSON file is written after each
    part. The arguments are the options of the command; None stands for their defaults.

    Returns:
        the content of the JSON file: the report of each benchmark, a summary row per size, the
        reasons why parts are absent, and the failures.

    Raises:
        ValueError: an argument is out of range.
        ImportError: a picture is asked for and matplotlib is not installed.
        RuntimeError: nothing could be measured.
    """
    harness.check(repeats, seconds, 0, 0)
    if not limit > 0:
        raise ValueError(f"--limit is {limit:g}; it must be positive (seconds)")
    parts = list(PARTS) if parts is None else parts
    for name in parts:
        if name not in PARTS:
            raise ValueError(f'--parts has "{name}"; there are {", ".join(PARTS)}')
    if plot_file is not None:
        need_matplotlib()
    common = {"device": device, "repeats": repeats, "seconds": seconds, "seed": seed}
    report: dict[str, Any] = {**record(), **common, "limit": limit, "summary": []}
    report |= {"benchmarks": {}, "absent": {}, "failures": {}}
    for name in parts:
        print(f"== {PARTS[name].title}", flush=True)
        done, failures = _run_part(name, PARTS[name].sizes(device), common, limit)
        if "missing" in done:
            report["absent"][name] = done.pop("missing")
            print(f"left out: {report['absent'][name]}")
        if failures:
            report["failures"][name] = failures
            print(*(f"failed: {failure}" for failure in failures), sep="\n")
        if done.get("results"):
            report["benchmarks"][name] = done
            report["summary"] += summarize(PARTS[name], done["results"])
        if json_file is not None:
            write_json(json_file, report)
    if not report["summary"]:
        reasons = [*report["absent"].values(), *(f[0] for f in report["failures"].values())]
        raise RuntimeError(f"nothing was measured: {reasons[0]}")
    print("\n".join(["== all", TABLE.header, *map(TABLE.line, report["summary"])]))
    status.print_warnings(report["summary"])
    if plot_file is not None:
        plot(plot_file, report["summary"])
    return report


# ---- processes -----------------------------------------------------------------------------------


def _run_part(
    name: str, sizes: Sequence[int], common: dict[str, Any], limit: float
) -> tuple[dict[str, Any], list[str]]:
    """The report of a part, which may be incomplete, and its failures."""
    done: dict[str, Any] = {}
    failures: list[str] = []
    deadline = time.monotonic() + limit
    for peers in (True, False):
        left = sizes[len(done.get("done", [])) :]
        request = {"sizes": left, "peers": peers, **common}
        command = [*WORKER, name, json.dumps(request)]
        found, why = report_of(command, deadline - time.monotonic())
        why = found.pop("failure", "") or why
        for key in ("results", "done"):
            found[key] = done.get(key, []) + found.get(key, [])
        if not peers:
            found.pop("missing", None)  # what was hidden
        done = {**done, **found}
        if why:
            left = sizes[len(done["done"]) :]
            failures.append(f"{PARTS[name].title}, {left[0] if left else 'at its end'}: {why}")
        if not why or not left or time.monotonic() > deadline or "missing" in done:
            break
    return done, failures


def work(name: str, request: dict[str, Any], file: Path) -> int:
    """Time the sizes of a part one after the other, in its process. The file grows with each
    size."""
    part = PARTS[name]
    sizes, peers = request.pop("sizes"), request.pop("peers")
    for module in part.hidden if peers else PEERS:
        sys.modules[module] = None  # importing it fails
    found: dict[str, Any] = {"done": [], "results": []}
    for size in sizes:
        try:
            report = part.run(size=size, **request)
        except (ImportError, RuntimeError, ValueError, OSError, MemoryError) as error:
            kind = "missing" if isinstance(error, ImportError) else "failure"
            write_json(file, {**found, kind: str(error) or type(error).__name__})
            return 0 if kind == "missing" else 1
        found = {
            **report,
            "results": found["results"] + report["results"],
            "done": [*found["done"], size],
        }
        write_json(file, found)
    return 0


# ---- what is shown -------------------------------------------------------------------------------


def summarize(part: Part, results: Sequence[Row]) -> list[Row]:
    """Our fastest variant at each size, the fastest peer and the ratio of the two."""
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
                best[whose] = {
                    "variant": _variant(row),
                    "rate": row[part.rate],
                    "spread": spread,
                    "warnings": row.get("warnings", []),
                }
        if "ours" in best:
            warnings = [text for row in best.values() for text in row["warnings"]]
            entry = {"algorithm": part.title, "size": size, "unit": part.unit, **best}
            entry["warnings"] = list(dict.fromkeys(warnings))
            if "peer" in best:
                entry["ratio"] = best["ours"]["rate"] / best["peer"]["rate"]
            summary.append(entry)
    return summary


def _variant(row: Row) -> str:
    return row.get("variant") or ", ".join(row[key] for key in ("device", "method", "precision"))


def _peer(row: Row) -> str:
    words = f"[{row['unit']}]"
    if "peer" not in row:
        return words
    return f"{row['ratio']:.3g} times {row['peer']['variant']} ({row['peer']['rate']:.3g})  {words}"


TABLE = harness.Table(
    (
        ("algorithm", "<24", "algorithm"),
        ("size", ">8", "size"),
        ("ours", "<40.40", lambda row: row["ours"]["variant"]),
        ("rate", ">9.3g", lambda row: row["ours"]["rate"]),
        ("spread", ">6.1%", lambda row: row["ours"]["spread"]),
        harness.STATUS,
    ),
    _peer,
    "best peer and ratio",
)


def plot(path: Path, summary: Sequence[Row]) -> None:
    """Speed against size, a panel for each algorithm.

    Raises:
        ImportError: matplotlib is not installed.
    """
    titles = list(dict.fromkeys(row["algorithm"] for row in summary))
    figure, panels = new_panels((3.6 * len(titles), 3.4), (1, len(titles)))
    from matplotlib.ticker import NullFormatter

    for panel, title in zip(panels[0], titles, strict=True):
        rows = [row for row in summary if row["algorithm"] == title]
        for whose, marker in (("ours", "o-"), ("peer", "s--")):
            points = sorted(
                (row["size"], row[whose]["rate"], bool(row[whose]["warnings"]))
                for row in rows
                if whose in row
            )
            if points:
                sizes, rates, warned = zip(*points, strict=True)
                (line,) = panel.loglog(sizes, rates, marker, label=whose)
                hollow(panel, sizes, rates, warned, marker[0], line.get_color())
        panel.set_title(title)
        panel.set_xlabel("number of particles")
        panel.set_ylabel(f"speed ({rows[0]['unit']})")
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.grid(alpha=0.3)
        panel.legend(frameon=False)
    write_picture(path, figure, dpi=120)


if __name__ == "__main__":
    sys.exit(work(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3])))
