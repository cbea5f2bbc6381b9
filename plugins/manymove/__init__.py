"""Massively parallel particle simulations on CPUs and GPUs."""

from importlib.metadata import version

from manymove.electrolyte import Electrolyte
from manymove.harddisk import HardDisks

__version__ = version("manymove")
__all__ = ["Electrolyte", "HardDisks", "__version__"]
