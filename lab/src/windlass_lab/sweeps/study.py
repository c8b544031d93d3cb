"""Study files: what a sweep runs and keeps."""

import hashlib
import itertools
import json
import math
import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.scalars import is_finite
from windlass_lab.core.files.text_file import read_text
from windlass_lab.core.files.toml_value import toml_value
from windlass_lab.runs.portable import portable_text

_Made = TypeVar("_Made")
SCHEMA = 1
_KEYS = ("schema", "scenario", "seeds", "jitter", "axes", "keep")
_RANGE_KEYS = ("from", "to", "count", "scale", "unit")
# Columns of the table beside those of the axes and of the figures that are kept.
_COLUMNS = ("run", "seed")
_DRAW_KEYS = ("distribution", "low", "high", "mean", "sd", "count", "seed", "unit")
# Decimals down to a nanosecond.
_DECIMALS = {"ns": 0, "us": 3}
_DISTRIBUTIONS = {
    "uniform": ("low", "high"),
    "log-uniform": ("low", "high"),
    "normal": ("mean", "sd"),
}


@dataclass(frozen=True)
class Point:
    """One run of a study."""

    run: int
    """Its number in the study, from 0."""
    seed: int
    set: Mapping[str, object]
    """The values of the axes, by dotted key of the scenario."""


@dataclass(frozen=True)
class Study:
    """A study as its file says it. The runs are all combinations of the axes' values, those of the
    last axis first, and for each combination all seeds.
    """

    path: Path
    scenario: Path
    axes: Mapping[str, Sequence[object]]
    seeds: Sequence[int]
    jitter: str | None
    keep: Sequence[str] | None
    """Dotted keys of the summary; None: all its numbers but those of flows and queues."""

    def __len__(self) -> int:
        return math.prod(len(values) for values in self.axes.values()) * len(self.seeds)

    def points(self) -> Iterator[Point]:
        """All runs, in their order."""
        combinations = itertools.product(*self.axes.values())
        pairs = ((values, seed) for values in combinations for seed in self.seeds)
        for run, (values, seed) in enumerate(pairs):
            yield Point(run, seed, dict(zip(self.axes, values, strict=True)))

    def identity(self, program: str) -> str:
        """A hash of all that the rows depend on: the study, the scenario's text, and the program
        that simulates.
        """
        text = portable_text(self.scenario)
        parts = [text, dict(self.axes), list(self.seeds), self.jitter, self.keep, program]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def read(path: str | Path) -> Study:
    """Reads a study file. Raises `LabError` that says what is wrong and where."""
    return read_as(path, _study)


def read_as(path: str | Path, make: Callable[[Path, dict], _Made]) -> _Made:
    """The study that `make` reads from a file. Raises `LabError` that names fault and place."""
    path = Path(path)
    try:
        keys = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise LabError(f"{path}: not TOML: {error}") from None
    try:
        return make(path, keys)
    except FaultError as fault:
        raise LabError(f"{path}: {fault}") from None


class FaultError(Exception):
    """A fault in a study; the message has no path."""


@dataclass(frozen=True)
class Head:
    """The keys that sweeps and searches share."""

    scenario: Path
    seeds: Sequence[int]
    jitter: str | None


def head(path: Path, keys: Mapping) -> Head:
    """The scenario, the seeds and the jitter of a study. Raises `FaultError`."""
    if keys.get("schema") != SCHEMA:
        raise FaultError(f"schema: expected {SCHEMA}, the only version")
    scenario = keys.get("scenario")
    if not isinstance(scenario, str):
        raise FaultError("scenario: expected the path of a scenario file")
    found = path.parent / scenario
    if not found.is_file():
        raise FaultError(f"scenario: there is no file {found}")
    jitter = keys.get("jitter")
    if jitter is not None and not isinstance(jitter, str):
        raise FaultError('jitter: expected a time such as "100ms"')
    return Head(found, _seeds(keys.get("seeds", 1)), jitter)


def axes_of(keys: Mapping) -> Mapping:
    """The table of axes. Raises `FaultError`."""
    axes = keys.get("axes", {})
    if not isinstance(axes, dict):
        raise FaultError("axes: expected a table of keys and their values")
    return axes


def _study(path: Path, keys: dict) -> Study:
    if "search" in keys:
        raise FaultError("search: this is a study for windlass-lab search")
    require_known(keys, _KEYS, "")
    common = head(path, keys)
    axes = {key: _values(f"axes.{key}", value) for key, value in axes_of(keys).items()}
    keep = _keep(keys.get("keep"))
    require_own_columns(axes, (*_COLUMNS, *(keep or ())))
    return Study(
        path=path,
        scenario=common.scenario,
        axes=axes,
        seeds=common.seeds,
        jitter=common.jitter,
        keep=keep,
    )


def require_own_columns(axes: Mapping, taken: Sequence[str]) -> None:
    """Raises `FaultError` for an axis whose column another one of the table has the name of."""
    for key in axes:
        if key in taken:
            raise FaultError(f"axes.{key}: the table has another column of this name")


def require_known(keys: Mapping, known: Sequence[str], where: str) -> None:
    """Raises `FaultError` for a key that is not among `known`."""
    for key in keys:
        if key not in known:
            raise FaultError(f"{where}{key}: unknown key; expected {', '.join(known)}")


def _seeds(value: object) -> Sequence[int]:
    if isinstance(value, bool):
        value = None
    if isinstance(value, int) and value >= 1:
        return range(1, value + 1)
    if isinstance(value, list) and value and all(_is_seed(seed) for seed in value):
        return value
    raise FaultError("seeds: expected a number of seeds, or a list of them")


def _is_seed(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64


def _keep(value: object) -> Sequence[str] | None:
    if value is None:
        return None
    if isinstance(value, list) and value and all(isinstance(key, str) for key in value):
        return value
    raise FaultError(
        'keep: expected a list of keys of the summary, such as "fairness_index.steady"'
    )


def _values(where: str, value: object) -> Sequence[object]:
    if isinstance(value, list):
        if not value:
            raise FaultError(f"{where}: expected at least one value")
        for choice in value:
            require_value(where, choice)
        return value
    if isinstance(value, dict):
        return _drawn(where, value) if "distribution" in value else _range(where, value)
    raise FaultError(f"{where}: expected a list, a range (from, to, count) or a distribution")


def require_value(where: str, value: object) -> None:
    """Raises `FaultError` for what no key of a scenario takes: a date, infinity, NaN."""
    try:
        toml_value(value)
    except TypeError as error:
        raise FaultError(f"{where}: {error}") from None


def _range(where: str, keys: dict) -> list[object]:
    require_known(keys, _RANGE_KEYS, f"{where}.")
    first, last = number(where, keys, "from"), number(where, keys, "to")
    count = _count(where, keys)
    scale = keys.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise FaultError(f'{where}.scale: expected "linear" or "log"')
    if scale == "log":
        if first <= 0 or last <= 0:
            raise FaultError(f"{where}: a log scale needs bounds above 0")
        return all_with_unit(where, keys, _logarithmic(first, last, count))
    return all_with_unit(where, keys, _linear(first, last, count))


def _linear(first: float, last: float, count: int) -> list[float]:
    return [first + (last - first) * step / max(count - 1, 1) for step in range(count)]


def _logarithmic(first: float, last: float, count: int) -> list[float]:
    # The ends exactly.
    inner = (math.exp(x) for x in _linear(math.log(first), math.log(last), count)[1:-1])
    return [first, *inner, last][:count]


def _drawn(where: str, keys: dict) -> list[object]:
    require_known(keys, _DRAW_KEYS, f"{where}.")
    kind = keys["distribution"]
    if kind not in _DISTRIBUTIONS:
        raise FaultError(f"{where}.distribution: expected {', '.join(_DISTRIBUTIONS)}")
    a, b = (number(where, keys, name) for name in _DISTRIBUTIONS[kind])
    seed = keys.get("seed", 1)
    if not _is_seed(seed):
        raise FaultError(f"{where}.seed: expected a whole number, not negative")
    if kind == "log-uniform" and (a <= 0 or b <= 0):
        raise FaultError(f"{where}: log-uniform needs bounds above 0")
    # A stream for each axis: another axis changes nothing here.
    rng = random.Random(f"{seed} {where}")
    draw = {
        "uniform": lambda: rng.uniform(a, b),
        "log-uniform": lambda: math.exp(rng.uniform(math.log(a), math.log(b))),
        "normal": lambda: rng.gauss(a, b),
    }[kind]
    return all_with_unit(where, keys, [draw() for _ in range(_count(where, keys))])


def number(where: str, keys: Mapping, name: str) -> float:
    """The number under a key. Raises `FaultError` if there is none."""
    value = keys.get(name)
    if not is_finite(value):
        raise FaultError(f"{where}.{name}: expected a number; its unit is the key unit")
    return value  # type: ignore[return-value]


def _count(where: str, keys: Mapping) -> int:
    count = keys.get("count")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise FaultError(f"{where}.count: expected the number of values, at least 1")
    return count


def all_with_unit(where: str, keys: Mapping, values: Sequence[float]) -> list[object]:
    """Numbers, or texts such as `5.5ms`: scenarios write quantities with their unit."""
    unit = unit_of(where, keys)
    if not all(is_finite(value) for value in values):
        raise FaultError(f"{where}: the values are too large")
    return [with_unit(value, unit) for value in values]


def unit_of(where: str, keys: Mapping) -> str | None:
    """The unit of an axis. Raises `FaultError` if it is no text."""
    unit = keys.get("unit")
    if unit is None or isinstance(unit, str):
        return unit
    raise FaultError(f'{where}.unit: expected a unit such as "ms"')


def with_unit(value: float, unit: str | None) -> object:
    """A number, or a text such as `5.5ms`."""
    # Fifteen digits: sums of decimal fractions come out as one would write them. Six with a unit,
    # since scenarios refuse quantities finer than a nanosecond or a bit per second.
    whole = float(value).is_integer()
    rounded = float(f"{value:.15g}" if unit is None or whole else f"{value:.6g}")
    rounded = round(rounded, _DECIMALS.get(unit or "", 15))
    plain = int(rounded) if rounded.is_integer() else rounded
    return plain if unit is None else f"{plain}{unit}"
