"""Study files of searches: what may change, and what is to be best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass_lab.sweeps.study import (
    FaultError,
    axes_of,
    head,
    number,
    read_as,
    require_known,
    require_own_columns,
    require_value,
    unit_of,
)

_KEYS = ("schema", "scenario", "seeds", "jitter", "axes", "search")
_SEARCH_KEYS = ("objectives", "trials", "sampler", "seed", "paths", "unseen", "first")
_RANGE_KEYS = ("from", "to", "scale", "whole", "unit")
# The table has them beside those of the axes and of the objectives.
_COLUMNS = ("run", "seed", "trial", "refused", "best")
SAMPLERS = ("tpe", "nsga2", "random")
GOALS = ("min", "max")


@dataclass(frozen=True)
class Range:
    """Numbers between two bounds, both included."""

    low: float
    high: float
    log: bool
    whole: bool
    unit: str | None


@dataclass(frozen=True)
class SearchStudy:
    """A search as its file says it."""

    path: Path
    scenario: Path
    seeds: Sequence[int]
    """Each trial runs with all of them; its objectives are the means."""
    jitter: str | None
    axes: Mapping[str, Range | Sequence[object]]
    """By dotted key of the scenario a range, or a list of values to choose from."""
    objectives: Mapping[str, str]
    """By dotted key of the summary "min" or "max"."""
    trials: int
    sampler: str
    seed: int
    paths: Sequence[Mapping[str, object]]
    """Changes of the scenario, path by path. Each trial runs on all of them."""
    unseen: Sequence[Mapping[str, object]]
    """The same of paths that judge the best trials and take no part in the search."""
    first: Sequence[Mapping[str, object]]
    """Values of all axes that are tried before any others."""


def read(path: str | Path) -> SearchStudy:
    """Reads a study file. Raises `LabError` that says what is wrong and where."""
    return read_as(path, _study)


def _study(path: Path, keys: dict) -> SearchStudy:
    require_known(keys, _KEYS, "")
    search = keys.get("search")
    if not isinstance(search, dict):
        raise FaultError("search: expected a table with objectives; without one it is a sweep")
    require_known(search, _SEARCH_KEYS, "search.")
    common = head(path, keys)
    axes = {key: _axis(f"axes.{key}", value) for key, value in axes_of(keys).items()}
    if not axes:
        raise FaultError("axes: expected at least one key to search over")
    sampler = search.get("sampler", "tpe")
    if sampler not in SAMPLERS:
        raise FaultError(f"search.sampler: expected {', '.join(SAMPLERS)}")
    objectives = _objectives(search.get("objectives"))
    unseen = [f"unseen.{key}" for key in objectives]
    require_own_columns(axes, (*_COLUMNS, *objectives, *unseen))
    return SearchStudy(
        path=path,
        scenario=common.scenario,
        seeds=common.seeds,
        jitter=common.jitter,
        axes=axes,
        objectives=objectives,
        trials=_whole("search.trials", search.get("trials", 100), 1),
        sampler=sampler,
        seed=_whole("search.seed", search.get("seed", 1), 0),
        paths=_paths("search.paths", search.get("paths")) or [{}],
        unseen=_paths("search.unseen", search.get("unseen")),
        first=_first(search.get("first", []), axes),
    )


def _objectives(value: object) -> Mapping[str, str]:
    if isinstance(value, dict) and value and all(goal in GOALS for goal in value.values()):
        return value
    raise FaultError(
        'search.objectives: expected keys of the summary with "min" or "max", such as '
        '"fairness_index.steady" = "max"'
    )


def _paths(where: str, value: object) -> list[Mapping[str, object]]:
    if value is None:
        return []
    if isinstance(value, dict) and value and all(isinstance(path, dict) for path in value.values()):
        for name, path in value.items():
            require_value(f"{where}.{name}", path)
        return list(value.values())
    raise FaultError(f"{where}: expected tables of keys of the scenario, one for each path")


def _first(value: object, axes: Mapping[str, object]) -> list[Mapping[str, object]]:
    if isinstance(value, list) and all(isinstance(set_, dict) for set_ in value):
        for number, set_ in enumerate(value):
            if set(set_) != set(axes):
                raise FaultError(f"search.first.{number}: expected a value for each axis")
            for key, chosen in set_.items():
                _require_within(f"search.first.{number}.{key}", chosen, axes[key])
        return value
    raise FaultError("search.first: expected a list of tables, with a value for each axis")


def _require_within(where: str, value: object, axis: object) -> None:
    if not isinstance(axis, Range):
        if isinstance(axis, list) and value in axis:
            return
        raise FaultError(f"{where}: expected one of the axis's values")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FaultError(f"{where}: expected a number, without the unit")
    if not axis.low <= value <= axis.high:
        raise FaultError(f"{where}: expected a number within the axis's range")


def _whole(where: str, value: object, least: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**32:
        return value
    raise FaultError(f"{where}: expected a whole number, at least {least}")


def _axis(where: str, value: object) -> Range | Sequence[object]:
    if isinstance(value, list) and value:
        for choice in value:
            require_value(where, choice)
        return value
    if not isinstance(value, dict):
        raise FaultError(f"{where}: expected a list, or a range (from, to)")
    require_known(value, _RANGE_KEYS, f"{where}.")
    low, high = number(where, value, "from"), number(where, value, "to")
    if low >= high:
        raise FaultError(f"{where}: expected from below to")
    scale = value.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise FaultError(f'{where}.scale: expected "linear" or "log"')
    if scale == "log" and low <= 0:
        raise FaultError(f"{where}: a log scale needs bounds above 0")
    whole = value.get("whole", False)
    if not isinstance(whole, bool):
        raise FaultError(f"{where}.whole: expected true or false")
    if whole and (low != int(low) or high != int(high)):
        raise FaultError(f"{where}: expected whole bounds")
    return Range(low, high, scale == "log", whole, unit_of(where, value))
