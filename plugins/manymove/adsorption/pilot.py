# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of trials of insertions, chosen by a pilot run (docs/theory/open_systems.md, section 3).

The variance of the mean number of molecules is proportional to the correlation time of that number,
which is inversely proportional to the share of accepted insertions and deletions. The merit of
numbers of trials is therefore the accepted share over the operations of a step. Operations are
counted and not timed, so that the choice is the same on every device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from manymove.adsorption.averages import NOISE, Averages
from manymove.adsorption.chains import Chain
from manymove.adsorption.estimates import mean_and_error
from manymove.adsorption.input import MOST_TRIALS
from manymove.adsorption.molecule_files import Species
from manymove.adsorption.molecules import Molecule
from manymove.jobs.errors import text_of
from manymove.jobs.report import number
from manymove.simulation import MonteCarlo

AUTO = "auto"
PIECES = 10  # at the end of a round of the equilibration
# Numbers that are tried: of positions, and of orientations of rigid molecules; of both for chains.
_POSITIONS, _ORIENTATIONS = (1, 4, 16, 64, 255), (1, 4)
_OF_CHAINS = (4, 16, 64), (2, 8, 32)
# An operation is the energy of a pair of sites, or a wave of a site. The energy of a site in the
# framework takes as much time as several operations, by its interpolation.
_OF_GRID = {"linear": 8, "cubic": 24}
_INDEPENDENT = 1.5  # largest error of a rare loading, in errors of independent states
_OF_STEP = 1000  # random numbers, lists of neighbors and decisions
_OF_DISTANCE = 0.3  # operations for each site that is present, until one excludes a place
_COVERED = 40.0  # volume in cubic angstrom in which a site excludes places, as of CO2 in MFI


def candidates(
    positions: int | str, orientations: int | str, species: Sequence[Species]
) -> list[tuple[int, int]]:
    """The pairs (trial_positions, trial_orientations) of which the pilot run chooses one.

    Args:
        positions, orientations: numbers of trials, or "auto".
        species: species of the molecules.
    """
    chains = any(isinstance(one, Chain) for one in species)
    of_positions: tuple[int, ...]
    of_orientations: tuple[int, ...]
    of_positions, of_orientations = _OF_CHAINS if chains else (_POSITIONS, _ORIENTATIONS)
    if not chains and not any(isinstance(b, Molecule) and len(b.sites) > 1 for b in species):
        of_orientations = (1,)
    k = of_positions if isinstance(positions, str) else (positions,)
    m = of_orientations if isinstance(orientations, str) else (orientations,)
    possible = [
        (one, other) for one, other in product(k, m)
        if chains or AUTO not in (positions, orientations) or (one + 1) * other <= MOST_TRIALS
    ]  # fmt: skip
    return possible or [(k[0], m[0])]


class Pilot(MonteCarlo, Averages):
    """The part of `manymove.Adsorption` that chooses numbers of trials; not for separate use."""

    _about: dict[str, Any]
    _parameters: dict[str, Any]
    counts: Any

    @property
    def pilot(self) -> dict[str, Any] | None:
        """The pilot run that has chosen the numbers of trials at the end of `equilibrate_loading`:
        the number of its `round`, its `rows`, and the index `chosen` of one of them. A row has
        `trial_positions`, `trial_orientations`, the numbers of `exchanges` that were tried and of
        `accepted` ones, the `operations` of a step, and the `merit`. A candidate that needs more
        memory than the device has is not tried: its row has the reason as `refused` and the merit
        0. `loading` and `before` are the mean numbers of molecules of each species with their
        errors in this round and in the previous one. None before, and if no number of trials is
        "auto"."""
        found = self._about.get("pilot")
        return found if found and "rows" in found else None

    @property
    def chosen_by_pilot(self) -> list[str]:
        """Names of the numbers of trials that are "auto"."""
        return self._about.get("auto", [])

    def _begin_piece(self, of_round: int, piece: int) -> None:
        """Use the candidate of a piece of the pilot run, unless the piece has begun before an
        interruption. Pieces below zero are not a part of it."""
        pilot = self._about.get("pilot") or {}
        begun = (pilot.get("round"), pilot.get("piece")) == (of_round, piece)
        if not self.chosen_by_pilot or piece < 0 or begun:
            return
        tried = self._about["candidates"]
        pieces, refused = (self._pieces(), pilot.get("refused", {})) if piece else ([], {})
        try:
            self._use_trials(*tried[piece % len(tried)])
        except (ValueError, MemoryError) as error:  # the numbers before it stay in use
            refused = {**refused, str(piece % len(tried)): text_of(error)}
        self._pilot_is(
            {"round": of_round, "piece": piece, "pieces": pieces, "refused": refused,
             "from": list(self._engine.counters[3:5]), "loading": pilot.get("loading")}
        )  # fmt: skip

    def _pieces(self) -> list[list[int]]:
        """The tried and accepted exchanges of each piece so far, including the present one."""
        pilot = self._about["pilot"]
        found = [n - m for n, m in zip(self._engine.counters[3:5], pilot["from"], strict=True)]
        return [*pilot["pieces"][: pilot["piece"]], found]

    def _pilot_is(self, pilot: dict[str, Any] | None) -> None:
        """Replace the state of the pilot run."""
        if self.chosen_by_pilot:
            self._about = {**self._about, "pilot": pilot}

    def _choose_trials(self) -> None:
        """Use the candidate with the largest merit."""
        pilot = self._about.get("pilot")
        if pilot is None or "rows" in pilot:
            return
        loadings = self._comparison.sums[0] / self._comparison.moments
        now = [[value, number(error)] for value, error in map(mean_and_error, loadings)]
        tried, rows, operations_of = self._about["candidates"], [], self._operations()
        pieces = self._pieces()
        for index, (positions, orientations) in enumerate(tried):
            own = pieces[index :: len(tried)]
            exchanges, accepted = (sum(column) for column in zip(*own, strict=True))
            why = pilot.get("refused", {}).get(str(index))
            if why is not None:
                exchanges = accepted = 0
            operations = operations_of(positions, orientations)
            rows.append({
                "trial_positions": positions, "trial_orientations": orientations,
                "exchanges": exchanges, "accepted": accepted, "operations": operations,
                "merit": accepted / max(1, exchanges) / operations,
                **({} if why is None else {"refused": why}),
            })  # fmt: skip
        chosen = self._use_best(rows)
        self._pilot_is({
            "round": pilot["round"], "rows": rows, "chosen": chosen, "loading": now,
            "before": pilot["loading"],
        })  # fmt: skip

    def _use_best(self, rows: list[dict[str, Any]]) -> int:
        """Use the candidate with the largest merit for which there is enough memory, and return its
        index.

        Raises:
            ValueError: all candidates are refused.
        """
        possible = [index for index, row in enumerate(rows) if "refused" not in row]
        # Of equal merits the one with the fewest trials.
        for index in sorted(possible, key=lambda index: (-rows[index]["merit"], index)):
            try:
                self._use_trials(*self._about["candidates"][index])
                return index
            except (ValueError, MemoryError) as error:  # the systems may have grown since its piece
                rows[index]["refused"] = text_of(error)
        raise ValueError(rows[0]["refused"])

    def _same_loading(self, errors: float) -> bool:
        """Whether the mean loadings of the last two rounds agree within so many standard errors.
        These must be small or, for rare molecules, nearly those of independent states. False
        without a pilot run."""
        pilot = self.pilot
        if pilot is None or pilot["before"] is None:
            return False
        for (other, error_before), (value, error) in zip(
            pilot["before"], pilot["loading"], strict=True
        ):
            states = self._parameters["systems"] * self._comparison.moments
            rare = _INDEPENDENT * math.sqrt(value / states)
            if error is None or not error <= max(NOISE * value, rare):
                return False
            if abs(value - other) > errors * math.hypot(error, error_before):
                return False
        return True

    def _use_trials(self, positions: int, orientations: int) -> None:
        self._engine.set_trials(positions, orientations)
        numbers = {"trial_positions": positions, "trial_orientations": orientations}
        self._parameters = {**self._parameters, **numbers}

    def _operations(self) -> Callable[[int, int], float]:
        """The number of operations of a step as a function of the numbers of trials, at the present
        loading."""
        p = self._parameters
        rigid = p["rigid"]
        waves = self._state["waves"].size / 2 / p["systems"]
        sites = [len(body) for body in rigid["bodies"]]
        present = float((self.counts.mean(axis=0) * sites).sum())  # sites in a system
        of_grid = _OF_GRID[self._about["interpolation"]] if p["kind"] else 0
        open_share = self._engine.grid["open_share"]
        of_open = of_grid + open_share * present
        of_place = of_grid + open_share * present * _OF_DISTANCE
        left = open_share * math.exp(-_COVERED * present / (open_share * self._volume or 1))
        names = ("exchange", "reinsertion", "identity_change", "regrowth")
        share = sum(p[name] for name in names)

        def operations(positions: int, orientations: int) -> float:
            trials = moves = 0.0
            for body, count in zip(rigid["bodies"], sites, strict=True):
                charged = any(rigid["types"][kind]["charge"] for kind, _ in body)
                own = count * waves * charged
                turns = orientations if count > 1 else 1
                if rigid.get("chains"):
                    tried = (positions + (count - 1) * orientations) * of_open
                elif turns > 1 and any(not any(offset) for _, offset in body):
                    # A site at the center excludes most places.
                    of_trials = turns * left * count * (of_grid + present)
                    tried = positions * (of_place + of_trials)
                else:
                    tried = count * positions * turns * of_open
                trials += (own + tried) / len(sites)
                moves += 2 * (own + count * (of_grid + present)) / len(sites)
            return _OF_STEP + share * trials + (1 - share) * moves

        return operations
