# SPDX-License-Identifier: BSD-3-Clause
"""An object is for one thread of one process at a time: otherwise there is an error."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest
from flat_settings import of_adsorption
from lammps_host import needs_lammps

from manymove import Adsorption, DPDFluid, Electrolyte, HardDisks, HardSpheres, Replicas, Sphere
from manymove.analysis.ions import Salt

HERE = {"seed": 1, "device": "cpu", "threads": 2}
MAKE = {
    "HardDisks": lambda: HardDisks.random(2000, 0.5, **HERE),
    "HardSpheres": lambda: HardSpheres.random(2000, 0.3, **HERE),
    "Electrolyte": lambda: Electrolyte.random(
        Salt.of(200, (1, -1), (4.0, 4.0)), box=Sphere(60.0), **HERE
    ),
    "Adsorption": lambda: Adsorption(
        **of_adsorption(
            framework="LTA",
            molecules=2,
            method="mdp",
            systems=64,
            cells=(1, 1, 1),
            cutoff=11.0,
            interpolation="cubic",
            grid_spacing=0.8,
            **HERE,
        )
    ),
    "DPDFluid": lambda: DPDFluid.random(500, 3.0, **HERE),
}
CLASSES = [pytest.param(name, marks=needs_lammps if "DPD" in name else ()) for name in MAKE]


def child_of(task):
    """The exit code of a forked process that does this; -1 if it does not end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = task()
        finally:
            os._exit(code)
    for _ in range(1000):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -1


@pytest.mark.parametrize("name", CLASSES)
def test_a_forked_process_gets_an_error_and_ends(name):
    objects = [MAKE[name]()]
    objects[0].run(30)

    def task():
        for use in (lambda o: o.run(1), lambda o: o.state_hash, lambda o: o.save("/dev/null")):
            try:
                use(objects[0])
            except RuntimeError as error:
                assert f"this {name} belongs to the process that made it" in str(error)
                assert '"spawn"' in str(error)
            else:
                return 2
        objects.clear()  # destroys it here
        return 0

    assert child_of(task) == 0
    before = objects[0].elapsed
    objects[0].run(30)  # in the parent, as ever
    assert objects[0].elapsed > before


def test_replicas_of_a_forked_process_get_an_error_and_end():
    replicas = Replicas(MAKE["HardDisks"](), 4, seed=1, device="cpu", threads=2)
    replicas.run(30)

    def task():
        for use in (lambda: replicas.run(1), lambda: replicas.map(lambda one: one.state_hash)):
            try:
                use()
            except RuntimeError as error:
                assert "this HardDisks belongs to the process that made it" in str(error)
            else:
                return 2
        return 0

    assert child_of(task) == 0
    replicas.run(30)


def test_a_forked_process_can_make_its_own():
    parent = MAKE["HardDisks"]()
    parent.run(2)

    def task():
        own = MAKE["HardDisks"]()
        own.run(2)
        return 0 if own.state_hash == parent_hash else 3

    parent_hash = parent.state_hash
    assert child_of(task) == 0


@pytest.mark.parametrize("name", CLASSES)
def test_a_second_thread_gets_an_error(name):
    """During a call of the engine, and between two of them."""
    one = MAKE[name]()
    inside, leave = threading.Event(), threading.Event()

    def wait(_):
        inside.set()
        assert leave.wait(30)

    thread = threading.Thread(target=lambda: one.run(30, [(1, wait)]))
    thread.start()
    assert inside.wait(30)
    try:
        for use in (lambda: one.run(1), lambda: one.state_hash, lambda: one.elapsed):
            with pytest.raises(RuntimeError, match=f"this {name} is in use by another thread"):
                use()
    finally:
        leave.set()
        thread.join()
    one.run(1)


def test_a_refused_run_of_a_second_thread_adds_no_sweeps():
    disks = MAKE["HardDisks"]()
    refused = []

    def use():
        try:
            disks.run(1000)
        except RuntimeError as error:
            refused.append(error)

    def from_another_thread(_):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()

    for _ in range(2):
        disks.run(10 * disks.sweeps_per_cycle, callbacks=[(1, from_another_thread)])
    assert refused and disks.cycles == 20


def test_threads_that_use_one_object_neither_crash_nor_hang():
    disks = MAKE["HardDisks"]()
    errors, done = [], []

    def use():
        for _ in range(40):
            try:
                disks.run_cycles(2)
                done.append(np.isfinite(disks.positions).all())
            except RuntimeError as error:
                errors.append(str(error))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert done and all(done)
    assert all("in use by another thread" in error for error in errors)


def test_an_object_may_pass_from_thread_to_thread():
    """Also after an error, whose traceback is kept."""
    disks = MAKE["HardDisks"]()
    kept = []

    def fail(_):
        raise KeyError("of the callback")

    def use():
        try:
            disks.run(30, callbacks=[(1, fail)])
        except KeyError as error:
            kept.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert kept
    disks.run(1)
