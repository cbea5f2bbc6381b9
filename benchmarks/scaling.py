"""Weak and strong scaling of every algorithm over the GPUs or the CPU ranks of one host:
`python -m benchmarks scaling`.

Each measurement is a process, or an mpiexec of several, with a JSON file: the benchmarks disks,
spheres, adsorption and electrolyte, LAMMPS for DPD, and HOOMD-blue for the component. A measurement
that fails or hangs, or needs more GPUs than there are, leaves a gap in its curve, and is
listed as not run.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.process import report_of
from manymove import _core
from manymove.bench import status
from manymove.bench.harness import STATUS, Report, Table, check, spread
from manymove.devices import usable_cores
from manymove.jobs.figures import hollow, need_matplotlib, new_panels, write_picture

Row = dict[str, Any]

COMMAND = [sys.executable, "-m", "benchmarks"]
LARGEST_CUBE = 2_000_000  # particles of DPD; larger boxes in strong scaling are several cubes
SKINS = {"cpu": 0.3, "cuda": 0.35}  # of DPD, the fastest on one and on four GPUs
SHEAR = 0.1  # rate of the sheared DPD fluid
CHARGED = 0.1  # share of the particles of the charged DPD fluid
MIXTURE_RATIO = 0.714  # of the two diameters
WITH_MPIEXEC = {"disks", "spheres", "mixture", "component", "adsorption"}
WANTED = (1, 2, 4, 8)  # GPUs; those that the machine lacks are listed as not run


@dataclass(frozen=True)
class Plan:
    """The options of `python -m benchmarks scaling`."""

    ranks: Sequence[int]
    on_gpu: bool
    launcher: Sequence[str]
    transport: str
    repeats: int
    seconds: float
    seed: int
    deadline: float  # of time.monotonic()
    absent: Sequence[int] = ()  # numbers of ranks that need more GPUs than there are
    failures: list[str] = field(default_factory=list)
    known: dict[tuple[str, ...], list[Row]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)  # why a curve lacks a number of ranks

    def run(self, what: str, command: Sequence[str], ranks: Sequence[int] = ()) -> list[Row]:
        """The results of a command that writes the file named last; none if the command fails.

        `ranks` are the numbers of ranks that the command measures. A point that belongs to weak and
        to strong scaling is measured once.
        """
        if (known := self.known.get(tuple(command))) is not None:
            return known
        left = self.deadline - time.monotonic()
        print(f"-- {what}", flush=True)
        found, why = report_of(command, left) if left > 0 else ({}, "no time was left")
        if why:
            self.failures.append(f"{what}: {why}")
            self.reasons.update(dict.fromkeys(ranks, why))
            print(f"failed: {self.failures[-1]}", flush=True)
        else:
            self.known[tuple(command)] = found["results"]
        return found.get("results", [])

    def bench(self, ranks: int, *words: object) -> list[str]:
        """The command `python -m benchmarks ...` on a number of processes, without the file."""
        launcher = [*self.launcher, "-n", str(ranks)] if ranks > 1 else []
        common = ["--repeats", self.repeats, "--seconds", self.seconds, "--seed", self.seed]
        return [*launcher, *COMMAND, *map(str, [*words, *common, "--json"])]


# ---- algorithms ----------------------------------------------------------------------------------


def _disks(
    plan: Plan, weak: bool, size: int, part: str = "disks", more: Sequence[object] = ()
) -> Iterator[Row]:
    ranks = ",".join(map(str, plan.ranks))
    words = [part, *more, "--sizes", size, "--ranks", ranks, *(["--weak"] if weak else [])]
    words += ["--device", "cuda" if plan.on_gpu else "cpu"]
    if not plan.on_gpu:
        words += ["--threads", 1]
    command = plan.bench(max(plan.ranks), *words)
    name = "mixture" if more else part
    for row in plan.run(f"{name}, {_label(weak, size)}", command, plan.ranks):
        yield {**row, "size": row["particles"], "rate": row["trial_moves_per_second"]}


def _spheres(plan: Plan, weak: bool, size: int) -> Iterator[Row]:
    return _disks(plan, weak, size, "spheres")


def _mixture(plan: Plan, weak: bool, size: int) -> Iterator[Row]:
    return _disks(plan, weak, size, "spheres", ["--mixture-ratio", MIXTURE_RATIO])


def _dpd(plan: Plan, weak: bool, size: int, name: str = "dpd", **more: float) -> Iterator[Row]:
    device = "cuda" if plan.on_gpu else "cpu"
    for ranks in plan.ranks:
        cubes = ranks if weak else max(1, size // LARGEST_CUBE)
        request = {
            "particles": size * ranks if weak else size,
            "cubes": cubes,
            "ranks": ranks,
            "device": device,
            "precision": "mixed",
            "skin": SKINS[device],
            "transport": plan.transport,
            "repeats": plan.repeats,
            "seconds": plan.seconds,
            "seed": plan.seed,
            **more,
        }
        command = [sys.executable, "-m", "benchmarks.dpd_ranks", json.dumps(request)]
        what = f"{name}, {_label(weak, size)}, {_ranks(ranks)}"
        for row in plan.run(what, command, [ranks]):
            yield {
                **row,
                "size": row["particles"],
                "rate": row["million_particle_steps_per_second"],
            }


def _bonded(plan: Plan, weak: bool, size: int) -> Iterator[Row]:
    return _dpd(plan, weak, size, "bonded", beads=10)


def _sheared(plan: Plan, weak: bool, size: int) -> Iterator[Row]:
    return _dpd(plan, weak, size, "sheared", shear=SHEAR)


def _charged(plan: Plan, weak: bool, size: int) -> Iterator[Row]:
    return _dpd(plan, weak, size, "charged", charged=CHARGED)


def _component(plan: Plan, weak: bool, size: int) -> Iterator[Row]:
    """hoomd.manymove.HardDisks in HOOMD-blue."""
    for ranks in plan.ranks:
        request = {
            "particles": size * ranks if weak else size,
            "device": "cuda" if plan.on_gpu else "cpu",
            "packing_fraction": 0.698,
            "repeats": plan.repeats,
            "seconds": plan.seconds,
            "seed": plan.seed,
        }
        launcher = [*plan.launcher, "-n", str(ranks)] if ranks > 1 else []
        module = [sys.executable, "-m", "benchmarks.hoomd_ranks", json.dumps(request)]
        what = f"component, {_label(weak, size)}, {_ranks(ranks)}"
        for row in plan.run(what, [*launcher, *module], [ranks]):
            yield {**row, "size": row["particles"], "rate": row["trial_moves_per_second"]}


def _electrolyte(plan: Plan, weak: bool, size: int) -> Iterator[Row]:
    """One chain, which threads share on a CPU. In weak scaling each device has the same number of
    pairs: the number of ions grows as the square root of the number of devices."""
    for ranks in plan.ranks:
        ions = _in_all("electrolyte", weak, size, ranks)
        words = ["electrolyte", "--sizes", ions, "--methods", "brush", "--precision", "mixed"]
        words += ["--equilibrate", 1]
        if plan.on_gpu:
            words += ["--device", "cuda:" + ",".join(map(str, range(ranks)))]
        else:
            words += ["--device", "cpu", "--threads", ranks]
        what = f"electrolyte, {_label(weak, size)}, {_ranks(ranks)}"
        for row in plan.run(what, plan.bench(1, *words), [ranks]):
            rate = row["pair_terms_per_second"]
            scale = rate * row["seconds_per_sweep"]  # extremes of the file are times
            extremes = {"lowest": scale / row["highest"], "highest": scale / row["lowest"]}
            yield {**row, **extremes, "ranks": ranks, "size": ions, "rate": rate, "pairs_of": size}


def _tree(plan: Plan, weak: bool, size: int) -> Iterator[Row]:
    """One chain with method="tree". In weak scaling the number of ions per device is constant."""
    for ranks in plan.ranks:
        ions = _in_all("tree", weak, size, ranks)
        words = ["electrolyte", "--sizes", ions, "--methods", "tree", "--equilibrate", 1]
        if plan.on_gpu:
            words += ["--device", "cuda:" + ",".join(map(str, range(ranks)))]
        else:
            words += ["--device", "cpu", "--threads", ranks]
        what = f"tree, {_label(weak, size)}, {_ranks(ranks)}"
        for row in plan.run(what, plan.bench(1, *words), [ranks]):
            extremes = {"lowest": ions / row["highest"], "highest": ions / row["lowest"]}
            yield {
                **row,
                **extremes,
                "ranks": ranks,
                "size": ions,
                "rate": ions / row["seconds_per_sweep"],
            }


def _adsorption(plan: Plan, weak: bool, size: int) -> Iterator[Row]:
    """Systems of 32 methanes in MFI, each on one rank. `size` is their number, 0 for the number
    that fills the device."""
    ranks = ",".join(map(str, plan.ranks))
    words = ["adsorption", "--methods", "mdp", "--molecules", 32, "--ranks", ranks]
    words += ["--device", "cuda" if plan.on_gpu else "cpu"]
    if not plan.on_gpu:
        words += ["--threads", 1, "--equilibrate", 100]
    words += ["--weak"] if weak else []
    words += ["--systems", size] if size else []
    what = f"adsorption, {_label(weak, size)}"
    for row in plan.run(what, plan.bench(max(plan.ranks), *words), plan.ranks):
        states = row["proposals"] - 1  # tried in a step
        speeds = {"rate": row["trial_states_per_second"]}
        speeds |= {end: row[end] for end in ("lowest", "highest")}
        yield {**row, "size": row["systems"], **{k: v / states for k, v in speeds.items()}}


def _in_all(name: str, weak: bool, size: int, ranks: int) -> int:
    """The size of the system on a number of ranks; a size of 0 fills the device."""
    if not weak:
        return size
    return 4 * round(size * math.sqrt(ranks) / 4) if name == "electrolyte" else size * ranks


def _ranks(count: int) -> str:
    return f"{count} rank{'s' if count > 1 else ''}"


@dataclass(frozen=True)
class Algorithm:
    """An algorithm with its sizes and its measurement."""

    title: str
    things: str
    unit: str
    weak: dict[str, list[int]]  # sizes of a rank, on "cpu" and "cuda"
    strong: dict[str, list[int]]  # in all
    run: Callable[[Plan, bool, int], Iterator[Row]]


ALGORITHMS = {
    "disks": Algorithm(
        "Hard disks", "disks", "trial moves/s",
        {"cpu": [16384], "cuda": [1_048_576, 4_194_304]},
        {"cpu": [65536], "cuda": [4_194_304]}, _disks,
    ),
    "spheres": Algorithm(
        "Hard spheres", "spheres", "trial moves/s",
        {"cpu": [32768], "cuda": [1_048_576]},
        {"cpu": [65536], "cuda": [1_048_576, 4_194_304]}, _spheres,
    ),
    "mixture": Algorithm(
        "Hard spheres of two sizes", "spheres", "trial moves/s",
        {"cpu": [32768], "cuda": [1_048_576]},
        {"cpu": [65536], "cuda": [1_048_576]}, _mixture,
    ),
    "component": Algorithm(
        "Hard disks in HOOMD-blue", "disks", "trial moves/s",
        {"cpu": [16384], "cuda": [1_048_576]}, {"cpu": [65536], "cuda": [4_194_304]}, _component,
    ),
    "dpd": Algorithm(
        "DPD", "particles", "million particle-steps/s",
        {"cpu": [24_000], "cuda": [2_000_000]},
        {"cpu": [48_000], "cuda": [2_000_000, 8_000_000]}, _dpd,
    ),
    "bonded": Algorithm(
        "DPD, chains of ten", "particles", "million particle-steps/s",
        {"cpu": [24_000], "cuda": [2_000_000]},
        {"cpu": [48_000], "cuda": [2_000_000, 8_000_000]}, _bonded,
    ),
    "sheared": Algorithm(
        "DPD, sheared", "particles", "million particle-steps/s",
        {"cpu": [24_000], "cuda": [2_000_000]},
        {"cpu": [48_000], "cuda": [2_000_000]}, _sheared,
    ),
    "charged": Algorithm(
        "DPD, every tenth particle charged", "particles", "million particle-steps/s",
        {"cpu": [24_000], "cuda": [1_000_000]},
        {"cpu": [48_000], "cuda": [1_000_000]}, _charged,
    ),
    "electrolyte": Algorithm(
        "Electrolytes, one chain", "ions", "pair terms/s",
        {"cpu": [8192], "cuda": [1_048_576]}, {"cpu": [8192], "cuda": [1_048_576]}, _electrolyte,
    ),
    "tree": Algorithm(
        "Electrolytes, one chain with the tree", "ions", "trial moves/s",
        {"cpu": [8192], "cuda": [1_048_576]}, {"cpu": [8192], "cuda": [1_048_576]}, _tree,
    ),
    "adsorption": Algorithm(
        "Adsorbates", "systems", "steps/s", {"cpu": [0], "cuda": [0]},
        {"cpu": [0], "cuda": [0]}, _adsorption,
    ),
}  # fmt: skip


# ---- the command ---------------------------------------------------------------------------------


def run(
    *,
    algorithms: Sequence[str],
    ranks: Sequence[int] | None,
    weak: bool,
    strong: bool,
    sizes: Sequence[int] | None,
    device: str,
    launcher: str | None,
    transport: str,
    repeats: int,
    seconds: float,
    limit: float,
    seed: int,
    json_file: Path | None,
    plot_file: Path | None,
) -> dict[str, Any]:
    """Time each algorithm on each number of ranks, print a table, write file and picture.

    The arguments are the options of the command; None stands for their defaults.

    Returns:
        the content of the JSON file: a row for each point with the results of the measurement, the
        failures, and the points that were not run.

    Raises:
        ValueError: an argument is out of range.
        RuntimeError: there is no launcher, or nothing could be measured.
        ImportError: a picture is asked for and matplotlib is not installed.
    """
    check(repeats, seconds, 0, 0)
    for name in algorithms:
        if name not in ALGORITHMS:
            raise ValueError(f'--algorithms has "{name}"; there are {", ".join(ALGORITHMS)}')
    if sizes is not None and (len(algorithms) > 1 or weak == strong or min(sizes) < 1):
        raise ValueError(
            f"--sizes is {','.join(map(str, sizes))}; it needs positive numbers, one of "
            "--algorithms, and either --weak or --strong"
        )
    if not limit > 0:
        raise ValueError(f"--limit is {limit:g}; it must be positive (seconds)")
    if plot_file is not None:
        need_matplotlib()
    on_gpu = _runs_on_gpu(device)
    ranks, absent = _numbers_of_ranks(ranks, on_gpu)
    words = shlex.split(launcher or "")
    stuck = WITH_MPIEXEC & set(algorithms) if max(ranks) > 1 and not words else set()
    if stuck and (words := _launcher()):
        stuck = set()
    if stuck == set(algorithms):
        raise RuntimeError("there is no mpiexec; --launcher names one")
    deadline = time.monotonic() + limit
    plan = Plan(ranks, on_gpu, words, transport, repeats, seconds, seed, deadline, absent)
    about = {"ranks": ranks, "repeats": repeats, "seconds": seconds, "seed": seed}
    not_run: list[Row] = []
    report = Report(TABLE, json_file, **about, failures=plan.failures, not_run=not_run)
    for name in algorithms:
        for kind in ["weak"] * weak + ["strong"] * strong:
            usual = getattr(ALGORITHMS[name], kind)["cuda" if on_gpu else "cpu"]
            for size in usual if sizes is None else sizes:
                plan.reasons.clear()
                if name in stuck:
                    plan.reasons.update(dict.fromkeys(plan.ranks, "no mpiexec"))
                rows = [] if name in stuck else _curve(plan, name, kind == "weak", size)
                not_run += _gaps(plan, name, kind, size, rows)
                report.add(rows)
    _print_gaps(not_run)
    if not report.rows:
        raise RuntimeError(f"nothing was measured: {(plan.failures or ['no results'])[0]}")
    if plot_file is not None:
        plot(plot_file, report.rows)
    return report.end()


def _curve(plan: Plan, name: str, weak: bool, size: int) -> list[Row]:
    """Rows of one curve with their efficiencies."""
    algorithm = ALGORITHMS[name]
    rows = []
    for found in algorithm.run(plan, weak, size):
        row = {
            "algorithm": name,
            "scaling": "weak" if weak else "strong",
            "curve": _title(algorithm, weak, found),
            **{key: found.pop(key) for key in ("ranks", "size", "rate", "lowest", "highest")},
            "unit": algorithm.unit,
            "warnings": found.pop("warnings"),
        }
        row["measured"] = found
        rows.append(row)
    for row in rows:
        row["efficiency"] = row["rate"] / row["ranks"] / (rows[0]["rate"] / rows[0]["ranks"])
    return rows


def _gaps(plan: Plan, name: str, kind: str, size: int, rows: Sequence[Row]) -> list[Row]:
    """The points of a curve that were not measured."""
    measured = {row["ranks"] for row in rows}
    return [
        {
            "algorithm": name,
            "scaling": kind,
            "size": _in_all(name, kind == "weak", size, ranks),
            "ranks": ranks,
            "why": f"needs {ranks} GPUs"
            if ranks in plan.absent
            else plan.reasons.get(ranks, "no results"),
        }
        for ranks in [*plan.ranks, *plan.absent]
        if ranks not in measured
    ]


def _print_gaps(gaps: Sequence[Row]) -> None:
    for gap in gaps:
        thing = f"{gap['algorithm']}, {gap['scaling']}, "
        thing += f"{gap['size']:,} in all" if gap["size"] else "as many as fill the device"
        print(f"not run: {thing}, {_ranks(gap['ranks'])}: {gap['why']}")


def _title(algorithm: Algorithm, weak: bool, row: Row) -> str:
    if not weak:
        return f"{row['size']:,} {algorithm.things} in all"
    if algorithm.run is _electrolyte:
        return f"{row['pairs_of']:,} {algorithm.things}, as many pairs a rank"
    return f"{row['size'] // row['ranks']:,} {algorithm.things} a rank"


def _label(weak: bool, size: int) -> str:
    return f"{size or 'as many as fill'}{' a rank' if weak else ' in all'}"


def _runs_on_gpu(device: str) -> bool:
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"--device is {device}; it must be auto, cpu or cuda")
    gpus = bool(_core.cuda_devices())
    if device == "cuda" and not gpus:
        raise ValueError("--device cuda: there is no GPU")
    return gpus and device != "cpu"


def _numbers_of_ranks(ranks: Sequence[int] | None, on_gpu: bool) -> tuple[list[int], list[int]]:
    """The numbers of ranks that are measured, and those that need more GPUs than there are."""
    most = len(_core.cuda_devices()) if on_gpu else len(usable_cores())
    if ranks is None:
        powers = [2**k for k in range(most.bit_length())]
        return powers, [n for n in WANTED if n > most] if on_gpu else []
    if min(ranks) < 1 or (on_gpu and min(ranks) > most):
        raise ValueError(
            f"--ranks is {','.join(map(str, ranks))}; it must be positive"
            + (f", and there are {most} GPUs" if on_gpu else "")
        )
    return [n for n in sorted(ranks) if not on_gpu or n <= most], [
        n for n in sorted(ranks) if on_gpu and n > most
    ]


def _launcher() -> list[str]:
    """The first words of a command on several ranks; none if there is no mpiexec."""
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    found = shutil.which("mpiexec", path=path) or shutil.which("mpirun", path=path)
    return [found] if found else []


TABLE = Table(
    (
        ("algorithm", "<12", "algorithm"),
        ("scaling", "<7", "scaling"),
        ("size", "<28", "curve"),
        ("ranks", ">5", "ranks"),
        ("rate", ">9.4g", "rate"),
        ("spread", ">6.1%", spread("rate")),
        ("efficiency", ">10.1%", "efficiency"),
        STATUS,
    ),
    lambda row: f"[{row['unit']}]",
)


def read(files: Sequence[Path], plot_file: Path | None) -> list[Row]:
    """Print the table of recorded files, and draw the picture.

    Raises:
        ValueError: a file is not one of this benchmark.
        OSError: a file cannot be read.
        ImportError: a picture is asked for and matplotlib is not installed.
    """
    rows: list[Row] = []
    for file in files:
        try:
            report = json.loads(file.read_text())
            found = report["results"]
            print("\n".join([TABLE.header, *map(TABLE.line, found)]))
            _print_gaps(report.get("not_run", []))
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{file} is not a file of python -m benchmarks scaling") from None
        rows += found
    status.print_warnings(rows)
    if plot_file is not None:
        plot(plot_file, rows)
    return rows


def plot(path: Path, rows: Sequence[Row]) -> None:
    """Speed and efficiency against the number of ranks, a column for each algorithm.

    Raises:
        ImportError: matplotlib is not installed.
    """
    names = [name for name in ALGORITHMS if any(row["algorithm"] == name for row in rows)]
    figure, panels = new_panels((3.7 * len(names), 6.4), (2, len(names)), sharex=True)
    ticks = sorted({row["ranks"] for row in rows})
    for (speed, efficiency), name in zip(panels.T, names, strict=True):
        curves: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            if row["algorithm"] == name:
                curves.setdefault((row["scaling"], row["curve"]), []).append(row)
        for k, ((kind, curve), points) in enumerate(curves.items()):
            points = sorted(points, key=lambda row: row["ranks"])
            ranks = [row["ranks"] for row in points]
            style = {"fmt": "o-" if kind == "weak" else "s--", "color": f"C{k}", "ms": 5}
            for panel, key, by in (
                (speed, "rate", 1.0),
                (efficiency, "efficiency", points[0]["efficiency"] / points[0]["rate"]),
            ):
                share = [1.0 if key == "rate" else by * ranks[0] / n for n in ranks]
                low, high = (
                    [s * abs(row[end] - row["rate"]) for s, row in zip(share, points, strict=True)]
                    for end in ("lowest", "highest")
                )
                values = [row[key] for row in points]
                panel.errorbar(ranks, values, (low, high), label=f"{kind}, {curve}", **style)
                warned = [bool(row.get("warnings")) for row in points]
                hollow(panel, ranks, values, warned, style["fmt"][0], style["color"])
            ideal = points[0]["rate"] / ranks[0]
            speed.plot(ranks, [ideal * n for n in ranks], ":", color=f"C{k}", lw=1)
        speed.set(title=ALGORITHMS[name].title, ylabel=f"speed ({points[0]['unit']})")
        speed.set_ylim(bottom=0)
        speed.legend(fontsize=7, frameon=False)
        efficiency.axhline(0.9, color="k", lw=0.8, ls=":")
        efficiency.set(ylim=(0, 1.15), xlabel="number of ranks", ylabel="parallel efficiency")
        for panel in (speed, efficiency):
            panel.set_xticks(ticks, [str(n) for n in ticks])
            panel.grid(alpha=0.3)
    write_picture(path, figure, dpi=120)
