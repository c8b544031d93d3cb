"""The columns of a study's table: found by a short name, and named on axes."""

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from windlass_lab.core.errors import LabError
from windlass_lab.sweeps.quantities import numbers_of

# Columns that are neither values nor figures.
_PLAIN = ("run", "seed")
_WINDOWS = {"steady": "steady", "whole_run": "whole run"}
# How names of figures end, with their units; longer endings first.
_UNITS = {
    "packets_per_s": "packets/s",
    "mbit_per_s": "Mbit/s",
    "packets": "packets",
    "bytes": "bytes",
    "ms": "ms",
    "s": "s",
}


@dataclass(frozen=True)
class Axis:
    """An axis of a study, as a plot shows it."""

    key: str
    title: str
    values: Sequence[object]
    """The value of each row: a number, or a text."""
    order: Sequence[object]
    """The values, each once: numbers by size, texts in the order of the study."""
    labels: Sequence[str]
    """The values of `order` as the study writes them."""

    @property
    def is_number(self) -> bool:
        """Whether all values are numbers."""
        return all(isinstance(value, float) for value in self.order)


@dataclass(frozen=True)
class Columns:
    """The columns of a table, and which of them are the axes of the study."""

    frame: pl.DataFrame
    axes: Sequence[str]

    def find(self, name: str) -> str:
        """The column that a name means: its own name, else the end of one, else words in one. Axes
        come before figures, and figures of the steady part before those of the whole run. Raises
        `LabError` where no column fits, or several do.
        """
        names = [column for column in self.frame.columns if column not in _PLAIN]
        for fits in (_is, _ends_with, _has_words):
            found = [column for column in names if fits(column, name)]
            if found:
                return self._one(name, found)
        known = ", ".join([*self.axes, *(column for column in names if column not in self.axes)])
        raise LabError(f"plot: the table has no column {name}: expected one of {known}")

    def _one(self, name: str, found: Sequence[str]) -> str:
        axes = [column for column in found if column in self.axes]
        steady = [column for column in found if column.endswith(".steady")]
        choice = axes or steady or list(found)
        if len(choice) > 1:
            raise LabError(f"plot: {name} could be {', '.join(choice)}: name one of them")
        return choice[0]

    def axis(self, key: str) -> Axis:
        """An axis: of quantities the numbers. Raises `LabError` if a row has no value."""
        texts = self.frame[key].to_list()
        if None in texts:
            raise LabError(f"plot: {key} has no value in some rows: it cannot be an axis of a plot")
        numbers = numbers_of(texts)
        title = self._title(key) + (f" ({numbers.unit})" if numbers else "")
        values = numbers.values if numbers else [_plain(value) for value in texts]
        order = list(dict.fromkeys(values))
        if all(isinstance(value, float) for value in order):
            order.sort()
        written = dict(zip(values, texts, strict=True))
        return Axis(key, title, values, order, [_label(written[value]) for value in order])

    def _title(self, key: str) -> str:
        last = key.rpartition(".")[2]
        if key not in self.axes:
            return figure_title(key)
        shared = Counter(axis.rpartition(".")[2] for axis in self.axes)[last] > 1
        return key if shared or last.isdecimal() else last.replace("_", " ")

    def figures(self, key: str) -> list[float | None]:
        """The numbers of a column. Raises `LabError` if they are none, or all are missing."""
        column = self.frame[key]
        if not column.dtype.is_numeric() or column.null_count() == len(column):
            raise LabError(f"plot: {key} has no numbers")
        return column.cast(pl.Float64).to_list()


def _is(column: str, name: str) -> bool:
    return column == name


def _ends_with(column: str, name: str) -> bool:
    return column.endswith(f".{name}")


def _has_words(column: str, name: str) -> bool:
    words = column.replace("_", ".")
    return f".{name.replace('_', '.')}." in f".{words}."


def _plain(value: object) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else _label(value)  # type: ignore[arg-type]


def _label(value: object) -> str:
    """A value as a legend names it: of a table its kind, then its keys."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if not isinstance(value, str) or not value.startswith("{"):
        return str(value)
    try:
        keys = dict(tomllib.loads(f"value = {value}")["value"])
    except (tomllib.TOMLDecodeError, ValueError):
        return value
    words = [str(keys.pop("kind"))] if "kind" in keys else []
    return " ".join([*words, *(f"{key}={item}" for key, item in keys.items())])


def figure_title(key: str) -> str:
    """The title of a figure of the summary: `total_packets_per_s.steady` is "total rate, steady
    (packets/s)".
    """
    *around, last = key.split(".")
    window = _WINDOWS.get(last)
    name = around.pop() if window and around else last
    unit = next((unit for unit in _UNITS if name == unit or name.endswith(f"_{unit}")), None)
    words = name.removesuffix(unit).strip("_") if unit else name
    if unit and unit.endswith("_per_s"):
        words = f"{words} rate".strip()
    place = " ".join(around).replace("flows ", "flow ").replace("queues ", "queue ")
    text = f"{place} {words}".replace("_", " ").strip()
    return f"{text}{f', {window}' if window else ''}{f' ({_UNITS[unit]})' if unit else ''}"
