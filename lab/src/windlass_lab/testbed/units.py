"""Quantities with their units, as scenario files write them."""

import re

_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_RATES = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_SIZES = {"B": 1, "kB": 1000, "KiB": 1024, "MB": 10**6, "MiB": 2**20}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z/]+)")


def seconds(value: object) -> float:
    """A span of time, such as "10s" or "500ms"."""
    return _quantity(value, _TIMES, "a time such as 10s or 500ms")


def bits_per_second(value: object) -> float:
    """A rate, such as "10Mbit/s"."""
    return _quantity(value, _RATES, "a rate such as 10Mbit/s")


def octets(value: object) -> int:
    """A size, such as "64KiB"."""
    return int(_quantity(value, _SIZES, "a size such as 64KiB"))


def _quantity(value: object, units: dict, expected: str) -> float:
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if not match or match[2] not in units:
        raise ValueError(f"expected {expected}, found {value!r}")
    return float(match[1]) * units[match[2]]
