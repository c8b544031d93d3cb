"""The statements of section 5 of the paper, as data, and whether they hold.

The paper's ToU is `tou-classic` and its TCP Reno the kernel's with the settings of Figure 12. Its
figures are of single runs; those of the lab are over the seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, nextafter

from windlass_lab.core.verdicts.verdict import (
    BOUND,
    FAIL,
    NOT_ENOUGH_RUNS,
    ORDER,
    PASS,
    UNDECIDED,
    Comparison,
    Subject,
    informative,
)
from windlass_lab.papers.tou import criteria
from windlass_lab.papers.tou.catalogue import cells_of
from windlass_lab.papers.tou.judge import Runs, enough, unjudged
from windlass_lab.papers.tou.plan import TOU_CLASSIC, TOU_NONE, TUNED_RENO, Cell, Contender, Test
from windlass_lab.papers.tou.rules import (
    CLOSE,
    Rule,
    covers,
    in_order,
    level,
    narrowing,
    ratio,
    share,
)
from windlass_lab.papers.tou.runs import Run

KEY = "statement."
_BOTH = (("ToU", TOU_CLASSIC), ("TCP", TUNED_RENO))
# A number as the paper's words have it, and the 15 % by which a published figure may be missed.
_ABOUT_TEN = 10 * 1.15
# The least difference that the lab takes for one between a published figure and its own.
_GREATLY = 1.1
_MORE = (nextafter(1.0, inf), inf)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement: the experiment it is about, where it stands, the paper's words or figure.

    It has a `rule` by which it is tested, or a `reason` why it is not.
    """

    id: str
    experiment: str
    where: str
    subject: str
    says: str | float
    unit: str = ""
    rule: Rule | None = None
    reason: str = ""
    by_construction: bool = False


def judge_statements(id_: str, runs: Runs, whole: bool) -> list[Comparison]:
    """The statements about an experiment; `whole` says that transfers had their full size."""
    return [_judged(each, runs, whole) for each in STATEMENTS if each.experiment == id_]


def _judged(statement: Statement, runs: Runs, whole: bool) -> Comparison:
    subject = Subject(
        f"{statement.where}: {statement.subject}",
        statement.unit,
        published=statement.says,
        key=KEY + statement.id,
    )
    if statement.rule is None:
        return informative(subject, f"not tested: {statement.reason}")
    criterion = criteria.said(statement.where, statement.rule.text)
    subject = replace(subject, criterion=criterion)
    answer = statement.rule.test(runs)
    if answer is None:
        why = "not run" if whole else unjudged((), whole)
        return replace(informative(subject, why), allowed=statement.rule.text, paper=UNDECIDED)
    seeds = range(answer.seeds)
    judged = whole and enough(seeds)
    why = answer.found if judged else unjudged(seeds, whole)
    if judged and answer.met is None:
        judged, why = False, f"{NOT_ENOUGH_RUNS}: {answer.found}"
    shown = informative(replace(subject, measured=answer.measured), why)
    return replace(
        shown,
        allowed=statement.rule.text,
        paper=(PASS if answer.met else FAIL) if judged else UNDECIDED,
        interval=(answer.span.low, answer.span.high) if answer.span else None,
        kind=ORDER if statement.rule.orders else BOUND,
        by_construction=statement.by_construction,
    )


def _seconds(run: Run) -> float:
    return run.seconds


def _rate(run: Run) -> float:
    return run.megabits_per_s


def _cwnd(run: Run) -> float:
    return run.cwnd


def _tests(experiment: str, contender: Contender) -> list[Test]:
    return [Test(cell, contender) for cell in cells_of(experiment)]


def _cell(experiment: str, rtt_ms: int) -> Cell:
    return next(cell for cell in cells_of(experiment) if cell.rtt_ms == rtt_ms)


def _windows(experiment: str, where: str, says: str) -> list[Statement]:
    return [
        Statement(
            f"{experiment}.windows.rtt{cell.rtt_ms}",
            experiment,
            where,
            f"mean cwnd, ToU over TCP, {cell.rtt_ms} ms",
            says,
            rule=ratio(cell, TOU_CLASSIC, TUNED_RENO, _cwnd, CLOSE, "0.85 to 1.15"),
        )
        for cell in cells_of(experiment)
    ]


def _deficit(experiment: str) -> list[Statement]:
    """The two statements of section 5.3 and its Table 2, in each environment."""
    longer = [
        Statement(
            f"{experiment}.longer.rtt{cell.rtt_ms}",
            experiment,
            "5.2.4 and 5.3",
            f"time, ToU over TCP, {cell.rtt_ms} ms",
            "ToU takes more time",
            rule=ratio(cell, TOU_CLASSIC, TUNED_RENO, _seconds, _MORE, "more than 1"),
        )
        for cell in cells_of(experiment)
    ]
    return [
        *longer,
        Statement(
            f"{experiment}.deficit",
            experiment,
            "5.2.4 and 5.3",
            "rate of TCP less that of ToU (Mbit/s), by delay",
            "differences become smaller",
            rule=narrowing(cells_of(experiment), TUNED_RENO, TOU_CLASSIC, _rate),
        ),
    ]


def _nice() -> list[Statement]:
    id_, where = "nice", "Figure 16"
    return [
        Statement(
            "nice.limit",
            id_,
            where,
            "the limiting window",
            "around 2200 segments",
            reason="it is the receivers' window, which the lab sets to be that",
        ),
        *(
            Statement(
                f"nice.slow-start.{contender.name}",
                id_,
                where,
                f"runs in which {name} reduces its window",
                "slow-start throughout",
                rule=share(
                    _tests(id_, contender),
                    lambda run: run.course.first_loss is not None,
                    (0.0, 0.0),
                    "none",
                ),
            )
            for name, contender in _BOTH
        ),
        *(
            Statement(
                f"nice.climb.{contender.name}",
                id_,
                where,
                f"time of {name} to 2,200 segments (s), by delay",
                "need to spend more time",
                rule=in_order(_tests(id_, contender), lambda run: run.course.limit_s),
            )
            for name, contender in _BOTH
        ),
        *_windows(id_, where, "similar"),
        *_deficit(id_),
    ]


def _without_control() -> list[Statement]:
    id_, where = "nice", "Figure 19"
    return [
        *(
            Statement(
                f"nice.none-gains.rtt{cell.rtt_ms}",
                id_,
                where,
                f"rate, ToU without control over ToU, {cell.rtt_ms} ms",
                "improved greatly",
                rule=ratio(cell, TOU_NONE, TOU_CLASSIC, _rate, (_GREATLY, inf), "at least 1.1"),
            )
            for cell in cells_of(id_)
        ),
        *(
            Statement(
                f"nice.none-close.rtt{cell.rtt_ms}",
                id_,
                where,
                f"rate, ToU without control over TCP, {cell.rtt_ms} ms",
                "almost close to TCP Reno",
                rule=ratio(cell, TOU_NONE, TUNED_RENO, _rate, (CLOSE[0], inf), "at least 0.85"),
            )
            for cell in cells_of(id_)
        ),
        Statement(
            "nice.none-beats",
            id_,
            where,
            "rate, ToU without control over TCP, 300 ms",
            "ToU even beats TCP Reno",
            rule=ratio(_cell(id_, 300), TOU_NONE, TUNED_RENO, _rate, _MORE, "more than 1"),
        ),
        Statement(
            "nice.payload",
            id_,
            "5.2.4 a",
            "payload of a segment of ToU",
            1456,
            "bytes",
            rule=level(_tests(id_, TOU_CLASSIC), lambda run: run.mss, (1456, 1457), "1456"),
            by_construction=True,
        ),
        Statement(
            "nice.cause",
            id_,
            "5.2.4 b",
            "cause of the lower rate",
            "due to the modeling issue",
            reason="a property of the paper's own program, which is not at hand",
        ),
        Statement(
            "nice.table-2",
            id_,
            "Table 2",
            "throughputs",
            "as summarized in Table 2",
            reason="its figures are missing from the paper's text",
        ),
    ]


def _regular() -> list[Statement]:
    id_, where = "regular", "Figure 17"
    single = _cell(id_, 0)
    tou, tcp = (_tests(id_, contender) for _, contender in _BOTH)
    return [
        *(
            Statement(
                f"regular.first-loss.{contender.name}",
                id_,
                where,
                f"cwnd of {name} at its first loss, 0 ms",
                published,
                "segments",
                rule=covers(Test(single, contender), lambda run: run.course.first_loss, published),
            )
            for (name, contender), published in zip(_BOTH, (820, 1020), strict=True)
        ),
        Statement(
            "regular.losses",
            id_,
            where,
            "segments lost in a transfer, mean",
            "about 6~7 losses",
            rule=level(
                [*tou, *tcp], lambda run: run.lost, (5.5, 7.5), "6 or 7 when rounded", _mean
            ),
            by_construction=True,
        ),
        Statement(
            "regular.spike",
            id_,
            where,
            "runs of ToU with a spike of cwnd in fast recovery",
            "always find a spike-shaped growth",
            rule=share(tou, lambda run: run.course.spikes > 0, (1.0, 1.0), "all"),
        ),
        Statement(
            "regular.no-spike",
            id_,
            where,
            "runs of TCP with such a spike",
            "but not in TCP",
            rule=share(tcp, lambda run: run.course.spikes > 0, (0.0, 0.0), "none"),
        ),
        Statement(
            "regular.dip",
            id_,
            where,
            "runs of TCP with cwnd below ssthresh in fast recovery",
            "can be decreased below halved ssthresh",
            rule=share(
                tcp, lambda run: run.course.dips > 0, (nextafter(0.0, 1.0), 1.0), "one at least"
            ),
        ),
        Statement(
            "regular.polynomial",
            id_,
            where,
            "growth after the first loss",
            "grows polynomially",
            reason="the words name no figure; the curves are in Figure 17",
        ),
        *_windows(id_, where, "similar"),
        *_deficit(id_),
    ]


def _bad() -> list[Statement]:
    id_, where = "bad", "Figure 18"
    return [
        *(
            Statement(
                f"bad.window.{contender.name}.rtt{cell.rtt_ms}",
                id_,
                where,
                f"mean cwnd of {name}, {cell.rtt_ms} ms",
                "around 10 or even lesser",
                "segments",
                rule=level([Test(cell, contender)], _cwnd, (0.0, _ABOUT_TEN), "below 11.5"),
            )
            for name, contender in _BOTH
            for cell in cells_of(id_)
        ),
        *_windows(id_, where, "close in these three tests"),
        Statement(
            "bad.averages",
            id_,
            where,
            "average windows",
            "as following",
            reason="their figures are missing from the paper's text",
        ),
        *_deficit(id_),
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


STATEMENTS: Sequence[Statement] = (*_nice(), *_without_control(), *_regular(), *_bad())
