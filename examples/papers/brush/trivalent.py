# SPDX-License-Identifier: BSD-3-Clause
"""The 3:-1 electrolyte of section 5 of the paper, and its chains, which several figures analyze."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manymove import Electrolyte, Sphere, script
from manymove.analysis.ions import Salt
from manymove.analysis.pair_correlations import PairCorrelations, PairSampling, species_pairs
from manymove.info import record

VALENCES, DIAMETER = (3, -1), 7.5  # angstrom
DEBYE_LENGTH, BJERRUM = 28.53, 7.117  # angstrom, bare
PAPER = {  # section 5.2, Figures 13 and 14
    "debye_length": 25.57, "valences": (4.125, -0.884), "autocorrelation_time": 2.3,
    "bare_debye_length": 28.53,
}  # fmt: skip
MARGIN = 10.0  # bare Debye lengths from the wall, within which no ion is counted
BIN_WIDTH, FARTHEST = 0.25, 400.0  # of g(r), in angstrom
DRAWN = 2.0  # width of the bins in a record, in angstrom
MOST_BLOCKS = 20  # of g, for errors
MOST_WITH_ENERGY = 2_000_000  # ions; the energy is a sum over all pairs
# What a chain depends on; a run of another script is analyzed with its own values.
SETTINGS = ("ions", "sweeps", "chains", "equilibrate", "every", "margins", "method", "precision",
            "seed")  # fmt: skip
WHERE = ("date", "version", "commit", "machine", "cpu", "gpus", "driver", "build")


def cell(
    ions: int, debye_length: float = DEBYE_LENGTH, diameter: float = DIAMETER
) -> tuple[Salt, Sphere]:
    """The salt and its spherical cell, in which the mean density has this bare Debye length."""
    salt = Salt.of(ions, VALENCES, (diameter, diameter))
    volume = ions / salt.density(debye_length, BJERRUM)
    return salt, Sphere((3 * volume / (4 * math.pi)) ** (1 / 3))


@dataclass(frozen=True)
class Chain:
    """A chain that has ended.

    Attributes:
        about: settings and counters, and the machine and date of the run.
        energies: energy per ion in kT after each sweep, float64 (sweeps,); empty for more than two
            million ions, for which the sum over all pairs takes minutes.
        correlations: pair correlations of the ions that are farther from the wall than a number of
            bare Debye lengths, by this number.
    """

    about: dict[str, Any]
    energies: np.ndarray
    correlations: dict[float, PairCorrelations]


def arguments(parser: script.Parser) -> None:
    """Add the options of the chains."""
    parser.option("--ions", 16384, "Number of ions, a multiple of 4.")
    parser.option("--sweeps", 2000, "Number of sweeps of a chain.")
    parser.option("--chains", 2, "Number of independent chains.")
    parser.option("--equilibrate", 50, "Number of sweeps of the equilibration.")
    parser.option("--every", 4, "Number of sweeps between samples of g(r).")
    parser.option(
        "--margins",
        [MARGIN],
        "Bare Debye lengths from the wall within which no ion is counted (default 10).",
    )
    parser.option("--method", "auto", choices=("brush", "tree", "auto"))
    parser.option("--precision", str, choices=("mixed", "double"))
    parser.option("--seed", 1, "Seed of the first chain.")
    parser.option("--device", "auto")
    parser.option("--threads", int)
    parser.option("--minutes", float, "Time in minutes after which no chain begins.")
    parser.option(
        "--run",
        str,
        "Folder of a finished run of another figure, whose chains are analyzed.",
        metavar="FOLDER",
    )


QUICK = {"ions": 1024, "sweeps": 40, "chains": 1, "equilibrate": 4, "every": 2, "threads": 1}


def chains(options: argparse.Namespace) -> list[Chain]:
    """The chains of the options, which are kept in --output. With --run, those of an earlier run
    are read instead.

    Raises:
        ValueError, OSError: an option is out of range, or the folder of --run has no finished run.
    """
    if options.run is not None:
        kept = json.loads((Path(options.run) / "parts.json").read_text())
        for name in SETTINGS:
            setattr(options, name, kept["options"][name])
        return [read(Path(options.run), name, about) for name, about in kept["parts"].items()]
    script.at_least(options, chains=1, sweeps=20, equilibrate=0, every=1, margins=0)
    parts = script.Parts(options, without=("device", "threads", "run"))
    found = []
    for k in range(options.chains):
        name = f"chain {k + 1}"
        about = parts.run(name, lambda k=k, name=name: run(options, k, name))
        found.append(read(options.output, name, about))
    return found


def run(options: argparse.Namespace, k: int, name: str) -> dict[str, Any]:
    """Make a chain, and write its arrays into --output."""
    salt, sphere = cell(options.ions)
    ions = Electrolyte.random(
        salt, box=sphere, bjerrum_length=BJERRUM, precision=options.precision,
        method=options.method, seed=options.seed + k, device=options.device,
        threads=options.threads,
    )  # fmt: skip
    ions.run(options.equilibrate)
    ions.reset_averages()
    samplings = []
    for margin in options.margins:
        interior = sphere.radius - min(margin * DEBYE_LENGTH, sphere.radius / 2)
        bins = int(min(FARTHEST, 2 * interior) / BIN_WIDTH)
        samplings.append(PairSampling(options.every, BIN_WIDTH, bins, interior, None, VALENCES))

    def sample(one: Electrolyte) -> None:
        for sampling in samplings:
            sampling.take(one.core)

    def show(one: Electrolyte) -> None:
        print(f"\r{name}, sweep {one.sweeps}", end="", flush=True)

    ions.run(options.sweeps, [(options.every, sample), (max(1, options.sweeps // 100), show)])
    print()
    with_energy = ions.N <= MOST_WITH_ENERGY
    energies = ions.energy_records / ions.N if with_energy else np.empty(0)
    arrays: dict[str, np.ndarray] = {"energies": energies}
    for margin, sampling in zip(options.margins, samplings, strict=True):
        result = sampling.result()
        size = math.ceil(len(result.blocks) / MOST_BLOCKS)
        whole = len(result.blocks) // size * size
        blocks = result.blocks[:whole].reshape(-1, size, *result.g.shape).mean(axis=1)
        for key in ("r", "g", "counts", "ideal", "densities", "interior"):
            arrays[f"{key} {margin:g}"] = getattr(result, key)
        arrays[f"blocks {margin:g}"] = blocks
    np.savez_compressed(options.output / f"{name}.npz", **arrays)
    made = record()
    return {
        **{key: made[key] for key in WHERE if key in made},
        "seed": options.seed + k, "ions": ions.N, "sweeps": options.sweeps, "radius": ions.radius,
        "device": ions.device, "device_name": ions.device_name, "threads": ions.threads,
        "method": ions.method, "precision": ions.precision, "acceptance": ions.acceptance,
        "max_displacement": ions.max_displacement,
        "seconds_per_sweep": ions.seconds / (options.equilibrate + options.sweeps),
        "energy_drift": ions.energy_drift() / ions.energy if with_energy else None,
        "state_hash": ions.state_hash,
    }  # fmt: skip


def read(folder: Path, name: str, about: dict[str, Any]) -> Chain:
    """A chain that has ended."""
    with np.load(folder / f"{name}.npz") as file:
        arrays = dict(file)
    found = {}
    for key in arrays:
        if key.startswith("g "):
            margin = key.partition(" ")[2]
            columns = {
                column: arrays[f"{column} {margin}"]
                for column in ("r", "g", "counts", "ideal", "densities", "interior", "blocks")
            }
            pairs = species_pairs(len(VALENCES))
            found[float(margin)] = PairCorrelations(**columns, pairs=pairs, valences=VALENCES)
    return Chain(about, arrays["energies"], found)


def described(found: list[Chain]) -> dict[str, Any]:
    """Entries of a summary: the machine and the date of the chains, and what they are."""
    first = found[0].about
    return {
        **{key: first[key] for key in WHERE if key in first},
        "device": first["device"], "device_name": first["device_name"],
        "threads": first["threads"], "method": first["method"], "precision": first["precision"],
        "each_chain": [
            {key: value for key, value in one.about.items() if key not in WHERE} for one in found
        ],
    }  # fmt: skip


def title(result: dict[str, Any]) -> str:
    """Title of a figure of these chains."""
    return (
        f"{result['ions']:,} ions +3:-1, diameter {DIAMETER} Å, bare Debye length {DEBYE_LENGTH} Å"
        f"\n{length_of(argparse.Namespace(**result))}, {result['device_name']}"
    )


def size_of(options: argparse.Namespace) -> str:
    return f"{options.ions:,} ions"


def length_of(options: argparse.Namespace) -> str:
    if options.chains == 1:
        return f"{options.sweeps:,} sweeps"
    return f"{options.chains} chains of {options.sweeps:,} sweeps"


def coarse(correlations: list[PairCorrelations]) -> tuple[np.ndarray, np.ndarray]:
    """r and g of all chains together in bins of 2 angstrom, float64 (bins,) and (3, bins)."""
    wide = round(DRAWN / BIN_WIDTH)
    keep = correlations[0].r.size // wide * wide

    def summed(rows: np.ndarray) -> np.ndarray:
        return rows[:, :keep].reshape(len(rows), -1, wide).sum(axis=2)

    counts = sum(summed(one.counts.astype(float)) for one in correlations)
    ideal = sum(summed(one.ideal) for one in correlations)
    return (np.arange(keep // wide) + 0.5) * DRAWN, counts / ideal


def samples_of(correlations: list[PairCorrelations]) -> list[np.ndarray]:
    """g of the blocks of all chains in bins of 2 angstrom, for errors."""
    wide = round(DRAWN / BIN_WIDTH)
    keep = correlations[0].r.size // wide * wide
    weight = correlations[0].ideal[:, :keep].reshape(3, -1, wide)
    weight = weight / weight.sum(axis=2, keepdims=True)
    return [
        (block[:, :keep].reshape(3, -1, wide) * weight).sum(axis=2)
        for one in correlations
        for block in one.blocks
    ]


def normalized(r: np.ndarray, g: np.ndarray) -> np.ndarray:
    """g divided by its mean beyond eight bare Debye lengths, where ions are uncorrelated. (The mean
    differs from 1 by about one over the number of ions that are counted.) Unchanged if it is not
    known there."""
    far = r > 8 * DEBYE_LENGTH
    weights = r[far] ** 2
    return g / ((g[:, far] * weights).sum(axis=1) / weights.sum())[:, None] if far.any() else g


def pooled_densities(correlations: list[PairCorrelations]) -> np.ndarray:
    return np.mean([one.densities for one in correlations], axis=0)
