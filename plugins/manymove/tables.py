# SPDX-License-Identifier: BSD-3-Clause
"""Results as tables of pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def dataframe(columns: Mapping[str, Any]) -> pandas.DataFrame:
    """A table with these columns.

    Raises:
        ImportError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_dataframe needs pandas: pip install 'manymove[pandas]'") from error
    return pandas.DataFrame(columns)
