"""Fixtures that the tests share: devices, and the GPU among several processes."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import MPIEXEC
from processes import on_ranks, remove_segments

from manymove import _core
from manymove.hard_particles.packing import random_packing


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    """Every test that asks for a device runs on the CPU and, where there is one, on the GPU."""
    if request.param == "cuda" and not _core.cuda_devices():
        pytest.skip("no CUDA device")
    return request.param


@pytest.fixture
def fluid() -> tuple[np.ndarray, tuple[float, float]]:
    """Positions and box of 400 disks."""
    return random_packing(400, 0.6, seed=1)


@pytest.fixture
def hoomd_device(device: str) -> Any:
    """HOOMD-blue's CPU and, where there is one, its GPU."""
    hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
    if device == "cpu":
        return hoomd.device.CPU()
    if not hoomd.version.gpu_enabled:
        pytest.skip("this HOOMD-blue was built without GPUs")
    return hoomd.device.GPU()


@pytest.fixture
def mpiexec() -> list[str]:
    """The launcher of two ranks that use mpi4py."""
    pytest.importorskip("mpi4py")
    return on_ranks(2) if MPIEXEC else pytest.skip("no mpiexec")


# Among several processes those that need the GPU for themselves come last, not to wait for others.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("whole_gpu") is not None)


@pytest.fixture(autouse=True)
def without_segments_of_killed_processes() -> None:
    remove_segments()


@pytest.fixture(autouse=True)
def share_of_the_gpu(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where several processes run tests (pytest -n), one that fills the GPU has it for itself."""
    if request.node.get_closest_marker("gpu") is None or not _core.cuda_devices():
        yield
        return
    alone = request.node.get_closest_marker("whole_gpu") is not None
    with open(Path(tempfile.gettempdir()) / f"manymove-gpu-{os.getuid()}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
