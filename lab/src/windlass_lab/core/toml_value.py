"""Values as TOML, for `--set` and for scenarios in memory."""

import json
from collections.abc import Mapping


def toml_value(value: object) -> str:
    """A value in TOML, whose numbers, texts and lists are written as JSON's. Raises `TypeError` for
    one that TOML does not have.
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if value is None or not isinstance(value, bool | int | float | str):
        raise TypeError(f"{value!r} is not a value of a scenario")
    return json.dumps(value)
