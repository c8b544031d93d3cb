"""Numbers of quantities that studies write as texts with their unit, such as `10Mbit/s`."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

import polars as pl

_QUANTITY = re.compile(r"([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?) *([A-Za-z][A-Za-z/]*)")
# The units of a kind, in base units of that kind (docs/reference/scenarios.md).
_KINDS: Sequence[dict[str, int]] = (
    {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9},
    {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9},
    {
        **{"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9},
        **{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30},
    },
)
_NAMES = {"B": "bytes"}


class Numbers(NamedTuple):
    """Quantities as numbers of one unit; null stands for a missing one."""

    values: list[float | None]
    unit: str


def numbers_of(values: Iterable[object]) -> Numbers | None:
    """The quantities as numbers of the largest unit among them; None if one of them is no text with
    a unit, or if they are of several kinds.
    """
    given = list(values)
    found = [_parsed(value) for value in given if value is not None]
    pairs = [pair for pair in found if pair is not None]
    if not pairs or len(pairs) < len(found):
        return None
    kind = _kind_of({unit for _, unit in pairs})
    if kind is None:
        return None
    unit = max((unit for _, unit in pairs), key=lambda name: kind[name])
    numbers = iter(float(number * kind[name] / kind[unit]) for number, name in pairs)
    return Numbers([None if value is None else next(numbers) for value in given], unit)


def _parsed(value: object) -> tuple[Decimal, str] | None:
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    return (Decimal(match[1]), match[2]) if match else None


def _kind_of(units: set[str]) -> dict[str, int] | None:
    """The kind that has all of these units. One of no kind, such as packets, is one by itself."""
    for kind in _KINDS:
        if units <= kind.keys():
            return kind
    alone = len(units) == 1 and not any(units & kind.keys() for kind in _KINDS)
    return {units.copy().pop(): 1} if alone else None


def number_column(axis: str, unit: str) -> str:
    """The name of the column of an axis's numbers: `dumbbell.bottleneck.rate_mbit_per_s`."""
    return f"{axis}_{_NAMES.get(unit, unit).lower().replace('/', '_per_')}"


def with_numbers(frame: pl.DataFrame, axes: Iterable[str]) -> pl.DataFrame:
    """The table with a column of numbers after each axis whose values are quantities, unless it has
    one of that name.
    """
    for axis in axes:
        numbers = numbers_of(frame[axis]) if frame.schema.get(axis) == pl.String else None
        if numbers is None or number_column(axis, numbers.unit) in frame.columns:
            continue
        column = pl.Series(number_column(axis, numbers.unit), numbers.values, pl.Float64)
        frame = frame.insert_column(frame.columns.index(axis) + 1, column)
    return frame
