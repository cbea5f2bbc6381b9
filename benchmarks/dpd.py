"""Speed of DPD: `python -m benchmarks dpd`.

Every variant has the same fluid, melted from a random start. It chooses its fastest neighbor skin,
and dpd/kk also its fastest sorting and bins. Then it is timed, in turn with the others, by the
difference of a long and a short run. Our variants are pair_style manymove/dpd in LAMMPS' verlet and
in run_style manymove/verlet, on MPI ranks and threads of the CPU, and the latter on a GPU. The
peers are LAMMPS' dpd on the same ranks, dpd/kk and dpd/gpu of any LAMMPS that has them for a GPU,
and HOOMD-blue's md.pair.DPD. --pair chooses other styles, with LAMMPS' styles of the same names as
peers. Styles with the same density take turns, and are compared with dpd if it is one of them.
--shear shears the box by fix deform. --charged is the share of charged particles of
dpd/coul/slater/long.
"""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import dpd_variants
from benchmarks.dpd_variants import Case, Variant
from manymove.arguments import PRECISIONS
from manymove.bench import status
from manymove.bench.harness import Report, Table, check, spread
from manymove.devices import usable_cores
from manymove.jobs.figures import hollow, need_matplotlib, new_panels, write_picture
from manymove.lammps import host

DENSITY = 3.0
MANY_BODY_DENSITY = 6.1  # of the liquid without pressure
GPU_SIZES = [100_000, 2_000_000]
CPU_SIZES = [24_000]
SHORTEST_MELT = 100  # steps; earlier, the overlaps of the start have not heated the fluid yet
DEVICES = ("auto", "cpu", "cuda")


def run(
    *,
    sizes: Sequence[int] | None = None,
    densities: Sequence[float] | None = None,
    cutoffs: Sequence[float] = (1.0,),
    timestep: float = 0.005,
    skins: Sequence[float] = (0.3,),
    weight_exponent: float = 1.0,
    pairs: Sequence[str] = ("dpd",),
    shear: Sequence[float] = (0.0,),
    charged: float = 0.1,
    device: str,
    precisions: Sequence[str] = PRECISIONS,
    ranks: Sequence[int] | None = None,
    threads: Sequence[int] = (1,),
    lammps: Sequence[Path] = (),
    lammps_ranks: Sequence[int] = (1,),
    equilibrate: int = 1000,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None = None,
    plot_file: Path | None = None,
) -> dict[str, Any]:
    """Time every size at every density and cutoff, print a table, write the JSON file after each.

    The arguments are the options of the command; None stands for their defaults.

    Returns:
        the content of the JSON file.

    Raises:
        ValueError: an argument is out of range, or a GPU is requested and there is none.
        RuntimeError: LAMMPS, its MPI or the plugin is missing, or the fluid does not melt.
        ImportError: a picture is requested and matplotlib is not installed.
    """
    check(repeats, seconds, equilibrate, 0)
    if equilibrate < SHORTEST_MELT:
        raise ValueError(
            f"--equilibrate is {equilibrate}; the random start needs at least {SHORTEST_MELT} steps"
        )
    for name, numbers in (
        ("ranks", ranks or [1]),
        ("threads", threads or [1]),
        ("lammps-ranks", lammps_ranks or [1]),
    ):
        if min(numbers) < 1:
            raise ValueError(f"--{name} is {min(numbers)}; it must be positive")
    for name, chosen, known in (
        ("precision", precisions, PRECISIONS),
        ("pair", pairs, dpd_variants.PAIRS),
    ):
        for value in chosen:
            if value not in known:
                raise ValueError(f"--{name} is {value}; it must be one of {', '.join(known)}")
    for executable in lammps:
        if shutil.which(executable) is None:
            raise ValueError(f"--lammps {executable} is not an executable")
    if plot_file is not None:
        need_matplotlib()
    host.command()  # raises if something is missing
    gpu, cpu = _where(device)
    cores = len(usable_cores())
    sizes = sizes or (GPU_SIZES if gpu else CPU_SIZES)
    if dpd_variants.CHARGED in pairs and charged * min(sizes) < 2:
        raise ValueError(
            f"--charged is {charged:g}, but at least two particles must have charges: "
            "give a larger share or larger --sizes"
        )
    # The liquid of mdpd has another density, and melts by its own forces.
    cases = [
        (
            of_pairs,
            Case(
                N,
                density,
                cutoff,
                timestep,
                tuple(skins),
                weight_exponent,
                seed,
                many_body,
                rate,
                charged if dpd_variants.CHARGED in of_pairs else 0.0,
            ),
        )
        for many_body in (False, True)
        if (of_pairs := [pair for pair in dict.fromkeys(pairs) if (pair == "mdpd") is many_body])
        for density, cutoff, N, rate in itertools.product(
            densities or [MANY_BODY_DENSITY if many_body else DENSITY], cutoffs, sizes, shear
        )
    ]
    no_hoomd = device == "cpu" or "dpd" not in pairs or any(shear)
    hoomd, absent = ("", "") if no_hoomd else dpd_variants.hoomd()
    about = {
        "timestep": timestep,
        "skins": list(skins),
        "weight_exponent": weight_exponent,
        "pairs": list(pairs),
        "charged": charged,
        "melt": equilibrate,
        "cores": cores,
        "absent": absent,
        "lammps": lammps_version(),
    }
    report = Report(TABLE, json_file, **about)
    with tempfile.TemporaryDirectory() as folder:
        for of_pairs, case in cases:
            start = Path(folder) / "melted.restart"
            dpd_variants.melt(case, equilibrate, gpu, start)
            variants: list[Variant] = []
            for pair in of_pairs:
                if gpu:
                    variants += dpd_variants.ours_on_gpu(pair, precisions)
                if cpu:
                    variants += dpd_variants.on_cpu(pair, precisions, ranks or [cores], threads)
                if device != "cpu":
                    variants += dpd_variants.accelerated(pair, lammps, lammps_ranks)
            if hoomd and "dpd" in of_pairs:
                variants.append(dpd_variants.hoomd_variant(hoomd, equilibrate))
            for variant in variants if case.shear else []:
                variant.name += f", shear {case.shear:g}"
            report.add(_time(case, variants, start, repeats, seconds))
            if plot_file is not None:
                plot(plot_file, report.rows)
    found = report.end()
    if absent:
        print(f"left out: HOOMD-blue, {absent}")
    return found


def _where(device: str) -> tuple[bool, bool]:
    """Whether variants on a GPU and on the CPU are timed."""
    if device not in DEVICES:
        raise ValueError(f"--device is {device}; it must be one of {', '.join(DEVICES)}")
    resident = dpd_variants.resident()
    if device == "cuda" and not resident:
        raise ValueError("--device cuda: no GPU, or run_style manymove/verlet is not built for it")
    return resident and device != "cpu", device != "cuda"


def lammps_version() -> str:
    """Version of the LAMMPS in which our styles and `dpd` run."""
    text = dpd_variants.lammps("", host.command(), host.environment())[0]
    return re.search(r"LAMMPS \((.+?)\)", text).group(1)


def _time(
    case: Case, variants: list[Variant], start: Path, repeats: int, seconds: float
) -> list[dict[str, Any]]:
    """Results of all variants. Ours have the ratios to each peer of the same pair style, and to
    dpd with the same settings, round by round."""
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
            "shear": case.shear,
            **variant.result(),
        }
        if not variant.failure:
            shortest = case.particles * variant.steps / max(variant.rates)
            result["warnings"] = status.of_timing(shortest) + _hot(variant.temperature)
        if not variant.peer and not variant.failure:
            result["ratios"] = {
                peer.name: _ratio(variant, peer)
                for peer in variants
                if not peer.failure and _is_compared(variant, peer)
            }
        results.append(result)
    return results


def _hot(temperature: float) -> list[str]:
    """The warning of a fluid whose temperature differs from the set temperature."""
    if abs(temperature - 1) <= dpd_variants.MELTED:
        return []
    return [
        f"not equilibrated: the temperature is {temperature:.3g} instead of 1: raise --equilibrate"
    ]


def _is_compared(ours: Variant, other: Variant) -> bool:
    if other.peer:
        return other.settings["pair"] == ours.settings["pair"]
    keys = ours.settings.keys() | other.settings.keys()  # threads are of the CPU alone
    differing = {key for key in keys if ours.settings.get(key) != other.settings.get(key)}
    same_program = ours.name.split()[0] == other.name.split()[0]  # pair_style or run_style
    return differing - {"skin"} == {"pair"} and other.settings["pair"] == "dpd" and same_program


def _ratio(variant: Variant, peer: Variant) -> dict[str, float]:
    """Median and extremes of the ratios of the rates, one ratio per round."""
    ratios = [a / b for a, b in zip(variant.rates, peer.rates, strict=True)]
    return {"median": median(ratios), "lowest": min(ratios), "highest": max(ratios)}


def _unless_failed(key: str | Callable[[dict[str, Any]], Any], form: str) -> Any:
    """A column that is empty in the rows of failed variants."""

    def cell(row: dict[str, Any]) -> str:
        if "failure" in row:
            return ""
        return f"{row[key] if isinstance(key, str) else key(row):{form}}"

    return cell


def _peers(row: dict[str, Any]) -> str:
    if "failure" in row:
        return f"failed: {row['failure']}"
    return "  ".join(
        f"{ratio['median']:.3g} ({ratio['lowest']:.3g} to {ratio['highest']:.3g}) times "
        f"{name.removeprefix('pair_style ')}"
        for name, ratio in row.get("ratios", {}).items()
    )


_RATE = "million_particle_steps_per_second"
TABLE = Table(
    (
        ("particles", ">9", "particles"),
        ("rho", ">4g", "density"),
        ("r_c", ">4g", "cutoff"),
        ("variant", "<64", "variant"),
        ("skin", ">4", _unless_failed("skin", "g")),
        ("MPS", ">9", _unless_failed(_RATE, ".4g")),
        ("spread", ">6", _unless_failed(spread(_RATE), ".1%")),
        ("T", ">6", _unless_failed("temperature", ".3f")),
        ("status", f"<{status.WIDTH}", _unless_failed(status.status, "")),
    ),
    _peers,
    "ratio to peers",
)


def plot(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Speed against the number of particles, a panel for each density and cutoff.

    Raises:
        ImportError: matplotlib is not installed.
    """
    rows = [row for row in rows if "failure" not in row]
    densities = sorted({row["density"] for row in rows})
    cutoffs = sorted({row["cutoff"] for row in rows})
    names = list(dict.fromkeys(row["variant"] for row in rows))
    figure, panels = new_panels(
        (max(4.5, 3.6 * len(densities)), 0.8 + 2.9 * len(cutoffs)),
        (len(cutoffs), len(densities)),
        sharex=True,
        sharey=True,
    )
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
        panel.set_xlabel("number of particles")
    for panels_of_row in panels:
        panels_of_row[0].set_ylabel("speed (million particle-steps/s)")
    figure.legend(
        *_entries(panels),
        loc="outside lower center",
        ncols=min(2, len(densities)),
        fontsize="small",
        frameon=False,
    )
    write_picture(path, figure, dpi=120)


def _entries(panels: Any) -> tuple[list[Any], list[str]]:
    """Each line of all panels once, for the legend."""
    entries: dict[str, Any] = {}
    for panel in panels.flat:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    return list(entries.values()), list(entries)
