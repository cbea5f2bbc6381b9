"""Drift of the momentum of a DPD fluid in a long run, in both precisions.

python momentum.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from manymove import script
from manymove.lammps import host

SCRIPT = """
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
        input_script = SCRIPT.format(precision=precision, steps=steps, every=steps // 100)
        host.run(input_script, folder)
        return np.loadtxt(Path(folder) / "drift")


def draw(report: dict) -> Figure:
    """Speed of the center of mass against time."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for precision in ("mixed", "double"):
        speeds = np.array(report[precision]["speeds"])
        times = np.linspace(0, report["steps"] * report["timestep"], len(speeds))
        axes.plot(times, speeds, label=f"precision {precision}")
    axes.set(
        xlabel="time", ylabel="speed of the center of mass",
        title=f"DPD, {report['particles']} particles, density 3, a = 25, γ = 4.5",
    )  # fmt: skip
    axes.legend()
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--steps", 1_000_000)
    options = script.parse(parser, "momentum", {"steps": 2000}, draw=draw)
    report: dict = {"particles": 256, "timestep": 0.01}
    for precision in ("mixed", "double"):
        speed = np.linalg.norm(drift(precision, options.steps), axis=1)
        report[precision] = {"largest": float(speed.max()), "speeds": speed.tolist()}
        print(f"{precision}: |v| of the center of mass stays below {speed.max():.2g}", flush=True)
    script.finish(options, report, draw)


if __name__ == "__main__":
    script.run_script(main)
