"""Devices and streams on GPUs: other libraries in the process, faults of one of two devices."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from documents import ROOT
from electrolytes import trivalent
from hard_disks import lattice
from machine import GPU
from processes import LIMITED, SOON, run, with_support

from manymove import Adsorption, EnergyGrid, HardDisks, Interactions, _core
from manymove.lammps import host

DEVICES = len(_core.cuda_devices())

pytestmark = GPU
needs_two = pytest.mark.skipif(DEVICES < 2, reason=f"needs two CUDA devices, there are {DEVICES}")


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")


def run_script(script: str, **environment: str) -> list[str]:
    """The lines that a script prints, in a process of its own: faults spoil the CUDA context."""
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = run(command, env=with_support({**host.environment(), **environment}), timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


# ---- the current device --------------------------------------------------------------------------


def host_arrays(cupy, device: int, N: int) -> dict:
    """Particles of a host program on this device."""
    with cupy.cuda.Device(device):
        return {
            "position": cupy.zeros((N, 4)),
            "image": cupy.zeros((N, 3), dtype="int32"),
            "charge": cupy.zeros(N),
            "diameter": cupy.zeros(N),
            "index": cupy.arange(N, dtype="uint32"),
        }


def calls_of_disks(cupy, device: int):
    box = (130.0, 130.0)
    disks = HardDisks(lattice(100, 100, box), box, seed=1, device=f"cuda:{device}")
    yield "make", disks
    yield "run", disks.run(3)
    disks.sample_pressure(every=1)
    yield "sample", disks.run(3)
    core = disks.core
    for name in ("counters", "grid", "particles", "cycles_between_writes"):
        yield name, getattr(core, name)
    for name in ("positions", "max_overlap", "state_hash", "snapshot", "take_rows"):
        yield name, getattr(core, name)()
    yield "bond_order", disks.core.bond_order(1.5)
    arrays = host_arrays(cupy, device, 10000)
    where = {k: arrays[k].data.ptr for k in ("position", "image", "index")}
    where |= {"tag": where["index"], "double_precision": True}
    yield "write_positions", core.write_positions(**where)
    yield "same_positions", core.same_positions(**where)
    del core
    yield "destroy", disks.__dict__.clear()


def calls_of_electrolyte(cupy, device: int):
    ions = trivalent(1000, device=f"cuda:{device}")
    yield "make", ions
    yield "run", ions.run(3)
    core = ions.core
    for name in ("counters", "particles", "energy_change", "max_displacement", "unit"):
        yield name, getattr(core, name)
    for name in ("energy", "positions", "max_overlap", "state_hash", "snapshot", "take_energies"):
        yield name, getattr(core, name)()
    yield "count_pairs", core.count_pairs(1.0, 10, 100.0, 2)
    no_images = np.zeros(0, dtype=np.int32)
    yield "set_positions", core.set_positions(core.positions().reshape(-1, 3), no_images)
    arrays = host_arrays(cupy, device, 1000)
    where = {name: array.data.ptr for name, array in arrays.items()}
    where |= {"double_precision": True, "highest": [1e3] * 3}
    for name in ("adopt", "same_particles", "write_positions"):
        yield name, getattr(core, name)(**where)
    del core
    yield "destroy", ions.__dict__.clear()


def calls_of_adsorption(cupy, device: int):
    systems = Adsorption(
        "LTA",
        8,
        systems=100,
        interactions=Interactions(grid=EnergyGrid(spacing=0.4)),
        seed=1,
        device=f"cuda:{device}",
    )
    yield "make", systems
    yield "run", systems.run(3)
    core = systems.core
    for name in ("counters", "grid", "capacities", "max_displacement"):
        yield name, getattr(core, name)
    yield "snapshot", core.snapshot()
    yield "reset_averages", core.reset_averages()
    yield "set_max_displacement", core.set_max_displacement(0.5)
    yield "insert", core.insert_test_molecules(10, 0, False)
    del core
    yield "destroy", systems.__dict__.clear()


@needs_two
@pytest.mark.parametrize("current, other", [(0, 1), (1, 0)])
@pytest.mark.parametrize("calls_of", [calls_of_disks, calls_of_electrolyte, calls_of_adsorption])
def test_no_call_changes_the_current_device(cupy, calls_of, current, other):
    with cupy.cuda.Device(current):
        _core.cuda_devices()
        assert cupy.cuda.runtime.getDevice() == current
        for name, _ in calls_of(cupy, other):
            assert cupy.cuda.runtime.getDevice() == current, name
        # The other library continues to use its own device.
        assert cupy.zeros(3).device.id == current


@needs_two
def test_no_call_of_a_chain_on_several_devices_changes_the_current_one(cupy):
    with cupy.cuda.Device(1):
        ions = trivalent(1000, device="cuda:0,1")
        ions.run(3)
        assert cupy.cuda.runtime.getDevice() == 1
        assert ions.max_overlap() == 0
        del ions
        assert cupy.cuda.runtime.getDevice() == 1


def test_an_engine_works_on_whatever_device_others_make_current(cupy):
    ions = trivalent(1000, device="cuda:0")
    expected = trivalent(1000, device="cuda:0")
    expected.run(4)
    for k in range(4):
        cupy.cuda.Device(k % DEVICES).use()
        ions.run(1)
    cupy.cuda.Device(0).use()
    assert ions.state_hash == expected.state_hash


@needs_two
@pytest.mark.parametrize("calls", ["calls_of_disks", "calls_of_electrolyte", "calls_of_adsorption"])
def test_no_memory_is_taken_on_a_device_that_is_not_asked_for(calls):
    # The driver says whether a device has a context; CuPy would make one.
    script = f"""
        import ctypes
        import sys
        from unittest import mock

        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import test_gpu as calls

        driver = ctypes.CDLL("libcuda.so.1")

        def in_use(device):
            flags, active = ctypes.c_uint(), ctypes.c_int()
            assert not driver.cuDevicePrimaryCtxGetState(
                device, ctypes.byref(flags), ctypes.byref(active)
            )
            return bool(active.value)

        def no_arrays(*_):
            raise StopIteration  # the calls that read a host program's arrays are left out

        with mock.patch.object(calls, "host_arrays", no_arrays):
            try:
                for name, _ in calls.{calls}(None, 1):
                    print(name, in_use(0), in_use(1))
            except RuntimeError:
                pass
    """
    lines = [line.split() for line in run_script(script)]
    assert len(lines) > 5
    assert all(line[1:] == ["False", "True"] for line in lines), lines


# ---- arrays of other streams ---------------------------------------------------------------------


class Offered:
    """An array with one of the two protocols, and nothing else."""

    def __init__(self, array, protocol: str):
        if protocol == "interface":
            self.__cuda_array_interface__ = array.__cuda_array_interface__
        else:
            self.array = array

    def __dlpack__(self, **arguments):
        # Some libraries ignore the consumer's stream in this way.
        return self.array.__dlpack__(stream=-1)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("protocol", ["interface", "dlpack"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_array_is_read_after_the_work_of_the_stream_that_it_names(cupy, protocol, dtype):
    box = (130.0, 130.0)
    start = lattice(100, 100, box).astype(dtype)
    expected = HardDisks(start, box, device="cuda:0", seed=1).state_hash
    late = cupy.RawKernel(
        r"""extern "C" __global__ void late() {
              const long long start = clock64();
              while (clock64() - start < 1000000000) {}
            }""",
        "late",
    )
    source = cupy.asarray(start)
    cupy.cuda.runtime.deviceSynchronize()
    with cupy.cuda.Stream(non_blocking=True):
        array = cupy.full_like(source, 1e9)
        late((1,), (1,), ())
        cupy.copyto(array, source)
        offered = Offered(array, protocol)
        disks = HardDisks(offered, box, device="cuda:0", seed=1)
    assert disks.state_hash == expected


# ---- faults --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def watch(tmp_path_factory) -> Path:
    """tests/cxx/gpu/chain_watchdog.cu, compiled."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no nvcc")
    program = tmp_path_factory.mktemp("watch") / "watch"
    plugins = ROOT / "plugins"
    subprocess.run(
        [
            *(nvcc, "-std=c++20", "-arch=native", "--expt-relaxed-constexpr"),
            *("-I", plugins, "-o", program, ROOT / "tests" / "cxx" / "gpu" / "chain_watchdog.cu"),
            *(plugins / "core" / "runtime" / name for name in ("watchdog.cpp", "devices.cu")),
        ],
        check=True,
    )
    return program


@pytest.mark.parametrize(
    "other, message, most",
    [
        ("is silent", "no device has decided a trial for 2 s (MANYMOVE_TIMEOUT)", SOON),
        ("traps", "cuda:0: ", SOON),
        ("counts slowly", "", 2 * SOON),
    ],
)
def test_kernels_that_wait_for_another_device_are_watched(watch, other, message, most):
    """Two streams of one device in the places of two devices."""
    done = run([watch, other], env={**os.environ, **LIMITED})
    assert done.returncode == 0, done.stdout + done.stderr
    *error, seconds = done.stdout.splitlines()
    assert message in "".join(error)
    assert bool(error) == bool(message)
    assert float(seconds) < most


FAULT = """
    import os, threading, time
    import cupy
    from electrolytes import trivalent

    chain = trivalent(4096, device="{device}")
    chain.run(1)
    trap = cupy.RawKernel('extern "C" __global__ void trap() {{ __trap(); }}', "trap")

    def fault():
        time.sleep(1)
        with cupy.cuda.Device({faulty}), cupy.cuda.Stream(non_blocking=True):
            trap((1,), (1,), ())

    thread = threading.Thread(target=fault)
    thread.start()
    start = time.perf_counter()
    for call in (lambda: chain.run(10**7), lambda: chain.run(1), lambda: chain.positions):
        try:
            call()
        except RuntimeError as error:
            print(error)
    print(time.perf_counter() - start)
    os.sys.stdout.flush()
    thread.join()
    del chain
    print("freed")
    os.sys.stdout.flush()
    os._exit(0)
"""


@pytest.mark.parametrize(
    "device, faulty", [("cuda:0,0", 0), pytest.param("cuda:0,1", 1, marks=needs_two)]
)
def test_a_fault_of_one_device_ends_a_chain_within_seconds(cupy, device, faulty):
    *lines, seconds, freed = run_script(FAULT.format(device=device, faulty=faulty))
    assert len(lines) == 3
    assert "CUDA" in lines[0]
    for line in lines[1:]:
        assert line.startswith("the engine cannot be used after an error: CUDA")
    assert float(seconds) < 20
    assert freed == "freed"
