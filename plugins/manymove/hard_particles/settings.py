# SPDX-License-Identifier: BSD-3-Clause
"""The settings of `manymove disks` and `manymove spheres`, and their checks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from manymove.hard_particles.kinds import DISKS, SPHERES, Kind, check_start
from manymove.hard_particles.sizes import Sizes
from manymove.jobs import limits, replica
from manymove.jobs.replica import at_least
from manymove.settings import ConstantPressure, Swaps


@dataclass(frozen=True, kw_only=True)
class Settings(replica.Settings):
    """The settings of a job, which are those of the options of `manymove disks`.

    Attributes:
        mixture: contact distances of the pairs of types of a mixture, a row for each type.
        fractions: number fractions of the types.
        pressure: constant pressure P*; None for constant volume.
        edges_apart: whether edges change one at a time, at constant pressure.
        volume_delta: maximum trial change of ln V, or of an edge or each of the edges in units of
            the diameter; None for the default.
        tune_volume: whether the equilibration adjusts this maximum to an acceptance.
        tile: maximum width of a tile in cells, or one width for each axis; None for the default.
        swaps: swap moves; None without them.
    """

    kind: ClassVar[Kind] = DISKS
    particles: int
    packing_fraction: float
    sweeps: int
    start: str
    input: Path | None
    replicas: int
    max_displacement: float | None
    moves_per_cell: int | None
    frames: int
    decompose: bool = False
    mixture: tuple[tuple[float, ...], ...] | None = None
    fractions: tuple[float, ...] | None = None
    pressure: float | None = None
    edges_apart: bool = False
    volume_delta: tuple[float, ...] | None = None
    tune_volume: bool = False
    tile: tuple[int, ...] | None = None
    swaps: Swaps | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sweeps > 10**15:
            raise ValueError(f"--sweeps is {self.sweeps}; it must be at most 10**15")
        if not 0 < self.packing_fraction < 1:
            raise ValueError(
                f"--packing-fraction is {self.packing_fraction}; it lies between 0 and 1"
            )
        if self.input is None and not self.resume:
            check_start(self.kind, self.start, self.packing_fraction, self.mixture is not None)
        limits.refuse(
            f"--particles {self.particles}, --packing-fraction {self.packing_fraction:.4g} and "
            f"--sweeps {self.sweeps}",
            self._memory(),
            float(self.particles) * (self.sweeps + self.equilibrate) * self.replicas,
            "trial moves",
            self.device,
        )
        if self.input is not None and not self.resume:
            trajectories = self.output.resolve() / "trajectory*.gsd"
            if self.input.resolve().match(str(trajectories)):
                raise ValueError(
                    f"--input {self.input} would be replaced by the new trajectory: "
                    "choose another --output"
                )
        if self.swaps is not None and self.input is None:
            self.exchangeable(self._of_types())
        if self.tile is not None and self.input is None:
            self.tile_for(self._of_types())
        if self.mixture is not None and self.input is None:
            missing = np.flatnonzero(np.bincount(self._types(), minlength=len(self.mixture)) == 0)
            if missing.size:
                raise ValueError(
                    f"--fractions leaves no particle of type {missing[0]}: --particles is "
                    f"{self.particles}"
                )
        if self.pressure is not None and not 0 < self.pressure < math.inf:
            raise ValueError(f"--pressure is {self.pressure}; it must be positive and finite")
        self._check_volume_moves()
        if self.decompose and self.replicas > 1:
            raise ValueError(f"--decompose shares one system; --replicas is {self.replicas}")

    def _memory(self) -> float:
        """Bytes of the particles and, for a dilute system, of the cells."""
        D, types = self.kind.dimensions, self.mixture or ((1.0,),)
        shares = np.array(self.fractions or len(types) * (1.0,))
        mean = float(shares @ np.diagonal(types) ** D / shares.sum())
        volume = self.particles * np.pi / (2 * D) * mean / self.packing_fraction
        # A cell is about the largest contact distance wide. It has four slots, or eight for
        # spheres, each with the coordinates and the index of a particle.
        slots = volume / np.max(types) ** D * 4 * (D - 1)
        return 100.0 * self.particles + 4.0 * (D + 1) * slots

    def _check_volume_moves(self) -> None:
        """Refuse options of constant pressure without --pressure, and invalid maximum changes."""
        if self.pressure is None:
            for name in ("edges_apart", "volume_delta", "tune_volume"):
                if getattr(self, name):
                    raise ValueError(f"--{name.replace('_', '-')} needs --pressure")
        if self.tune_volume and self.equilibrate == 0:
            raise ValueError("--tune-volume needs an equilibration; --equilibrate is 0")
        if self.input is None:
            self.volume_delta_for(self._of_types())

    def constant_pressure_for(self, given: Sizes) -> ConstantPressure | None:
        """The constant pressure of particles of these sizes."""
        if self.pressure is None:
            return None
        mode = "length" if self.edges_apart else "ln"
        return ConstantPressure(self.pressure, mode, self.volume_delta_for(given))

    def volume_delta_for(self, given: Sizes) -> float | tuple[float, ...] | None:
        """The maximum trial change of ln V or of the edges, for particles of these sizes.

        Raises:
            ValueError: these particles cannot have it.
        """
        deltas, axes = self.volume_delta, self.kind.dimensions
        if deltas is None:
            return None
        text = ",".join(f"{each:g}" for each in deltas)
        if not self.edges_apart:
            if len(deltas) > 1:
                raise ValueError(
                    f"--volume-delta is {text}; it must be one number without --edges-apart"
                )
            if not 0 < deltas[0] < math.inf:
                raise ValueError(f"--volume-delta is {text}; it must be positive and finite")
            return deltas[0]
        if len(deltas) not in (1, axes):
            raise ValueError(
                f"--volume-delta is {text}; it must be one number or {axes}, one for each edge"
            )
        diameter = given.mean(axes)
        most = given.largest() / diameter  # the engine's limit is the largest contact distance
        if not (all(0 <= each <= most for each in deltas) and any(deltas)):
            raise ValueError(
                f"--volume-delta is {text}; it must be positive and at most {most:.4g} diameters, "
                "or 0 for an edge that is fixed"
            )
        return (
            tuple(each * diameter for each in deltas) if len(deltas) > 1 else deltas[0] * diameter
        )

    def exchangeable(self, given: Sizes) -> Sizes:
        """The sizes in the form that swap moves need, if there are any.

        Raises:
            ValueError: swap moves are not for these sizes.
        """
        if self.swaps is None:
            return given
        try:
            return given.by_particle()
        except ValueError as error:
            raise ValueError(f"--swap-rounds: {error}") from None

    def tile_for(self, given: Sizes) -> int | tuple[int, ...] | None:
        """The width of a tile, or one for each axis, for particles of these sizes.

        Raises:
            ValueError: the number of widths, or a width, is not one that these particles can have.
        """
        widths, axes = self.tile, self.kind.dimensions
        if widths is None:
            return None
        for width in widths:
            at_least("--tile", width, 1)
        if len(widths) == 1:
            return widths[0]
        text = ",".join(map(str, widths))
        if self.kind is DISKS and self.pressure is None and not given.mixed:
            raise ValueError(f"--tile is {text}; tiles of equal disks have one width")
        if len(widths) != axes:
            raise ValueError(f"--tile is {text}; it must be one width or {axes}, one for each axis")
        return widths

    def _types(self) -> np.ndarray:
        """The type of each particle of a mixture."""
        kinds = len(self.mixture or ())
        shares = np.cumsum(self.fractions or kinds * (1 / kinds,))
        ends = np.rint(shares / shares[-1] * self.particles).astype(int)
        return np.repeat(np.arange(kinds, dtype=np.int32), np.diff(ends, prepend=0))

    def _of_types(self) -> Sizes:
        if self.mixture is None:
            return Sizes(diameter=1.0)
        return Sizes(types=self._types(), contacts=np.array(self.mixture))

    @property
    def sizes(self) -> Sizes:
        """The sizes of the particles without `--input`, in the unit of the options."""
        return self.exchangeable(self._of_types())


@dataclass(frozen=True, kw_only=True)
class SphereSettings(Settings):
    """The settings of a job of `manymove spheres`."""

    kind: ClassVar[Kind] = SPHERES
