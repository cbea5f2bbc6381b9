"""What devices are called."""

from __future__ import annotations

from manymove import _core


def device_name(device: str, threads: int) -> str:
    """The GPU's name (with their number, if several), or the CPU's SIMD level and the number of
    threads.

    Args:
        device: "cpu", "cuda:<index>" or "cuda:<index>,<index>...".
        threads: of the CPU engine.
    """
    if device == "cpu":
        return f"CPU ({_core.simd_level()}, {threads} thread{'s' if threads > 1 else ''})"
    used = device.removeprefix("cuda:").split(",")
    name = _core.cuda_devices()[int(used[0])]["name"]
    return name if len(used) == 1 else f"{len(used)} x {name}"
