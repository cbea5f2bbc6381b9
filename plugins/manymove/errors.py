# SPDX-License-Identifier: BSD-3-Clause
"""Errors that carry the names and numbers of their message, so that a command or an adaptor can
name parameters and particles in its own words. The engines raise them as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class ParameterError(ValueError):
    """A parameter, or several, with a wrong value.

    Attributes:
        parameters: names of the parameters.
        problem: what is wrong, for example "must be positive, got 0".
    """

    def __init__(self, parameters: str | Sequence[str], problem: str) -> None:
        super().__init__(parameters, problem)  # pickle passes these to a copy
        self.parameters = (parameters,) if isinstance(parameters, str) else tuple(parameters)
        self.problem = problem

    def __str__(self) -> str:
        return self.with_names({})

    def with_names(self, names: Mapping[str, str]) -> str:
        """The message with other names of the parameters that are in `names`."""
        *others, last = (names.get(name, name) for name in self.parameters)
        subject = f"{', '.join(others)} and {last}" if others else last
        return f"{subject} {self.problem}"


class ParticleError(ValueError):
    """A particle, or a pair of particles, in a wrong position or of a wrong size.

    Attributes:
        particles: index of the particle, or the indices of two.
        problem: what is wrong, for example "is outside the box: x = 7, the edge is at 5".
    """

    def __init__(
        self, kind: str, particles: tuple[int, ...], problem: str, quantity: str = ""
    ) -> None:
        super().__init__(kind, particles, problem, quantity)
        self.particles, self.problem = tuple(particles), problem
        self._kind, self._quantity = kind, quantity

    def __str__(self) -> str:
        return self.with_names(self._kind, f"{self._kind}s")

    def with_names(self, one: str, two: str) -> str:
        """The message with other words for one and for two particles, before their indices."""
        subject = f"{two if len(self.particles) > 1 else one} "
        subject += " and ".join(map(str, self.particles))
        return f"{self._quantity and f'{self._quantity} of '}{subject} {self.problem}"


class OverlapError(ParticleError):
    """Two hard particles overlap; the message names the pair and the depth of the overlap."""


class IonOverlapError(ParticleError):
    """Two ions overlap; the message names them."""


class PlaceError(ValueError):
    """A molecule at a place of the framework that molecules cannot reach or leave.

    Attributes:
        molecule: index of the molecule in its system.
        in_pocket: whether it is in a blocked pocket; otherwise it is at a high energy.
    """

    def __init__(self, text: str, molecule: int, in_pocket: bool) -> None:
        super().__init__(text, molecule, in_pocket)
        self.molecule, self.in_pocket = molecule, in_pocket

    def __str__(self) -> str:
        return str(self.args[0])


class OutgrownLattice(RuntimeError):
    """The box has changed too much, at constant pressure, for the lattice of its coordinates."""
