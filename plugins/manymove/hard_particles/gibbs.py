# SPDX-License-Identifier: BSD-3-Clause
"""The Gibbs ensemble: two systems of hard particles that exchange particles and volume."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from manymove import _core, arguments, checkpoint
from manymove.analysis.blocking import block_length, estimate
from manymove.analysis.notation import Estimate
from manymove.analysis.pressure import BINS, DEGREE, DELTA_R, pressure_weights, steps_of_pairs
from manymove.attributes import CheckedAttributes, Uncopied
from manymove.checkpoint import PathLike
from manymove.errors import ParameterError
from manymove.hard_particles.constant_pressure import ACCEPTANCE
from manymove.hard_particles.particles import HardParticles
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.spheres import HardSpheres
from manymove.jobs.progress import StopRequest
from manymove.jobs.report import write_json
from manymove.runs import Callbacks, checked

_CONTENTS = "gibbs.json"
_KIND = "Gibbs ensemble"
_FILES = "first.npz", "second.npz", "ensemble.npz"
# The arrays of a checkpoint: of each record, and of each sample of the pressures.
_TYPES = {
    "numbers": np.int64,  # (K, 2, T)
    "volumes": np.float64,  # (K, 2)
    "trials": np.uint64,  # (K, 2, T)
    "sums": np.float64,  # (K, 2, T)
    "pressures": np.float64,  # (P, 2)
}


class GibbsEnsemble(Uncopied, CheckedAttributes):
    """Two systems of the same hard particles, the boxes, between which particles and volume are
    exchanged, so that their pressures and chemical potentials become equal.

    The boxes run cycles of checkerboard Monte Carlo. After every `every` cycles there are trial
    transfers of single particles, and then trial exchanges of volume, one after the other; the
    total numbers of particles and the total volume are constant. Below a critical temperature, one
    box becomes a vapor and the other one a liquid. The method is that of A. Z. Panagiotopoulos,
    Mol. Phys. 61, 813 (1987). The trajectory is a function of the input and the seed; threads and
    devices do not affect it.

    Raises:
        TypeError: the boxes are not both `HardDisks` or both `HardSpheres`.
        ValueError: the boxes have different particles, or features of a constant number of
            particles or a constant box, which the message names; or a number is out of range.
    """

    def __init__(
        self,
        first: HardDisks | HardSpheres,
        second: HardDisks | HardSpheres,
        *,
        seed: int,
        every: int = 1,
        transfers: int | None = None,
        volume_trials: int = 10,
        volume_delta: float | None = None,
    ) -> None:
        """Create the ensemble from the present configurations of two simulations, which are not
        changed.

        Args:
            first, second: simulations of equal particles, or of mixtures of types with the same
                contacts, with or without steps. Their devices, threads and settings of trial moves
                are taken over. They must not have a constant pressure, a fugacity, swap moves,
                external fields, pinned particles, diameters by particle, or several ranks.
            seed: seed of the random number generator, an integer in [0, 2**64 - 1). The second box
                has this seed plus one. Therefore the seeds of independent ensembles must differ by
                at least two.
            every: number of cycles between exchanges.
            transfers: number of trial transfers at a time (default the number of particles).
            volume_trials: number of trial exchanges of volume at a time; 0 for boxes of constant
                volume.
            volume_delta: maximum change of ln(V1 / V2) in an exchange (default 0.25 divided by the
                square root of the number of particles); `tune_volume` finds a better one.
        """
        for name, one in (("first", first), ("second", second)):
            _check(name, one)
        _compare(first, second)
        seed = arguments.uint64("seed", seed)
        if seed == 2**64 - 1:
            raise ParameterError("seed", "must be below 2**64 - 1, for that of the second box")
        N = first.N + second.N
        self._every = arguments.count("every", every)
        self._transfers = N if transfers is None else arguments.steps("transfers", transfers)
        self._volume_trials = arguments.steps("volume_trials", volume_trials)
        if self._transfers >= 2**32:
            raise ParameterError("transfers", f"must be below 2**32, got {transfers}")
        if self._volume_trials > 1000:
            raise ParameterError("volume_trials", f"must be at most 1000, got {volume_trials}")
        self._volume_delta = 0.25 / math.sqrt(N) if volume_delta is None else volume_delta
        if not 0 < arguments.number("volume_delta", self._volume_delta) <= 1:
            raise ParameterError(
                "volume_delta", f"must be positive and at most 1, got {volume_delta}"
            )
        self._boxes = _system(first, seed), _system(second, seed + 1)
        self._begin()
        self._volume = sum(self._exchange(0, 0)[0])

    def _begin(self) -> None:
        """Set all that follows from the boxes, before the first cycle."""
        first = self._boxes[0]
        self._done = 0
        self._broken = False
        self._pressure_every: int | None = None
        self._folder: Path | None = None
        steps = steps_of_pairs([(s.range, s.energy) for s in first._steps], first._contact_table)
        D = first._DIMENSIONS
        # In the volume 1, beta P V = N + weights @ counts.
        _, weights = pressure_weights(
            BINS, DELTA_R, DEGREE, N=1, packing_fraction=math.pi / (2 * D), dimensions=D,
            steps=steps,
        )  # fmt: skip
        self._weights = weights if any(steps) else np.tile(weights, len(steps))
        self.reset_averages()

    # ---- running ---------------------------------------------------------------------------------

    def run(self, cycles: int, callbacks: Callbacks = (), *, progress: bool = False) -> None:
        """Run a number of cycles of both boxes, with the exchanges.

        Args:
            cycles: number of cycles, a multiple of `every`.
            callbacks: pairs (every, function). A function is called with this object whenever
                `cycles` is a multiple of `every`, which must be a multiple of that of the
                ensemble. Callbacks do not affect the trajectory.
            progress: show a progress bar in cycles.

        Raises:
            TypeError: cycles is not an integer, or callbacks are not pairs of an integer and a
                function.
            ValueError: a number is not a multiple of the `every` of the ensemble.
            RuntimeError: an exchange has failed before.
            KeyboardInterrupt: Ctrl-C, SIGTERM or SIGHUP; the state is that after an exchange. A
                second one interrupts the exchange, after which the object cannot run or be saved.
        """
        from tqdm.auto import tqdm

        calls = checked(callbacks)
        for interval in (arguments.steps("cycles", cycles), *(every for every, _ in calls)):
            if interval % self._every:
                raise ParameterError(
                    "cycles", f"and callbacks need multiples of {self._every}, got {interval}"
                )
        self._refuse_if_broken()
        options: dict[str, Any] = {"desc": "GibbsEnsemble", "unit": " cycles"}
        with StopRequest() as stop, tqdm(total=cycles, disable=not progress, **options) as bar:
            for _ in range(cycles // self._every):
                self._advance()
                for every, function in calls:
                    if self.cycles % every == 0:
                        function(self)
                bar.update(self._every)
                if stop.requested:
                    raise KeyboardInterrupt

    def run_until(self, cycles: int, callbacks: Callbacks = (), *, progress: bool = False) -> None:
        """Run until this number of cycles has been made since the start, so that a script that
        continues from a checkpoint can make the same calls again.

        Args:
            cycles: number of cycles, a multiple of `every`.
            callbacks, progress: as in `run`.

        Raises:
            TypeError, ValueError, RuntimeError, KeyboardInterrupt: as in `run`.
        """
        left = arguments.steps("cycles", cycles) - self.cycles
        self.run(max(0, left), callbacks, progress=progress)

    def _advance(self) -> None:
        """Run the cycles of both boxes and an exchange."""
        self._broken = True  # until the exchange is recorded
        for one in self._boxes:
            one.run_cycles(self._every)
        volumes, trials, sums = self._exchange(self._transfers, self._volume_trials)
        self._done += 1
        record = self._numbers(), np.array(volumes), trials, sums
        for name, value in zip(_RECORDS, record, strict=True):
            self._records[name].append(value)
        if self._pressure_every and self.cycles % self._pressure_every == 0:
            counts = (one._engine.contact_histogram(DELTA_R, BINS) for one in self._boxes)
            virials = np.array([of_one.astype(float) @ self._weights for of_one in counts])
            self._records["pressures"].append((record[0].sum(axis=1) + virials) / volumes)
        self._broken = False

    def _refuse_if_broken(self) -> None:
        if self._broken:
            raise RuntimeError("an exchange has failed: load the last checkpoint")

    def _exchange(
        self, transfers: int, volume_trials: int
    ) -> tuple[tuple[float, float], np.ndarray, np.ndarray]:
        """Trial transfers and exchanges of volume. Returns the volumes, and trials and sums of
        insertions, (2, T) each."""
        first, second = self._boxes
        with first._exclusive as one, second._exclusive as other:
            volumes, trials, sums = _core.exchange_in_gibbs_ensemble(
                one, other, transfers, volume_trials, self._volume_delta,
                self._volume if transfers or volume_trials else 0.0,
            )  # fmt: skip
        for box in self._boxes:
            box._follow_types()
        return volumes, trials.reshape(2, -1), sums.reshape(2, -1)

    def tune_volume(self, cycles: int, acceptance: float = ACCEPTANCE) -> float:
        """Adjust `volume_delta` to a ratio of accepted exchanges of volume, during the
        equilibration. The method runs ten parts, after each of which it changes the maximum, and
        discards all records.

        Args:
            cycles: number of cycles of a part, a multiple of `every`.
            acceptance: wanted ratio of accepted to trial exchanges.

        Returns:
            The new `volume_delta`.

        Raises:
            ValueError: the volumes are constant, or a number is out of range.
        """
        if not self._volume_trials:
            raise ValueError("volume_trials is 0: there are no exchanges of volume to be tuned")
        if not 0 < arguments.number("acceptance", acceptance) < 1:
            raise ParameterError("acceptance", f"must be between 0 and 1, got {acceptance}")
        arguments.count("cycles", cycles)
        for _ in range(10):
            before = self._boxes[0]._engine.volume_counters
            self.run(cycles)
            trials, accepted = np.subtract(self._boxes[0]._engine.volume_counters, before).tolist()
            factor = min(3.0, max(0.3, accepted / trials / acceptance))
            self._volume_delta = min(1.0, self._volume_delta * factor)
        self.reset_averages()
        return self._volume_delta

    def _numbers(self) -> np.ndarray:
        """Number of particles of each type in each box, int64 (2, T)."""
        types = self._boxes[0]._sizes.kinds
        return np.array(
            [[one.N] if types == 1 else np.bincount(one.types, minlength=types)
             for one in self._boxes], dtype=np.int64,
        )  # fmt: skip

    def sample_pressure(self, every: int | None) -> None:
        """Sample the pressures of both boxes in the following runs, from the pair distances near
        contact and near the ranges of the steps.

        Args:
            every: number of cycles between two samples, a multiple of that of the ensemble; None
                ends the sampling.

        Raises:
            ValueError: `every` is not a positive multiple of that of the ensemble.
        """
        if every is not None and arguments.count("every", every) % self._every:
            raise ParameterError("every", f"must be a multiple of {self._every}, got {every}")
        self._pressure_every = every

    def reset_averages(self) -> None:
        """Discard all records, for example after the equilibration."""
        self._records: dict[str, list[np.ndarray]] = {name: [] for name in _TYPES}

    # ---- state -----------------------------------------------------------------------------------

    def __repr__(self) -> str:
        N = " + ".join(str(one.N) for one in self._boxes)
        kind = type(self._boxes[0]).__name__
        return f"<GibbsEnsemble of {kind}: N = {N}, cycles = {self.cycles}>"

    @property
    def boxes(self) -> tuple[HardDisks | HardSpheres, HardDisks | HardSpheres]:
        """The two simulations, for their positions, boxes, energies and other properties. Do not
        run them alone."""
        return self._boxes  # type: ignore[return-value]

    @property
    def every(self) -> int:
        """Number of cycles between exchanges."""
        return self._every

    @property
    def cycles(self) -> int:
        """Number of cycles of each box since the start."""
        return self._done * self._every

    @property
    def volume(self) -> float:
        """Total volume, which is constant, or total area of disks."""
        return self._volume

    @property
    def volume_delta(self) -> float:
        """Maximum change of ln(V1 / V2) in an exchange of volume."""
        return self._volume_delta

    @property
    def state_hash(self) -> str:
        """Hashes of both boxes, 32 hexadecimal digits. Equal trajectories have equal hashes on all
        machines."""
        return "".join(one.state_hash for one in self._boxes)

    @property
    def transfer_acceptance(self) -> float:
        """Ratio of accepted to trial transfers since the start; NaN before the first."""
        counters = [one._engine.insertion_counters for one in self._boxes]
        trials, accepted = np.sum(counters, axis=0).tolist()
        return accepted / trials if trials else math.nan

    @property
    def volume_acceptance(self) -> float:
        """Ratio of accepted to trial exchanges of volume since the start; NaN before the first."""
        trials, accepted = self._boxes[0]._engine.volume_counters
        return accepted / trials if trials else math.nan

    # ---- records and averages --------------------------------------------------------------------

    def _array(self, name: str) -> np.ndarray:
        shape = (0, 2) if name in ("volumes", "pressures") else (0, 2, self._boxes[0]._sizes.kinds)
        held = self._records[name]
        return np.array(held, dtype=_TYPES[name]) if held else np.empty(shape, _TYPES[name])

    @property
    def number_records(self) -> np.ndarray:
        """Number of particles of each type in each box after each exchange, int64 (K, 2, T)."""
        return self._array("numbers")

    @property
    def volume_records(self) -> np.ndarray:
        """Volume of each box after each exchange, float64 (K, 2)."""
        return self._array("volumes")

    @property
    def density_records(self) -> np.ndarray:
        """Number of all particles per volume of each box after each exchange, float64 (K, 2)."""
        return self.number_records.sum(axis=2) / self.volume_records

    @property
    def pressure_records(self) -> np.ndarray:
        """Samples of beta P of each box in 1 / length^D, float64 (P, 2)."""
        return self._array("pressures")

    @property
    def densities(self) -> tuple[Estimate, Estimate]:
        """Mean number of particles per volume of each box.

        Near a critical point the boxes may exchange their phases; then use `density_records`.

        Raises:
            RuntimeError: there is no record.
        """
        return self._averages(self.density_records)

    @property
    def pressures(self) -> tuple[Estimate, Estimate]:
        """Mean of beta P of each box in 1 / length^D. The errors follow from blocks as long as
        those of `densities`, because the noise of single samples hides slow fluctuations.

        Raises:
            RuntimeError: there is no sample: call `sample_pressure` and run.
        """
        return self._averages(self.pressure_records)

    @property
    def fugacities(self) -> tuple[tuple[Estimate, ...], tuple[Estimate, ...]]:
        """Fugacity z = exp(mu / kT) / Lambda^D of each type in each box, in 1 / length^D, from the
        trial transfers: 1 / z is the mean of V exp(-dU / kT) / (n + 1), with the energy dU of the
        new particle and n others of its type. The classes take it as the argument `fugacity`. The
        errors follow from blocks as long as those of `densities`.

        Raises:
            RuntimeError: there is no record, or no transfer.
        """
        sums, trials = self._array("sums"), self._array("trials").astype(float)
        if not len(sums) or not trials.sum(axis=0).all():
            raise RuntimeError("there were no trial transfers: run longer")
        series, block = sums / trials.mean(axis=0), self._block(len(sums))
        return tuple(  # type: ignore[return-value]
            tuple(1 / estimate(of_type, block=block) for of_type in of_box.T)
            for of_box in series.swapaxes(0, 1)
        )

    def _averages(self, records: np.ndarray) -> tuple[Estimate, Estimate]:
        if not len(records):
            raise RuntimeError("nothing is recorded: run longer")
        block = self._block(len(records))
        first, second = (estimate(column, block=block) for column in records.T)
        return first, second

    def _block(self, count: int) -> int:
        """Length, in records, of the blocks of a series of `count` records that are as long as
        those of the densities. These relax slowly where few transfers are accepted."""
        densities = self.density_records
        longest = max(block_length(of_box) for of_box in densities.T)
        return math.ceil(longest * count / len(densities))

    # ---- checkpoints -----------------------------------------------------------------------------

    def save(self, folder: PathLike, *, overwrite: bool = False) -> None:
        """Write a checkpoint of both boxes and of the records into a folder. The last checkpoint is
        kept until the new one is complete.

        Args:
            folder: path of the folder, which is made if it does not exist.
            overwrite: replace the checkpoint of another object in the folder.

        Raises:
            FileExistsError: the folder has the checkpoint of another object.
            RuntimeError: an exchange has failed.
            OSError: a file cannot be written.
        """
        self._refuse_if_broken()
        where = Path(folder).absolute()
        contents = where / _CONTENTS
        states = checkpoint.next_states(contents, overwrite or where == self._folder, "ensemble")
        (where / states).mkdir(parents=True, exist_ok=True)
        for name, one in zip(_FILES, self._boxes, strict=False):
            one.save(where / states / name)
        header = {name: getattr(self, f"_{name}") for name in _SETTINGS}
        arrays: dict[str, Any] = {name: self._array(name) for name in _TYPES}
        checkpoint.write(where / states / _FILES[-1], _KIND, header, **arrays)
        write_json(contents, {"states": states})
        self._folder = where

    @classmethod
    def load(
        cls, folder: PathLike, device: str = "auto", threads: int | None = None
    ) -> GibbsEnsemble:
        """Create the ensemble of a folder that `save` has written. The trajectory continues with
        the same bits on all devices.

        Args:
            folder: path of the folder.
            device, threads: arguments of the boxes.

        Raises:
            FileNotFoundError: the folder has no ensemble.
            OSError: a file cannot be read.
            ValueError: a file is damaged.
        """
        where = Path(folder).absolute()
        states = checkpoint.read_contents(where / _CONTENTS, "ensemble")["states"]
        paths = [where / states / name for name in _FILES]
        kind = {each._KIND: each for each in (HardDisks, HardSpheres)}.get(
            checkpoint.kind_of(paths[0]), HardSpheres
        )
        self = cls.__new__(cls)
        self._boxes = (
            kind.load(paths[0], device, threads),
            kind.load(paths[1], device, threads),
        )
        header, arrays = checkpoint.read(paths[2], _KIND, _TYPES)
        with checkpoint.refused(paths[2], _KIND):
            self._begin()
            for name, check in _SETTINGS.items():
                setattr(self, f"_{name}", check(name, header[name]))
            for name, found in arrays.items():
                if found.shape[1:] != self._array(name).shape[1:]:
                    raise ValueError(f"{name} has the shape {found.shape}")
                self._records[name] = list(found)
        self._folder = where
        return self


_RECORDS = ("numbers", "volumes", "trials", "sums")
_SETTINGS: dict[str, Any] = {
    "every": arguments.count,
    "transfers": arguments.steps,
    "volume_trials": arguments.steps,
    "volume_delta": arguments.number,
    "volume": arguments.number,
    "done": arguments.steps,
    "pressure_every": lambda name, value: value and arguments.count(name, value),
}


def _check(name: str, one: Any) -> None:
    """Refuse a simulation that cannot be a box."""
    if not isinstance(one, HardParticles):
        raise TypeError(f"{name} must be a HardDisks or HardSpheres, got {one!r}")
    refused = {
        "a constant pressure": one.constant_pressure is not None,
        "a fugacity": one.fugacity is not None,
        "swap moves": one.swap_rounds > 0,
        "external fields": bool(one.fields),
        "pinned particles": one._pinned is not None,
        "diameters by particle: give a Mixture of types": one._sizes.diameters is not None,
        "several ranks": one._ranks is not None,
    }
    for feature, has in refused.items():
        if has:
            raise ParameterError(name, f"cannot have {feature}")


def _compare(first: HardParticles, second: HardParticles) -> None:
    """Refuse boxes of different particles."""
    if type(first) is not type(second):
        raise TypeError(
            f"both boxes must be of one class, got {type(first).__name__} and "
            f"{type(second).__name__}"
        )
    if not np.array_equal(first._contact_table, second._contact_table):
        raise ParameterError("second", "must have the diameter or the contacts of the first box")
    if first._parameters.get("steps") != second._parameters.get("steps"):
        raise ParameterError("second", "must have the steps of the first box")


def _system(given: HardParticles, seed: int) -> HardParticles:
    """A box with the configuration and the settings of a simulation."""
    one = given.replace(seed=seed)
    one._parameters["gibbs"] = True
    one._begin(lambda: given.positions)
    return one
