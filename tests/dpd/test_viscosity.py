"""Stress and viscosity: the pressure tensor and momentum fluxes, and the Green-Kubo estimator."""

from __future__ import annotations

import numpy as np
import pytest
from dpd_scripts import assert_stays, resident
from lammps_host import needs_lammps, run_lammps

from manymove.analysis import green_kubo_viscosity

EDGE, ATOMS, RATE, A, GAMMA, EVERY = 5.0, 375, 1.5, 25.0, 4.5, 5

FLUID = f"""
units lj
comm_modify vel yes
region box prism 0 {EDGE} 0 {EDGE} 0 {EDGE} 0 0 0
create_box 1 box
create_atoms 1 random {ATOMS} 11 NULL
mass 1 1.0
velocity all create 1.0 13 loop all
velocity all ramp vx 0 {RATE * EDGE} y 0 {EDGE} sum yes
timestep 0.01
neighbor 0.3 bin
pair_style manymove/dpd 1.0 1.0 4711
pair_coeff * * {A} {GAMMA}
fix nve all nve
fix shear all deform 1 xy erate {RATE} remap v
"""


def fluxes(position, velocity, tilt, planes):
    """Flux of x-momentum per area along y through planes, of conservative forces, friction and
    particles: minus the shear stress. The random forces have the mean zero."""
    r = position[:, None] - position[None]
    v = velocity[:, None] - velocity[None]
    images = np.rint(r[..., 2] / EDGE)
    r[..., 2] -= images * EDGE
    images = np.rint(r[..., 1] / EDGE)
    r[..., 1] -= images * EDGE
    r[..., 0] -= images * tilt
    v[..., 0] -= images * RATE * EDGE
    r[..., 0] -= np.rint(r[..., 0] / EDGE) * EDGE
    distance = np.sqrt((r**2).sum(axis=-1))
    i, j = np.nonzero(np.triu(distance < 1, 1))
    r, v, distance = r[i, j], v[i, j], distance[i, j]
    weight = 1 - distance
    approach = (r * v).sum(axis=1) / distance
    force = (A * weight - GAMMA * weight**2 * approach) * r[:, 0] / distance  # on i, along x
    # The pair crosses a plane if it lies between y_j and y_j + r_y, or images of it do.
    y, dy = position[j, 1], r[:, 1]
    low, high = np.minimum(y, y + dy), np.maximum(y, y + dy)
    through = np.floor((high[:, None] - planes) / EDGE) - np.floor((low[:, None] - planes) / EDGE)
    of_pairs = (force * np.sign(dy)) @ through / EDGE**2
    peculiar = velocity[:, 0] - RATE * position[:, 1]
    return of_pairs, (peculiar * velocity[:, 1]).sum() / EDGE**3


@needs_lammps
def test_the_pressure_tensor_is_the_flux_of_momentum_through_every_plane(device, tmp_path):
    # 300 states in 20 blocks. The means through 10 planes, of which the first is the boundary that
    # moves, and the pressure tensor within 5 standard errors of their differences (Student's t):
    # one false alarm in 1,200 seeds. The error of one plane is less than 10 % of the stress.
    run = run_lammps(
        FLUID + resident(device) + "run 500\ncompute t all temp/deform\n"
        "thermo_style custom step temp pxy xy\nthermo_modify temp t format float %.12g\n"
        f"thermo {EVERY}\ndump d all custom {EVERY} d id x y z vx vy vz\n"
        "dump_modify d sort id format float %.12g\nrun 1500\n",
        tmp_path,
    )
    assert_stays(run)
    table = run.thermo()
    rows = [line.split() for line in (run.directory / "d").read_text().splitlines()]
    states = np.array([row for row in rows if len(row) == 7], float).reshape(-1, ATOMS, 7)[1:]
    planes = np.arange(10) * EDGE / 10
    found = []
    # fix deform acts at the end of a step: forces are those in the box of the step before.
    tilts = table["Xy"][1:] - RATE * EDGE * 0.01
    for atoms, tilt in zip(states, tilts, strict=True):
        pairs, kinetic = fluxes(atoms[:, 1:4], atoms[:, 4:7], tilt, planes)
        found.append(pairs + kinetic)
    found = np.array(found)
    stress = table["Pxy"][1:]
    assert len(stress) == 300 and stress.mean() < -0.8
    blocks = (found - stress[:, None]).reshape(20, 15, 10).mean(axis=1)
    error = blocks.std(axis=0, ddof=1) / np.sqrt(20)
    assert (error < 0.1 * abs(stress.mean())).all(), error
    assert (abs(blocks.mean(axis=0)) < 5 * error).all(), (blocks.mean(axis=0), error)


def test_the_integral_of_a_known_process():
    # Two relaxing parts and white noise, in six independent components: C(0) / 2 + C(1) + ... is
    # known for every window. 16 parts of 6,250 steps; five standard errors (Student's t) for
    # three windows: one false alarm in 2,000 seeds.
    rng = np.random.default_rng(7)
    keep, steps = 0.9, 6250
    integrals = []
    for _ in range(16):
        noise = rng.normal(size=(steps, 6)) * np.sqrt(1 - keep**2)
        slow = np.zeros((steps, 6))
        slow[0] = rng.normal(size=6)
        for k in range(1, steps):
            slow[k] = keep * slow[k - 1] + noise[k]
        series = slow + 2 * rng.normal(size=(steps, 6))
        # The diagonal of a traceless tensor has 4/3 of the variance of the other components.
        series[:, :3] *= np.sqrt(2)
        series[:, :3] += 30
        integrals.append(
            green_kubo_viscosity(series, 0.01, volume=50.0, temperature=2.0, window=0.6)
        )
    mean = np.mean(integrals, axis=0)
    error = np.std(integrals, axis=0, ddof=1) / 4
    assert mean.shape == (61,)
    for lags in (0, 10, 60):
        expected = 25 * 0.01 * ((1 + 4) / 2 + sum(keep**k for k in range(1, lags + 1)))
        assert abs(mean[lags] - expected) < 5 * error[lags], (mean[lags], expected, error[lags])
        assert error[lags] < 0.05 * expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pressure": np.zeros((100, 5))}, r"needs the shape \(n, 6\)"),
        ({"pressure": np.full((100, 6), np.nan)}, "not finite"),
        ({"volume": 0.0}, "volume must be positive, got 0"),
        ({"temperature": -1.0}, "temperature must be positive"),
        ({"interval": np.inf}, "interval must be positive"),
        ({"window": 0.2}, "a window of 20 steps needs 200 steps or more, got 100"),
    ],
)
def test_bad_arguments_are_named(change, message):
    arguments = {
        "pressure": np.zeros((100, 6)),
        "interval": 0.01,
        "volume": 1.0,
        "temperature": 1.0,
        "window": 0.1,
        **change,
    }
    with pytest.raises(ValueError, match=message):
        green_kubo_viscosity(arguments.pop("pressure"), arguments.pop("interval"), **arguments)
