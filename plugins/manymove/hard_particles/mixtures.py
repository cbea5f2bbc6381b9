# SPDX-License-Identifier: BSD-3-Clause
"""The contact distances of a mixture from the options of a command."""

from __future__ import annotations

import math

Table = tuple[tuple[float, ...], ...]


def table_of(
    diameters: tuple[float, ...] | None,
    fractions: tuple[float, ...] | None,
    contacts: tuple[float, ...] | None,
) -> Table | None:
    """Contact distances of the pairs of types, a row for each type; None for equal particles.

    Args:
        diameters: diameters of the types, whose contacts are at the mean.
        fractions: number fractions of the types, which are checked here.
        contacts: contact distances of the pairs 0-0, 0-1, ... 1-1 instead of diameters.

    Raises:
        ValueError: the options contradict each other, or a value is out of range.
    """
    if diameters is not None and contacts is not None:
        raise ValueError("--contacts has the diameters, too: give either --diameters or --contacts")
    name, given = ("--contacts", contacts) if diameters is None else ("--diameters", diameters)
    if given is None:
        if fractions is not None:
            raise ValueError("--fractions is for a mixture with --diameters or --contacts")
        return None
    if not all(0 < each < math.inf for each in given):
        raise ValueError(f"{name} is {_typed(given)}; all values must be positive")
    if diameters is not None:
        table = tuple(tuple((a + b) / 2 for b in diameters) for a in diameters)
    else:
        kinds = math.isqrt(2 * len(given))
        if kinds * (kinds + 1) // 2 != len(given):
            raise ValueError(
                f"--contacts has {len(given)} values; it must have one for each pair of types: "
                "3 for two types, 6 for three"
            )
        rest = iter(given)
        pairs = {(a, b): next(rest) for a in range(kinds) for b in range(a, kinds)}
        table = tuple(
            tuple(pairs[min(a, b), max(a, b)] for b in range(kinds)) for a in range(kinds)
        )
    if fractions is not None and (
        len(fractions) != len(table) or not all(0 < each < math.inf for each in fractions)
    ):
        raise ValueError(
            f"--fractions is {_typed(fractions)}; it must be {len(table)} positive numbers"
        )
    return table


def _typed(values: tuple[float, ...]) -> str:
    return ",".join(f"{value:g}" for value in values)
