"""Values as TOML, for `--set` and for scenarios in memory."""

import json
from collections.abc import Mapping

from windlass_lab.core.files.scalars import is_finite, plain


def toml_value(value: object) -> str:
    """A value in TOML, whose numbers, texts and lists are written as JSON's. Raises `TypeError` for
    one that TOML does not have, and for infinity and NaN, which no key of a scenario takes.
    """
    return _written(plain(value), value)


def _written(value: object, given: object) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{_text(key)} = {_written(item, item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_written(item, item) for item in value) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool) or is_finite(value):
        return json.dumps(value)
    raise TypeError(f"{given!r} is not a value of a scenario")


def _text(value: object) -> str:
    # TOML has no pairs of surrogates, and no bare DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
