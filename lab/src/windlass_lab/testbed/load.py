"""Reads experiments from TOML. Errors name the key at fault: `flows[2].controller: ...`."""

import dataclasses
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.text_file import read_text
from windlass_lab.testbed import units
from windlass_lab.testbed.topology import (
    End,
    Experiment,
    Flow,
    Link,
    Node,
    Program,
    Route,
    Shaper,
    Topology,
    Tun,
)
from windlass_lab.testbed.validate import validate

SCHEMA_VERSION = 1

Reader = Callable[[object, str], object]


class FaultError(ValueError):
    """An error in the file, with the key at fault."""


def load(path: Path, time_s: float | None = None) -> Experiment:
    """The experiment in a file, lasting `time_s` where that is given. Raises `LabError` for one
    that cannot be.
    """
    try:
        experiment = parse(read_text(path))
        return experiment if time_s is None else _lasting(experiment, time_s)
    except ValueError as error:
        raise LabError(f"{path}: {error}") from error


def _lasting(experiment: Experiment, time_s: float) -> Experiment:
    changed = dataclasses.replace(experiment, duration_s=time_s)
    try:
        validate(changed)
    except ValueError as error:
        raise FaultError(f"lasting {time_s:g} s: {error}") from error
    return changed


def parse(text: str) -> Experiment:
    """The experiment in a text. Raises `ValueError`."""
    keys = tomllib.loads(text)
    version = keys.pop("schema", None)
    if version != SCHEMA_VERSION:
        raise FaultError(f"schema: expected {SCHEMA_VERSION}, the only version, found {version!r}")
    topology = {key: keys.pop(key) for key in tuple(_TOPOLOGY) if key in keys}
    found = _read(keys, _EXPERIMENT, "", needed=("name", "flows"))
    made = {_FIELDS.get(key, key): value for key, value in found.items()}
    built = Topology(**_read(topology, _TOPOLOGY, "", needed=("nodes",)))
    experiment = Experiment(topology=built, **made)
    validate(experiment)
    return experiment


def _read(
    table: object, readers: Mapping[str, Reader], place: str, needed: tuple[str, ...] = ()
) -> dict:
    if not isinstance(table, dict):
        raise FaultError(f"{place or 'file'}: expected a table, found {table!r}")
    dot = f"{place}." if place else ""
    for key in table.keys() - readers.keys():
        raise FaultError(f"{dot}{key}: no such key; there are {', '.join(sorted(readers))}")
    for key in needed:
        if key not in table:
            raise FaultError(f"{dot}{key}: is missing")
    return {key: readers[key](value, f"{dot}{key}") for key, value in table.items()}


def _of(kind: type | tuple[type, ...], what: str) -> Reader:
    def read(value: object, place: str) -> object:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise FaultError(f"{place}: expected {what}, found {value!r}")
        return value

    return read


def _quantity(parse_: Callable[[object], float]) -> Reader:
    def read(value: object, place: str) -> object:
        try:
            return parse_(value)
        except ValueError as error:
            raise FaultError(f"{place}: {error}") from error

    return read


def _list(item: Reader) -> Reader:
    def read(value: object, place: str) -> object:
        if not isinstance(value, list | tuple):
            raise FaultError(f"{place}: expected a list, found {value!r}")
        return [item(each, f"{place}[{number}]") for number, each in enumerate(value)]

    return read


def _map(item: Reader) -> Reader:
    def read(value: object, place: str) -> object:
        if not isinstance(value, dict):
            raise FaultError(f"{place}: expected a table, found {value!r}")
        return {key: item(each, f"{place}.{key}") for key, each in value.items()}

    return read


def _table(
    kind: Callable[..., object], readers: Mapping[str, Reader], *needed: str, **names: str
) -> Reader:
    """A reader of a dataclass; `names` are fields whose name differs from the key."""

    def read(value: object, place: str) -> object:
        found = _read(value, readers, place, needed)
        return kind(**{names.get(key, key): each for key, each in found.items()})

    return read


_text = _of(str, "a text")
_whole = _of(int, "a whole number")
_number = _of((int, float), "a number")
_flag = _of(bool, "true or false")
_time = _quantity(units.seconds)
_size = _quantity(units.octets)

_shaper = _table(
    Shaper,
    {"rate": _quantity(units.bits_per_second), "limit": _size, "burst": _size},
    "rate",
    rate="rate_bps",
    limit="limit_bytes",
    burst="burst_bytes",
)
_end = _table(
    End,
    {
        "node": _text,
        "addresses": _list(_text),
        "device": _text,
        "shaper": _shaper,
        "offloads": _map(_flag),
    },
    "node",
)
_plain_node = _table(Node, {"name": _text, "sysctls": _map(_of((str, int), "a value"))}, "name")


def _node(value: object, place: str) -> object:
    return Node(value) if isinstance(value, str) else _plain_node(value, place)


_TOPOLOGY = {
    "nodes": _list(_node),
    "links": _list(_table(Link, {"a": _end, "b": _end, "mtu": _whole}, "a", "b")),
    "tuns": _list(
        _table(
            Tun,
            {
                **dict.fromkeys(("node", "device", "mode"), _text),
                "addresses": _list(_text),
                "mtu": _whole,
            },
            "node",
            "device",
        )
    ),
    "routes": _list(
        _table(
            Route,
            {
                **dict.fromkeys(("node", "to", "via", "device", "controller"), _text),
                "initial_window": _whole,
            },
            "node",
        )
    ),
}
_flow = _table(
    Flow,
    {
        **dict.fromkeys(("name", "from", "to", "controller", "address", "app"), _text),
        **dict.fromkeys(("command", "client_options", "server_options"), _list(_text)),
        "start": _time,
        "stop": _time,
        "mss": _whole,
        "rtt_min_ms": _number,
    },
    "name",
    "from",
    "to",
    "controller",
    **{"from": "source", "start": "start_s", "stop": "stop_s"},
)
_program = _table(
    Program,
    {
        "name": _text,
        "command": _list(_text),
        "node": _text,
        "files": _map(_text),
        "ready": _list(_text),
        "queues": _list(_text),
    },
    "name",
    "command",
)
_EXPERIMENT = {
    "name": _text,
    "description": _text,
    "flows": _list(_flow),
    "programs": _list(_program),
    "duration": _time,
    "steady_from": _time,
    "sample": _time,
    "tcp_probe": _flag,
}
_FIELDS = {"duration": "duration_s", "steady_from": "steady_from_s", "sample": "sample_s"}
