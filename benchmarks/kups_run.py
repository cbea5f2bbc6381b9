"""Open systems of rigid molecules in kUPS: the program that `benchmarks.kups` starts.

The program runs with the Python in which kUPS is installed, and imports nothing of this project:
`python -P kups_run.py system.json report.json`. kUPS advances all systems together: the trial moves
of a step are of one kind, and each system accepts or rejects its own.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from kups.application.simulations import mcmc_rigid
from kups.application.utils.propagate import make_sampled_cycle_function
from kups.core.constants import BOLTZMANN_CONSTANT
from kups.core.propagator import propagate_and_fix
from kups.core.result import as_result_function
from kups.mcmc.probability import motif_counts

_CYCLES = 8  # cycles in a compiled call, the default of kUPS
_IDEAL = 1e15  # Pa: a critical pressure with which the gas is ideal and its fugacity the pressure


def configuration(system: dict[str, Any]) -> mcmc_rigid.Config:
    """kUPS' configuration; energies are in eV, lengths in angstrom, pressures in pascal."""
    sites = system["sites"]
    guest = {
        "critical_temperature": system["temperature"],
        "critical_pressure": _IDEAL,
        "acentric_factor": 0.0,
        "positions": [site["position"] for site in sites],
        "symbols": [site["label"] for site in sites],
        "charges": [site["charge"] for site in sites],
        "masses": [1.0] * len(sites),
        "atomic_numbers": [0] * len(sites),
    }
    host = {
        "cif_file": system["cif"],
        "pressure": system["fugacity"] * 1e5,
        "temperature": system["temperature"],
        "init_adsorbates": [system["molecules"]],
        "cell_replication": system["cells"],
    }
    laws = {
        label: (sigma, epsilon * BOLTZMANN_CONSTANT)
        for label, (epsilon, sigma) in system["laws"].items()
    }
    run = {
        "out_file": "kups.h5",
        "num_cycles": 1,
        "num_warmup_cycles": 1,
        # All cycles have this length as long as no system has more molecules.
        "min_cycle_length": system["steps"],
        "cycles_per_call": _CYCLES,
        **{f"{kind}_prob": share for kind, share in system["shares"].items()},
        "seed": system["seed"],
    }
    return mcmc_rigid.Config.model_validate({
        "adsorbates": [guest],
        "hosts": [host] * system["systems"],
        "run": run,
        "lj": {
            "cutoff": system["cutoff"],
            "parameters": laws,
            "tail_correction": False,
            "mixing_rule": "lorentz_berthelot",
        },
        "ewald": {"real_cutoff": system["cutoff"], "precision": system["precision"]},
    })  # fmt: skip


def initial(config: mcmc_rigid.Config, room: int, key: jax.Array) -> mcmc_rigid.MCMCState:
    """The systems, with memory for `room` more molecules in each.

    kUPS estimates that number from the volume outside the atoms' van der Waals spheres, which is
    negative in dense zeolites. All systems start with the same molecules, which are placed once.
    """
    estimate, place = mcmc_rigid.estimate_max_adsorbates, mcmc_rigid.mcmc_state_from_config
    placed: list[Any] = []

    def once(*arguments: Any) -> Any:
        if not placed:
            placed.append(place(*arguments))
        return placed[0]

    mcmc_rigid.mcmc_state_from_config = once
    mcmc_rigid.estimate_max_adsorbates = lambda particles, motifs, systems: systems.set_data(
        jnp.full(len(systems), room)
    )
    try:
        return mcmc_rigid.init_state(key, config)
    finally:
        mcmc_rigid.estimate_max_adsorbates, mcmc_rigid.mcmc_state_from_config = estimate, place


class Chain:
    """The systems and the compiled function that advances them.

    Attributes:
        repairs: number of calls that were repeated with more memory, and compiled again.
    """

    def __init__(self, config: mcmc_rigid.Config, room: int) -> None:
        self._key = jax.random.key(config.run.seed)
        self.state = initial(config, room, self._next())
        first, cycle = mcmc_rigid.make_propagator(self.state, config.run)
        self.state = propagate_and_fix(as_result_function(first), self._next(), self.state)
        self._call = make_sampled_cycle_function(cycle, _sample)
        self.repairs = 0

    def _next(self) -> jax.Array:
        self._key, key = jax.random.split(self._key)
        return key

    def run(self) -> tuple[np.ndarray, ...]:
        """One call: molecules, energies in kelvin and acceptances after each cycle."""
        keys = jax.random.split(self._next(), _CYCLES)
        while True:
            result = self._call(keys, self.state)
            self.state, samples = result.value
            if not result.failed_assertions:
                counts, energies, accepted = jax.device_get(samples.arrays)
                return counts, energies / BOLTZMANN_CONSTANT, accepted
            self.repairs += 1
            self.state = result.fix_or_raise(self.state)


def _sample(state: mcmc_rigid.MCMCState) -> tuple[jax.Array, ...]:
    """What is kept of a cycle, of each system: float64 (systems,) three times."""
    return (
        motif_counts(state.groups)[:, 0].astype(float),
        state.systems.data.potential_energy.total,
        state.exchange_params.data.history.values.mean(axis=-1),
    )


def measured(chain: Chain, seconds: float, least: int = 1) -> dict[str, Any]:
    """The samples of at least so many calls and seconds; calls that were compiled again are left
    out of both."""
    kept: list[tuple[np.ndarray, ...]] = []
    spent, compiled = 0.0, 0.0
    while spent < seconds or len(kept) < least:
        began, repairs = time.perf_counter(), chain.repairs
        samples = chain.run()
        took = time.perf_counter() - began
        if chain.repairs > repairs:
            compiled += took
            continue
        spent += took
        kept.append(samples)
    counts, energies, accepted = (np.concatenate(part) for part in zip(*kept, strict=True))
    return {
        "numbers": counts.tolist(),
        "seconds": spent,
        "compile_seconds": compiled,
        "energy_with_framework_K": float(energies.mean()),
        "acceptance": float(accepted.mean()),
    }


def main(system_file: str, report_file: str) -> None:
    began = time.perf_counter()
    system = json.loads(Path(system_file).read_text())
    config = configuration(system)
    chain = Chain(config, system["room"])
    started = time.perf_counter()
    chain.run()
    compiled = time.perf_counter()
    before = measured(chain, system["equilibrate"])
    report = measured(chain, system["seconds"], least=4)
    report |= {
        "version": version("kups"),
        "jax": version("jax"),
        "device": jax.devices()[0].platform,
        "device_name": jax.devices()[0].device_kind,
        "start_seconds": started - began,
        "compile_seconds": compiled - started + before["compile_seconds"]
        + report["compile_seconds"],
        "equilibration_seconds": before["seconds"],
        "equilibration_cycles": len(before["numbers"]),
        "repairs": chain.repairs,
    }  # fmt: skip
    Path(report_file).write_text(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
