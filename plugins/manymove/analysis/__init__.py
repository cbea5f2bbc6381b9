"""What is measured on configurations and time series."""

from manymove.analysis.autocorrelation import autocorrelation_time
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
    "PressureEstimate",
    "autocorrelation_time",
    "blocking_error",
    "pressure_from_histogram",
    "pressure_weights",
]
