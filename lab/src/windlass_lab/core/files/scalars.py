"""Values as users pass them: those of NumPy and of the standard library count as Python's own."""

import math
import operator
import os
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum

from windlass_lab.core.errors import ArgumentError


def plain(value: object) -> object:
    """The value in Python's own types. NumPy's scalars and arrays, decimals, fractions, members of
    an enumeration, paths and times count; what has no such type stays as it is.
    """
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, str | os.PathLike):
        return str(os.fspath(value)) if isinstance(value, os.PathLike) else str(value)
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    # NumPy's scalars have it too, and so have tensors and series of other packages.
    if callable(to_list := getattr(value, "tolist", None)):
        return plain(to_list())
    return _number(value)


def _number(value: object) -> object:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    if not hasattr(value, "__float__"):
        return value
    try:
        fraction = float(value)
        # A decimal that is whole counts as a whole number, a float with a point does not.
        exact = not isinstance(value, float) and fraction.is_integer()
        return int(value) if exact else fraction  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return value


def whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """A whole number from `least` to `most`. Raises `ArgumentError` that names the argument."""
    found = plain(value)
    is_whole = isinstance(found, int) and not isinstance(found, bool)
    if is_whole and least <= found and (most is None or found <= most):  # type: ignore[operator]
        return found  # type: ignore[return-value]
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise ArgumentError(f"{name}: expected a whole number {bounds}, found {value!r}")


def is_finite(value: object) -> bool:
    """Whether it is a number, neither infinite nor NaN. A truth value is no number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
