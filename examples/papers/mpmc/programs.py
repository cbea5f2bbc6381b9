# SPDX-License-Identifier: BSD-3-Clause
"""Programs of this folder, which the scripts compile, and the numbers of Table 1."""

from __future__ import annotations

import argparse
import ctypes
from collections.abc import Callable
from pathlib import Path

from manymove import script

Function = Callable[..., bytes | None]
FOLDER = Path(__file__).parent
CORE = FOLDER.parents[2] / "plugins/core"
# Name of a variant: whether the particles of a cell, and the sets of cells, are shuffled.
VARIANTS = {"both": (True, True), "particles": (True, False), "sets": (False, True),
            "neither": (False, False)}  # fmt: skip
# Table 1: P* and its error in the three columns. The text of the paper at hand has lost the packing
# fractions. The first is 0.698. For the others 0.708 and 0.712 fit the correct pressures, but they
# are not the only ones, because the pressure is not monotonic.
TABLE_1 = {
    "both": [(9.17079, 0.00005), (9.18214, 0.00006), (9.1774, 0.0002)],
    "particles": [(9.1707, 0.0001), (9.1821, 0.0002), (9.1775, 0.0003)],
    "sets": [(9.1716, 0.0001), (9.1876, 0.0002), (9.1831, 0.0003)],
    "neither": [(9.1715, 0.0001), (9.1873, 0.0001), (9.1823, 0.0002)],
}
COLUMNS = [0.698, 0.708, 0.712]


def check_piece(options: argparse.Namespace, records: int) -> None:
    """Refuse a --piece that does not consist of this number of records with samples."""
    if options.piece % records or options.piece < records * options.every:
        raise ValueError(
            f"--piece is {options.piece}; it must be a multiple of {records}, and at least "
            f"{records} times --every, {records * options.every}"
        )


def compiled(name: str, folder: str, gpu: bool = False, source: str = "") -> Function:
    """A function of this folder's C++ or CUDA program of the same name.

    Args:
        name: name of the function.
        folder: folder of the library that is made.
        gpu: compile for the GPU of this machine with nvcc, else for the CPU.
        source: name of the file (default `name`.cpp).

    Raises:
        subprocess.CalledProcessError: the compiler fails.
        OSError: there is no compiler.
    """
    path = FOLDER / (source or f"{name}.cpp")
    library = script.compiled(path, folder, "-I", str(CORE), gpu=gpu)
    function = getattr(library, name)
    function.restype = ctypes.c_char_p
    return function
