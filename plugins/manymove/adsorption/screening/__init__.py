# SPDX-License-Identifier: BSD-3-Clause
"""Isotherms of a collection of frameworks."""

from manymove.adsorption.screening.job import screen

__all__ = ["screen"]
