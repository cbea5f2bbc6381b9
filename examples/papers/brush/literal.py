# SPDX-License-Identifier: BSD-3-Clause
"""The kernel of the paper as its Algorithms 1 to 5 have it (literal_brush.cu), compiled by nvcc."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from manymove import Electrolyte, script

SOURCE = Path(__file__).with_name("literal_brush.cu")
GROUP = 1024  # ions; the number of ions is a multiple of this
ETAS = (1, 2, 4, 8, 16)
Function = Callable[..., bytes | None]


def compiled(folder: str) -> Function | None:
    """The function of literal_brush.cu for the GPU of this machine; None without nvcc."""
    if shutil.which("nvcc") is None:
        print("nvcc is not installed: the paper's kernel is left out")
        return None
    core = str(SOURCE.parents[3] / "plugins/core")
    function = script.compiled(SOURCE, folder, "-I", core, gpu=True).literal_brush
    function.restype = ctypes.c_char_p
    return function


class Setup(ctypes.Structure):
    """Setup in literal_brush.cu."""

    _fields_ = (
        ("ions", ctypes.c_uint32), ("step", ctypes.c_uint32), ("eta", ctypes.c_int32),
        ("contact", ctypes.c_double), ("bjerrum", ctypes.c_double),
        *[(name, ctypes.c_uint64) for name in ("seed", "first_cycle", "cycles")],
    )  # fmt: skip


class LiteralBrush:
    """A chain of the paper's kernel from the present state of an electrolyte in a sphere. It makes
    the decisions of `Electrolyte` in double precision, except where rounding decides.

    Args:
        ions: ions at the start, of one diameter, a multiple of 1,024.
        eta: threads per particle.
        function: function of literal_brush.cu.
    """

    def __init__(self, ions: Electrolyte, eta: int, function: Function) -> None:
        unit = float(ions.radius or 0) / 2**23
        valences = np.array([s.valence for s in ions.species])
        self.sites = np.empty((ions.N, 4), dtype=np.float32)
        self.sites[:, :3] = np.rint(ions.positions / unit)
        self.sites[:, 3] = valences[ions.types]
        self.setup = Setup(
            ions.N, round(ions.max_displacement / unit), eta, ions.species[0].diameter / unit,
            ions.bjerrum_length / unit, ions.seed, ions.sweeps, 0,
        )  # fmt: skip
        self.seconds, self.sweeps, self.accepted_moves = 0.0, 0, 0
        self._function = function

    def run(self, sweeps: int) -> None:
        """Run for these sweeps.

        Raises:
            RuntimeError: an error of the GPU, or a number of ions that is no multiple of 1,024.
        """
        seconds, accepted = ctypes.c_double(), ctypes.c_uint64()
        self.setup.cycles = sweeps
        wrong = self._function(
            ctypes.byref(self.setup), ctypes.c_void_p(self.sites.ctypes.data),
            ctypes.byref(seconds), ctypes.byref(accepted),
        )  # fmt: skip
        if wrong:
            raise RuntimeError(wrong.decode())
        self.setup.first_cycle += sweeps
        self.sweeps += sweeps
        self.seconds += seconds.value
        self.accepted_moves += accepted.value

    @property
    def acceptance(self) -> float:
        return self.accepted_moves / (self.sweeps * len(self.sites))

    def share_at(self, ions: Electrolyte) -> float:
        """Share of the ions whose positions equal the positions in an electrolyte."""
        unit = float(ions.radius or 0) / 2**23
        return float((self.sites[:, :3] == np.rint(ions.positions / unit)).all(axis=1).mean())
