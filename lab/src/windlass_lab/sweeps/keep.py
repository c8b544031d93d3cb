"""The columns of a row that come from a summary."""

from collections.abc import Mapping, Sequence

from windlass_lab.core.errors import LabError

# Not measurements: versions of formats.
_NO_FIGURES = ("schema", "series_schema", "seed")
MISSING = object()
"""Stands for a figure of which the summary has no key."""


def kept(summary: Mapping, keys: Sequence[str] | None) -> dict:
    """The figures of a summary under these dotted keys, null where it lacks one; without keys, all
    numbers that are in no list. Raises `LabError` for a key of something else.
    """
    if keys is None:
        return _numbers(summary, "")
    found = {key: find(summary, key) for key in keys}
    return {key: None if value is MISSING else value for key, value in found.items()}


def find(summary: Mapping, dotted: str) -> object:
    """The number or text under a dotted key. None if it, or an object around it, is null, or if a
    list of figures is shorter; `MISSING` if there is no such key. Raises `LabError` for the key of
    an object or a list.
    """
    value: object = summary
    parts = dotted.split(".")
    for place, part in enumerate(parts):
        if value is None:
            return None
        if isinstance(value, list):
            is_last = place == len(parts) - 1
            value = _item(value, part, None if is_last else MISSING)
        else:
            value = value.get(part, MISSING) if isinstance(value, Mapping) else MISSING
        if value is MISSING:
            return MISSING
    if value is not None and not _is_number(value) and not isinstance(value, str):
        raise LabError(f"keep: {dotted} is neither a number nor a text")
    return float(value) if _is_number(value) else value  # type: ignore[arg-type]


def _item(items: list, part: str, beyond: object) -> object:
    if not part.isdecimal():
        return MISSING
    return items[int(part)] if int(part) < len(items) else beyond


def _numbers(keys: Mapping, prefix: str) -> dict:
    found: dict = {}
    for key, value in keys.items():
        if isinstance(value, Mapping):
            found |= _numbers(value, f"{prefix}{key}.")
        elif _is_number(value) and key not in _NO_FIGURES:
            # One type in a column.
            found[prefix + key] = float(value)
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
