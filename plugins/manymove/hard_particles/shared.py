# SPDX-License-Identifier: BSD-3-Clause
"""Hard particles of one rank, or of several MPI ranks that share a system."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np

from manymove import _core, checkpoint
from manymove import fields as external_fields
from manymove import steps as pair_steps
from manymove.checkpoint import PathLike
from manymove.hard_particles import sizes
from manymove.hard_particles.checkpoints import Contents, read_checkpoint
from manymove.hard_particles.sizes import Sizes
from manymove.jobs.ranks import Ranks
from manymove.shared import SharedSimulation

P = TypeVar("P", bound="SharedParticles")


class SharedParticles(SharedSimulation):
    """The engine of this rank and its part of the system; a base class that is not used on its
    own."""

    _sizes: Sizes
    _pinned: np.ndarray | None
    _DIMENSIONS: ClassVar[int]
    _fields: tuple[external_fields.Field, ...]
    _steps: tuple[pair_steps.Step, ...]
    _of_fields: dict[str, np.ndarray | None]  # what the engine has of each particle of them
    _repaired: tuple[int, float]
    _general: bool  # whether the engine takes spheres and mixtures

    @property
    def transport(self) -> str:
        """What rows of cells travel through from rank to rank, such as "MPI"; empty for one rank.
        The environment variable MANYMOVE_TRANSPORT chooses it for GPUs: auto, peer, shared, nccl,
        mpi or host."""
        return self._engine.transport if self._ranks else ""

    def _begin(self, read: Callable[[], Any]) -> None:
        """Make the engine from the positions that `read` returns; of several ranks only the first
        calls it."""
        make = _core.HardParticles
        if self._ranks is None:
            self._adopt(make.from_positions(read(), *self._where()))
            return
        with self._ranks.collective():
            self._divide(lambda: make.first_snapshot(read(), self._where()[0]))

    @staticmethod
    def _on_first(
        make: Callable[[], tuple[np.ndarray, tuple[float, ...]]], options: dict[str, Any]
    ) -> tuple[np.ndarray | None, tuple[float, ...]]:
        """Positions and box of a start, which the first of several ranks makes; the others have the
        box only. The options are arguments of the class."""
        ranks = Ranks.of(options.get("comm"))
        if ranks is None:
            return make()
        positions, box = ranks.together(
            lambda: make() if ranks.rank == 0 else (None, None), patient=True
        )
        return positions, ranks.first(box)  # type: ignore[arg-type]

    def _divide(self, whole: Callable[[], tuple[dict[str, Any], int, tuple[int, float]]]) -> None:
        """Distribute the system of rank 0, which is given by a snapshot, the number of particles,
        and the number and depth of repaired overlaps."""
        ranks: Any = self._ranks
        settings = ranks.all((self._parameters, self._digest_of_sizes()))
        if any(other != settings[0] for other in settings):
            raise ranks.all_raise(
                ValueError(
                    "the ranks of comm have different settings: give all of them the same arguments"
                )
            )
        snapshot, *rest = ranks.together(
            lambda: whole() if ranks.rank == 0 else (None, 0, None), patient=True
        )
        particles, repaired = ranks.first(rest)
        self._adopt(_core.HardParticles.of_ranks(snapshot, particles, *self._where(), ranks.core))
        self._repaired = repaired

    def _adopt_snapshot(self, snapshot: dict[str, Any]) -> None:
        """Continue with an engine from a snapshot of the present one, which rank 0 has."""
        make = _core.HardParticles
        if self._ranks is None:
            self._adopt(make.from_snapshot(snapshot, self.N, *self._where()))
            return
        with self._ranks.collective():
            self._divide(lambda: (snapshot, self.N, self._repaired))

    def _digest_of_sizes(self) -> str:
        """A digest of what every rank has of each particle: sizes, which ones are pinned, and
        fields."""
        found = hashlib.sha256()
        of_each = self._sizes.diameters, self._sizes.types, self._pinned
        for each in (*of_each, *self._of_fields.values()):
            found.update(b"" if each is None else np.ascontiguousarray(each).tobytes())
        return found.hexdigest()

    # ---- checkpoints -----------------------------------------------------------------------------

    @classmethod
    def load(
        cls: type[P],
        path: PathLike,
        device: str = "auto",
        threads: int | None = None,
        comm: Any = None,
    ) -> P:
        """Create particles from a checkpoint of any number of ranks. The trajectory continues with
        the same bits on all devices and ranks.

        Args:
            path: path of the file.
            device, threads, comm: arguments of the class.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is not a checkpoint of this class, or it is damaged.
        """
        return cls._loaded(path, device=device, threads=threads, comm=comm)

    def _restore(self, path: PathLike, *options: Any) -> None:
        ranks = self._ranks
        if ranks is None:
            found = self._read(path)
            self._parameters = found.parameters
            self._adopt(
                _core.HardParticles.from_snapshot(found.state, found.particles, *self._where())
            )
            self._proceed(found.run)
            return
        read: Any = ranks.together(
            lambda: self._read(path) if ranks.rank == 0 else None, patient=True
        )
        self._parameters, run, self._sizes, self._pinned, self._of_fields, self._given = (
            ranks.first(
                read
                and (
                    read.parameters,
                    read.run,
                    self._sizes,
                    self._pinned,
                    self._of_fields,
                    self._given,
                )
            )
        )
        self._restore_fields()

        def whole() -> tuple[dict[str, Any], int, tuple[int, float]]:
            _core.HardParticles.check_snapshot(read.state, read.particles, self._where()[0])
            return read.state, read.particles, (0, 0.0)

        with ranks.collective():
            self._divide(whole)
        self._proceed(run)

    def _read(self, path: PathLike) -> Contents:
        """The contents of a checkpoint; keeps the sizes and the settings."""
        read = read_checkpoint(path, self._KIND)
        with checkpoint.refused(path, self._KIND):
            self._sizes = sizes.of_checkpoint(read.parameters, read.state)
            self._pinned = read.state.pop("pinned", None)
            self._of_fields = {name: read.state.pop(name, None) for name in external_fields.ARRAYS}
            self._parameters = read.parameters
            self._restore_fields()
            self._given = checkpoint.decoded(read.settings)
        return read

    def _restore_fields(self) -> None:
        """The fields and steps of the parameters and arrays of a checkpoint."""
        self._steps = pair_steps.of_checkpoint(self._parameters)
        self._fields = external_fields.of_checkpoint(
            self._parameters, self._of_fields, self._DIMENSIONS
        )

    @abstractmethod
    def _proceed(self, run: dict[str, Any]) -> None:
        """Restore the progress and the samples of the run of a checkpoint."""
