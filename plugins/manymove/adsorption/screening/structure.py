# SPDX-License-Identifier: BSD-3-Clause
"""One structure of a screening, from its file to its isotherm."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from threading import Semaphore
from typing import Any

from manymove import devices
from manymove.adsorption import job
from manymove.adsorption.frameworks import Framework, read_framework
from manymove.adsorption.input import cells_of, has_trials
from manymove.adsorption.molecules import HELIUM
from manymove.adsorption.places import STEPS_TO_PLACES
from manymove.adsorption.pores import (
    density_of,
    helium_void_fraction,
    insert_into_framework,
    pore_volume,
    surface_area,
)
from manymove.adsorption.replica import Settings
from manymove.adsorption.rigid import settled
from manymove.adsorption.screening.collection import Structure, seed_of
from manymove.adsorption.screening.settings import Screening
from manymove.adsorption.simulation import Adsorption
from manymove.analysis.notation import Estimate
from manymove.jobs import output_folder, report
from manymove.jobs.errors import text_of
from manymove.jobs.progress import Interrupted, StopRequest
from manymove.jobs.world import World
from manymove.simulation import interruptible
from manymove.warned import collected, warn

REFUSED, FAILED, TIME_LIMIT = "refused", "failed", "time limit"  # states of a structure
DONE, PENDING = "done", "pending"
RESULTS, FRAMEWORK = "structure.json", "framework.json"
NO_MEMORY = "not enough memory"  # the reason of a failed structure
# Structures are read and their pores are measured by as many threads as cores, so that the
# points of the first ones begin early and do not wait for Python's lock.
_preparing = Semaphore(devices.thread_count(None))
_NAMED = 20  # blocked pockets in the results, the largest ones


class Refusal(Exception):
    """A framework cannot be run, for example because it has no channels."""


@dataclass(frozen=True)
class Limited(World):
    """A world of one process whose runs end when a function returns true.

    Attributes:
        ends: the function.
    """

    ends: Callable[[], bool] = lambda: False

    def stop_request(self) -> StopRequest:
        return StopRequest(self.ends)


@dataclass(frozen=True)
class Task:
    """A structure and its part of a screening.

    Attributes:
        structure: the structure.
        screening: settings of the screening.
    """

    structure: Structure
    screening: Screening

    @property
    def folder(self) -> Path:
        """Folder of the results of the structure."""
        return self.screening.output / "structures" / self.structure.name

    @property
    def seed(self) -> int:
        return seed_of(self.screening.seed, self.structure.name)

    @property
    def seeds(self) -> dict[str, int]:
        """Seed of each measurement. That of the isotherm is the seed of the structure."""
        names = ("henry", "void_fraction", "surface_area")
        return {"isotherm": self.seed, **{name: seed_of(self.seed, name) for name in names}}

    @cached_property
    def framework(self) -> Framework:
        """The framework, which is read once, because that needs Python's lock."""
        return read_framework(self.structure.source)

    @property
    def isotherm(self) -> Settings:
        """The settings of the isotherm of the structure, as `manymove adsorption` has them."""
        s = self.screening
        known = {f.name: getattr(s, f.name) for f in fields(Settings)}
        return Settings(
            **{**known, "framework": self.structure.source, "seed": self.seed, "quiet": True,
               "output": self.folder, "resume": True, "overwrite": False, "given": None,
               "pictures": False}
        )  # fmt: skip

    def at(self, device: str, threads: int | None) -> Task:
        """The task at a device, with its number of threads."""
        return replace(self, screening=replace(self.screening, device=device, threads=threads))

    def found(self, since: float) -> dict[str, Any] | None:
        """The results if nothing is left to do, and None otherwise. In a new session a failed
        structure is tried again, and so is one that `check` has refused, or that has reached a
        shorter time limit.

        Args:
            since: time of the file system at which the session began.
        """
        known = _read(self.folder / RESULTS)
        if known is None or known.get("digest") != self.structure.digest:
            return None
        limit, held = self.screening.time_limit, known.get("time_limit_s")
        longer = held is not None and (limit is None or limit > held)
        state = known.get("state")
        # Structures that `check` has refused have no points.
        ended = state == DONE or (state == REFUSED and "points" in known)
        if not ended and state in (REFUSED, FAILED):
            ended = self._written() >= since
        return known if ended or (state == TIME_LIMIT and not longer) else None

    def _written(self) -> float:
        """Time at which the results were written."""
        try:
            return (self.folder / RESULTS).stat().st_mtime
        except OSError:
            return -math.inf

    def measured(self, stop: StopRequest) -> dict[str, Any] | None:
        """Check and run the structure, whose folder this process holds.

        Args:
            stop: request that ends the run early.

        Returns:
            the results for `write`; None after a stop.

        Raises:
            ImportError: gemmi, which reads CIF files, is not installed.
            OSError: the folder cannot be written.
        """
        with _preparing:
            if stop.requested:
                return None
            known = self.check()
            self._begin()
        found = self.run(known, stop) if known["state"] == PENDING else known
        return found and {**found, **report.made_by()}

    @property
    def nothing(self) -> dict[str, Any]:
        """The first entries of the results, before anything is known about the structure."""
        return {
            "structure": self.structure.name, "file": self.structure.source, "state": PENDING,
            "reason": "", "adsorbates": [one.name for one in self.screening.adsorbates],
            "temperature_K": self.screening.options["temperature"], "seed": self.seed,
            "seeds": self.seeds, "warnings": [],
        }  # fmt: skip

    def check(self) -> dict[str, Any]:
        """Read the framework, and look up all parameters that the runs need.

        Returns:
            the first entries of the results. The state is "refused" if there is an error.

        Raises:
            ImportError: gemmi, which reads CIF files, is not installed.
        """
        s = self.screening
        known = {**self.nothing, "digest": self.structure.digest}
        with collected() as told:
            try:
                framework = self.framework
                cells = cells_of(None, framework, s.options["cutoff"])
                of_all = (s.options["cutoff"], cells)
                laws = settled(
                    framework, s.adsorbates, {}, s.options["force_field"], s.options["ewald"],
                    *of_all, s.options["framework_charges"], biased=has_trials(s.options),
                )  # fmt: skip
                known |= {"formula": framework.formula, "cells": list(cells),
                          "framework_atoms": laws["framework_atoms"]}  # fmt: skip
                try:
                    settled(framework, [HELIUM], {}, s.field, None, *of_all)
                except ValueError as error:  # a force field may have the pairs of its gas only
                    warn(f"no void fraction and no surface area: {_line(error)}")
                    known |= {"pores": False}
            except ImportError:
                raise
            except Exception as error:  # an unreadable file must not end the screening
                known |= {"state": REFUSED, "reason": _line(error)}
        return {**known, "warnings": told}

    def write(self, results: dict[str, Any]) -> None:
        """Write the results of `measured`. From then on other processes take the structure for
        finished."""
        report.write_json(self.folder / RESULTS, results)

    def run(self, known: dict[str, Any], stop: StopRequest) -> dict[str, Any] | None:
        """Measure the properties and points that remain.

        Args:
            known: the entries of `check`.
            stop: request that ends the run early.

        Returns:
            the results; None after a stop.
        """
        s, began = self.screening, time.monotonic()
        limit = s.time_limit

        def late() -> bool:
            return limit is not None and time.monotonic() - began > limit

        def ends() -> bool:
            return stop.requested or late()

        found: dict[str, Any] = {}
        kept: list[Any] = []  # of the gas, which all points need
        points: list[dict[str, Any]] | None = None
        state, reason = DONE, ""
        try:
            with interruptible(ends), collected():  # `check` has recorded the warnings
                with _preparing:
                    began = time.monotonic()  # the limit is without the wait for other structures
                    stop.check()
                    found = self._of_framework(known.get("pores", True), kept)
                void = None
                if "void_fraction" in found:
                    void = Estimate(found["void_fraction"], _number(found["void_fraction_error"]))
                summary, complete = job.run_isotherm(
                    replace(self.isotherm, void_fraction=void), s.isotherm, Limited(ends=ends),
                    unit=s.unit, kept=kept,
                )  # fmt: skip
            points = summary["runs"]
        except (KeyboardInterrupt, Interrupted):
            complete = False
        except Refusal as refusal:
            complete, state, reason = True, REFUSED, str(refusal)
        except Exception as error:
            complete, state, reason = True, FAILED, _line(error)
        finally:
            kept.clear()
        if not complete:
            if stop.requested:
                return None
            state = TIME_LIMIT
            reason = f"the time limit of {limit:g} s was reached"
        if points is None:
            points = job.earlier_points(self.folder, s.isotherm)
        return {
            **known, **found, "state": state, "reason": reason, "points": points,
            "time_limit_s": limit, "seconds": time.monotonic() - began,
        }  # fmt: skip

    def _begin(self) -> None:
        """Remove the results of another file with the name of the structure."""
        held = _read(self.folder / FRAMEWORK)
        if held is None or held.get("digest") != self.structure.digest:
            output_folder.claim(self.folder, resume=False, overwrite=True)

    def _of_framework(self, pores: bool, kept: list[Any]) -> dict[str, Any]:
        """Properties of the empty framework, which are measured once. `pores` tells whether the
        force field has parameters for helium and the surface. The energy grid of the gas is kept
        in `kept`.

        Raises:
            Refusal: the engine refuses the framework, or its energy grid would be too coarse.
        """
        path = self.folder / FRAMEWORK
        if (held := _read(path)) is not None:
            return held["properties"]
        try:
            framework = self.framework
            found = {"density_g_per_cm3": density_of(framework), **self._henry(framework, kept)}
            if pores:
                found |= self._pores(framework)
        except ValueError as error:
            raise Refusal(_line(error)) from error
        report.write_json(path, {"digest": self.structure.digest, "properties": found})
        return found

    def _where(self) -> dict[str, Any]:
        s, names = self.screening, ("temperature", "cutoff", "grid_spacing", "interpolation")
        where = {"device": s.device, "threads": s.threads}
        return {**{name: s.options[name] for name in (*names, "barrier", "precision")}, **where}

    def _pores(self, framework: Framework) -> dict[str, Any]:
        s = self.screening
        seeds = self.seeds
        area = surface_area(
            framework, s.field, probe=s.probe, samples=s.samples, seed=seeds["surface_area"]
        )
        void = helium_void_fraction(
            framework, s.field, insertions=s.insertions, seed=seeds["void_fraction"],
            **self._where(),
        )  # fmt: skip
        pairs = {
            "void_fraction": (void, ""),
            "pore_volume": (pore_volume(framework, void), "cm3_per_g"),
            "surface_area": (area.per_mass, "m2_per_g"),
        }  # fmt: skip
        found: dict[str, Any] = {}
        for name, (value, unit) in pairs.items():
            each = report.values_and_errors(name, unit, [value])
            found |= {key: values[0] for key, values in each.items()}
        return found

    def _henry(self, framework: Framework, kept: list[Any]) -> dict[str, Any]:
        s = self.screening
        of_laws = {name: s.options[name] for name in ("force_field", "framework_charges", "ewald")}
        a, sums = insert_into_framework(
            framework, s.adsorbates, s.insertions, seed=self.seeds["henry"], **of_laws,
            **self._where(),
        )  # fmt: skip
        kept[:] = [framework, a.kept_grid()]
        found = [a.henry_of(each, s.insertions) for each in sums]
        a.run(STEPS_TO_PLACES)
        coarse = a.coarse_grid()
        coefficients, heats = zip(*found, strict=True)
        return {
            **report.values_and_errors("henry", "mol_per_kg_Pa", coefficients),
            **report.values_and_errors("henry_heat", "kJ_per_mol", heats),
            "henry_warnings": [] if coarse is None else [f"Henry coefficient: {coarse}"],
            **self._blocked(a),
        }

    def _blocked(self, a: Adsorption) -> dict[str, Any]:
        """The blocked pockets for each species in which a site is attracted; others are specks
        that are hardly below the barrier. Those of a molecule are the ones of that site for which
        the largest share of the volume is blocked."""
        pockets = [pocket for pocket in a.grid["pockets"] if pocket["lowest"] < 0]
        volume = math.prod(a.framework.cell)
        numbers, shares = [], []
        for species in self.screening.adsorbates:
            labels = [site.label for site in getattr(species, "sites", ())] or [species.name]
            of_sites = [[p for p in pockets if p["site"] == label] for label in labels]
            own = max(of_sites, key=lambda each: sum(p["volume"] for p in each))
            numbers.append(len(own))
            shares.append(sum(p["volume"] for p in own) / volume)
        largest = sorted(pockets, key=lambda pocket: -pocket["volume"])[:_NAMED]
        return {"pockets": numbers, "pockets_volume_share": shares, "largest_pockets": largest}


def _line(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return NO_MEMORY
    return " ".join(text_of(error).split())


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _read(path: Path) -> dict[str, Any] | None:
    """The contents of a JSON file; None if there is no file, or if it is not a JSON object."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_text())
        return found if isinstance(found, dict) else None
    return None
