# SPDX-License-Identifier: BSD-3-Clause
"""A long run of many spheres, after which none is lost and no two overlap.

A sphere counts as lost if it has no place of its own in the box. Overlaps are searched for in the
positions in float64.

    python endurance.py --spheres 1048576 --sweeps 100000
"""

from __future__ import annotations

import time

import numpy as np

from manymove import HardSpheres, random_sphere_packing, script
from manymove.hard_particles.plots import slice_of


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--spheres", 1_048_576)
    parser.option("--packing-fraction", 0.5)
    parser.option("--sweeps", 100_000)
    options = script.parse(parser, "endurance", {"spheres": 4096, "sweeps": 500}, draw=False)
    settings = {"seed": options.seed, "device": options.device}
    start = random_sphere_packing(options.spheres, options.packing_fraction, **settings)
    spheres = HardSpheres(*start, **settings)
    began = time.perf_counter()
    spheres.run(options.sweeps)
    seconds = time.perf_counter() - began
    found, half = spheres.positions, np.array(spheres.box) / 2
    inside = (np.isfinite(found) & (np.abs(found) <= half)).all(axis=1)
    lost = spheres.N - len(np.unique(found[inside], axis=0))
    script.save(
        options,
        {
            "sweeps_done": spheres.sweeps,
            "trial_moves": spheres.trial_moves,
            "seconds": seconds,
            "lost": lost,
            "max_overlap": spheres.max_overlap(),
            "acceptance": spheres.acceptance,
            "state_hash": spheres.state_hash,
        },
    )  # fmt: skip
    print(
        f"{spheres.N:,} spheres, {spheres.sweeps:,.0f} sweeps, {spheres.trial_moves:.4g} trial "
        f"moves in {seconds:.1f} s: {lost} lost, deepest overlap "
        f"{spheres.max_overlap():.3g}, state hash {spheres.state_hash}"
    )
    slice_of(options.output / "picture.png", found, spheres.box, spheres.diameters)
    print(f"results in {options.output}/")


if __name__ == "__main__":
    script.run_script(main)
