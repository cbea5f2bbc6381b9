"""Equilibration of open systems, whose loading is compared with that from test molecules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from manymove import arguments
from manymove.adsorption.averages import FEWEST, Comparison
from manymove.adsorption.pilot import PIECES, Pilot
from manymove.analysis.stopping import correlation_times, left_of_start
from manymove.runs import Callbacks

_MOMENTS = 100  # comparisons of loading and test molecules in a round of the equilibration
_OF_PIECE = 3  # intervals between comparisons in a piece of the pilot run
_ROUNDS = 6  # each is twice as long as the one before, all together 63 times the first
_AGREEMENT = 2.0  # difference in standard errors below which the equilibration ends
_LEFT = 0.01  # relative deviation that is left of the start at the end of the equilibration
_LONGEST = 2**62
_MOST_TESTS = 2**24  # test molecules in one comparison


def test_molecules(steps: int) -> int:
    """Number of test molecules in a comparison: one per step since the last one, which takes a
    third of the time of the steps."""
    return min(max(1, steps), _MOST_TESTS)


def piece_of(moment: int) -> int:
    """The piece of the pilot run in which the interval before a comparison is; -1 before it."""
    return max(-1, (moment - _MOMENTS) // _OF_PIECE + PIECES)


class Equilibration(Pilot):
    """The part of `manymove.Adsorption` that equilibrates open systems; not for separate use."""

    _relax_to: Callable[..., None]

    def _forget_comparison(self, **known: Any) -> None:
        shape = (2, len(self._parameters["species"]), self._parameters["systems"])
        self._comparison = Comparison(np.zeros(shape), np.zeros(shape[1]), **known)
        self._held = self._read = None  # sums of no steps differ before and after a reset

    def compare_loading(self, insertions: int) -> None:
        """Compare the present loading with test molecules, for `loading_from_test_molecules`.

        Args:
            insertions: number of test molecules of each species for each system.

        Raises:
            ValueError: insertions is not positive, or the systems are closed.
        """
        arguments.count("insertions", insertions)
        p = self._parameters
        if not p["exchange"]:
            raise ValueError("the systems are closed: their loading is fixed; give a fugacity")
        self._compare([0], insertions)

    def _compare(
        self, steps: Sequence[int], insertions: int, *, rest: int = 0, measure: bool = False
    ) -> float:
        """Run these numbers of steps, with a comparison after each, and then the rest. Returns the
        seconds of the engine."""
        species = self._parameters["species"]
        seconds, counts, tests, sums = self._engine.compare(steps, rest, measure, insertions)
        if measure:
            self._keep(sums)
        numbers = counts.reshape(len(steps), self._systems, len(species))
        means = tests.reshape(len(steps), len(species), self._systems, 2)[..., 0] / insertions
        activities = np.array([each["activity"] for each in species])
        known = self._comparison
        if self._systems > 1:
            for spread in numbers.var(axis=1, ddof=1):
                known.spread += spread
        for each, mean in zip(numbers, means, strict=True):  # in this order also if interrupted
            known.sums[0] += each.T
            known.sums[1] += activities[:, None] * mean
        known.moments += len(steps)
        return seconds

    def equilibrate_loading(
        self, steps: int, callbacks: Callbacks = (), *, progress: bool = False
    ) -> bool | None:
        """Run open systems until loading and test molecules agree, and forget the averages.

        In equilibrium with the gas <N> = beta f V <exp(-U / T)>, where U is the energy of a test
        molecule (B. Widom, J. Chem. Phys. 39, 2808 (1963)). Each round
        of the equilibration is twice as long as the one before, until both sides agree over a whole
        round within two standard errors, and the standard error is below 3 % of the loading. There
        are at most six rounds. After an interruption the next call continues. Numbers of trials
        that are "auto" are chosen by the last 30 % of each round, see `pilot`. With "auto", a
        round with few molecules whose comparison is undecided is also the last one if its loading
        is that of the previous round within two standard errors, and if the error is below 3 % of
        the loading or below 1.5 times the error that independent states would have.

        Test molecules in dense systems are noisy. Therefore a round is also the last one if the
        standard error of the comparison is above 3 %, both sides agree within three standard
        errors, and the deviation that is left of the start is below 1 % of the loading, by the
        correlation time of the numbers of molecules (`docs/theory/adsorption.md`, section 7). This
        is not tested in the first round, which contains the start.

        Args:
            steps: number of steps of every system in the first round, at least 1.
            callbacks, progress: as in `run`.

        Returns:
            whether they agree; None if the errors are too large to decide.

        Raises:
            TypeError, ValueError: steps is not a positive integer, or the systems are closed.
            KeyboardInterrupt: Ctrl-C; the state is that after a whole step.
        """
        if self._comparison.round is None:
            first = arguments.count("steps", steps, most=_LONGEST)
            if not self._parameters["exchange"]:
                raise ValueError("the systems are closed: their loading is fixed; give a fugacity")
            self._engine.reset_averages()
            self._forget_comparison(first=first, round=0, began=self.elapsed)
            self._pilot_is(None)
        while True:
            now = self._comparison
            assert now.round is not None
            length = now.first << now.round
            left = now.began + length - self.elapsed
            with self._running(left, callbacks, progress) as course:
                while (done := now.moments) < _MOMENTS:
                    piece = piece_of(done)
                    ends = [
                        now.began + length * (moment + 1) // _MOMENTS
                        for moment in range(done, _MOMENTS) if piece_of(moment) == piece
                    ]  # fmt: skip
                    self._begin_piece(now.round, piece)
                    self._relax_to(ends, course, test_molecules(length // _MOMENTS))
            self._choose_trials()
            agree = self.loading_agrees(_AGREEMENT)
            if self.loading_agrees() is None and self._is_settled():
                agree, over = None, True
            else:
                rare = agree is None and not self._known_spread()
                over = agree or (rare and self._same_loading(_AGREEMENT))
            if over or now.round + 1 == _ROUNDS or self._systems == 1:
                self._forget_comparison(first=now.first)
                return agree
            self._forget_comparison(first=now.first, round=now.round + 1, began=self.elapsed)

    def _is_settled(self) -> bool:
        """Whether the loading at the end of the round is in equilibrium, by the correlation times
        of the numbers of molecules. Numbers that never change do not show these, and the first
        round contains the start."""
        now = self._comparison
        if not now.round or self._systems < FEWEST or not self._known_spread():
            return False
        means = now.sums[0] / now.moments
        shares, deviation = self._shares_of_numbers(means), self._deviation_of_start(means)
        before = (now.began - self._about["began"]) / (now.first << now.round)
        times = correlation_times(max(shares), self._systems)
        return min(shares) > 0 and left_of_start(times, before, deviation)[1] <= _LEFT

    @property
    def first_round(self) -> int:
        """Number of steps in the first round of `equilibrate_loading`; 0 if it was not called."""
        return self._comparison.first

    @property
    def comparisons(self) -> int:
        """Number of calls of `compare_loading` since the averages were reset."""
        return self._comparison.moments
