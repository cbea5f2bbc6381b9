"""Massively parallel particle simulations on CPUs and GPUs."""

from importlib.metadata import version

from manymove.adsorption import Adsorption
from manymove.electrolyte import Electrolyte
from manymove.harddisk import HardDisks

__version__ = version("manymove")
__all__ = ["Adsorption", "Electrolyte", "HardDisks", "__version__"]
