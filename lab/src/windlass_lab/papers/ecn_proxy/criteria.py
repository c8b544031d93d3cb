"""By what the ECN proxy's figures are judged, why, and since when."""

from datetime import date

from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.verdicts.criterion import Basis, Criterion
from windlass_lab.core.verdicts.verdict import Asked

_REQUIRED = "requirements for the proxy"
_BEGINNING = date(2026, 11, 21)
_BEYOND = date(2026, 11, 27)


def _required(bounds: Bounds, why: str) -> Asked:
    return Asked(bounds, Criterion(why, _REQUIRED, _BEGINNING, Basis.BEFORE))


FIRST_RESULT, FIRST_BEYOND = _BEGINNING, _BEYOND
# Completion time through the proxy over end-to-end ECN's, with cross traffic; and over that without
# ECN, without cross traffic.
AS_NATIVE = _required(
    Bounds(0.90, 1.05), "as long as with ECN at both ends: the paper has 1.02 to 1.05 for downloads"
)
AS_WITHOUT = _required(Bounds(high=1.01), "without congestion a proxy costs nothing")
FAIR = _required(Bounds(low=0.99), "connections behind the proxy share equally")
ANSWERED = _required(Bounds(low=0.98), "nearly each mark is answered, else ECT would be a lie")
WAITING = _required(Bounds(high=0.06), "what is sent while an answer waits claims to react, too")
NO_SLOWER = Asked(
    Bounds(high=1.05),
    Criterion(
        "an upload through the proxy is no slower than without ECN",
        "sections 3.1.2 and 4.3.2",
        _BEYOND,
        Basis.PAPER,
    ),
)


def again(asked: Asked, where: str) -> Asked:
    """The same bounds for tests that were not foreseen: committed with their first result."""
    criterion = Criterion(
        f"the bound of the paper's own tests, {where}", _REQUIRED, _BEYOND, Basis.AFTER
    )
    return Asked(asked.bounds, criterion)


AT_BOTTLENECK = again(AS_NATIVE, "in a stricter network")
AT_BOTTLENECK_WITHOUT = again(AS_WITHOUT, "in a stricter network")
OTHER_MODES = again(AS_NATIVE, "opened by the client, or over IPv6")
SCH_RED = again(AS_NATIVE, "through the kernel's RED")
SCH_RED_WITHOUT = again(AS_WITHOUT, "through the kernel's RED")
MECHANISMS = again(AS_NATIVE, "with senders like Linux 3.19")
ASIDE = again(AS_NATIVE, "on cells by which nothing was chosen")
ASIDE_WORST = Asked(
    AS_NATIVE.bounds,
    Criterion(
        "the bound of the paper's own tests, on every cell",
        _REQUIRED,
        date(2026, 11, 29),
        Basis.AFTER,
    ),
)
ASIDE_SHARE = Asked(
    Bounds(low=0.95),
    Criterion(
        "nineteen cells in twenty inside of the bound of the paper's own tests",
        "the lab",
        date(2026, 11, 29),
        Basis.AFTER,
    ),
)
PUBLISHED = Criterion(
    "single tests on the paper's machines: within a tenth of the published ratio",
    "Tables C.1 to C.10",
    date(2026, 11, 26),
    Basis.PAPER,
)
