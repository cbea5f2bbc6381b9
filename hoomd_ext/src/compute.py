"""The scale distribution function, as HPMC has it."""

from __future__ import annotations

import math

import hoomd
import numpy
from hoomd.logging import log
from hoomd.manymove import attributes
from hoomd.manymove.hard_particles import HardParticles
from hoomd.operation import Compute

_DEGREE = 5  # of HPMC's polynomial


class SDF(Compute):
    r"""Scale distribution function of `HardDisks` or `HardSpheres`, and the pressure from it.

    The arguments and the loggable quantities are those of `hoomd.hpmc.compute.SDF`.

    Args:
        xmax (float): Right edge of the rightmost bin, below 1/3.
        dx (float): Width of a bin.

    For each particle, :math:`x_i` is the smallest :math:`x` for which the particle is in contact
    with another when all distances are scaled by :math:`1 - x`. With the distance :math:`r_{ij}`
    and the mean :math:`\sigma_{ij}` of the diameters,
    :math:`x_i = \min_j (1 - \sigma_{ij} / r_{ij})`. The histogram has
    :math:`\lfloor x_\mathrm{max} / \delta x \rfloor` bins. With `pair_potentials`, a pair may
    cross a range :math:`r` of a `hoomd.hpmc.pair.Step` before it is in contact. Then the particle
    counts as :math:`\max(0, 1 - \exp(-\Delta U))`, where :math:`\Delta U` is the change of the
    energy. A second histogram belongs to an expansion by :math:`1 + x`. The pressure is

    .. math::

        \beta P = \rho \left(1 + \frac{s_\mathrm{comp}(0+) - s_\mathrm{exp}(0-)}{2 D}\right)

    for the number density :math:`\rho` in :math:`D` dimensions, where :math:`s(0)` is the value at
    0 of a polynomial of degree 5 through the histogram (`Anderson 2016
    <https://dx.doi.org/10.1016/j.cpc.2016.02.024>`_). `HardDisks.betaP` fits the distances of all
    pairs instead of the nearest pairs only, and has less noise.

    Distances are evaluated with float64, on the host, while HPMC may use float32. Therefore a
    particle within rounding of the edge of a bin may be counted in the next one. On several ranks,
    all ranks have the results, while with HPMC only the first has them.

    Example::

        sdf = hoomd.manymove.compute.SDF(xmax=0.02, dx=1e-4)
        simulation.operations.computes.append(sdf)
        logger.add(sdf, quantities=["betaP"])

    Attributes:
        xmax (float): Right edge of the rightmost bin.
        dx (float): Width of a bin.

    Raises:
        ValueError: `xmax` or `dx` is not as described above, or there are fewer than 6 bins.
        RuntimeError: (when attached or evaluated) the integrator is neither `HardDisks` nor
            `HardSpheres`.
    """

    def __init__(self, xmax, dx):
        self._dx = _positive("dx", dx)
        self.xmax = xmax

    @property
    def xmax(self):
        return self._xmax

    @xmax.setter
    def xmax(self, value):
        value = _positive("xmax", value)
        if value >= 1 / 3:
            raise ValueError(f"xmax must be below 1/3, got {value}")
        _check_bins(value, self._dx)
        self._xmax = value

    @property
    def dx(self):
        return self._dx

    @dx.setter
    def dx(self, value):
        value = _positive("dx", value)
        _check_bins(self._xmax, value)
        self._dx = value

    def _setattr_hook(self, attr, value):
        attributes.check(self, attr)
        super()._setattr_hook(attr, value)

    def _integrator(self):
        integrator = self._simulation.operations.integrator
        if not isinstance(integrator, HardParticles):
            raise RuntimeError(
                "hoomd.manymove.compute.SDF needs hoomd.manymove.HardDisks or HardSpheres, not "
                f"{type(integrator).__name__}: for HPMC's integrators use hoomd.hpmc.compute.SDF"
            )
        return integrator

    def _attach_hook(self):
        self._integrator()
        # HOOMD-blue's list of computes needs an object of C++; this one does nothing.
        self._cpp_obj = hoomd._hoomd.Compute(self._simulation.state._cpp_sys_def)

    @property
    def _bins(self):
        return int(self._xmax / self._dx)  # as HPMC rounds it

    @log(category="sequence", requires_run=True)
    def sdf_compression(self):
        r"""(*N_bins*,) `numpy.ndarray` of `float`: :math:`s` in each bin
        :math:`[\mathrm{probability\ density}]`."""
        return self._densities()[0]

    def _densities(self):
        found = self._integrator()._cpp_obj.nearest_contacts(self._dx, self._bins)
        number = max(self._simulation.state.N_particles, 1)
        return [each / (number * self._dx) for each in found]

    @log(category="sequence", requires_run=True)
    def sdf_expansion(self):
        r"""(*N_bins*,) `numpy.ndarray` of `float`: :math:`s` in each bin of an expansion
        :math:`[\mathrm{probability\ density}]`, which is 0 without `pair_potentials`."""
        return self._densities()[1][::-1]

    @log(category="sequence", requires_run=True)
    def x_compression(self):
        """(*N_bins*,) `numpy.ndarray` of `float`: centers of the bins of `sdf_compression`."""
        return (numpy.arange(self._bins) + 0.5) * self._dx

    @log(category="sequence", requires_run=True)
    def x_expansion(self):
        """(*N_bins*,) `numpy.ndarray` of `float`: centers of the bins of `sdf_expansion`."""
        return (numpy.arange(-self._bins, 0) + 0.5) * self._dx

    @log(requires_run=True)
    def betaP(self):
        r"""float: :math:`\beta P` of the present configuration
        :math:`[\mathrm{length}^{-D}]`."""
        box = self._simulation.state.box
        density = self._simulation.state.N_particles / box.volume
        at_zero = [
            numpy.polyval(numpy.polyfit(self.x_compression, each, _DEGREE), 0.0)
            for each in self._densities()
        ]
        # Without steps the expansion has no counts, and its fit is 0.
        return density * (1 + (at_zero[0] - at_zero[1]) / (2 * box.dimensions))


def _positive(name, value):
    value = float(value)
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return value


def _check_bins(xmax, dx):
    if int(xmax / dx) <= _DEGREE:
        raise ValueError(f"xmax must be at least {_DEGREE + 1} times dx, got {xmax} and {dx}")
