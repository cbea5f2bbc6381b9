"""Hard disks as the tests make them."""

from __future__ import annotations

from typing import Any

from manymove import HardDisks


def make(start: Any, device: str = "cpu", **settings: Any) -> HardDisks:
    """From positions and box."""
    positions, box = start
    return HardDisks(positions, box, device=device, **{"seed": 1, "threads": 1, **settings})
