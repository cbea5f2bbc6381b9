"""Averages over many independent systems of adsorbates, with standard errors over the systems.

Equations are numbered as in J. Kim, J. M. Rodgers, M. Athènes, B. Smit, J. Chem. Theory Comput. 7,
3208 (2011).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from manymove import arguments
from manymove.adsorption.estimates import Profile, controlled, heats, mean_and_error, ratio
from manymove.adsorption.gas import AVOGADRO, BOLTZMANN, GAS_CONSTANT
from manymove.adsorption.loadings import Loadings, in_all_units
from manymove.analysis.notation import Estimate
from manymove.analysis.stopping import are_long_enough, share_of_mean
from manymove.tables import dataframe

if TYPE_CHECKING:
    import pandas

MULTIPLE = ("mup", "mdp", "mdp-dj")  # methods with several proposals per step
# Rows of the engine's sums (core/adsorption/model.h).
_PLAIN, _WASTE, _WASTE_SQUARED, _JUMP, _SQUARED, _NUMBER, _NUMBER_SQUARED, _CROSS = range(8)
_OF_SPECIES, DRIFT = 8, 12
_EXPECTED, _EXPECTED_ENERGY, _CHOICE, _TEST, _TESTED, _PRESENT, _MOVES = 13, 17, 18, 22, 26, 30, 34
_ENERGY_OF, _PRODUCTS = 38, 42  # of open mixtures
_REGROWTHS, _SUMS = 52, 54
FEWEST = 10  # systems from whose spread an error is reliable
_MANY = 50  # molecules of all systems from whose numbers a spread is known well
NOISE = 0.03  # largest relative error of the loading with which a comparison is decided


@dataclass
class Comparison:
    """Loadings and test molecules of the same states, and the progress of an equilibration.

    Attributes:
        sums: sums over the comparisons, (2, species, systems): numbers of molecules, and
            beta f V <exp(-U / T)>.
        spread: sums over the comparisons of the variance of the number of molecules over the
            systems, (species,); NaN if the run began in a version without it.
        moments: number of comparisons.
        first: steps of the first round of the equilibration; 0 if there was none.
        round: index of the present round; None when the equilibration is over.
        began: step at which the round began.
    """

    sums: np.ndarray
    spread: np.ndarray
    moments: int = 0
    first: int = 0
    round: int | None = None
    began: int = 0

    @property
    def header(self) -> dict[str, Any]:
        """The values for the header of a checkpoint: all except the sums."""
        known = {name: getattr(self, name) for name in ("moments", "first", "round", "began")}
        return {**known, "spread": self.spread.tolist()}

    def restore(self, header: dict[str, Any], sums: np.ndarray) -> None:
        """Take the values from a checkpoint."""
        self.sums = sums.reshape(self.sums.shape)
        self.moments, self.first, self.began = (
            int(header[name]) for name in ("moments", "first", "began")
        )
        self.round = None if header["round"] is None else int(header["round"])
        kinds = len(self.sums[0])
        self.spread = np.array(header.get("spread", kinds * [math.nan]), float).reshape(kinds)


# The source of the averages of a run: the parameters of the engine, the other arguments of the
# object, and the snapshot of the engine.
Run = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


class Averages(Loadings):
    """The averages of `manymove.Adsorption`; a base class that is not for separate use."""

    _engine: Any
    _parameters: dict[str, Any]
    _about: dict[str, Any]
    _comparison: Comparison
    _held: dict[str, Any] | None = None
    _read: tuple[int, int, np.ndarray] | None = None  # steps, those in the averages, and their sums

    def _compared(self) -> np.ndarray:
        """Mean loadings and loadings from test molecules, (2, species, systems). The former are
        means over all steps in the averages, or over the comparisons if there are no such steps."""
        if not self._comparison.moments:
            raise RuntimeError("nothing compared yet: call compare_loading")
        both = self._comparison.sums / self._comparison.moments
        if self._samples:
            both[0] = self._means()[_OF_SPECIES : _OF_SPECIES + both.shape[1]]
        return both

    @property
    def _moments(self) -> int:
        """Number of comparisons with test molecules."""
        return self._comparison.moments

    @property
    def _systems(self) -> int:
        return self._parameters["systems"]

    @property
    def _samples(self) -> int:
        return self._engine.counters[6]

    @property
    def _volume(self) -> float:  # type: ignore[override]
        """Volume of the box in cubic angstrom."""
        return math.prod(self._parameters["cell"]) * math.prod(self._parameters["cells"])

    def _sums(self) -> np.ndarray:
        """Sums over the steps, (sums, systems), which are read once after each run."""
        now = self._engine.counters
        if self._read is None or self._read[:2] != (now[0], now[6]):
            return self._keep(self._engine.sums())
        return self._read[2]

    def _keep(self, sums: np.ndarray) -> np.ndarray:
        """Keep the present sums until the next run."""
        now, sums = self._engine.counters, sums.reshape(_SUMS, self._systems)
        self._read = (now[0], now[6], sums)
        return sums

    @property
    def _state(self) -> dict[str, Any]:
        """The snapshot of the engine, which is read once between two runs."""
        if self._held is None or self._held["counters"] != self._engine.counters:
            self._held = self._engine.snapshot()
        return self._held

    def _means(self) -> np.ndarray:
        """Means over the steps, (sums, systems)."""
        if self._samples == 0:
            raise RuntimeError("nothing measured yet: call run")
        return self._sums() / self._samples

    @property
    def snapshot(self) -> Run:
        """State of the averages for `Pooled`, which later steps do not change."""
        compared = self._compared() if self._comparison.moments else None
        state = {**self._state, "compared": compared, "comparisons": self._moments}
        return self._parameters, self._about, state

    def mean_energies(self) -> tuple[float, float]:
        """Values of `energy_plain` and `energy_waste_recycled` in kelvin; the latter is NaN for
        methods with one proposal."""
        plain, recycled = self._means()[[_PLAIN, _WASTE]].mean(axis=1)
        return plain, recycled if self._about["method"] in MULTIPLE else math.nan

    @property
    def energy_plain(self) -> Estimate:
        """Mean energy of a system in kelvin over the states after each step.

        Raises:
            RuntimeError: nothing was measured.
        """
        return mean_and_error(self._means()[_PLAIN])

    @property
    def energy_waste_recycled(self) -> Estimate:
        """Mean energy of a system in kelvin over all proposals with their weights (section 4.3,
        step 4).

        Raises:
            RuntimeError: nothing was measured, or the method has one proposal per step.
        """
        means = self._means()
        if self._about["method"] not in MULTIPLE:
            raise RuntimeError(f'method "{self._about["method"]}" has no waste to recycle')
        return mean_and_error(means[_WASTE])

    @property
    def b_star(self) -> float:
        """Optimal coefficient b* of the energy by Eq. 8; NaN if it is undetermined.

        Raises:
            RuntimeError: nothing was measured, or the method is not "mdp-dj".
        """
        means = self._means().mean(axis=1)
        if self._about["method"] != "mdp-dj":
            raise RuntimeError('b* is measured by method "mdp-dj" only')
        half_jump = 0.5 * means[_JUMP]
        return float(
            (means[_WASTE_SQUARED] - means[_WASTE] ** 2) / half_jump if half_jump else math.nan
        )

    def energy_optimal(self, b: float | None = None) -> Estimate:
        """Energy (1 - b) <E>_MC + b <E>_WRMC in kelvin (Eq. 6).

        Args:
            b: coefficient b; default `b_star`.

        Raises:
            RuntimeError: nothing was measured, or the method is not "mdp-dj".
        """
        means = self._means()
        b = self.b_star if b is None else b
        return mean_and_error((1 - b) * means[_PLAIN] + b * means[_WASTE])

    @property
    def energy_average(self) -> Estimate:
        """Mean energy of a system in kelvin, with its standard error over the systems.

        The estimator depends on the method: waste-recycled for "mup" and "mdp", optimal for
        "mdp-dj", and plain for the others.

        Raises:
            RuntimeError: nothing was measured.
        """
        if self._about["method"] == "mdp-dj":
            return self.energy_optimal()
        return (
            self.energy_waste_recycled if self._about["method"] in MULTIPLE else self.energy_plain
        )

    @property
    def profile(self) -> Profile:
        """Probability and free energy along the chosen direction (Eq. 4).

        Each step adds the moved molecule, with all proposals if there are several.

        Raises:
            RuntimeError: nothing was measured, or the object was made without `profile`.
        """
        p = self._parameters
        if not p["bins"]:
            raise RuntimeError("no profile was asked for: give profile=")
        if self._samples == 0:
            raise RuntimeError("nothing measured yet: call run")
        counts = self._state["profile"].reshape(p["groups"], p["bins"]).astype(float)
        parts = counts[counts.sum(axis=1) > 0]
        parts /= parts.sum(axis=1, keepdims=True)
        mean = counts.sum(axis=0) / counts.sum()
        error = (
            parts.std(axis=0, ddof=1) / math.sqrt(len(parts)) if len(parts) > 1 else mean * np.nan
        )
        along = [axis for axis in range(3) if p["direction"][axis]]
        period = p["cell"][along[0]] if sorted(p["direction"]) == [0, 0, 1] else 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            free_energy = -self._parameters["temperature"] * np.log(mean / mean.max())
            free_energy_error = self._parameters["temperature"] * error / mean
        return Profile(
            (np.arange(p["bins"]) + 0.5) * (period / p["bins"]),
            mean, error, free_energy, free_energy_error,
        )  # fmt: skip

    def to_dataframe(self) -> pandas.DataFrame:
        """Averages as a table of pandas with a row per species, whose columns are named as those
        of `isotherm.csv`: `adsorbate`, `temperature_K`, `fugacity_bar` (NaN for closed systems),
        loadings in all units with their errors (such as `loading_mol_per_kg` and
        `loading_error_mol_per_kg`; an empty box has molecules only), and the mean energy of a
        system, `energy_K` and `energy_error_K`. The table of an isotherm is ``pandas.concat`` of
        those at several fugacities.

        Raises:
            ImportError: pandas is not installed.
            RuntimeError: nothing was measured.
        """
        energy, names = self.energy_average, self._about["adsorbates"]
        return dataframe(
            {
                "adsorbate": names,
                "temperature_K": self._parameters["temperature"],
                "fugacity_bar": self._about["fugacity"] or [math.nan] * len(names),
                **in_all_units(self),
                "energy_K": energy.value,
                "energy_error_K": energy.error,
            }
        )

    # ---- estimators that use all trials ----------------------------------------------------------

    def _recycles(self) -> np.ndarray:
        """Means over the steps of open systems whose trials are recorded, (sums, systems)."""
        means = self._means()
        if not self._parameters["exchange"] or "rigid" not in self._parameters:
            raise RuntimeError(
                "trials are recorded in open systems of rigid molecules, and of single sites with "
                "trial_positions above 1"
            )
        return means

    @property
    def loading_waste_recycled(self) -> list[Estimate]:
        """Mean number of molecules of each species, from the probabilities of all insertions and
        deletions instead of their outcomes (`docs/theory/open_systems.md`, section 4).

        Raises:
            RuntimeError: nothing was measured, or trials are not recorded.
        """
        means, kinds = self._recycles(), len(self._parameters["species"])
        return [mean_and_error(means[_OF_SPECIES + k] + means[_EXPECTED + k]) for k in range(kinds)]

    @property
    def loading_optimal(self) -> list[Estimate]:
        """Mean number of molecules of each species with the smallest variance that averages of the
        trials allow: control variates with mean zero (`docs/theory/open_systems.md`, section 5).

        Raises:
            RuntimeError: nothing was measured, trials are not recorded, or there are too few
                systems to estimate the coefficients.
        """
        means, kinds = self._recycles(), len(self._parameters["species"])
        controls = _controls(means, kinds)
        return [controlled(means[_OF_SPECIES + k], controls) for k in range(kinds)]

    @property
    def energy_controlled(self) -> Estimate:
        """Mean energy of an open system in kelvin with the same control variates.

        Raises:
            RuntimeError: an error of `loading_optimal`.
        """
        means = self._recycles()
        return controlled(means[_PLAIN], _controls(means, len(self._parameters["species"])))

    @property
    def loading_from_insertions(self) -> list[Estimate]:
        """Loading beta f V <W> of each species from the weights of all tried insertions, like
        `loading_from_test_molecules`, but without test molecules. NaN if no insertion was tried.

        Raises:
            RuntimeError: nothing was measured, or trials are not recorded.
        """
        means, kinds = self._recycles(), len(self._parameters["species"])
        return [ratio(means[_TEST + k], means[_TESTED + k]) for k in range(kinds)]

    def _acceptance_of(self, row: int) -> float:
        tries, accepted = self._sums()[_MOVES + row : _MOVES + row + 2].sum(axis=1)
        return float(accepted / tries) if tries else math.nan

    @property
    def reinsertion_acceptance(self) -> float:
        """Ratio of accepted to tried reinsertions in the averages; NaN if there are none."""
        return self._acceptance_of(0)

    @property
    def identity_change_acceptance(self) -> float:
        """Ratio of accepted to tried identity changes in the averages; NaN if there are none."""
        return self._acceptance_of(2)

    @property
    def regrowth_acceptance(self) -> float:
        """Ratio of accepted to tried partial regrowths of chains in the averages; NaN if there are
        none."""
        return self._acceptance_of(_REGROWTHS - _MOVES)

    @property
    def ideal_weights(self) -> list[Estimate]:
        """W_ideal of each species of chains: the mean of exp(-u / T) over the bends and torsions of
        a chain alone, where u is the Lennard-Jones energy of its own beads; with the error of the
        integration. It is 1 for up to four beads. Empty for rigid molecules."""
        return [Estimate(w, error) for w, error, _ in self._about.get("ideal_chains", [])]

    @property
    def ideal_energies(self) -> list[float]:
        """Mean energy in kelvin of a chain of each species in the ideal gas: that of bends,
        torsions and its own beads. Empty for rigid molecules."""
        return [energy for _, _, energy in self._about.get("ideal_chains", [])]

    # ---- open systems and test molecules ---------------------------------------------------------

    @property
    def loading(self) -> list[Estimate]:  # type: ignore[override]
        """Mean number of molecules of each species in a system."""
        species = self._parameters["species"]
        if not self._parameters["exchange"]:
            return [Estimate(float(s["molecules"]), 0.0) for s in species]
        means = self._means()
        return [mean_and_error(means[_OF_SPECIES + kind]) for kind in range(len(species))]

    def _systems_reach(self, target: float, before: int, parts: float = 1.0) -> bool:
        """Whether the loadings of open systems, or the energy of closed ones, have this relative
        error, and the run is `are_long_enough` for the energy and for the number of molecules. An
        error of zero is no estimate, because nothing was exchanged. A species that was never there
        counts only if no test molecule found a place.

        Args:
            target: relative standard error.
            before: number of steps of the equilibration.
            parts: number of all systems, of whose average the target is, over that of these. The
                error of these may be larger, but not what is left of the start, which all have.
        """
        if not self._samples or self._systems < FEWEST:
            return False
        deviation = self._deviation_of_start(self._loadings_of_systems)
        if not are_long_enough(
            self._share_of_mean(), self._systems, before / self._samples, target, deviation
        ):
            return False
        largest = target * math.sqrt(parts)
        if not self._parameters["exchange"]:
            energy = self.energy_average
            return energy.error <= largest * abs(energy.value)
        return all(
            0 < one.error <= largest * one.value or (one.value == 0 and self._has_no_place(kind))
            for kind, one in enumerate(self.loading)
        )

    def _share_of_mean(self) -> float:
        """The largest `share_of_mean` of the energy and of the numbers of molecules. With few
        molecules, or without comparisons with test molecules, the variance of a state is that of
        their sum over the steps, to which a drift adds."""
        means, is_open = self._means(), bool(self._parameters["exchange"])
        rows = [(_PLAIN, _SQUARED), (_NUMBER, _NUMBER_SQUARED)]
        shares = [
            share_of_mean(means[row], float(means[squared].mean() - means[row].mean() ** 2))
            for row, squared in rows[: 1 + is_open]
        ]
        if is_open and self._known_spread():
            shares[1:] = self._shares_of_numbers(self._loadings_of_systems)
        return max(shares)

    def _deviation_of_start(self, means: np.ndarray) -> float:
        """Largest relative deviation of the numbers of molecules at the start of the present
        fugacity from these means, (species, systems), plus two standard errors. It is 1, as for an
        empty start, for closed systems, whose energy counts, and if the start is unknown."""
        start = self._about.get("start")
        if start is None or not self._parameters["exchange"]:
            return 1.0
        found = [mean_and_error(each) for each in means - np.transpose(start)]
        return max(
            (abs(one.value) + 2 * one.error) / mean if mean else 1.0
            for one, mean in zip(found, means.mean(axis=1), strict=True)
        )

    def _known_spread(self) -> bool:
        """Whether the systems had many molecules of each species at the comparisons with test
        molecules, so that the spread of their numbers is known well."""
        now = self._comparison
        if not now.moments or np.isnan(now.spread).any():
            return False
        return bool((now.sums[0].sum(axis=1) >= _MANY * now.moments).all())

    def _shares_of_numbers(self, means: np.ndarray) -> list[float]:
        """The `share_of_mean` of the number of molecules of each species, whose means are an array
        (species, systems). The variance of a state is that over the systems at the same step."""
        spread = self._comparison.spread / self._comparison.moments
        return [share_of_mean(*each) for each in zip(means, spread, strict=True)]

    def _has_no_place(self, species: int) -> bool:
        """Whether test molecules were inserted, and the weight exp(-U / T) of each is exactly 0, as
        in a framework whose pores are blocked or too narrow."""
        return self._moments > 0 and not self._comparison.sums[1, species].any()

    @property
    def _loadings_of_systems(self) -> np.ndarray:  # type: ignore[override]
        """Mean number of molecules of each species in each system, (species, systems)."""
        species = self._parameters["species"]
        if not self._parameters["exchange"]:
            return np.array([[float(s["molecules"])] * self._systems for s in species])
        return self._means()[_OF_SPECIES : _OF_SPECIES + len(species)]

    @property
    def loading_from_test_molecules(self) -> list[Estimate]:
        """Loading beta f V <exp(-U / T)> of each species from the test molecules of
        `compare_loading`. In equilibrium it agrees with `loading`."""
        return [mean_and_error(values) for values in self._compared()[1]]

    def loading_agrees(self, errors: float = 3.0) -> bool | None:
        """Whether the loading and the loading from test molecules agree.

        In dense systems a few large weights determine the loading from test molecules. It is often
        too small, and so is its error. Therefore a smaller one is no disagreement if the standard
        error is above 3 %.

        Args:
            errors: maximum difference in standard errors.

        Returns:
            whether they agree; None if nothing was compared, or if the standard error of the
            difference is above 3 % of the loading.
        """
        try:
            molecules, tests = self._compared()
        except RuntimeError:
            return None
        agree: bool | None = True
        for loadings, others in zip(molecules, tests, strict=True):
            d = mean_and_error(loadings - others)
            # For rare molecules the error is at least that of as many independent states.
            states = self._systems * (self._samples or self._moments)
            least = math.sqrt(others.mean() / states)
            error = math.nan if math.isnan(d.error) else max(least, d.error)
            noisy = not error <= NOISE * loadings.mean()
            if abs(d.value) > errors * error and not (noisy and d.value > 0):
                return False
            if noisy:
                agree = None
        return agree

    @property
    def heat_of_adsorption(self) -> Estimate:
        """Isosteric heat of adsorption in kJ/mol from the fluctuations of an open system of one
        species.

        It is RT - (<EN> - <E><N>) / (<N^2> - <N>^2), for chains plus the mean energy of an ideal
        chain; the standard error comes from the jackknife over the systems.

        Raises:
            RuntimeError: nothing was measured, the system is closed, or has several species, whose
                heats are `heats_of_adsorption`.
        """
        if len(self._parameters["species"]) > 1:
            raise RuntimeError(
                "heat_of_adsorption is for one species; use heats_of_adsorption for a mixture"
            )
        return self.heats_of_adsorption[0]

    @property
    def heats_of_adsorption(self) -> list[Estimate]:
        """Isosteric heat of adsorption of each species in kJ/mol from the fluctuations of an open
        mixture.

        The heat of species i is RT - sum_j cov(E, N_j) (C^-1)_ji with the covariances C_jk of the
        numbers of molecules (`docs/theory/open_systems.md`, section 6), for chains plus the
        mean energy of an ideal chain. It is NaN for species whose number does not fluctuate.
        Standard errors come from the jackknife over the systems.

        Raises:
            RuntimeError: nothing was measured, or the system is closed.
        """
        if not self._parameters["exchange"]:
            raise RuntimeError("heats of adsorption need an open system: give a fugacity")
        m, kinds, n = self._means(), len(self._parameters["species"]), self._systems
        if kinds == 1:
            moments = m[[_NUMBER, _NUMBER_SQUARED, _CROSS, _PLAIN]]
        else:
            last = _PRODUCTS + kinds * (kinds + 1) // 2
            rows = [*range(_OF_SPECIES, _OF_SPECIES + kinds), *range(_PRODUCTS, last),
                    *range(_ENERGY_OF, _ENERGY_OF + kinds), _PLAIN]  # fmt: skip
            moments = m[rows]
        temperature, total = self._parameters["temperature"], moments.sum(axis=1)
        unit = GAS_CONSTANT / 1000
        values = heats(total / n, kinds, temperature) * unit
        errors = np.full(kinds, math.nan)
        if n > 1:
            left_out = heats((total[:, None] - moments) / (n - 1), kinds, temperature) * unit
            errors = np.sqrt((n - 1) * left_out.var(axis=1))
        own = [energy * unit for energy in self.ideal_energies] or kinds * [0.0]
        found = zip(values, own, errors, strict=True)
        return [Estimate(float(q + energy), float(e)) for q, energy, e in found]

    def insert_test_molecules(self, insertions: int, species: int = 0) -> Estimate:
        """Average <exp(-U / T)> over test molecules in the present configurations.

        The excess chemical potential in kelvin is -T ln of this average (B. Widom, J. Chem. Phys.
        39, 2808 (1963)).

        Args:
            insertions: number of test molecules in each system, at uniform positions in the box.
            species: index of the adsorbate.

        Raises:
            ValueError: insertions is not positive, or there is no such species.
        """
        arguments.count("insertions", insertions)
        sums = self._engine.insert_test_molecules(insertions, species, False)
        return mean_and_error(sums.reshape(-1, 2)[:, 0] / insertions)

    def boltzmann_factor(self, insertions: int = 10000, species: int = 0) -> Estimate:
        """Average <exp(-U / T)> over test molecules in the empty framework, without the molecules
        that are there. For helium this is the void fraction. The excess chemical potential at
        infinite dilution is -T times the logarithm of the average.

        Args:
            insertions: number of test molecules for each system.
            species: index of the adsorbate.

        Raises:
            ValueError: an error of `insert_test_molecules`.
        """
        arguments.count("insertions", insertions)
        sums = self._engine.insert_test_molecules(insertions, species, True)
        return mean_and_error(sums.reshape(-1, 2)[:, 0] / insertions)

    def henry(self, insertions: int = 10000, species: int = 0) -> tuple[Estimate, Estimate]:
        """Henry coefficient in mol/(kg Pa) and heat of adsorption in kJ/mol at infinite dilution.

        Test molecules in the empty framework give K = <exp(-U / T)> V / (k_B T) per mass, and the
        heat RT - <U exp(-U / T)> / <exp(-U / T)>. Chains grow with 32 trials of each bead; U is
        relative to the mean energy of an ideal chain.

        Args:
            insertions: number of test molecules for each system.
            species: index of the adsorbate.

        Raises:
            ValueError: an error of `insert_test_molecules`.
        """
        return self.henry_of(self.insert_into_framework(insertions, species), insertions)

    def insert_into_framework(self, insertions: int, species: int = 0) -> np.ndarray:
        """Sums of exp(-U / T) and U exp(-U / T) over test molecules in the empty framework, float64
        (systems, 2), which can be added up for `henry_of`.

        Args:
            insertions, species: as for `henry`.

        Raises:
            ValueError: an error of `henry`.
        """
        arguments.count("insertions", insertions)
        if not self._about["mass"]:
            raise ValueError("an empty box has no Henry coefficient, which is per mass")
        return self._engine.insert_test_molecules(insertions, species, True).reshape(-1, 2)

    def henry_of(self, sums: np.ndarray, insertions: int) -> tuple[Estimate, Estimate]:
        """Henry coefficient and heat of adsorption, as `henry` returns them.

        Args:
            sums: results of `insert_into_framework`, float64 (systems, 2).
            insertions: number of test molecules in each system.
        """
        factors, energies = sums.T / insertions
        mass = self._about["mass"] / AVOGADRO * 1e-3  # kg
        unit = (
            self._volume * 1e-30 / (BOLTZMANN * self._parameters["temperature"] * AVOGADRO * mass)
        )
        heat = self._parameters["temperature"] - ratio(energies, factors)
        return mean_and_error(factors * unit), heat * (GAS_CONSTANT / 1000)


class Pooled(Averages):
    """The averages of several runs of similar systems, for example of the ranks of a job.

    Args:
        runs: `snapshot` of each run. Only seeds and numbers of systems may differ.
    """

    def __init__(self, runs: Sequence[Run]):
        parameters, about, _ = runs[0]
        self._about = about
        self._parameters = {
            **parameters,
            "systems": sum(p["systems"] for p, _, _ in runs),
            "groups": sum(p["groups"] for p, _, _ in runs),
        }
        self._engine = _Gathered([(p["systems"], state) for p, _, state in runs])
        self._parts = [state.get("compared") for _, _, state in runs]
        self._most_compared = max(state.get("comparisons", 0) for _, _, state in runs)

    def _compared(self) -> np.ndarray:
        present = [part for part in self._parts if part is not None]
        if not present:
            raise RuntimeError("no loading was compared: call compare_loading in the runs")
        return np.concatenate(present, axis=2)

    @property
    def _moments(self) -> int:
        return self._most_compared


class _Gathered:
    """Concatenated snapshots with the interface of an engine. Sums are scaled to the largest number
    of samples."""

    def __init__(self, snapshots: list[tuple[int, dict[str, Any]]]) -> None:
        samples = [state["counters"][6] for _, state in snapshots]
        most = max(samples)
        present = [pair for pair, n in zip(snapshots, samples, strict=True) if n]
        sums = [s["sums"].reshape(_SUMS, n) * (most / s["counters"][6]) for n, s in present] or [
            np.zeros((_SUMS, 0))
        ]
        totals = np.sum([s["counters"] for _, s in snapshots], axis=0)
        self.counters = (*(int(n) for n in totals[:6]), most, int(totals[7]))
        self._snapshot = {
            "counters": self.counters,
            "sums": np.concatenate(sums, axis=1).ravel(),
            "profile": np.concatenate([s["profile"] for _, s in snapshots]),
        }

    def snapshot(self) -> dict[str, Any]:
        return self._snapshot

    def sums(self) -> np.ndarray:
        return np.asarray(self._snapshot["sums"])


def _controls(means: np.ndarray, kinds: int) -> np.ndarray:
    """Averages of each system whose expectation is zero, (controls, systems)."""
    rows = np.arange(kinds)
    return np.vstack(
        (
            means[_EXPECTED + rows],
            means[_EXPECTED_ENERGY],
            means[_CHOICE + rows],
            means[_TEST + rows] - means[_PRESENT + rows],
        )
    )
