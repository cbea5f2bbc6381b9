"""Speed of DPD inside HOOMD-blue: `python -m benchmarks hoomd --dpd`.

Every variant has the same fluid, melted from a random start. It chooses its fastest buffer of the
neighbor list. Then it is timed, in turn with the others, by the difference of a long and a short
run.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import util
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.dpd_hoomd import ComponentFluid, Fluid
from benchmarks.dpd_variants import FEWEST_STEPS, WARM_UP, Case
from manymove import devices
from manymove.arguments import PRECISIONS
from manymove.bench import status
from manymove.bench.harness import STATUS, Report, Table, check, spread

GPU_SIZES = [100_000, 2_000_000]
CPU_SIZES = [24_000]
BUFFERS = (0.2, 0.3, 0.4, 0.5)
TIMESTEP = 0.005
DENSITY = 3.0
_RATE = "million_particle_steps_per_second"


def run(
    *,
    sizes: Sequence[int] | None = None,
    device: str,
    threads: int | None = None,
    equilibrate: int = 1000,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None = None,
) -> dict[str, Any]:
    """Time every size, print a table, and write the JSON file after each size.

    The arguments are the options of the command; None stands for their defaults.

    Returns:
        the content of the JSON file.

    Raises:
        ImportError: HOOMD-blue or the component is not installed.
        ValueError: an argument is out of range, or a GPU is asked for and HOOMD-blue has none.
    """
    check(repeats, seconds, equilibrate)
    if util.find_spec("hoomd") is None:
        raise ImportError("the benchmark hoomd needs HOOMD-blue, which is not installed here")
    import hoomd

    if util.find_spec("hoomd.manymove") is None:
        raise ImportError("hoomd.manymove is not installed (see hoomd_ext/README.md)")
    on_gpu = devices.on_gpu(device)
    if on_gpu and not hoomd.version.gpu_enabled:
        raise ValueError(
            f"this HOOMD-blue {hoomd.version.version} is built without GPU: use --device cpu"
        )
    absent = {} if hoomd.version.md_built else {"md": "this HOOMD-blue has no md"}
    report = Report(
        TABLE, json_file, timestep=TIMESTEP, buffers=list(BUFFERS), melt=equilibrate, absent=absent
    )
    for N in sizes or (GPU_SIZES if on_gpu else CPU_SIZES):
        case = Case(N, DENSITY, 1.0, TIMESTEP, BUFFERS, 1.0, seed)
        request = {
            "particles": N,
            "edge": case.edge,
            "cutoff": case.cutoff,
            "a": case.a,
            "timestep": TIMESTEP,
            "buffers": list(BUFFERS),
            "warm_up": WARM_UP,
            "device": "gpu" if on_gpu else "cpu",
            "threads": threads,
            "seed": seed,
        }
        variants = [
            _Timed(f"hoomd.manymove, {precision}", ComponentFluid, request, precision)
            for precision in PRECISIONS
        ]
        if not absent:
            variants.append(_Timed(f"md.pair.DPD {hoomd.version.version}", Fluid, request))
        for variant in variants:
            variant.prepare(equilibrate, seconds)
        for _ in range(repeats):
            for variant in variants:
                variant.time()
        rows = [variant.result() for variant in variants]
        for row, variant in zip(rows, variants, strict=True):
            if not absent and variant is not variants[-1]:
                row["ratio_to_md"] = median(
                    a / b for a, b in zip(variant.rates, variants[-1].rates, strict=True)
                )
        report.add(rows)
    found = report.end()
    for reason in absent.values():
        print(f"left out: md.pair.DPD, {reason}")
    return found


class _Timed:
    """A fluid that is timed."""

    def __init__(
        self, name: str, kind: type[Fluid], request: dict[str, Any], precision: str | None = None
    ) -> None:
        self.name, self.kind = name, kind
        self.request = {**request, "precision": precision}
        self.rates: list[float] = []

    def prepare(self, equilibrate: int, seconds: float) -> None:
        """Melt the fluid, and choose the buffer and the number of steps that takes `seconds`."""
        self.fluid = self.kind(self.request)
        self.fluid.melt(equilibrate)
        self.buffer, rate = self.fluid.fastest(self.request["buffers"], 0.5 * seconds)
        self.steps = max(FEWEST_STEPS, int(1.2 * seconds * rate))

    def time(self) -> None:
        seconds = self.fluid.timed(self.steps)
        self.rates.append(1e-6 * self.request["particles"] * self.steps / seconds)

    def result(self) -> dict[str, Any]:
        N = self.request["particles"]
        return {
            "particles": N,
            "variant": self.name,
            "buffer": self.buffer,
            _RATE: median(self.rates),
            "lowest": min(self.rates),
            "highest": max(self.rates),
            "repeats": len(self.rates),
            "steps_per_repeat": self.steps,
            "temperature": self.fluid.temperature,
            "warnings": status.of_timing(1e-6 * N * self.steps / max(self.rates)),
        }


TABLE = Table(
    (
        ("particles", ">9", "particles"),
        ("variant", "<28", "variant"),
        ("buffer", ">6g", "buffer"),
        ("MPS", ">9.4g", _RATE),
        ("spread", ">6.1%", spread(_RATE)),
        ("T", ">6.3f", "temperature"),
        STATUS,
    ),
    lambda row: f"{row['ratio_to_md']:.3g}" if "ratio_to_md" in row else "",
    "ratio to md.pair.DPD",
)
