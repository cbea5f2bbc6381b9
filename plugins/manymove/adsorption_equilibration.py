"""When an open system holds as many molecules as its gas wants it to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from manymove import arguments

_MOMENTS = 100  # of a round of the equilibration at which loading and test molecules are compared
_ROUNDS = 6  # each twice as long as the one before: 63 times the first in all
_AGREEMENT = 2.0  # standard errors that end the equilibration
_LONGEST = 2**62
_MOST_TESTS = 2**24  # at a time


@dataclass
class Comparison:
    """Loadings and test molecules of the same states, and where an equilibration stands.

    Attributes:
        sums: (2, species, systems), over the moments: molecules, and beta f V <exp(-U / T)>.
        moments: how many.
        first: steps of the first round of the equilibration; 0: there was none.
        round: the present one; None when the equilibration is over.
        began: the step at which the round began.
    """

    sums: np.ndarray
    moments: int = 0
    first: int = 0
    round: int | None = None
    began: int = 0

    @property
    def header(self) -> dict[str, Any]:
        """For a checkpoint, what is not an array."""
        return {name: getattr(self, name) for name in ("moments", "first", "round", "began")}

    def restore(self, header: dict[str, Any], sums: np.ndarray) -> None:
        """From a checkpoint."""
        self.sums = sums.reshape(self.sums.shape)
        self.moments, self.first, self.began = (
            int(header[name]) for name in ("moments", "first", "began")
        )
        self.round = None if header["round"] is None else int(header["round"])


def test_molecules(steps: int) -> int:
    """As many as steps since the last comparison, which cost a third of these."""
    return min(max(1, steps), _MOST_TESTS)


class Equilibration:
    """The equilibration of `manymove.Adsorption` in contact with a gas; not for use by itself."""

    _engine: Any
    _parameters: dict[str, Any]
    _comparison: Comparison
    steps: int
    systems: int
    counts: np.ndarray
    loading_agrees: Callable[..., bool | None]
    _relax_to: Callable[..., None]

    def _forget_comparison(self, **known: Any) -> None:
        shape = (2, len(self._parameters["species"]), self._parameters["systems"])
        self._comparison = Comparison(np.zeros(shape), **known)

    def compare_loading(self, insertions: int) -> None:
        """Compare the present loading with test molecules, for `loading_from_test_molecules`.

        Args:
            insertions: of test molecules of each species into each system.

        Raises:
            ValueError: insertions is not positive, or the systems are closed.
        """
        arguments.count("insertions", insertions)
        p = self._parameters
        if not p["exchange"]:
            raise ValueError("the systems are closed: their loading is fixed")
        self._comparison.sums[0] += self.counts.T
        for kind, species in enumerate(p["species"]):
            sums = self._engine.insert_test_molecules(insertions, kind, False)
            mean = sums.reshape(-1, 2)[:, 0] / insertions
            self._comparison.sums[1, kind] += species["activity"] * mean
        self._comparison.moments += 1

    def equilibrate_loading(
        self, steps: int, callback: Callable[[Any], None] | None = None
    ) -> bool | None:
        """Run open systems until loading and test molecules agree, and forget the averages.

        In a system that is in equilibrium with its gas, <N> = beta f V <exp(-U / T)> with U the
        energy of a test molecule (B. Widom, J. Chem. Phys. 39, 2808 (1963)). Rounds of the
        equilibration become twice as long each until both sides agree over a whole round, within
        two standard errors that are below 3 % of the loading; six rounds at most. After an
        interruption the next call continues.

        Args:
            steps: of every system in the first round, at least 1.
            callback: as in `equilibrate`.

        Returns:
            whether they agree; None where the errors are too large to tell.

        Raises:
            TypeError, ValueError: steps is not a positive integer, or the systems are closed.
            KeyboardInterrupt: on Ctrl-C; the state is that of a whole step.
        """
        if self._comparison.round is None:
            first = arguments.count("steps", steps, most=_LONGEST)
            if not self._parameters["exchange"]:
                raise ValueError("the systems are closed: their loading is fixed")
            self._engine.reset_averages()
            self._forget_comparison(first=first, round=0, began=self.steps)
        while True:
            now = self._comparison
            length = now.first << now.round
            while now.moments < _MOMENTS:
                self._relax_to(now.began + length * (now.moments + 1) // _MOMENTS, callback)
                self.compare_loading(test_molecules(length // _MOMENTS))
            agree = self.loading_agrees(_AGREEMENT)
            if agree or now.round + 1 == _ROUNDS or self.systems == 1:
                self._forget_comparison(first=now.first)
                return agree
            self._forget_comparison(first=now.first, round=now.round + 1, began=self.steps)

    @property
    def first_round(self) -> int:
        """Steps that `equilibrate_loading` was called with; 0 without."""
        return self._comparison.first

    @property
    def comparisons(self) -> int:
        """Calls of `compare_loading` since the averages began."""
        return self._comparison.moments
