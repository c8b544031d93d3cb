"""By what the split-ACK thesis and its probe are judged, why, and since when."""

from datetime import date

from windlass_lab.core.verdicts.criterion import Basis, Criterion

FIRST_RESULT, FIRST_SURVEY = date(2026, 11, 22), date(2026, 11, 27)
FIRST_THEORY = date(2026, 11, 29)
FIRST_LIMITED = date(2026, 11, 30)
_WORDS = date(2026, 11, 27)


def _theory(why: str, source: str) -> Criterion:
    return Criterion(why, source, FIRST_RESULT, Basis.THEORY)


ARITHMETIC = _theory(
    "what three ACKs free, and a segment for each part where ACKs are counted, is exact",
    "RFC 5681 section 3.1, RFC 3465",
)
ROUND_TRIPS = _theory(
    "round trips of slow start, each twice the one before", "RFC 5681 section 3.1"
)
BY_ITS_RULE = Criterion(
    "the number that the text's own rule gives, to 2 %, since it is rounded",
    "chapter 2",
    FIRST_THEORY,
    Basis.PAPER,
)
TRIPS_SAID = Criterion(
    "the round trips that the text says, to 2 %, since they are rounded",
    "section 2.5.2",
    FIRST_LIMITED,
    Basis.PAPER,
)
LIMITED_TRIPS = Criterion(
    "as many round trips as the rule takes by arithmetic, to 1 %: the arithmetic has whole flights",
    "RFC 3742 section 2",
    FIRST_LIMITED,
    Basis.THEORY,
)
ROUND_TRIPS_SAID = Criterion(
    "as many round trips, or at least one fewer or more", "section 2.4.1", FIRST_THEORY, Basis.PAPER
)
TABLE_4_12 = Criterion(
    "the numbers of one site, to a tenth, for the mean of those that count ACKs",
    "Table 4.12",
    FIRST_THEORY,
    Basis.PAPER,
)
STACK = _theory("the stack's source says so", "sources of the stacks")
AS_SET = _theory("the lab set it", "the test's construction")
PLAYED = _theory("the stand-in was made to do what the thesis saw", "the test's construction")
RIGHT = Criterion(
    "reaction and initial window right for 99 of 100 that answer",
    "requirements for the probe",
    FIRST_RESULT,
    Basis.BEFORE,
)
TABLE_2_1_TIMES = Criterion(
    "improves: a twentieth shorter; no-op: within a twentieth",
    "Table 2.1",
    FIRST_RESULT,
    Basis.PAPER,
)
TABLE_2_1_TIMEOUTS = Criterion(
    "degraded by congestion: a fifth more timeouts, which 20 runs show; OK: within a fifth",
    "Table 2.1",
    _WORDS,
    Basis.AFTER,
)
MORE_TIMEOUTS = Criterion(
    "a window that grows faster fills the queue sooner, in either phase",
    "section 2.4.2",
    _WORDS,
    Basis.AFTER,
)


def said(where: str, set_on: date = _WORDS) -> Criterion:
    """A sentence of the thesis by the bounds beside it, which were set with the result."""
    return Criterion("the sentence, by the bounds beside it", where, set_on, Basis.AFTER)


def built(where: str) -> Criterion:
    """A sentence of the thesis that the mix of servers was chosen to meet."""
    return Criterion("the mix of servers was chosen to meet it", where, _WORDS, Basis.THEORY)
