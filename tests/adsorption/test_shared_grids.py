# SPDX-License-Identifier: BSD-3-Clause
"""Systems of one process share the energy grid of a framework."""

from __future__ import annotations

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import numpy as np
import pytest
from flat_settings import of_adsorption
from machine import GPU, on_gpu

from manymove import Adsorption, _core
from manymove.adsorption import CO2, TRAPPE_ZEO, Framework
from manymove.simulation import interruptible

PLACES = np.array([[0.1, 0.1, 0.1], [0.16, 0.1, 0.12], [0.1, 0.16, 0.08]])


def filled(**options) -> tuple[Adsorption, bool]:
    """Systems, and whether their grid was computed: the program then asks for interruptions."""
    asked: list[int] = []
    with interruptible(lambda: bool(asked.append(1))):
        common = dict(framework="LTA", molecules=4, systems=4, seed=1, device="cpu", threads=1)
        a = Adsorption(**of_adsorption(**{**common, "grid_spacing": 0.37, **options}))
    return a, bool(asked)


@pytest.mark.parametrize("method", ["plj", "metropolis", "mdp"])
def test_systems_with_the_same_framework_and_force_field_share_a_grid(method):
    a, computed = filled(method=method)
    assert computed
    for same in ({"systems": 8}, {"molecules": 2}, {"seed": 2}):
        assert not filled(method=method, **same)[1], same
    for other in ({"cutoff": 11.0}, {"barrier": 5000.0}, {"grid_spacing": 0.5},
                  {"temperature": 310.0}, {"precision": "double"},
                  {"interpolation": "linear"}):  # fmt: skip
        assert filled(method=method, **other)[1], other
    a.run(50)
    alone = a.state_hash
    twin, computed = filled(method=method)
    twin.run(50)
    assert not computed and twin.state_hash == alone
    kept = a.kept_grid()
    del a, twin
    assert not filled(method=method)[1]
    del kept
    again, computed = filled(method=method)
    again.run(50)
    assert computed and again.state_hash == alone


def test_open_systems_that_share_a_grid_have_the_capacity_of_the_first_ones():
    open_ = dict(method="plj", molecules=0, fugacity=1.0)
    a, computed = filled(**open_)
    twin, shared = filled(**open_)
    assert computed and not shared
    assert twin.capacity == a.capacity
    a.run(200)
    twin.run(200)
    assert twin.state_hash == a.state_hash


def test_molecules_share_a_grid_if_the_framework_has_the_same_charges():
    common = dict(method="plj", adsorbates=CO2, force_field=TRAPPE_ZEO)
    a, computed = filled(**common)
    assert computed and not filled(**common)[1]
    assert filled(**common, framework_charges={"O": -0.5, "Si": 1.0})[1]
    a.run(50)
    twin, _ = filled(**common)
    twin.run(50)
    assert twin.state_hash == a.state_hash


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
def test_systems_that_run_at_the_same_time_have_their_trajectories(device):
    """More of them than a GPU has queues."""

    def made(k: int) -> Adsorption:
        return filled(adsorbates=CO2, force_field=TRAPPE_ZEO, method="plj", molecules=0,
                      fugacity=10.0 ** (k % 3), trial_positions=1 + 7 * (k % 2), systems=1 + k % 5,
                      device=device, seed=k)[0]  # fmt: skip

    together = [made(k) for k in range(60)]
    with ThreadPoolExecutor(len(together)) as pool:
        _ = [*pool.map(lambda a: [a.run(50) for _ in range(4)], together)]
    for k in range(0, 60, 7):
        alone = made(k)
        alone.run(200)
        assert together[k].state_hash == alone.state_hash


@on_gpu
@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
@pytest.mark.parametrize("kind", ["points", "charges", "triclinic"])
def test_a_gpu_fills_the_grid_of_the_cores(kind, interpolation, precision):
    settings: dict = dict(interpolation=interpolation, precision=precision, barrier=None)
    if kind != "points":
        settings |= dict(adsorbates=CO2, force_field=TRAPPE_ZEO, molecules=1, method="plj")
    if kind == "triclinic":
        edges, tilt = (24.5, 26.0, 25.2), (-8.0, 3.0, 1.5)
        settings |= dict(framework=Framework("s", edges, PLACES, ("Si", "O", "O"), 60.0, tilt))
    places = np.random.default_rng(3).uniform(0, 24, (5000, 3))
    found = []
    for device in ("cpu", "cuda"):
        a, computed = filled(device=device, **settings)
        assert computed
        types = 1 if kind == "points" else 2
        found.append([a._engine.framework_energies(places, t, False) for t in range(types)])
        found[-1].append(np.array([a.grid["lowest"], a.grid["open"]]))
        del a  # the next grid is not a shared one
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


@on_gpu
def test_systems_begin_and_end_on_a_gpu_while_a_kernel_of_others_runs():
    def made(seed: int) -> Adsorption:
        return filled(adsorbates=CO2, force_field=TRAPPE_ZEO, method="plj", fugacity=1.0,
                      device="cuda", seed=seed)[0]  # fmt: skip

    def others(seed: int) -> None:
        """Make, use and delete systems."""
        b = made(seed)
        b.compare_loading(10)
        b.energy_drift()
        del b
        gc.collect()

    _core.prepare_for_threads(0, True)
    try:
        a = made(1)
        others(2)  # the first use of a kernel loads it
        a._engine.run(2000, False)
        # Other processes may slow down either side. If systems waited for the kernel, they would
        # wait for one of any length.
        for steps in (20_000, 100_000, 500_000):
            thread = Thread(target=a._engine.run, args=(steps, False))
            thread.start()
            time.sleep(0.3)
            others(3)
            runs = thread.is_alive()
            thread.join()
            if runs:
                break
        assert runs
    finally:
        _core.prepare_for_threads(0, False)
