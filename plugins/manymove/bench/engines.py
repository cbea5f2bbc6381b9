# SPDX-License-Identifier: BSD-3-Clause
"""The algorithms of `manymove bench`: each begins with a system that is close to equilibrium."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manymove.bench.harness import STATUS, Report, Row, Table, Variant, check, spread, time_in_turn
from manymove.devices import on_gpu

SEED = 1


def run(
    algorithms: Sequence[str] | None,
    *,
    sizes: Sequence[int] | None,
    device: str,
    seconds: float,
    repeats: int,
    json_file: Path | None,
) -> dict[str, Any]:
    """Time the algorithms one after the other, print a table, and write the JSON file after each
    size.

    The arguments are the options of `manymove bench`; None stands for their defaults.

    Returns:
        the content of the JSON file, with the reasons why algorithms are absent.

    Raises:
        ValueError: an argument is out of range.
        RuntimeError: the only algorithm cannot run here.
    """
    check(repeats, seconds)
    chosen = list(dict.fromkeys(algorithms or ALGORITHMS))
    for name in chosen:
        if name not in ALGORITHMS:
            raise ValueError(f'there is no algorithm "{name}"; there are {", ".join(ALGORITHMS)}')
    if sizes is not None and len(chosen) > 1:
        raise ValueError(f"--sizes is {','.join(map(str, sizes))}; it needs a single algorithm")
    absent: dict[str, str] = {}
    report = Report(TABLE, json_file, seed=SEED, absent=absent)
    for name in chosen:
        algorithm = ALGORITHMS[name]
        for size in sizes or (algorithm.gpu_sizes if on_gpu(device) else algorithm.cpu_sizes):
            try:
                variant = algorithm.make(size, device)
            except RuntimeError as error:
                if len(chosen) == 1:
                    raise
                absent[name] = str(error)
                break
            time_in_turn([variant], repeats, seconds)
            report.add([_row(name, size, variant)])
    found = report.end()
    for name, reason in absent.items():
        print(f"left out: {name}: {reason}")
    return found


def _row(name: str, size: int, variant: Variant) -> Row:
    found = variant.result()
    del found["nanoseconds_per_trial_move"]
    about = {"algorithm": name, "size": size, "unit": ALGORITHMS[name].unit}
    return about | {"rate": found.pop("trial_moves_per_second")} | found


TABLE = Table(
    (
        ("algorithm", "<12", "algorithm"),
        ("size", ">9", "size"),
        ("device", "<40.40", "variant"),
        ("rate", ">9.3g", "rate"),
        ("spread", ">6.1%", spread("rate")),
        STATUS,
    ),
    lambda row: f"[{row['unit']}]",
)

# ---- the systems ---------------------------------------------------------------------------------


def _variant(engine: Any, counts: Callable[[], tuple[int, int]], **settings: Any) -> Variant:
    """A variant that runs an engine. `counts` returns what it has tried and accepted so far."""

    def timed(length: int) -> tuple[int, int]:
        before = counts()
        engine.run(length)
        tried, accepted = (a - b for a, b in zip(counts(), before, strict=True))
        return tried, accepted

    settings |= {"device": engine.device, "threads": engine.threads}
    name = (
        engine.device_name if engine.device == "cpu" else f"{engine.device}, {engine.device_name}"
    )
    return Variant(name, timed, settings)


def _of_moves(engine: Any, sweeps: int, **settings: Any) -> Variant:
    engine.run(sweeps)
    return _variant(engine, lambda: (engine.trial_moves, engine.accepted_moves), **settings)


def _disks(N: int, device: str) -> Variant:
    from manymove import HardDisks, random_packing

    start = random_packing(N, 0.698, seed=SEED)
    return _of_moves(HardDisks(*start, seed=SEED, device=device), 200, packing_fraction=0.698)


def _spheres(N: int, device: str) -> Variant:
    from manymove import HardSpheres, random_sphere_packing

    start = random_sphere_packing(N, 0.5, seed=SEED, device=device)
    return _of_moves(HardSpheres(*start, seed=SEED, device=device), 200, packing_fraction=0.5)


def _electrolyte(N: int, device: str) -> Variant:
    """The 3:-1 salt of the paper in a sphere."""
    from manymove import Electrolyte, Salt, Sphere
    from manymove.electrolyte.simulation import WATER_300K

    salt = Salt.of(N, (3, -1), (7.5, 7.5))
    radius = (3 * N / salt.density(28.53, WATER_300K) / (4 * math.pi)) ** (1 / 3)
    engine = Electrolyte.random(salt, box=Sphere(radius), seed=SEED, device=device)
    return _of_moves(engine, 10, method=engine.method, precision=engine.precision)


def _adsorption(N: int, device: str) -> Variant:
    """N molecules of methane in each system of MFI, as many systems as fill the device."""
    from manymove import Adsorption
    from manymove.adsorption.occupancy import filling_systems

    systems = filling_systems("mdp", N, device)
    engine = Adsorption("MFI", N, method="mdp", systems=systems, seed=SEED, device=device)
    engine.equilibrate(100)

    def counts() -> tuple[int, int]:
        return engine.steps * systems, engine.acceptance_counts[0]

    return _variant(engine, counts, method="mdp", proposals=engine.proposals, systems=systems)


def _dpd(N: int, device: str) -> Variant:
    from manymove import DPDFluid

    engine = DPDFluid.random(N, 3.0, timestep=0.005, record_every=1000, seed=SEED,
                             device=device.partition(":")[0])  # fmt: skip
    engine.run(500)
    return _variant(engine, lambda: 2 * (engine.steps * N,), precision=engine.precision)


@dataclass(frozen=True)
class Algorithm:
    """An algorithm with its default sizes.

    Attributes:
        cpu_sizes, gpu_sizes: numbers of particles; of adsorbates, of molecules in a system.
        unit: unit of the rate.
        make: function that makes the variant of a size on a device.
    """

    cpu_sizes: Sequence[int]
    gpu_sizes: Sequence[int]
    unit: str
    make: Callable[[int, str], Variant]


ALGORITHMS = {
    "disks": Algorithm([65536], [65536, 1048576], "trial moves/s", _disks),
    "spheres": Algorithm([65536], [65536, 1048576], "trial moves/s", _spheres),
    "electrolyte": Algorithm([4096], [16384, 131072], "trial moves/s", _electrolyte),
    "adsorption": Algorithm([32], [32], "steps/s", _adsorption),
    "dpd": Algorithm([24000], [100000, 2000000], "particle-steps/s", _dpd),
}
