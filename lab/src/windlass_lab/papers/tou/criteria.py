"""By what ToU's figures are judged, why, and since when."""

from datetime import date

from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.verdicts.criterion import Basis, Criterion
from windlass_lab.core.verdicts.verdict import Asked

_REQUIRED = "requirements for ToU"
FIRST_RESULT = date(2026, 11, 22)
FIRST_STATEMENT, FIRST_EMULATED = date(2026, 11, 27), date(2026, 11, 29)


def _required(bounds: Bounds, why: str) -> Asked:
    return Asked(bounds, Criterion(why, _REQUIRED, FIRST_RESULT, Basis.BEFORE))


TIME = _required(
    Bounds(high=1.05), "no slower than the kernel, on the same path with the same losses"
)
CWND = _required(Bounds(0.85, 1.15), "the same window is the same algorithm")
OWN_LOSSES = Asked(
    Bounds(high=0.0),
    Criterion(
        "a drop beyond the list would make the losses of the transports differ",
        "the test's construction",
        FIRST_RESULT,
        Basis.THEORY,
    ),
)


def said(where: str, rule: str) -> Criterion:
    """A sentence of the paper by the rule that stands beside it."""
    return Criterion(
        f"the sentence's words: {rule}", f"section {where}", FIRST_STATEMENT, Basis.PAPER
    )
