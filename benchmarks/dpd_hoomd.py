"""DPD in HOOMD-blue: md.pair.DPD and the component hoomd.manymove.

`python -m benchmarks hoomd --dpd` times both. `python -m benchmarks dpd` starts this module in a
separate process, for md.pair.DPD. The first line of standard input is JSON and specifies the fluid,
which is melted; then the fastest buffer of the neighbor list is chosen. Each further line
{"steps": n} requests a timed run. Each line is answered by a line of JSON: first a rate and a
buffer, then seconds and a temperature, or a failure. `--version` only prints the version of
HOOMD-blue if it can run here.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from typing import Any

import numpy as np

from benchmarks.dpd_variants import FEWEST_STEPS, more, tuning_steps

TUNING_SECONDS = 30.0  # maximum, for HOOMD-blue's choice of kernel parameters


class Fluid:
    """The fluid of Groot and Warren at constant energy, with a buffer that can be changed."""

    def __init__(self, request: dict[str, Any]) -> None:
        import hoomd

        N, edge = request["particles"], request["edge"]
        self.warm_up = request["warm_up"]
        gpu = request["device"] == "gpu"
        device = hoomd.device.GPU() if gpu else hoomd.device.CPU()
        device.notice_level = 0
        snapshot = hoomd.Snapshot()
        snapshot.configuration.box = [edge, edge, edge, 0, 0, 0]
        snapshot.particles.types = ["A"]
        snapshot.particles.N = N
        rng = np.random.default_rng(request["seed"])
        snapshot.particles.position[:] = edge * (rng.random((N, 3), dtype=np.float32) - 0.5)
        velocity = rng.standard_normal((N, 3), dtype=np.float32)
        snapshot.particles.velocity[:] = velocity - velocity.mean(axis=0, dtype=np.float64)
        self.simulation = hoomd.Simulation(device=device, seed=request["seed"] % 65536)
        self.simulation.create_state_from_snapshot(snapshot)
        self.begin(request)

    def begin(self, request: dict[str, Any]) -> None:
        """Make the integrator, the object that has the buffer, and the thermometer."""
        import hoomd
        import hoomd.md

        self.neighbors = hoomd.md.nlist.Cell(buffer=request["buffers"][0])
        dpd = hoomd.md.pair.DPD(nlist=self.neighbors, kT=1.0, default_r_cut=request["cutoff"])
        dpd.params[("A", "A")] = {"A": request["a"], "gamma": 4.5}
        self.integrator = hoomd.md.Integrator(
            dt=request["timestep"],
            methods=[hoomd.md.methods.ConstantVolume(filter=hoomd.filter.All())],
            forces=[dpd],
        )
        self.simulation.operations.integrator = self.integrator
        self.thermo = hoomd.md.compute.ThermodynamicQuantities(filter=hoomd.filter.All())
        self.simulation.operations.computes.append(self.thermo)

    @property
    def temperature(self) -> float:
        return self.thermo.kinetic_temperature

    def seconds(self, steps: int) -> float:
        """Time in seconds of a number of steps; reading the temperature waits for the GPU."""
        begin = time.perf_counter()
        self.simulation.run(steps)
        _ = self.temperature
        return time.perf_counter() - begin

    def timed(self, steps: int) -> float:
        """Time in seconds of a number of steps without the constant time of a run, as for
        LAMMPS."""
        return more(self.seconds(self.warm_up), self.seconds(self.warm_up + steps))

    def melt(self, steps: int) -> None:
        timestep = self.integrator.dt
        self.integrator.dt = 0.2 * timestep  # overlapping particles are fast at first
        self.simulation.run(steps // 4)
        self.integrator.dt = timestep
        self.simulation.run(steps)
        begin = time.monotonic()
        while (
            not self.simulation.operations.is_tuning_complete
            and time.monotonic() - begin < TUNING_SECONDS
        ):
            self.simulation.run(100)

    def fastest(self, buffers: list[float], seconds: float) -> tuple[float, float]:
        """Set the buffer with the highest rate of steps, and return both."""
        steps = tuning_steps(self.timed(FEWEST_STEPS) / FEWEST_STEPS, seconds)
        rates = dict.fromkeys(buffers, 0.0)
        for buffer in [*buffers, *buffers]:
            self.neighbors.buffer = buffer
            rates[buffer] = max(rates[buffer], steps / self.timed(steps))
        best = max(rates, key=rates.__getitem__)
        self.neighbors.buffer = best
        return best, rates[best]


class ComponentFluid(Fluid):
    """The same fluid in hoomd.manymove.DPD."""

    def begin(self, request: dict[str, Any]) -> None:
        import hoomd.manymove

        dpd = hoomd.manymove.DPD(
            request["timestep"],
            1.0,
            default_r_cut=request["cutoff"],
            buffer=request["buffers"][0],
            precision=request["precision"],
            threads=request["threads"],
        )
        dpd.params[("A", "A")] = {"A": request["a"], "gamma": 4.5}
        self.simulation.operations.integrator = dpd
        self.neighbors = self.integrator = self.thermo = dpd


def answer(lines: Any) -> Any:
    """Yield the reply to each line."""
    try:
        request = json.loads(next(lines))
        fluid = Fluid(request)
        fluid.melt(request["melt"])
        buffer, rate = fluid.fastest(request["buffers"], request["tuning_seconds"])
        yield {"buffer": buffer, "rate": rate * request["particles"]}
        for line in lines:
            seconds = fluid.timed(json.loads(line)["steps"])
            if not math.isfinite(fluid.temperature):
                raise RuntimeError(f"the temperature is {fluid.temperature}")
            yield {"seconds": seconds, "temperature": fluid.temperature}
    except Exception as error:
        yield {"failure": f"{type(error).__name__}: {error}"}


def main() -> int:
    if sys.argv[1:] == ["--version"]:
        import hoomd
        import hoomd.md

        if not hoomd.device.GPU.get_available_devices():
            sys.exit(f"HOOMD-blue {hoomd.version.version} has no GPU here")
        print(hoomd.version.version)
        return 0
    # Output of libraries must not appear between the replies.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for reply in answer(iter(sys.stdin)):
        print(json.dumps(reply), file=replies, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
