"""Study files: what a sweep runs and keeps."""

import hashlib
import itertools
import json
import math
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass_lab.core.errors import LabError

SCHEMA = 1
_KEYS = ("schema", "scenario", "seeds", "jitter", "axes", "keep")
_RANGE_KEYS = ("from", "to", "count", "scale", "unit")
_DRAW_KEYS = ("distribution", "low", "high", "mean", "sd", "count", "seed", "unit")
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
        text = self.scenario.read_text(encoding="utf-8")
        parts = [text, dict(self.axes), list(self.seeds), self.jitter, self.keep, program]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def read(path: str | Path) -> Study:
    """Reads a study file. Raises `LabError` that says what is wrong and where."""
    path = Path(path)
    try:
        keys = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"{path}: cannot read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LabError(f"{path}: not TOML: {error}") from None
    try:
        return _study(path, keys)
    except _FaultError as fault:
        raise LabError(f"{path}: {fault}") from None


class _FaultError(Exception):
    """What is wrong with a study, without its path."""


def _study(path: Path, keys: dict) -> Study:
    _require_known(keys, _KEYS, "")
    if keys.get("schema") != SCHEMA:
        raise _FaultError(f"schema: expected {SCHEMA}, the only version")
    scenario = keys.get("scenario")
    if not isinstance(scenario, str):
        raise _FaultError("scenario: expected the path of a scenario file")
    found = path.parent / scenario
    if not found.is_file():
        raise _FaultError(f"scenario: there is no file {found}")
    axes = keys.get("axes", {})
    if not isinstance(axes, dict):
        raise _FaultError("axes: expected a table of keys and their values")
    jitter = keys.get("jitter")
    if jitter is not None and not isinstance(jitter, str):
        raise _FaultError('jitter: expected a time such as "100ms"')
    return Study(
        path=path,
        scenario=found,
        axes={key: _values(f"axes.{key}", value) for key, value in axes.items()},
        seeds=_seeds(keys.get("seeds", 1)),
        jitter=jitter,
        keep=_keep(keys.get("keep")),
    )


def _require_known(keys: Mapping, known: Sequence[str], where: str) -> None:
    for key in keys:
        if key not in known:
            raise _FaultError(f"{where}{key}: unknown key; expected {', '.join(known)}")


def _seeds(value: object) -> Sequence[int]:
    if isinstance(value, bool):
        value = None
    if isinstance(value, int) and value >= 1:
        return range(1, value + 1)
    if isinstance(value, list) and value and all(_is_seed(seed) for seed in value):
        return value
    raise _FaultError("seeds: expected a number of seeds, or a list of them")


def _is_seed(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64


def _keep(value: object) -> Sequence[str] | None:
    if value is None:
        return None
    if isinstance(value, list) and value and all(isinstance(key, str) for key in value):
        return value
    raise _FaultError(
        'keep: expected a list of keys of the summary, such as "fairness_index.steady"'
    )


def _values(where: str, value: object) -> Sequence[object]:
    if isinstance(value, list):
        if not value:
            raise _FaultError(f"{where}: expected at least one value")
        return value
    if isinstance(value, dict):
        return _drawn(where, value) if "distribution" in value else _range(where, value)
    raise _FaultError(f"{where}: expected a list, a range (from, to, count) or a distribution")


def _range(where: str, keys: dict) -> list[object]:
    _require_known(keys, _RANGE_KEYS, f"{where}.")
    first, last = _number(where, keys, "from"), _number(where, keys, "to")
    count = _count(where, keys)
    scale = keys.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise _FaultError(f'{where}.scale: expected "linear" or "log"')
    if scale == "log":
        if first <= 0 or last <= 0:
            raise _FaultError(f"{where}: a log scale needs bounds above 0")
        return _all_with_unit(where, keys, _logarithmic(first, last, count))
    return _all_with_unit(where, keys, _linear(first, last, count))


def _linear(first: float, last: float, count: int) -> list[float]:
    return [first + (last - first) * step / max(count - 1, 1) for step in range(count)]


def _logarithmic(first: float, last: float, count: int) -> list[float]:
    # The ends exactly.
    inner = (math.exp(x) for x in _linear(math.log(first), math.log(last), count)[1:-1])
    return [first, *inner, last][:count]


def _drawn(where: str, keys: dict) -> list[object]:
    _require_known(keys, _DRAW_KEYS, f"{where}.")
    kind = keys["distribution"]
    if kind not in _DISTRIBUTIONS:
        raise _FaultError(f"{where}.distribution: expected {', '.join(_DISTRIBUTIONS)}")
    a, b = (_number(where, keys, name) for name in _DISTRIBUTIONS[kind])
    seed = keys.get("seed", 1)
    if not _is_seed(seed):
        raise _FaultError(f"{where}.seed: expected a whole number, not negative")
    if kind == "log-uniform" and (a <= 0 or b <= 0):
        raise _FaultError(f"{where}: log-uniform needs bounds above 0")
    # A stream for each axis: another axis changes nothing here.
    rng = random.Random(f"{seed} {where}")
    draw = {
        "uniform": lambda: rng.uniform(a, b),
        "log-uniform": lambda: math.exp(rng.uniform(math.log(a), math.log(b))),
        "normal": lambda: rng.gauss(a, b),
    }[kind]
    return _all_with_unit(where, keys, [draw() for _ in range(_count(where, keys))])


def _number(where: str, keys: Mapping, name: str) -> float:
    value = keys.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _FaultError(f"{where}.{name}: expected a number; its unit is the key unit")
    return value


def _count(where: str, keys: Mapping) -> int:
    count = keys.get("count")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise _FaultError(f"{where}.count: expected the number of values, at least 1")
    return count


def _all_with_unit(where: str, keys: Mapping, values: Sequence[float]) -> list[object]:
    """Numbers, or texts such as `5.5ms`: scenarios write quantities with their unit."""
    unit = keys.get("unit")
    # Fifteen digits: sums of decimal fractions come out as one would write them.
    rounded = [float(f"{value:.15g}") for value in values]
    plain = [int(value) if value.is_integer() else value for value in rounded]
    if unit is None:
        return list(plain)
    if not isinstance(unit, str):
        raise _FaultError(f'{where}.unit: expected a unit such as "ms"')
    return [f"{value}{unit}" for value in plain]
