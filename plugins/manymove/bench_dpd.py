"""Speed of DPD: `manymove bench dpd`.

Every variant has the same fluid, melted from a random start; it chooses its fastest neighbor skin
and is then timed, in turn with the others, by the difference of a long and a short run. Ours:
pair_style manymove/dpd in LAMMPS' verlet and in run_style manymove/verlet, on MPI ranks and threads
of the CPU, and the latter on a GPU.
Beside them LAMMPS' dpd on the same ranks, dpd/kk and dpd/gpu of any LAMMPS that has them for a GPU,
and HOOMD-blue's md.pair.DPD.
"""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from manymove import bench, bench_dpd_variants, bench_status
from manymove.bench_dpd_variants import Case, Variant
from manymove.devices import usable_cores
from manymove.lammps import host
from manymove.report import need_matplotlib, write_json, write_picture

GPU_SIZES = [100_000, 2_000_000]
CPU_SIZES = [24_000]
FIGURE_11 = {
    "densities": [3.0, 6.0, 50.0],
    "cutoffs": [1.0, 1.5],
    "sizes": [8192, 65536, 262144, 1_000_000, 2_000_000],
}
SHORTEST_MELT = 100  # steps: before, the overlaps of the start have not heated it yet
DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("mixed", "double")


def run(
    *,
    sizes: Sequence[int] | None,
    densities: Sequence[float],
    cutoffs: Sequence[float],
    timestep: float,
    skins: Sequence[float],
    weight_exponent: float,
    device: str,
    precisions: Sequence[str],
    ranks: Sequence[int] | None,
    threads: Sequence[int],
    lammps: Sequence[Path],
    melt: int,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None,
    plot_file: Path | None,
) -> dict[str, Any]:
    """Time every size at every density and cutoff, print a table, write the JSON file after each.

    Args:
        sizes: numbers of particles; None for the usual ones of the machine.
        densities: rho.
        cutoffs: r_c.
        timestep: of velocity Verlet.
        skins: of neighbor lists (HOOMD-blue's buffer); each variant takes its fastest.
        weight_exponent: s of ours; LAMMPS' dpd has 1.
        device: "cpu" or "cuda" for the variants there, "auto" for all that there are.
        precisions: of ours, "mixed" and "double".
        ranks: MPI processes of the variants on the CPU; None for as many as there are cores.
        threads: of our variants with one rank.
        lammps: executables to look for dpd/kk and dpd/gpu in, beside those that are found.
        melt: steps from the random start before anything is timed, at least 100.
        repeats: timed runs per variant, at least 3.
        seconds: least length of a timed run.
        seed: of start and random forces.
        json_file: where the results go; None for nowhere.
        plot_file: picture of the speeds; None for none.

    Returns:
        what the JSON file holds.

    Raises:
        ValueError: an argument is out of range, or a GPU is asked for and there is none.
        RuntimeError: LAMMPS, its MPI or the plugin is missing, or the fluid does not melt.
        ImportError: a picture is asked for and matplotlib is not installed.
    """
    bench.check(repeats, seconds, melt, 0)
    if melt < SHORTEST_MELT:
        raise ValueError(
            f"--equilibrate is {melt}; the random start needs at least {SHORTEST_MELT} steps"
        )
    for name, numbers in (("ranks", ranks or [1]), ("threads", threads or [1])):
        if min(numbers) < 1:
            raise ValueError(f"--{name} is {min(numbers)}; it must be positive")
    for precision in precisions:
        if precision not in PRECISIONS:
            raise ValueError(
                f"--precision is {precision}; it must be one of {', '.join(PRECISIONS)}"
            )
    for executable in lammps:
        if shutil.which(executable) is None:
            raise ValueError(f"--lammps {executable} is not an executable")
    if plot_file is not None:
        need_matplotlib()
    host.command()  # raises if something is missing
    gpu, cpu = _where(device)
    cores = len(usable_cores())
    sizes = sizes or (GPU_SIZES if gpu else CPU_SIZES)
    cases = [
        Case(N, density, cutoff, timestep, tuple(skins), weight_exponent, seed)
        for density, cutoff, N in itertools.product(densities, cutoffs, sizes)
    ]
    hoomd, absent = bench_dpd_variants.hoomd() if device != "cpu" else ("", "")
    rows: list[dict[str, Any]] = []
    report = {
        **bench.machine(),
        "timestep": timestep,
        "skins": list(skins),
        "weight_exponent": weight_exponent,
        "melt": melt,
        "cores": cores,
        "absent": absent,
        "lammps": lammps_version(),
        "results": rows,
    }
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            start = Path(folder) / "melted.restart"
            bench_dpd_variants.melt(case, melt, gpu, start)
            variants: list[Variant] = []
            if gpu:
                variants += bench_dpd_variants.ours_on_gpu(precisions)
            if cpu:
                variants += bench_dpd_variants.on_cpu(precisions, ranks or [cores], threads)
            if device != "cpu":
                variants += bench_dpd_variants.accelerated(lammps)
                variants += [bench_dpd_variants.hoomd_variant(hoomd, melt)] if hoomd else []
            results = _time(case, variants, start, repeats, seconds)
            for result in results:
                print(_row(result), flush=True)
            rows += results
            if json_file is not None:
                write_json(json_file, report)
            if plot_file is not None:
                plot(plot_file, rows)
    bench_status.print_warnings(rows)
    if absent:
        print(f"left out: HOOMD-blue, {absent}")
    return report


def _where(device: str) -> tuple[bool, bool]:
    """Whether variants on a GPU and on the CPU are timed."""
    if device not in DEVICES:
        raise ValueError(f"--device is {device}; it must be one of {', '.join(DEVICES)}")
    resident = bench_dpd_variants.resident()
    if device == "cuda" and not resident:
        raise ValueError("--device cuda: no GPU, or run_style manymove/verlet is not built for it")
    return resident and device != "cpu", device != "cuda"


def lammps_version() -> str:
    """Of the LAMMPS that our styles and `dpd` run in."""
    text = bench_dpd_variants.lammps("", host.command(), host.environment())[0]
    return re.search(r"LAMMPS \((.+?)\)", text).group(1)


def _time(
    case: Case, variants: list[Variant], start: Path, repeats: int, seconds: float
) -> list[dict[str, Any]]:
    """Results of all variants, ours with the ratios to each peer, round by round."""
    try:
        for variant in variants:
            variant.prepare(case, start, seconds)
        for _ in range(repeats):
            for variant in variants:
                if not variant.failure:
                    variant.run(case, start)
    finally:
        for variant in variants:
            variant.close()
    results = []
    for variant in variants:
        result = {
            "particles": case.particles,
            "density": case.density,
            "cutoff": case.cutoff,
            **variant.result(),
        }
        if not variant.failure:
            shortest = case.particles * variant.steps / max(variant.rates)
            result["warnings"] = bench_status.of_timing(shortest) + _hot(variant.temperature)
        if not variant.peer and not variant.failure:
            result["ratios"] = {
                peer.name: _ratio(variant, peer)
                for peer in variants
                if peer.peer and not peer.failure
            }
        results.append(result)
    return results


def _hot(temperature: float) -> list[str]:
    """The warning of a fluid whose temperature is not the set one."""
    if abs(temperature - 1) <= bench_dpd_variants.MELTED:
        return []
    return [
        f"not equilibrated: the temperature is {temperature:.3g} instead of 1: raise --equilibrate"
    ]


def _ratio(variant: Variant, peer: Variant) -> dict[str, float]:
    """Of the rates, one ratio per round: their median and extremes."""
    ratios = [a / b for a, b in zip(variant.rates, peer.rates, strict=True)]
    return {"median": median(ratios), "lowest": min(ratios), "highest": max(ratios)}


HEADER = (
    f"{'particles':>9}  {'rho':>4}  {'r_c':>4}  {'variant':<64} {'skin':>4} {'MPS':>9}  "
    f"{'spread':>6}  {'T':>6}  {'status':<{bench_status.WIDTH}}  ratio to peers"
)


def _row(result: dict[str, Any]) -> str:
    line = (
        f"{result['particles']:>9}  {result['density']:>4g}  {result['cutoff']:>4g}  "
        f"{result['variant']:<64} "
    )
    if "failure" in result:
        return f"{line}failed: {result['failure']}"
    rate = result["million_particle_steps_per_second"]
    spread = (result["highest"] - result["lowest"]) / 2 / rate
    line += f"{result['skin']:>4g} {rate:>9.4g}  {spread:>6.1%}  {result['temperature']:>6.3f}"
    line += f"  {bench_status.status(result):<{bench_status.WIDTH}}"
    for name, ratio in result.get("ratios", {}).items():
        extremes = f"({ratio['lowest']:.3g} to {ratio['highest']:.3g})"
        line += f"  {ratio['median']:.3g} {extremes} times {name.removeprefix('pair_style ')}"
    return line.rstrip()


def plot(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Speed against the number of particles, a panel for each density and cutoff.

    Raises:
        ImportError: matplotlib is not installed.
    """
    need_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from manymove.plots import hollow

    rows = [row for row in rows if "failure" not in row]
    densities = sorted({row["density"] for row in rows})
    cutoffs = sorted({row["cutoff"] for row in rows})
    names = list(dict.fromkeys(row["variant"] for row in rows))
    figure = Figure(
        figsize=(max(4.5, 3.6 * len(densities)), 0.8 + 2.9 * len(cutoffs)), layout="constrained"
    )
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(cutoffs), len(densities), sharex=True, sharey=True, squeeze=False)
    for (i, cutoff), (j, density) in itertools.product(enumerate(cutoffs), enumerate(densities)):
        panel = panels[i][j]
        panel.set_title(f"$\\rho$ = {density:g}, $r_c$ = {cutoff:g}")
        for k, name in enumerate(names):
            points = sorted(
                (row["particles"], row["million_particle_steps_per_second"], bool(row["warnings"]))
                for row in rows
                if (row["variant"], row["density"], row["cutoff"]) == (name, density, cutoff)
            )
            if points:
                sizes, speeds, warned = zip(*points, strict=True)
                panel.loglog(sizes, speeds, "o-", color=f"C{k}", label=name)
                hollow(panel, sizes, speeds, warned, "o", f"C{k}")
        panel.grid(alpha=0.3)
    for panel in panels[-1]:
        panel.set_xlabel("particles")
    for panels_of_row in panels:
        panels_of_row[0].set_ylabel("million particle-steps per second")
    figure.legend(
        *_entries(panels),
        loc="outside lower center",
        ncols=min(2, len(densities)),
        fontsize="small",
        frameon=False,
    )
    write_picture(path, figure, dpi=120)


def _entries(panels: Any) -> tuple[list[Any], list[str]]:
    """Each line of any panel once, for the legend."""
    entries: dict[str, Any] = {}
    for panel in panels.flat:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    return list(entries.values()), list(entries)
