"""Simulates a scenario in this process."""

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Literal

import polars as pl

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.scalars import plain, whole
from windlass_lab.core.files.text_file import read_text
from windlass_lab.core.files.toml_value import toml_value
from windlass_lab.runs.run import Run

SEED_MAX = 2**64 - 1


class ScenarioError(LabError, ValueError):
    """A scenario that cannot be run; the message names each problem with its place."""


def simulate(
    scenario: str | Path | Mapping[str, object],
    *,
    seed: int | None = None,
    set: Mapping[str, object] | None = None,
    jitter: str | timedelta | None = None,
    series: Literal["all", "flows", "none"] = "all",
    progress: Callable[[float], object] | None = None,
) -> Run:
    """Runs a scenario and returns what it gave.

    `scenario` is the path of a TOML or JSON file, or the document itself as a mapping. `set`
    replaces values by their dotted path, as in `{"flows.0.controller.beta": 8}`; quantities are
    texts with their unit (`"94ms"`). `seed` and `jitter` (the longest random delay of a start)
    replace those of the file. `series` says which time series are kept: those of queues have a row
    or two for each packet. `progress` is called with the fraction of the duration that is
    simulated, some ten times a second.

    The same scenario and seed give the same numbers as `windlass sim run`. Other threads run
    meanwhile. Ctrl-C ends the run with `KeyboardInterrupt`. Numbers of NumPy and of the standard
    library are taken like Python's own. Raises `ScenarioError`, or `ArgumentError` for an invalid
    seed.
    """
    native = load_native()
    origin, text = _text(scenario)
    overrides = [override(key, value) for key, value in (set or {}).items()]
    chosen = None if seed is None else whole("seed", seed, 0, SEED_MAX)
    try:
        summary, tables = native.simulate(
            origin, text, overrides, chosen, _time("jitter", jitter), series, None, progress
        )
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    return Run(json.loads(summary), {table.name: pl.DataFrame(table) for table in tables})


def load_native() -> ModuleType:
    """The simulator. Raises `LabError` where it is not built."""
    try:
        return import_module("windlass_lab._native")
    except ImportError as error:
        raise LabError(
            f"the package's native half cannot be loaded ({error}): in a checkout, build it with "
            "scripts/build-native"
        ) from None


def _text(scenario: str | Path | Mapping) -> tuple[str, str]:
    if isinstance(scenario, Mapping):
        try:
            return "scenario", json.dumps(plain(scenario), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ScenarioError(f"scenario: {error}") from None
    path = Path(scenario)
    try:
        return str(path), read_text(path)
    except LabError as error:
        raise ScenarioError(str(error)) from None


def _time(name: str, value: object) -> str | None:
    text = plain(value)
    if text is None or isinstance(text, str):
        return text
    raise ScenarioError(f'{name}: expected a time such as "100ms", found {value!r}')


def override(key: str, value: object) -> str:
    """`key=value`, as `--set` takes it."""
    try:
        return f"{key}={toml_value(value)}"
    except TypeError as error:
        raise ScenarioError(f"set: {error}") from None
