"""Tables for pandas."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from windlass_lab.core.errors import LabError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_NEEDED = ("pandas", "pyarrow")


def to_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """The table as a data frame of pandas. Raises `LabError` where pandas or pyarrow is missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise LabError(
            f"to_pandas takes the package {' and '.join(missing)}: "
            "pip install 'windlass-lab[pandas]'"
        )
    return frame.to_pandas()
