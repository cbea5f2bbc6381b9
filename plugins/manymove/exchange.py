# SPDX-License-Identifier: BSD-3-Clause
"""Replica exchange: neighboring state points exchange their configurations.

docs/theory/replica_exchange.md has the proof.
"""

from __future__ import annotations

import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from manymove import arguments, checkpoint
from manymove.adsorption import Adsorption
from manymove.attributes import CheckedAttributes, Uncopied
from manymove.checkpoint import PathLike
from manymove.ensembles import Ensemble, ensemble_of
from manymove.errors import ParameterError
from manymove.hard_particles.particles import HardParticles
from manymove.jobs.progress import MovesBar, StopRequest
from manymove.jobs.report import write_json
from manymove.jobs.team import Member
from manymove.replicas import Replicas
from manymove.runs import Callbacks, checked

LEAST_ACCEPTANCE = 0.05  # of a pair, below which a warning is issued
ENOUGH_ATTEMPTS = 200  # of a pair for the warning
_CONTENTS = "exchange.json"
_TAG = 0x7265706C69636173  # of the random numbers, so that no simulation has the same


class ReplicaExchange(Uncopied, CheckedAttributes):
    """Replicas that exchange their configurations with those of neighboring state points.

    Each replica is a state point: it keeps its pressure, Bjerrum length or fugacity, its seed, its
    moves and its samples, so that averages, records and histograms belong to the state point. After
    `every` cycles of hard particles, sweeps of ions or steps of adsorbates, neighbors exchange
    their configurations with the probability that keeps the distribution of each state point
    (docs/theory/replica_exchange.md): first the pairs (0, 1), (2, 3), ..., next time the pairs
    (1, 2), (3, 4), ... The systems of `Adsorption` exchange independently of each other.

    The random numbers of exchanges are a function of the seed, the number of the exchange and the
    pair. Therefore results do not depend on the number of threads and ranks, nor on where a run
    stopped. The trajectory of a replica differs from that of a simulation without exchanges.

    Only this object may run the replicas. A UserWarning at the end of a run names the pairs that
    accept less than 5 % of at least 200 attempts: their state points are too far apart, because
    distributions become narrower as the systems become larger.

    Raises:
        TypeError: the class cannot exchange (DPD fluids), or an argument has a wrong type.
        ValueError: there are fewer than two replicas; a replica is at constant volume or closed; it
            differs from the first one in more than the parameter; or the parameters are not in
            ascending or descending order. The message has the index of the replica.
    """

    def __init__(self, replicas: Replicas, every: int, *, seed: int | None = None) -> None:
        """Create the exchange of replicas.

        Args:
            replicas: replicas in the order of their pressures, Bjerrum lengths or fugacities.
            every: number of cycles, sweeps or steps between two exchanges.
            seed: seed of the exchanges (default that of the first replica).
        """
        if not isinstance(replicas, Replicas):
            raise TypeError(f"replicas must be a manymove.Replicas, got {replicas!r}")
        self._replicas, self._every = replicas, arguments.count("every", every)
        ensemble = replicas.map(ensemble_of)[0]
        if ensemble is None:
            raise TypeError(
                "replicas must be HardDisks or HardSpheres at constant pressure, Electrolyte, or "
                f"Adsorption with a fugacity: replicas of {replicas._kind} cannot exchange"
            )
        if len(replicas) < 2:
            raise ParameterError("replicas", f"must be at least two, got {len(replicas)}")
        self._ensemble: Ensemble = ensemble
        points: list[Any] = replicas.map(ensemble.point)
        self._unit = replicas.map(lambda one: one._COUNTER)[0]
        _check(points, ensemble.name)
        self._points = points
        self._fields = np.array([point.fields for point in points])
        self._starts, seeds = replicas.elapsed, replicas.map(lambda one: one.seed)
        self._seed = seeds[0] if seed is None else arguments.uint64("seed", seed)
        self._done = self._equilibrated = 0
        self._broken = False
        self._labels = np.repeat(np.arange(len(points))[:, None], points[0].systems, axis=1)
        self._folder: Path | None = None
        self._forget()

    def _forget(self) -> None:
        n, systems = self._labels.shape
        self._attempts = np.zeros(n - 1, dtype=np.int64)
        self._accepted = np.zeros(n - 1, dtype=np.int64)
        self._trips = np.zeros((n, systems), dtype=np.int64)
        # The end of the list where a configuration was last: 1 for the first state point, 2 for
        # the last one after the first; 0 before the first visit.
        self._ends = np.zeros((n, systems), dtype=np.int64)
        self._follow()

    @property
    def replicas(self) -> Replicas:
        """The replicas, in the order of their state points."""
        return self._replicas

    @property
    def every(self) -> int:
        """Number of cycles, sweeps or steps between two exchanges."""
        return self._every

    @property
    def seed(self) -> int:
        """Seed of the exchanges."""
        return self._seed

    # ---- running ---------------------------------------------------------------------------------

    def run(self, n: int, callbacks: Callbacks = (), **options: Any) -> None:
        """Run each replica for a number of cycles, sweeps or steps.

        Args:
            n: number of cycles, sweeps or steps, a multiple of `every`.
            callbacks, options: as in `run_until`, without `equilibrate`.

        Raises:
            TypeError, ValueError, OSError, RuntimeError, KeyboardInterrupt: as in `run_until`.
        """
        self.run_until(self._done * self._every + self._multiple("n", n), callbacks, **options)

    def run_until(
        self,
        n: int,
        callbacks: Callbacks = (),
        *,
        equilibrate: int = 0,
        progress: bool = False,
        folder: PathLike | None = None,
        save_every: float = 600.0,
    ) -> None:
        """Run each replica up to a length, counted from the creation of this object, and exchange
        after each `every`. The same call completes a run that was interrupted or killed.

        Args:
            n: number of cycles, sweeps or steps, a multiple of `every`.
            callbacks: pairs (every, function) as in `Replicas.run`. A function is called with a
                replica before an exchange at the same value of the counter.
            equilibrate: number of these that are an equilibration, a multiple of `every`, whose
                samples and counts of exchanges are discarded.
            progress: show a progress bar on the first rank.
            folder: folder for checkpoints, as by `save`.
            save_every: time in seconds between two checkpoints, which are written after exchanges.

        Raises:
            TypeError, ValueError: a bad argument, or an error of a replica or of a callback.
            OSError: a checkpoint cannot be written.
            RuntimeError: the replicas were run without this object, or an exchange has failed.
            KeyboardInterrupt: Ctrl-C, SIGTERM or SIGHUP on one of the ranks, raised on all of
                them. Replicas may have stopped at different values of their counters; the next call
                completes the run.
        """
        calls = checked(callbacks)
        end, first = self._multiple("n", n), self._multiple("equilibrate", equilibrate)
        if first > end:
            raise ParameterError("equilibrate", f"must be at most n = {n}, got {equilibrate}")
        arguments.not_negative("save_every", save_every)
        if self._broken:
            raise RuntimeError("an exchange has failed: load the last checkpoint")
        if folder is not None:
            self.save(folder)
        saved = time.monotonic()
        quiet = not progress or self._replicas._world.rank > 0
        bar = MovesBar(f"{len(self._replicas)} replicas", end, unit=self._unit, quiet=quiet)
        # All ranks end at the same place: a signal ends none of the calls that they make together.
        with self._replicas._world.stop_request() as stop:
            self._replicas._stop = stop
            try:
                while True:
                    # Before the next part, because Ctrl-C may have ended the last one.
                    if self._done * self._every == first != self._equilibrated:
                        self.reset_averages()
                        self._equilibrated = first
                    if self._done * self._every >= end:
                        break
                    self._advance(calls, self._done * self._every < first)
                    if self._on_any_rank(stop.requested_here):
                        break
                    self._exchange()
                    bar.show(self._done * self._every)
                    late = time.monotonic() > saved + save_every
                    if folder is not None and self._on_first_rank(late):
                        self.save(folder)
                        saved = time.monotonic()
            finally:
                bar.close()
                try:
                    if folder is not None and not self._broken:
                        self.save(folder)
                finally:
                    self._replicas._stop = None
            if self._on_any_rank(stop.requested_here):
                raise KeyboardInterrupt
        self._warn()

    def _multiple(self, name: str, value: int) -> int:
        if arguments.steps(name, value) % self._every:
            raise ParameterError(name, f"must be a multiple of every = {self._every}, got {value}")
        return value

    def _on_first_rank(self, answer: bool) -> bool:
        """The answer of the first rank, on every rank."""
        world = self._replicas._world
        return world.gather([answer] if world.rank == 0 else [])[0]

    def _on_any_rank(self, answer: bool) -> bool:
        return any(self._replicas._world.gather([answer]))

    def _advance(self, calls: Any, equilibration: bool) -> None:
        """Run all replicas up to the next exchange, unless there is a request to stop."""
        replicas = self._replicas
        of_this = (self._done + 1) * self._every

        def course(one: Any, left: int) -> None:
            if equilibration and isinstance(one, Adsorption):
                one.equilibrate(left, calls)
            elif isinstance(one, HardParticles):
                one.run_cycles(left, calls)
            else:
                one.run(left, calls)

        def task(slot: int, stop: StopRequest) -> None:
            one = replicas._simulations[slot]
            left = self._starts[replicas._team.places[slot].index] + of_this - one.elapsed
            if not 0 <= left <= self._every:
                raise RuntimeError("it was run without the exchange, which alone may run it")
            member = Member(stop, math.inf, lambda _: None)
            member.advance(one, lambda each: course(each, left), replicas._team.sharing)

        replicas._each(task, together=True)

    # ---- exchanges -------------------------------------------------------------------------------

    def _exchange(self) -> None:
        """Propose exchanges to every second pair of neighbors, and make those that are accepted."""
        replicas, of = self._replicas, self._ensemble
        places, count = replicas._team.places, len(replicas)
        X = np.array(replicas.map(of.quantities))
        partner: dict[int, tuple[int, np.ndarray]] = {}
        # Two replicas have one pair, which tries each time.
        pairs = range(self._done % 2 if count > 2 else 0, count - 1, 2)
        decided = {i: self._decide(i, X) for i in pairs}
        for i, chosen in decided.items():
            if chosen.any():
                partner[i], partner[i + 1] = (i + 1, chosen), (i, chosen)
        held: list[Any] = []
        if partner:
            held = replicas._each(
                lambda slot, _: (
                    of.configuration(replicas._simulations[slot])
                    if places[slot].index in partner
                    else None
                )
            )
        for i, chosen in decided.items():
            self._attempts[i] += chosen.size
            self._accepted[i] += chosen.sum()
            both = self._labels[[i, i + 1]]
            self._labels[[i, i + 1]] = np.where(chosen, both[::-1], both)
        self._done += 1
        self._follow()
        if not partner:
            return

        def adopt(slot: int, stop: StopRequest) -> None:
            index = places[slot].index
            if index in partner:
                other, chosen = partner[index]
                of.adopt(replicas._simulations[slot], held[other], chosen)
            made.append(slot)

        made: list[int] = []
        try:
            replicas._each(adopt)
        except BaseException as error:
            self._broken = isinstance(error, Exception) or len(made) < len(places)
            raise

    def _decide(self, i: int, X: np.ndarray) -> np.ndarray:
        """Which systems of the replicas i and i + 1 exchange their configurations, (systems,): with
        the probability min(1, exp((lambda_i - lambda_j) (X_i - X_j)))."""
        j = i + 1
        exponent = (X[i] - X[j]) @ (self._fields[i] - self._fields[j])
        counter = np.array([0, 0, self._done, i], dtype=np.uint64)
        words = np.random.Philox(
            key=np.array([self._seed, _TAG], dtype=np.uint64), counter=counter
        ).random_raw(len(exponent))
        uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        return np.log(uniform) < exponent

    def _follow(self) -> None:
        """Count the round trips of the configurations."""
        columns = np.arange(self._labels.shape[1])
        first, last = self._labels[0], self._labels[-1]
        self._trips[first, columns] += self._ends[first, columns] == 2
        self._ends[first, columns] = 1
        self._ends[last, columns] = np.where(self._ends[last, columns] > 0, 2, 0)

    def reset_averages(self) -> None:
        """Discard all samples and records of all replicas, and the counts of exchanges."""
        self._replicas.reset_averages()
        self._forget()

    def _warn(self) -> None:
        if self._replicas._world.rank > 0:
            return
        for i, share in enumerate(self.acceptance):
            if self._attempts[i] >= ENOUGH_ATTEMPTS and share < LEAST_ACCEPTANCE:
                a, b = (_text(self._points[k].values) for k in (i, i + 1))
                warnings.warn(
                    f"replicas {i} and {i + 1} ({self._ensemble.name} {a} and {b}) accept "
                    f"{share:.1%} of their exchanges: put state points between them",
                    stacklevel=3,
                )

    # ---- results ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return (
            f"<ReplicaExchange: {len(self._replicas)} of {self._replicas._kind}, "
            f"{self._ensemble.name}, every = {self._every}, exchanges = {self._done}>"
        )

    @property
    def parameters(self) -> np.ndarray:
        """Pressure P*, Bjerrum length in angstrom or fugacity in bar of each replica, float64 (n,);
        of a mixture of adsorbates (n, species)."""
        found = np.array([point.values for point in self._points])
        return found[:, 0] if found.shape[1] == 1 else found

    @property
    def exchanges(self) -> int:
        """Number of times so far at which every second pair of neighbors has tried an exchange."""
        return self._done

    @property
    def attempts(self) -> np.ndarray:
        """Number of attempts of each pair (i, i + 1) since the last `reset_averages`, int64
        (n - 1,). Each system of `Adsorption` counts."""
        return self._attempts.copy()

    @property
    def acceptance(self) -> np.ndarray:
        """Ratio of accepted attempts of each pair (i, i + 1), float64 (n - 1,); NaN before the
        first attempt."""
        with np.errstate(invalid="ignore"):
            return self._accepted / self._attempts

    @property
    def configurations(self) -> np.ndarray:
        """Index of the replica in which the present configuration of each replica has started,
        int64 (n,); of adsorbates (n, systems)."""
        return self._of_systems(self._labels)

    @property
    def round_trips(self) -> np.ndarray:
        """Number of round trips of each configuration, int64 (n,), from the first state point to
        the last one and back, since the last `reset_averages`; of adsorbates (n, systems)."""
        return self._of_systems(self._trips)

    def _of_systems(self, found: np.ndarray) -> np.ndarray:
        one = self._ensemble.name != "fugacity"
        return found[:, 0].copy() if one else found.copy()

    # ---- files -----------------------------------------------------------------------------------

    def save(self, folder: PathLike, *, overwrite: bool = False) -> None:
        """Write a checkpoint of all replicas and of the exchange into a folder, which all ranks
        must share. The last checkpoint is kept until the new one is complete, so that the files
        always have all replicas at the same exchange.

        Args:
            folder: path of the folder, which is made if it does not exist.
            overwrite: replace the checkpoint of another object in the folder.

        Raises:
            FileExistsError: the folder has the checkpoint of another object.
            OSError: a file cannot be written.
        """
        where = Path(folder).absolute()
        contents, own = where / _CONTENTS, overwrite or where == self._folder
        world = self._replicas._world
        (states,) = world.agree(
            lambda: [checkpoint.next_states(contents, own, "exchange")] if world.rank == 0 else []
        )
        self._replicas.save(where / states, overwrite=True)
        self._replicas._on_first(lambda: write_json(contents, self._contents(states)))
        self._folder = where

    def _contents(self, states: str) -> dict[str, Any]:
        arrays = {name: getattr(self, f"_{name}").tolist() for name in _ARRAYS}
        return {
            "states": states,
            "every": self._every,
            "seed": self._seed,
            "exchanges": self._done,
            "equilibrated": self._equilibrated,
            "starts": self._starts,
            **arrays,
        }

    @classmethod
    def load(cls, folder: PathLike, **place: Any) -> ReplicaExchange:
        """Create the exchange of a folder that `save` or a run has written, on any number of ranks.

        Args:
            folder: path of the folder.
            place: `comm`, `device` and `threads`, arguments of `Replicas`.

        Raises:
            FileNotFoundError: the folder has no exchange.
            OSError: a file cannot be read.
            ValueError: a file is damaged.
        """
        where = Path(folder).absolute()
        held = checkpoint.read_contents(where / _CONTENTS, "exchange")
        replicas = Replicas.load(where / held["states"], **place)
        try:
            self = cls(replicas, held["every"], seed=held["seed"])
            self._done = arguments.steps("exchanges", held["exchanges"])
            self._equilibrated = arguments.steps("equilibrated", held["equilibrated"])
            self._starts = [arguments.steps("starts", start) for start in held["starts"]]
            for name in _ARRAYS:
                found = np.array(held[name], dtype=np.int64)
                if found.shape != getattr(self, f"_{name}").shape:
                    raise ValueError(f"{name} has the shape {found.shape}")
                setattr(self, f"_{name}", found)
            if not (np.sort(self._labels, axis=0) == np.arange(len(replicas))[:, None]).all():
                raise ValueError("labels are no permutation of the replicas")
        except (ValueError, LookupError, TypeError) as error:
            raise ValueError(f"{where / _CONTENTS} is damaged: {error}") from None
        self._folder = where
        return self


_ARRAYS = ("labels", "attempts", "accepted", "trips", "ends")


def _check(points: list[Any], name: str) -> None:
    """Refuse replicas that cannot exchange, by their indices."""
    for i, point in enumerate(points):
        if isinstance(point, str):
            raise ValueError(f"replica {i}: {point}")
        for key, value in point.common.items():
            if value != (other := points[0].common.get(key)):
                raise ValueError(
                    f"replica {i}: {key} is {_brief(value)}, and that of replica 0 is "
                    f"{_brief(other)}: replicas may differ in {name} only"
                )
    fields = np.array([point.fields for point in points])
    steps, way = np.sign(np.diff(fields, axis=0)), np.sign(fields[-1] - fields[0])
    wrong = ((steps != way) & ((steps != 0) | (way == 0))).any(axis=1) | ~steps.any(axis=1)
    if wrong.any():
        i = int(np.argmax(wrong)) + 1
        raise ValueError(
            f"replica {i}: {name} is {_text(points[i].values)} after "
            f"{_text(points[i - 1].values)}, and must ascend or descend from replica to replica"
        )


def _text(values: list[float]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
