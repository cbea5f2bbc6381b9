"""What is measured on configurations and time series."""

from manymove.analysis.autocorrelation import autocorrelation_time
from manymove.analysis.dressed_ion import (
    DressedIons,
    charge_density,
    dressed_ions,
    potential_of_mean_force,
)
from manymove.analysis.pressure import (
    BINS,
    DEGREE,
    DELTA_R,
    PressureEstimate,
    blocking_error,
    pressure_from_histogram,
    pressure_weights,
)

__all__ = [
    "BINS",
    "DEGREE",
    "DELTA_R",
    "DressedIons",
    "PressureEstimate",
    "autocorrelation_time",
    "blocking_error",
    "charge_density",
    "dressed_ions",
    "potential_of_mean_force",
    "pressure_from_histogram",
    "pressure_weights",
]
