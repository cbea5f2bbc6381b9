"""Number of systems that fill a device."""

from __future__ import annotations

from manymove import _core, arguments, devices
from manymove.adsorption.input import known_method

_SERIAL, _PER_THREAD = 16, 64
_WARP = 32  # systems of a warp of pmc
_MOST_WARPS, _FEWEST_WARPS = 16, 4  # of pmc on a multiprocessor, with all in shared memory
_WITHOUT = 512  # systems of pmc on a multiprocessor whose molecules are not in shared memory
_OTHERS = 32  # systems of the other methods, a warp each
# KiB of shared memory on a multiprocessor, by compute capability; 100 on others.
_SHARED = {(8, 0): 164, (9, 0): 228, (10, 0): 228, (10, 3): 228}


def filling_systems(
    method: str,
    molecules: int,
    device: str = "auto",
    precision: str = "mixed",
    threads: int | None = None,
) -> int:
    """Approximate minimum number of systems with which `manymove.Adsorption` reaches its full
    speed.

    The time of a step is proportional to larger numbers. For pmc on a GPU it is the number of
    systems whose molecules fit into shared memory at the same time.

    Args:
        method, device, precision, threads: arguments of `manymove.Adsorption`.
        molecules: number of molecules in a system; the capacity if the system is open.

    Raises:
        ValueError: the method or the device does not exist, or molecules is not positive.
    """
    arguments.count("molecules", molecules)
    if known_method(method) == "metropolis":
        return _SERIAL
    device = devices.resolve(device)
    if device == "cpu":
        return _PER_THREAD * devices.thread_count(threads)
    index = int(device[5:])
    if index >= len(_core.cuda_devices()):
        raise ValueError(f'device "{device}" does not exist; manymove info lists the devices')
    gpu = _core.cuda_devices()[index]
    return gpu["multiprocessors"] * systems_of_multiprocessor(
        method, molecules, precision, tuple(gpu["compute_capability"])
    )


def systems_of_multiprocessor(
    method: str, molecules: int, precision: str, capability: tuple[int, int]
) -> int:
    """Number of systems that fill one multiprocessor of a GPU."""
    if method != "pmc":
        return _OTHERS
    each = 3 * (8 if precision == "double" else 4) * _WARP * molecules + 1024
    warps = _SHARED.get(capability, 100) * 1024 // each
    return _WARP * min(warps, _MOST_WARPS) if warps >= _FEWEST_WARPS else _WITHOUT
