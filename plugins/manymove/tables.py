# SPDX-License-Identifier: BSD-3-Clause
"""Results as text and as tables of pandas."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from manymove.optional import need

if TYPE_CHECKING:
    import pandas


class Record:
    """The base of dataclasses with arrays, which are printed as types and shapes. They have
    `eq=False`, because a comparison of arrays has no single truth value, and `repr=False`."""

    def __repr__(self) -> str:
        names = [field.name for field in dataclasses.fields(self) if field.repr]  # type: ignore[arg-type]
        texts = (f"{name}={_text(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({', '.join(texts)})"


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"{value.dtype}{list(value.shape)}"
    short = not isinstance(value, (list, tuple)) or len(value) <= 8
    return repr(value) if short else f"{type(value).__name__}[{len(value)}]"


def dataframe(columns: Mapping[str, Any]) -> pandas.DataFrame:
    """A table with these columns.

    Raises:
        ImportError: pandas is not installed.
    """
    return need("pandas", "to_dataframe").DataFrame(columns)
