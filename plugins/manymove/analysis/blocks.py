"""Sums over samples in blocks of equal numbers of samples, for statistical errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

_MOST_BLOCKS = 64


def error_over(blocks: np.ndarray) -> np.ndarray:
    """Standard errors of the mean over blocks (blocks, ...); NaN for fewer than two blocks."""
    if len(blocks) < 2:
        return np.full(blocks.shape[1:], np.nan)
    return blocks.std(axis=0, ddof=1) / math.sqrt(len(blocks))


class BlockSums:
    """Sums in blocks. When there are 64 full blocks, neighbors are joined.

    Attributes:
        TYPES: names and dtypes of the arrays, as in a checkpoint; the last counts samples.
        arrays: the sums, each (blocks, ...).
        per_block: number of samples in a complete block.
    """

    TYPES: ClassVar[dict[str, Any]]
    arrays: dict[str, np.ndarray]
    per_block: int

    def _begin(self, *shapes: tuple[int, ...]) -> None:
        """No blocks yet. Arrays have these shapes, in the order of `TYPES` without the last."""
        types = zip(self.TYPES.items(), (*shapes, ()), strict=True)
        # The operating system provides memory for these zeros when they are first overwritten.
        self._room = {
            name: np.zeros((_MOST_BLOCKS, *shape), dtype) for (name, dtype), shape in types
        }
        self._resize(0)

    def _resize(self, blocks: int) -> None:
        self.arrays = {name: room[:blocks] for name, room in self._room.items()}

    def _add(self, *values: Any) -> None:
        """A sample's values, in the order of `TYPES` without the last."""
        samples = list(self.arrays.values())[-1]
        if not samples.size or samples[-1] == self.per_block:
            if samples.size == _MOST_BLOCKS:
                for array in self.arrays.values():
                    array[: _MOST_BLOCKS // 2] = array[0::2] + array[1::2]
                    array[_MOST_BLOCKS // 2 :] = 0
                self._resize(_MOST_BLOCKS // 2)
                self.per_block *= 2
            self._resize(len(next(iter(self.arrays.values()))) + 1)
        for array, value in zip(self.arrays.values(), (*values, 1), strict=True):
            array[-1] += value

    @property
    def samples(self) -> int:
        """Number of samples taken."""
        return int(list(self.arrays.values())[-1].sum())

    def reset(self) -> None:
        """Discard all samples."""
        for array in self.arrays.values():
            array[:] = 0
        self._resize(0)
        self.per_block = 1

    def _take_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take the arrays of a checkpoint.

        Raises:
            ValueError: a shape is wrong.
        """
        blocks = len(arrays[list(self.TYPES)[-1]])
        if blocks > _MOST_BLOCKS:
            raise ValueError(f"there are {blocks} blocks, more than {_MOST_BLOCKS}")
        self._resize(blocks)
        for name, array in self.arrays.items():
            if arrays[name].shape != (blocks, *array.shape[1:]):
                raise ValueError(
                    f"{name} has shape {arrays[name].shape}, not {(blocks, *array.shape[1:])}"
                )
            array[:] = arrays[name]
            self._room[name][blocks:] = 0  # of later blocks, which may exist
