# SPDX-License-Identifier: BSD-3-Clause
"""What `import manymove` offers: its names, and their types in a script that mypy checks."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from types import ModuleType

import pytest
from documents import ROOT

import manymove

# Every public name occurs. Each "type: ignore" is for a mistake, and mypy --strict reports those
# that are not needed: therefore names that do not exist and wrong types are found.
SCRIPT = """
import numpy as np
from pathlib import Path

import manymove
from manymove import (
    METHANE, Adsorbate, Adsorption, Brush, ConstantPressure, DPDFluid, Displacements,
    EinsteinCrystal, Electrolyte, Electrostatics, EnergyGrid, Estimate, Ewald, Forces,
    Framework, GibbsEnsemble, GrandCanonical, Grid, HardDisks, HardSpheres, Interactions,
    IonOverlapError, Ions,
    Mixture, Molecules, OverlapError, PairCorrelations, Profile, ProfileAxis, RankLost, Ranks,
    ReplicaExchange, Replicas, Salt, Species, Sphere, Start, Steps, Supercell, Swaps, Tuning,
    bcc_packing, fcc_packing, hcp_packing, hexagonal_packing, random_packing,
    random_sphere_packing, read_framework, replicate, square_packing,
)
from manymove.analysis import autocorrelation_time, charge_density
from manymove.io import Frame, FrameWriter, make_frame, read_frame


def show(disks: HardDisks) -> None:
    print(disks.cycles, disks.elapsed, manymove.__version__)


def hard_disks(folder: Path) -> float:
    disks = HardDisks.random(64, 0.5, seed=1, device="cpu")
    try:
        disks.run(10, callbacks=[(5, show)], progress=True)
        disks.run_until(20.0)
        disks.run_cycles(1)
    except (OverlapError, RankLost) as error:
        print(error)
    disks.sample_pressure(every=1)
    pressure: Estimate = disks.pressure_average
    value, spread = round(2 * pressure - 1, 2)
    larger: bool = max(pressure, pressure**2) > spread / (1 + pressure)
    print(f"{pressure:.2f}", value, larger, pressure.to_dict())
    tried: list[Tuning] = disks.tune(sweeps=100)
    box: tuple[float, float] = disks.box
    gas = HardDisks(np.empty((0, 2)), box, seed=1, fugacity=GrandCanonical(0.1, every=2))
    z: float | tuple[float, ...] | None = gas.fugacity
    print(z, HardDisks(np.empty((0, 2)), box, seed=1, fugacity={0: 0.1}).insertion_acceptance)
    disks.save(folder / "disks.npz", keep_previous=True)
    again: HardDisks = HardDisks.load(folder / "disks.npz", device="cpu", threads=1)
    with FrameWriter(folder / "disks.gsd") as trajectory:
        trajectory.write(make_frame(again.positions, box, again.cycles, diameters=disks.diameter))
    frame: Frame = read_frame(folder / "disks.gsd")
    from_file: HardDisks = HardDisks.from_gsd(folder / "disks.gsd", seed=1)
    for packing in (random_packing(64, 0.5, seed=1), hexagonal_packing(64, 0.5),
                    square_packing(64, 0.5)):
        positions, edges = packing
        HardDisks(positions, edges, seed=1)
    return float(pressure) + pressure.error + tried[0].acceptance + frame.diameter + from_file.N


def hard_spheres(folder: Path) -> float:
    sizes = Mixture(np.arange(64) % 2, np.array([[1, 1.2], [1.2, 1]]))
    spheres = HardSpheres.random(64, 0.4, diameter=sizes, seed=1, device="cpu")
    HardSpheres.random(
        64, 0.3, diameter=np.ones(64), seed=1, swaps=Swaps(2, range=0.5), comm=Ranks(None),
        pressure=ConstantPressure(2.0, mode="length"), grid=Grid(tile=4), start=Start(3),
    )
    spheres.sample_pressure(every=1)
    spheres.run(10, callbacks=[(5, lambda one: print(one.cycles))], progress=True)
    pressure: Estimate = spheres.pressure_average
    contact: Estimate = spheres.contact_values[0, 1]
    tried: list[Tuning] = spheres.tune(sweeps=100)
    lx, _, _ = spheres.box
    again: HardSpheres = HardSpheres.from_gsd(folder / "spheres.gsd", seed=1)
    for packing in (fcc_packing(108, 0.5), hcp_packing(128, 0.5), bcc_packing(128, 0.5)):
        positions, edges = packing
        HardSpheres(positions, edges, seed=1)
    crystal: HardSpheres = HardSpheres.fcc(108, 0.55, seed=1)
    HardSpheres(*random_sphere_packing(1000, 0.4, seed=1), seed=1)
    many, wide = replicate(crystal.positions, crystal.box, (2, 2, 2))
    total: int = len(many) + len(wide) + again.N + crystal.N
    return float(pressure) + float(contact) + tried[0].acceptance + lx + total


def electrolyte(folder: Path) -> float:
    salt = Salt.of(64, (1, -1), (4.0, 4.0))
    ions = Electrolyte.random(salt, Sphere(60.0), seed=1, boundary=None, method=Brush(8))
    Electrolyte(ions.positions, (99.0, 99.0, 99.0), Ions(ions.types, ions.species), seed=1,
                boundary=Ewald(), max_displacement=Displacements(1.0, 0.5))
    try:
        ions.set_positions([[0.0, 0.0, 0.0]] * ions.N)
    except IonOverlapError as error:
        print(error)
    ions.sample_pair_correlations(every=1)
    ions.run(10, callbacks=[(5, lambda one: print(one.sweeps))], progress=True)
    found: PairCorrelations = ions.pair_correlations
    average: Estimate = ions.energy_average
    ions.save(folder / "ions.npz")
    again: Electrolyte = Electrolyte.load(folder / "ions.npz")
    species: tuple[Species, ...] = again.species
    Electrolyte.from_gsd(folder / "ions.gsd", seed=1, species=species)
    radius: float = ions.radius  # type: ignore[assignment]
    drift: float = ions.energy_drift()
    tau = autocorrelation_time(ions.energy_records)
    rho = charge_density(found.g, found.densities, found.valences)
    first = float(found.of(0, 1)[0]) + float(rho[0, 0])
    table = found.to_dataframe()
    print(table.describe(), ions.device_positions.__dlpack_device__(), ions.points.dtype)
    return float(average) + ions.energy + drift + radius + tau + first


def adsorption(folder: Path) -> float:
    cell: Framework = read_framework("LTA")
    krypton = Adsorbate("krypton", epsilon=166.4, sigma=3.636, framework={"O": (109.6, 3.45)})
    gas = Adsorption.random(
        Supercell(cell, (2, 2, 2)), [4, 4], adsorbates=[METHANE, krypton], seed=1,
        profile=ProfileAxis("z", 50), method=Steps("plj", reinsertion=0.1),
        interactions=Interactions(cutoff=10.0, grid=EnergyGrid(spacing=0.3)),
    )
    Adsorption(cell, Molecules(8, capacity=10), seed=1, profile="z", method="plj")
    gas.equilibrate(10, progress=True)
    gas.run(10)
    profile: Profile = gas.profile
    average: Estimate = gas.energy_average
    gas.save(folder / "gas.npz")
    again: Adsorption = Adsorption.load(folder / "gas.npz")
    values: list[float] = [float(one) for one in again.loading]
    drift: float = gas.energy_drift()
    total: int = gas.N + gas.steps + gas.elapsed
    lowest: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = profile.free_energy
    return float(average) + gas.energy + drift + total + sum(values) + float(lowest.min())


def dpd(folder: Path) -> float:
    fluid = DPDFluid.random(375, 3.0, seed=1, precision="double", forces=Forces(a=20.0))
    fluid.run(10, callbacks=[(5, lambda one: print(one.steps))], progress=True)
    fluid.reset_averages()
    average: Estimate = fluid.temperature_average
    fluid.save(folder / "fluid.npz")
    again: DPDFluid = DPDFluid.load(folder / "fluid.npz", threads=1)
    lx, _, _ = DPDFluid.from_gsd(folder / "fluid.gsd", seed=1).box
    DPDFluid(again.positions, (lx, lx, lx), velocities=again.velocities, seed=1)
    total: int = fluid.N + fluid.steps + fluid.elapsed + fluid.records.size
    total += len(fluid.charges) if fluid.charges is not None else 0
    DPDFluid(2, (lx, lx, lx), seed=1, charges=[1, -1], electrostatics=Electrostatics())
    return float(average) + fluid.energy + fluid.charge_energy + fluid.pressure + total


def several(folder: Path) -> float:
    replicas = Replicas(lambda **place: HardDisks.random(64, 0.5, **place), 3, seed=1)
    Replicas([replicas.simulations[0]], seed=1, device=["cpu"], threads=2).run(10.5)
    hashes: list[str] = replicas.map(lambda one: str(one.state_hash))
    replicas.run_until(20, [(5, lambda one: print(one.cycles))], equilibrate=10, folder=folder)
    average: Estimate = replicas.average("pressure_average")
    again: Replicas = Replicas.load(folder, device="cpu")
    exchange = ReplicaExchange(again, 10, seed=2)
    exchange.run_until(20, equilibrate=10, folder=folder)
    rates: np.ndarray = ReplicaExchange.load(folder).acceptance
    both = [HardDisks.random(N, 0.1, seed=1) for N in (8, 9)]
    boxes = GibbsEnsemble(both[0], both[1], seed=2)
    boxes.run(4, [(2, lambda one: print(one.cycles))])
    density: Estimate = boxes.densities[0]
    print(density, GibbsEnsemble.load(folder).fugacities[1][0].error)
    return float(average) + len(again) + len(hashes) + sum(again.elapsed) + float(rates.sum())


manymove.no_such_name  # type: ignore[attr-defined]
HardDisks.random("64", 0.5, seed=1)  # type: ignore[arg-type]
HardDisks.random(64, 0.5)  # type: ignore[call-arg]
Adsorption.random("LTA", 1, seed=1).energy_drift + 1  # type: ignore[operator]
manymove.HardDisks.load("disks.npz").no_such_attribute  # type: ignore[attr-defined]
"""


def test_a_script_with_all_public_names_passes_mypy_strict(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    for name in manymove.__all__:
        assert name in SCRIPT
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
def test_the_package_passes_mypy(tmp_path):
    """With the settings of pyproject.toml."""
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("not in a checkout")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_is_marked_as_typed():
    assert (files("manymove") / "py.typed").is_file()


def test_only_public_names_are_in_the_namespace():
    names = {name for name in vars(manymove) if not name.startswith("_")}
    modules = {name for name in names if isinstance(vars(manymove)[name], ModuleType)}
    assert names - modules == set(manymove.__all__) - {"__version__"}
    assert set(dir(manymove)) >= set(manymove.__all__)


def test_names_that_do_not_exist_are_errors():
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        manymove.no_such_name  # noqa: B018
