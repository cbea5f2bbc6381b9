"""Tables of forces, and the command by which an input script writes them into a file."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def _section(
    name: str, r: np.ndarray, law: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], head: str
) -> str:
    rows = zip(r, *law(r), strict=True)
    lines = [f"{k + 1} {a:.12g} {e:.12g} {f:.12g}" for k, (a, e, f) in enumerate(rows)]
    return "\n".join([name, f"N {len(r)}{head}", "# r, E, F", *lines, ""])


def _attractive(r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sixth = (0.9 / r) ** 6
    return (
        4 * sixth * (sixth - 1) + 0.4 * np.cos(3 * r),
        24 * sixth * (2 * sixth - 1) / r + 1.2 * np.sin(3 * r),
    )


def _soft(r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return 12 * (1.4 - r) ** 2, 24 * (1.4 - r)


def _bond(r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return 20 * (r - 0.9) ** 2 + 9 * (r - 0.9) ** 4, -40 * (r - 0.9) - 36 * (r - 0.9) ** 3


def force_tables() -> str:
    """The command that writes forces.table with the sections ATTRACTIVE (0.35 to 1.8), SOFT (0.001
    to 1.4), and of bonds LONG (0.001 to 3) and SHORT (0.05 to 2)."""
    sections = [
        _section("ATTRACTIVE", np.linspace(0.35, 1.8, 90), _attractive, " R 0.35 1.8"),
        _section("SOFT", np.linspace(0.001, 1.4, 60), _soft, ""),
        _section("LONG", np.linspace(0.001, 3.0, 80), _bond, ""),
        _section("SHORT", np.linspace(0.05, 2.0, 70), _bond, " FP 200 -400"),
    ]
    return 'print """\n' + "\n".join(sections) + '\n""" file forces.table screen no\n'
