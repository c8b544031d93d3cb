"""By what the shares of a link are judged, why, and since when."""

from datetime import date

from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.verdicts.criterion import Basis, Criterion
from windlass_lab.core.verdicts.verdict import Asked

FIRST_BESIDE = date(2026, 11, 28)
BESIDE = Asked(
    Bounds(0.67, 1.5),
    Criterion(
        "between two thirds of a kernel's share and one and a half",
        "requirements for ToU",
        FIRST_BESIDE,
        Basis.BEFORE,
    ),
)
