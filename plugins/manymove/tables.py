# SPDX-License-Identifier: BSD-3-Clause
"""Results as tables of pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from manymove.optional import need

if TYPE_CHECKING:
    import pandas


def dataframe(columns: Mapping[str, Any]) -> pandas.DataFrame:
    """A table with these columns.

    Raises:
        ImportError: pandas is not installed.
    """
    return need("pandas", "to_dataframe").DataFrame(columns)
