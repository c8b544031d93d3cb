"""The table of rows: a type for each column."""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.output import write_atomically
from windlass_lab.core.files.toml_value import toml_value
from windlass_lab.sweeps.quantities import with_numbers

_SIGNED = range(-(2**63), 2**63)
_UNSIGNED = range(2**64)


def frame_of(rows: Sequence[Mapping], order: str = "run", axes: Iterable[str] = ()) -> pl.DataFrame:
    """The rows by their number, the column `order`. A figure that a row lacks is null. After each
    of the `axes` whose values are quantities stands a column of their numbers.

    A column of numbers with a fraction among them is one of fractions. One that mixes kinds, or has
    tables or lists, is one of texts: as `--set` takes them. Raises `LabError` without rows.
    """
    if not rows:
        raise LabError("the study has no runs")
    ordered = sorted(rows, key=lambda row: row[order])
    names = dict.fromkeys(name for row in ordered for name in row)
    table = pl.DataFrame([_column(name, [row.get(name) for row in ordered]) for name in names])
    return with_numbers(table, axes)


def _column(name: str, values: Sequence[object]) -> pl.Series:
    dtype = _dtype([value for value in values if value is not None])
    if dtype is None:
        return pl.Series(name, [_as_text(value) for value in values], pl.String)
    return pl.Series(name, values, dtype, strict=False)


def _dtype(values: Sequence[object]) -> type[pl.DataType] | None:
    """The type of a column; None: its values have to be written as texts."""
    kinds = {type(value) for value in values}
    if kinds == {int}:
        ranges = ((_SIGNED, pl.Int64), (_UNSIGNED, pl.UInt64))
        return next((kind for span, kind in ranges if all(v in span for v in values)), None)
    if kinds <= {int, float}:
        return pl.Float64
    return {frozenset({bool}): pl.Boolean, frozenset({str}): pl.String}.get(frozenset(kinds))


def _as_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else toml_value(value)


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Writes the file whole, or leaves the one that was there. Raises `LabError`."""
    content = io.BytesIO()
    frame.write_parquet(content)
    write_atomically(path, content.getvalue())
