"""Why a check asks what it asks, where that is from, and since when."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum


class Basis(StrEnum):
    """The basis of a criterion, which decides how much its verdict is worth."""

    # The paper's words or figure, by a rule that is the same for all of its sentences or figures.
    PAPER = "paper"
    # Theory, a standard or the construction of the test: it holds whatever the result.
    THEORY = "theory"
    # A bound of the lab's own, committed before the first result.
    BEFORE = "before"
    # A bound of the lab's own, committed when a result was known.
    AFTER = "after"


_WORDS: Mapping[Basis, str] = {
    Basis.PAPER: "from the paper alone",
    Basis.THEORY: "from theory alone",
    Basis.BEFORE: "set before the result",
    Basis.AFTER: "set after the result",
}


@dataclass(frozen=True, slots=True)
class Criterion:
    """The reason of a bound, its `source` (a section of a paper, an RFC, a file), the day on which
    it was committed, and what it rests on.
    """

    why: str
    source: str
    set_on: date
    basis: Basis

    def __str__(self) -> str:
        return f"{self.why} ({self.source}; {_WORDS[self.basis]}, {self.set_on.isoformat()})"

    def to_json(self) -> dict:
        """As plain data for results.json."""
        return {
            "why": self.why,
            "source": self.source,
            "set_on": self.set_on.isoformat(),
            "basis": str(self.basis),
        }

    @classmethod
    def from_json(cls, data: Mapping) -> "Criterion":
        """The inverse of `to_json`."""
        set_on = date.fromisoformat(data["set_on"])
        return cls(data["why"], data["source"], set_on, Basis(data["basis"]))
