"""How far the momentum of a DPD fluid drifts in a long run, in both precisions."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from manymove.bench.harness import machine
from manymove.lammps import host

DECK = """
units lj
comm_modify vel yes
lattice fcc 3.0
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.0 5 loop all
velocity all zero linear
pair_style manymove/dpd 1.0 1.0 4711 precision {precision}
pair_coeff 1 1 25.0 4.5
neighbor 0.4 bin
neigh_modify delay 0 every 1 check yes
timestep 0.01
fix integrate all nve
variable x equal vcm(all,x)
variable y equal vcm(all,y)
variable z equal vcm(all,z)
fix records all print {every} "$(v_x:%.17g) $(v_y:%.17g) $(v_z:%.17g)" screen no file drift
thermo {steps}
run {steps}
"""


def drift(precision: str, steps: int) -> np.ndarray:
    """Velocity of the center of mass of 256 particles at a hundred times, (100, 3)."""
    with tempfile.TemporaryDirectory() as folder:
        deck = DECK.format(precision=precision, steps=steps, every=steps // 100)
        (Path(folder) / "in").write_text(deck)
        subprocess.run(
            [*host.command(), "-in", "in", "-log", "none", "-screen", "none"],
            cwd=folder,
            env=host.environment(),
            check=True,
        )
        return np.loadtxt(Path(folder) / "drift")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    report = {**machine(), "particles": 256, "timestep": 0.01, "steps": options.steps}
    for precision in ("mixed", "double"):
        speed = np.linalg.norm(drift(precision, options.steps), axis=1)
        report[precision] = {"largest": float(speed.max()), "speeds": speed.tolist()}
        print(f"{precision}: |v| of the center of mass stays below {speed.max():.2g}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
