"""Numbers and tables as text."""

import math
from collections.abc import Container, Sequence
from pathlib import Path

from windlass_lab.core.statistics.estimate import Estimate

NONE = "–"
_MOST_DECIMALS = 3


def figure(value: float | str | None) -> str:
    """A plain figure with as many digits as it deserves; words as they are."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return value
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
    return f"{value:,.{digits}f}"


def published(value: float | str | None) -> str:
    """A published figure, with the digits it was published with."""
    return f"{value:,}" if isinstance(value, int | float) else figure(value)


def estimate(value: Estimate | None) -> str:
    """Mean ± standard deviation, with as many decimals as show the smaller of the two."""
    if value is None:
        return NONE
    mean = figure(value.mean)
    if value.sd == 0:
        return mean
    of_spread = math.ceil(-math.log10(value.sd)) if value.sd > 0 else 0
    decimals = max(len(mean.partition(".")[2]), min(of_spread, _MOST_DECIMALS))
    return f"{value.mean:,.{decimals}f} ± {value.sd:,.{decimals}f}"


def table(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> str:
    """Rows in columns; those whose numbers are in `right` (figures) end flush."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        padded = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def labels(folders: Sequence[Path]) -> list[str]:
    """The last part of each path, or as many of the last parts as tell them apart."""
    parts = [folder.resolve().parts for folder in folders]
    for count in range(1, max(map(len, parts))):
        names = ["/".join(each[-count:]) for each in parts]
        if len(set(names)) == len(names):
            return names
    return [str(folder) for folder in folders]
