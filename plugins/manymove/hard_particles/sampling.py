# SPDX-License-Identifier: BSD-3-Clause
"""Records of the pressure and of the volume of hard particles.

Records have equal numbers of cycles and end at multiples of this number. Therefore they do not
depend on where runs begin and end. A record in whose middle sampling began is left out.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from manymove.analysis.pressure import (
    BINS,
    DEGREE,
    DELTA_R,
    PairSteps,
    bin_width,
    contact_weights,
    pressure_weights,
    step_weights,
)


class Sampling:
    """Samples of an engine, and their records.

    Attributes:
        TYPES: names and dtypes of the arrays of a checkpoint: values, cycles and open sums.
        settings: arguments of the sampling.
        length: number of cycles of a record.
        values: values of each record, float64 (K, columns).
        cycles: cycle at the end of each record, float64 (K,).
    """

    TYPES: ClassVar[dict[str, Any]]
    settings: dict[str, int]

    def _begin(self, length: int, first: int, open_sums: np.ndarray, columns: int) -> None:
        """No records yet. `first` is the present cycle; `open_sums` are zeros."""
        self.length, self._first, self._end = length, first, 0
        self._open = open_sums
        self.values, self.cycles = np.empty((0, columns)), np.empty(0)

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The new samples of the engine, (K, ...), and their cycles."""
        raise NotImplementedError

    def _finished(self, sums: np.ndarray) -> np.ndarray:
        """The values of a record, (columns,), from its sums."""
        raise NotImplementedError

    def collect(self) -> None:
        """Fetch the new samples of the engine."""
        rows, cycles = self._rows()
        if not len(cycles):
            return
        values, ends = [], []
        numbers = -(-cycles.astype(np.int64) // self.length)  # of the records
        for part in np.split(np.arange(len(cycles)), np.flatnonzero(np.diff(numbers)) + 1):
            end = int(numbers[part[0]]) * self.length
            if end != self._end:
                self._open, self._end = np.zeros_like(self._open), end
            # One row after the other: rounding does not depend on how many are fetched at a time.
            self._open = np.add.accumulate(np.concatenate((self._open[None], rows[part])))[-1]
            if cycles[part[-1]] == end and end - self.length >= self._first:
                values.append(self._finished(self._open))
                ends.append(float(end))
        if values:
            self.values = np.concatenate((self.values, values))
            self.cycles = np.concatenate((self.cycles, ends))

    def reset(self, cycle: int) -> None:
        """Discard all samples before the present cycle."""
        self._rows()
        self._begin(self.length, cycle, np.zeros_like(self._open), self.values.shape[1])

    def continue_record(self, before: Sampling) -> None:
        """Continue the unfinished record of a sampling with the same settings, if it has them."""
        if self.settings == before.settings:
            self._first, self._end, self._open = before._first, before._end, before._open

    def state(self) -> tuple[dict[str, int], dict[str, np.ndarray]]:
        """Header and arrays for a checkpoint."""
        self.collect()
        arrays = zip(self.TYPES, (self.values, self.cycles, self._open), strict=False)
        return {**self.settings, "first": self._first, "end": self._end}, dict(arrays)

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Continue from the state of an object with the same settings.

        Raises:
            ValueError: the state is damaged.
        """
        values, cycles, open_sums, *_ = (arrays[name] for name in self.TYPES)
        if (
            values.shape != (len(cycles), self.values.shape[1])
            or cycles.ndim != 1
            or open_sums.shape != self._open.shape
        ):
            raise ValueError(f"records have the shapes {values.shape} and {open_sums.shape}")
        self._first, self._end = (_cycle(name, header[name]) for name in ("first", "end"))
        self.values, self.cycles, self._open = values, cycles, open_sums


class PressureSampling(Sampling):
    """Sampling of the pressure from pair distances near contact. The values are P*, and for each
    pair of types the pairs per unit of r / contact distance at contact.

    Args:
        engine: engine of the core.
        every: number of cycles between two samples.
        samples: number of samples of a record.
        bins: number of bins in a contact distance; None for those that fit the present particles.
        particles, packing_fraction, dimensions: number, packing fraction and dimensions of the
            particles.
        steps: steps of each pair of types, which have a histogram of contact, and two of each step.
        known: whether the densest packing is known, as for a constant number of equal particles.
        first: present cycle.

    Attributes:
        histogram: sum over all records, uint64 (histograms, bins), where those of contact come
            first.
    """

    TYPES: ClassVar[dict[str, Any]] = {
        "pressure_values": np.float64,
        "pressure_cycles": np.float64,
        "pressure_open": np.uint64,
        "pressure_histogram": np.uint64,
    }

    def __init__(
        self,
        engine: Any,
        every: int,
        samples: int,
        bins: int | None,
        particles: int,
        packing_fraction: float,
        dimensions: int,
        steps: tuple[PairSteps, ...],
        known: bool,
        first: int,
    ) -> None:
        def count(width: float, bins: int) -> np.ndarray:
            return engine.contact_histogram(width, bins)[: len(steps) * bins]

        if bins is None:
            bins = round(1 / bin_width(packing_fraction, dimensions, None if known else count))
        width = 1 / bins
        engine.set_sampling(width, BINS, every, every)  # a row for each sample
        self._engine = engine
        self.settings = {"every": every, "samples": samples, "bins": bins}
        self._samples = samples
        self._kinds, number = len(steps), len(steps[0])
        self._constant, self._weights = pressure_weights(
            BINS, width, DEGREE, N=particles, packing_fraction=packing_fraction,
            dimensions=dimensions, steps=steps,
        )  # fmt: skip
        settings = BINS, width, DEGREE, dimensions
        self._of_contact = (
            np.array([step_weights(*settings, pair)[0] for pair in steps])
            if number
            else contact_weights(*settings)
        )
        histograms = self._kinds * (1 + 2 * number)
        sums = np.zeros((histograms, BINS), dtype=np.uint64)
        self._begin(every * samples, first, sums, 1 + self._kinds)

    def _begin(self, length: int, first: int, open_sums: np.ndarray, columns: int) -> None:
        super()._begin(length, first, open_sums, columns)
        self.histogram = np.zeros_like(open_sums)

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        rows, cycles = self._engine.take_rows()
        return rows.reshape(len(cycles), *self._open.shape), cycles

    def _finished(self, sums: np.ndarray) -> np.ndarray:
        self.histogram += sums
        counts = sums.astype(np.float64)
        if len(counts) == self._kinds:  # without steps, all pairs of types have the same weights
            of_all, contacts = counts.sum(axis=0), counts @ self._of_contact
        else:
            of_all = counts.ravel()
            contacts = (counts[: self._kinds] * self._of_contact).sum(axis=1)
        pressure = self._constant + of_all @ self._weights / self._samples
        return np.array([pressure, *(contacts / self._samples)])

    def state(self) -> tuple[dict[str, int], dict[str, np.ndarray]]:
        header, arrays = super().state()
        return header, {**arrays, "pressure_histogram": self.histogram}

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        now = self._first
        super().restore(header, arrays)
        if arrays["pressure_histogram"].shape != self.histogram.shape:
            raise ValueError("the histogram of the pressure has another shape")
        if "bins" in header or self.settings["bins"] == round(1 / DELTA_R):
            self.histogram = arrays["pressure_histogram"]
        else:  # an earlier version may have had wider bins, whose counts are left out
            self._first = now


class OpenPressureSampling(PressureSampling):
    """Sampling of the pressure of equal particles whose number changes. The values are P* and the
    mean number of particles. The sums of a record have a row more, which begins with the sum of the
    numbers of particles.

    Args:
        engine, every, samples, others: as for `PressureSampling`, with a single particle and its
            packing fraction.
    """

    def __init__(self, engine: Any, every: int, samples: int, *others: Any) -> None:
        super().__init__(engine, every, samples, *others)
        engine.set_volume_sampling(1)  # the number after each cycle
        self._of_a_particle, self._constant = self._constant, 0.0
        self._open = np.zeros((len(self._open) + 1, BINS), dtype=np.uint64)

    def reset(self, cycle: int) -> None:
        super().reset(cycle)
        self.histogram = self.histogram[:-1]  # which has the rows of the sums

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        found, cycles = self._engine.take_rows()
        numbers, after = self._engine.take_volumes()
        rows = np.zeros((len(cycles), *self._open.shape), dtype=np.uint64)
        rows[:, :-1] = found.reshape(len(cycles), len(self._open) - 1, BINS)
        rows[:, -1, 0] = numbers.reshape(-1, 3)[np.searchsorted(after, cycles), 0]
        return rows, cycles

    def _finished(self, sums: np.ndarray) -> np.ndarray:
        pressure, _ = super()._finished(sums[:-1])
        number = float(sums[-1, 0]) / self._samples
        return np.array([pressure + self._of_a_particle * number, number])


class VolumeSampling(Sampling):
    """Sampling of the volume after every cycle. The values are the means of V, V^2 and 1/V.

    Args:
        engine: engine of the core.
        record: number of cycles of a record.
        first: present cycle.
    """

    TYPES: ClassVar[dict[str, Any]] = dict.fromkeys(
        ("volume_values", "volume_cycles", "volume_open"), np.float64
    )

    def __init__(self, engine: Any, record: int, first: int) -> None:
        engine.set_volume_sampling(1)  # a row for each cycle
        self._engine = engine
        self.settings = {"record": record}
        self._begin(record, first, np.zeros(3), 3)

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        rows, cycles = self._engine.take_volumes()
        return rows.reshape(-1, 3), cycles

    def _finished(self, sums: np.ndarray) -> np.ndarray:
        return sums / self.length


def restored(
    header: dict[str, Any], make: Any, names: tuple[str, ...], arrays: dict[str, np.ndarray]
) -> Any:
    """The sampling that a checkpoint describes; None without one.

    Args:
        header: header of the sampling, or None.
        make: function that makes the sampling from its settings.
        names: names of the settings.
        arrays: arrays of the checkpoint.

    Raises:
        ValueError: the state is damaged.
    """
    if header is None:
        return None
    sampling = make(**{name: max(1, _cycle(name, header[name])) for name in names})
    sampling.restore(header, arrays)
    return sampling


def _cycle(name: str, value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 2**63:
        raise ValueError(f"{name} of the sampling is {value}")
    return value
