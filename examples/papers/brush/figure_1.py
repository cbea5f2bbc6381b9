# SPDX-License-Identifier: BSD-3-Clause
"""The two updating schemes of Figure 1, random and sequential, as chains of the 3:-1 electrolyte.

Both schemes sample the same distribution (section 2 of the paper). In the random scheme an ion is
tried once per cycle on average, and a share of about 1/e of the ions is not tried in a cycle.
`Electrolyte` has only the sequential scheme, which can be computed in parallel. The program
updating.cpp computes both chains one step at a time; its sequential chain equals `Electrolyte`'s.

    python figure_1.py --chains 8 --jobs 4
"""

from __future__ import annotations

import argparse
import ctypes
import math
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from trivalent import BJERRUM, DIAMETER, VALENCES, cell

from manymove import Electrolyte, script
from manymove.analysis.autocorrelation import correlation_of
from manymove.analysis.notation import with_error

SOURCE = Path(__file__).with_name("updating.cpp")
SCHEMES = ("sequential", "random")
LAGS = 40  # sweeps, of the curves and the sums
Function = Callable[..., None]


def compiled(folder: str) -> Function:
    """The function of updating.cpp. Products and sums are not fused, as in the engine."""
    core = str(SOURCE.parents[3] / "plugins/core")
    library = script.compiled(SOURCE, folder, "-ffp-contract=off", "-I", core)
    function = library.updating
    function.restype = None
    return function


class Setup(ctypes.Structure):
    """Setup in updating.cpp."""

    _fields_ = (
        ("random_order", ctypes.c_int32), ("ions", ctypes.c_uint32), ("step", ctypes.c_uint32),
        ("contact", ctypes.c_double), ("largest_charge", ctypes.c_double),
        ("bjerrum", ctypes.c_double),
        *[(name, ctypes.c_uint64) for name in ("seed", "first_cycle", "cycles")],
    )  # fmt: skip


class Chain:
    """A chain of one of the schemes, from the present state of an electrolyte in a sphere.

    Args:
        ions: ions at the start, of one diameter, with the settings of the chain.
        function: function of updating.cpp.
        random: whether the ion of a step is chosen at random.
    """

    def __init__(self, ions: Electrolyte, function: Function, random: bool) -> None:
        unit = float(ions.radius or 0) / 2**23
        valences = np.array([s.valence for s in ions.species])
        self.sites = np.empty((ions.N, 4), dtype=np.float32)
        self.sites[:, :3] = np.rint(ions.positions / unit)
        self.sites[:, 3] = valences[ions.types]
        self.setup = Setup(
            random, ions.N, round(ions.max_displacement / unit),
            ions.species[0].diameter / unit, float(np.abs(valences).max()),
            ions.bjerrum_length / unit, ions.seed, ions.sweeps, 0,
        )  # fmt: skip
        self.counters = np.zeros(2, dtype=np.uint64)
        self.energies = np.empty(0)  # changes since the start, in kT
        self.seconds = 0.0
        self._function = function

    def run(self, sweeps: int) -> None:
        """Run for these cycles of N steps."""
        began = time.perf_counter()
        new = np.empty(sweeps)
        self.setup.cycles = sweeps
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (self.sites, new, self.counters)]
        self._function(ctypes.byref(self.setup), *pointers)
        self.setup.first_cycle += sweeps
        before = self.energies[-1] if self.energies.size else 0.0
        self.energies = np.concatenate((self.energies, before + new))
        self.seconds += time.perf_counter() - began


def measured(scheme: str, k: int, options: argparse.Namespace, function: Function) -> Any:
    """Energies per ion of one chain, and its counters."""
    salt, sphere = cell(options.ions)
    ions = Electrolyte.random(
        salt, box=sphere, bjerrum_length=BJERRUM, precision="double", seed=options.seed + k,
        device="cpu", threads=1,
    )  # fmt: skip
    energy = ions.energy
    chain = Chain(ions, function, scheme == "random")
    chain.run(options.equilibrate + options.sweeps)
    trials = ions.N * (options.equilibrate + options.sweeps)
    return {
        "energies": (energy + chain.energies[options.equilibrate :]) / ions.N,
        "acceptance": int(chain.counters[0]) / trials,
        "evaluated": int(chain.counters[1]) / trials,
        "seconds_per_sweep": chain.seconds / (options.equilibrate + options.sweeps),
    }


def times_of(curves: np.ndarray) -> tuple[float, float]:
    """T_c of Eq. 10 from C_n of each chain, (chains, lags), and its error over the chains."""
    times = curves[:, 1:].sum(axis=1) + 0.5
    error = times.std(ddof=1) / math.sqrt(len(times)) if len(times) > 1 else math.nan
    return float(times.mean()), float(error)


def curves_of(energies: np.ndarray, lags: int = LAGS) -> np.ndarray:
    """C_n of Eq. 9 of each chain, (chains, sweeps) -> (chains, lags + 1), about the mean of all
    chains and over their variance."""
    rest = energies - energies.mean()
    found = np.array([correlation_of(one[None])[: lags + 1] for one in rest])
    return found / found[:, 0].mean()


def combined(scheme: str, chains: list[dict[str, Any]]) -> dict[str, Any]:
    energies = np.array([one["energies"] for one in chains])
    curves = curves_of(energies, min(LAGS, energies.shape[1] // 4))
    time_, error = times_of(curves)
    means = energies.mean(axis=1)
    spread = means.std(ddof=1) / math.sqrt(len(means)) if len(means) > 1 else math.nan
    return {
        "scheme": scheme,
        "energy": float(means.mean()), "energy_error": script_number(spread),
        "energy_variance": float(energies.var()),
        "autocorrelation_time": time_, "autocorrelation_time_error": script_number(error),
        "acceptance": float(np.mean([one["acceptance"] for one in chains])),
        "evaluated": float(np.mean([one["evaluated"] for one in chains])),
        "seconds_per_sweep": float(np.mean([one["seconds_per_sweep"] for one in chains])),
        "autocorrelation": curves.mean(axis=0).tolist(),
    }  # fmt: skip


def script_number(value: float) -> float | None:
    """None for NaN, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def rows(options: argparse.Namespace, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    size = f"{options.ions:,} ions"
    length = f"{options.chains} chains of {options.sweeps:,} sweeps"
    found = []
    quantities = {
        "energy per ion (kT)": "energy",
        "correlation time $T_c$ of the energy (sweeps)": "autocorrelation_time",
    }
    for text, key in quantities.items():
        for one in results:
            ours = (one[key], one[f"{key}_error"])
            found.append(script.compared(f"{one['scheme']}: {text}", ours, None, size, length))
    return found


def draw(result: dict[str, Any]) -> Figure:
    """C_n of both schemes."""
    figure = Figure(figsize=(5.6, 4), layout="constrained")
    axes = figure.add_subplot()
    for one in result["results"]:
        c = one["autocorrelation"]
        error = one["autocorrelation_time_error"]
        text = f"{one['autocorrelation_time']:.2f}" if error is None else with_error(
            one["autocorrelation_time"], error)  # fmt: skip
        axes.plot(range(len(c)), c, "o-", ms=3, label=f"{one['scheme']}, $T_c$ = {text} sweeps")
    axes.axhline(0, color="grey", lw=0.6)
    axes.set(
        xlabel="n (sweeps)", ylabel="autocorrelation of the energy $C_n$",
        title=f"{result['ions']:,} ions +3:-1, both updating schemes", xlim=(0, 25),
    )  # fmt: skip
    axes.legend()
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--ions", 1024, "Number of ions, a multiple of 4.")
    parser.option("--sweeps", 5000, "Number of sweeps of a chain.")
    parser.option("--equilibrate", 50, "Number of sweeps of the equilibration.")
    parser.option("--chains", 4, "Number of independent chains of each scheme.")
    parser.option("--jobs", 1, "Number of simultaneous chains.")
    quick = {"ions": 128, "sweeps": 200, "equilibrate": 10, "chains": 2}
    options = script.parse(parser, "figure_1", quick, draw=draw)
    script.at_least(options, chains=1, jobs=1, sweeps=20, equilibrate=0)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as threads:
        function = compiled(folder)
        tasks = [
            [threads.submit(measured, scheme, k, options, function) for k in range(options.chains)]
            for scheme in SCHEMES
        ]
        results = [
            combined(scheme, [task.result() for task in some])
            for scheme, some in zip(SCHEMES, tasks, strict=True)
        ]
    for one in results:
        print(
            f"{one['scheme']}: {one['energy']:.5f} kT per ion, {one['acceptance']:.1%} accepted, "
            f"T_c = {one['autocorrelation_time']:.2f} sweeps"
        )
    about = {"device": "cpu", "valences": VALENCES, "diameter": DIAMETER}
    script.finish(options, {**about, "results": results, "rows": rows(options, results)}, draw)


if __name__ == "__main__":
    script.run_script(main)
