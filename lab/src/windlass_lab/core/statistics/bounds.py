"""Bounds of a figure, as plain data."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """From `low` to `high`; None where there is no bound."""

    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        return f"≥ {self.low:g}" if self.high is None else f"≤ {self.high:g}"

    def hold(self, value: float) -> bool:
        """Whether a figure lies within them; not a number never does."""
        above = self.low is None or value >= self.low
        return above and (self.high is None or value <= self.high) and not math.isnan(value)
