"""By what New-ECN's figures are judged, why, and since when."""

from datetime import date

from windlass_lab.core.verdicts.criterion import Basis, Criterion

_NS2 = "ns-2 with the paper's modifications, 20 seeds"
_SIMULATOR = f"requirements for the simulator; reference: {_NS2}"
BEGINNING = date(2026, 11, 21)
_KERNEL = "requirements for New-ECN on Linux"


def _required(why: str, source: str = _SIMULATOR, set_on: date = BEGINNING) -> Criterion:
    return Criterion(why, source, set_on, Basis.BEFORE)


def said(section: str, why: str, set_on: date) -> Criterion:
    """A sentence of the paper, and how it is read; the rule for it is no other than these words."""
    return Criterion(why, f"section {section}", set_on, Basis.PAPER)


def afterwards(why: str, set_on: date, source: str = "the lab") -> Criterion:
    """A bound of the lab's own that was committed with or after the first result."""
    return Criterion(why, source, set_on, Basis.AFTER)


FAIRNESS = _required(
    "three standard deviations of the reference's seeds: 0.01 apart, and 0.025 on setup 2 at p_max "
    "0.1; to leave out one rule of RED or of the window moves the index by more"
)
RATES = _required("a tenth, or three standard errors of the two means where that is more")
WHOLE_RUN = _required("from the first second on slow start counts too, which starting times move")
SINGLE = _required("a flow alone varies by 1 % at most between seeds of the reference")
ORDER_OF_SINGLES = said(
    "4.3.1", "1077, 1157 and 1208 packets/s: each above the one before", BEGINNING
)
TABLE_4_4 = _required("trace means of single flows vary by 2 to 4 % between seeds; marks by more")
RATIOS = _required("ratios of two such means")
MODEL = _required("the paper has 0.99 and windows of 18.1 and 10.4 packets")
SHARE = _required("three standard deviations of the reference's share")

P_MAX = afterwards(
    "the reference was run at some p_max only: the middle of its range is the target", BEGINNING
)
P_MAX_FAIR = said("4.2.1", "the text names the value", date(2026, 11, 29))
P_MAX_MODERATE = afterwards(
    "a sensitivity that is only moderate leaves it fair wherever the text says nothing else",
    date(2026, 11, 29),
    "section 4.2.1",
)
P_MAX_ORDER = said(
    "4.2.1", "with less or more marking than at the optimum sharing is less fair", BEGINNING
)
WINDOW_LIMIT = _required("as the fairness index elsewhere")
AFTER_TEN_SECONDS = said(
    "4.2.2", "similar rates are fair, by the word's rule: from 10 s to 20 s", date(2026, 11, 29)
)
SETUP_2_UNFAIR = said("4.2.1", "not fair, by the word's rule", date(2026, 11, 29))
SETUP_2_FAIR = said("4.2.1", "fair, by the word's rule", date(2026, 11, 29))
SETUP_2_AS_ECN = afterwards(
    "its effect is minimal, the index like that of ECN Reno: within a tenth",
    date(2026, 11, 29),
    "section 4.2.1",
)
SMALLER_VARIANCE = said(
    "4.3.1", "its window varies less than that of ECN Reno in the steady state", date(2026, 11, 29)
)
LONG_QUEUE = afterwards(
    "with p_max too small for the load RED's average is near its upper threshold, 20 packets: "
    "nine tenths of that or more",
    date(2026, 11, 29),
    "section 4.2.1",
)
BIAS_TURNS = afterwards(
    "a bias against fast connections above a p_max of 1/3, and none up to that: a tenth",
    date(2026, 11, 29),
    "section 4.2.1",
)

MODERN = afterwards("a twentieth less fair than with the paper's stack is as fair", BEGINNING)
MODERN_ORDER = afterwards("it survives only if it still beats its rivals", BEGINNING)
CYCLE = afterwards("what the explanation of the cycle implies", BEGINNING)

KERNEL_FAIRNESS = _required("three times what five runs of a kernel differ by", _KERNEL)
KERNEL_SHORT = afterwards("one run of half a minute: twice what a whole one may", BEGINNING)
KERNEL_ORDER = said("4.2.2", "New-ECN's index is about twice that of ECN Reno", BEGINNING)
KERNEL_LEAST = _required("fair, with a tenth for real packets", _KERNEL)
KERNEL_RATES = _required("real machines have times of their own", _KERNEL)
KERNEL_HALF = _required("half of the link, from 40 to 60 %", _KERNEL)
KERNEL_OTHERS = afterwards("as on setup 1, with more for small windows", date(2026, 11, 26))

FIRST_OVER_TOU = date(2026, 11, 25)
OVER_TOU = _required("as near to the simulator as the kernel is", "requirements for ToU")
OVER_TOU_RATES = afterwards("as on the kernel", date(2026, 11, 29), "requirements for the kernel")
OVER_TOU_SHORT = afterwards(
    "fifteen seconds hold slow start; Reno with ECN has 0.5 there", FIRST_OVER_TOU
)

# Cells that were judged anew: seeds that no result is of, from this number on.
NEW_SEEDS, NEW_SEEDS_ON = 20_001, date(2026, 11, 29)
FAIR = Criterion(
    "fair: an index of 0.95 and more, as for the paper's word elsewhere",
    "section 5.1, the tests that a protocol should pass; seeds from 20,001 on",
    NEW_SEEDS_ON,
    Basis.BEFORE,
)
FAIRER = Criterion(
    "fairer than what it is to replace",
    "section 5.1, the tests that a protocol should pass; seeds from 20,001 on",
    NEW_SEEDS_ON,
    Basis.BEFORE,
)
NO_EFFECT = afterwards(
    "no considerable effect on others, and not to affect them: within a twentieth",
    NEW_SEEDS_ON,
    "sections 4.3.3 and 5.1",
)
GATEWAYS_ORDER = said(
    "5.1", "Reno without ECN does better than with it, and New-ECN better than both", NEW_SEEDS_ON
)
CONSTANT_INCREASE = said("5.1", "New-ECN has an advantage over constant increase", NEW_SEEDS_ON)
BETTER = Criterion(
    "better in all respects: as fair, no longer queue, as full a link, on every path",
    "papers/new_ecn/unseen_paths.py, committed before the first run on them",
    NEW_SEEDS_ON,
    Basis.BEFORE,
)
FENG = Criterion(
    "what the paper on that queue says: a full link with few flows, few losses with many",
    "Feng, Kandlur, Saha and Shin 1999",
    date(2026, 11, 26),
    Basis.PAPER,
)
SRED = Criterion(
    "the queue does not depend on the number of flows: within a fifth, or four fifths",
    "Ott, Lakshman and Wong 1999",
    date(2026, 11, 26),
    Basis.AFTER,
)
CYCLE_MODEL = _required(
    "within a tenth where the model's assumptions hold: windows of ten packets, few echoes",
    "requirements for a model",
    date(2026, 11, 26),
)
CYCLE_MODEL_BEYOND = afterwards(
    "the same tenth where the assumptions do not hold", date(2026, 11, 29)
)
CYCLE_RATES = afterwards("the same tenth for the rate of each flow", date(2026, 11, 29))
STABLE = afterwards(
    "a balance that holds has the model's marked share, within the same tenth; where it is not "
    "stable the queue oscillates, and marks more",
    date(2026, 11, 29),
)
