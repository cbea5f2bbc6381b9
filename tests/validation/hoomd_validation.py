"""HOOMD-blue's validation scripts of hard disks and spheres with `hoomd.manymove`.

    git clone https://github.com/glotzerlab/hoomd-validation
    python hoomd_validation.py hoomd-validation FOLDER --shorten 10 --json validation.json

This command applies the changes of the guide docs/guides/from_hpmc.md to copies of hard_disk.py and
hard_sphere.py, and runs their simulations at constant volume and at constant pressure. The scripts
need the packages signac, signac-flow and h5py. --shorten divides the numbers of steps.
--integrator hpmc runs the scripts as they are.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from manymove import info
from manymove.analysis import autocorrelation_time

CLASSES = {"hard_disk": "HardDisks", "hard_sphere": "HardSpheres"}
STEPS = ("RANDOMIZE_STEPS", "EQUILIBRATE_STEPS", "RUN_STEPS", "RESTART_STEPS", "TOTAL_STEPS")
# Pattern and replacement of each change; {} is the class of the integrator.
CHANGES = (
    (r"(?m)^( *)import hoomd$", r"\1import hoomd\n\1import hoomd.manymove"),
    (r"hoomd\.hpmc\.integrate\.Sphere\(nselect=4\)", "hoomd.manymove.{}(sweeps_per_step=1)"),
    (r"hoomd\.hpmc\.integrate\.Sphere\(", "hoomd.manymove.{}("),
    (r"hoomd\.hpmc\.(compute\.SDF|tune\.MoveSize)", r"hoomd.manymove.\1"),
    (r"hpmc/compute/SDF", "manymove/compute/SDF"),
    # Box moves belong to the integrator, which also logs them, and choose their delta.
    (
        r"boxmc = hoomd\.hpmc\.update\.BoxMC\(\s*betaP=(.*), trigger=.*\s*\)",
        r'box_moves = {{"betaP": \1, "volume": {{"mode": "ln"}}}}',
    ),
    (r"\n *boxmc\.volume = .*", ""),
    (r"\(boxmc, 'volume_moves'\),?", ""),
    (r"(logger\.add\(mc, quantities=\['translate_moves')", r"\1, 'volume_moves'"),
    (r"sim\.operations\.add\(boxmc\)", "sim.operations.integrator.box_moves = box_moves"),
    (r"boxmc_tuner = (.*\n)+?    \)\n", ""),
    (r"\n *sim\.operations\.add\(boxmc_tuner\)", ""),
    (r"boxmc\.volume_moves", "sim.operations.integrator.volume_moves"),
    (
        r"boxmc\.volume\[(['\"])delta['\"]\]",
        r"sim.operations.integrator.box_moves[\1volume\1][\1delta\1]",
    ),
)


def translated(script: str, name: str) -> str:
    """A script with the changes; `name` is the class of the integrator.

    Raises:
        ValueError: a change finds nothing in the script, or leaves a word of HPMC.
    """
    for pattern, replacement in CHANGES:
        script, count = re.subn(pattern, replacement.format(name), script)
        if not count:
            raise ValueError(f"the script has no {pattern}")
    left = re.findall(r".*(?:boxmc|hoomd\.hpmc\.(?!nec)).*", script)
    if left:
        raise ValueError(f"the script still has {left[0].strip()!r}")
    return script


def imported(checkout: Path, folder: Path, name: str, integrator: str, shorten: int) -> ModuleType:
    """A script of a copy of the checkout, one replicate of each state point, on one core."""
    source = folder / integrator
    shutil.copytree(checkout / "hoomd_validation", source, dirs_exist_ok=True)
    (source / "config.yaml").write_text("replicates: 1\nmax_cores_sim: 1\nenable_gpu: false\n")
    script = source / f"{name}.py"
    if integrator == "manymove":
        script.write_text(translated(script.read_text(), CLASSES[name]))
    sys.path.insert(0, str(source))
    module = importlib.import_module(name)
    for steps in STEPS:
        if hasattr(module, steps):
            setattr(module, steps, getattr(module, steps) // shorten)
    return module


def mean(values: np.ndarray) -> list[float]:
    """The mean of a series and its standard error, with the statistical inefficiency."""
    inefficiency = 1 + 2 * autocorrelation_time(values) if np.ptp(values) else 0.0
    return [float(values.mean()), float(values.std() * np.sqrt(inefficiency / len(values)))]


def run(module: ModuleType, job: Any, mode: str, device: str) -> dict[str, Any]:
    """The density and the pressure of a simulation, which is not repeated if it has ended."""
    import h5py
    import hoomd

    log, ended = job.fn(f"{mode}_{device}_quantities.h5"), f"{mode}_{device}_complete"
    if not job.isfile(ended):
        where = {"cpu": hoomd.device.CPU, "gpu": hoomd.device.GPU}[device]()
        Path(log).unlink(missing_ok=True)
        getattr(module, f"run_{mode}_sim")(job, where, ended)
    with h5py.File(log) as file:
        data = file["hoomd-data"]
        sdf = data["manymove" if "manymove" in data else "hpmc"]["compute/SDF/betaP"]
        records = len(sdf)
        return {
            "mode": mode,
            "records": records,
            "density": mean(data["custom_actions/ComputeDensity/density"][:]),
            "pressure": mean(sdf[:]),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="clone of hoomd-validation")
    parser.add_argument("folder", type=Path, help="folder of the simulations, which can continue")
    parser.add_argument("--scripts", nargs="+", choices=CLASSES, default=list(CLASSES))
    parser.add_argument("--modes", nargs="+", choices=("nvt", "npt"), default=["nvt", "npt"])
    parser.add_argument("--integrator", choices=("manymove", "hpmc"), default="manymove")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--shorten", type=int, default=1, help="divisor of the numbers of steps")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    import hoomd
    import signac

    folder = given.folder.absolute()
    results = []
    for name in given.scripts:
        module = imported(given.checkout, folder, name, given.integrator, given.shorten)
        project = signac.init_project(folder / f"{given.integrator}-{given.shorten}")
        for point in module.job_statepoints():
            job = project.open_job(point)
            job.init()
            if not job.isfile(f"{name}_initial_state.gsd"):
                getattr(module, f"{name}_create_initial_state")(job)
            for mode in given.modes:
                reference = {key: point[key] for key in ("num_particles", "density", "pressure")}
                row = {"script": f"{name}.py", "reference": reference}
                results.append(row | run(module, job, mode, given.device))
                print(json.dumps(results[-1]), flush=True)
                if given.json:
                    about = {"integrator": given.integrator, "shorten": given.shorten}
                    about |= {"device": given.device, "hoomd_version": hoomd.version.version}
                    record = {**info.record(), **about, "results": results}
                    given.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
