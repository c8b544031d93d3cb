"""The criteria of the cells, and their verdicts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.statistics.interval import of_median
from windlass_lab.core.verdicts.verdict import (
    NOT_ENOUGH_RUNS,
    UNDECIDED,
    Asked,
    Comparison,
    Subject,
    informative,
    within,
)
from windlass_lab.papers.tou import criteria
from windlass_lab.papers.tou.plan import (
    CONTENDERS,
    KERNEL_CUBIC,
    KERNEL_RENO,
    PACED_CUBIC,
    TOU_CLASSIC,
    TOU_CUBIC,
    TOU_NEWRENO,
    TOU_NONE,
    TOU_PAPER_RTO,
    TUNED_CUBIC,
    TUNED_RENO,
    UNPACED_TOU,
    Cell,
    Contender,
    Test,
)
from windlass_lab.papers.tou.runs import Run

# The runs of each test, by its name and the seed.
Runs = Mapping[str, Mapping[int, Run]]

# Fewer are shown and not judged, as are transfers of another size.
SEEDS = 11
_TIME, _CWND, _SHOWN = criteria.TIME, criteria.CWND, None
# Above, below, and what is asked of time and window. A kernel without SACK, as in the paper's
# settings, mends its losses otherwise; its window is shown. Like is held against like as well: with
# pacing at both, and at neither.
_PAIRS: Sequence[tuple[Contender, Contender, Asked | None, Asked | None]] = (
    (TOU_NEWRENO, KERNEL_RENO, _TIME, _CWND),
    (TOU_CUBIC, KERNEL_CUBIC, _TIME, _CWND),
    (TOU_NEWRENO, TUNED_RENO, _TIME, _SHOWN),
    (TOU_CUBIC, TUNED_CUBIC, _TIME, _SHOWN),
    (TOU_CUBIC, PACED_CUBIC, _TIME, _CWND),
    (UNPACED_TOU, KERNEL_CUBIC, _TIME, _CWND),
    (TOU_CLASSIC, KERNEL_RENO, _SHOWN, _SHOWN),
    (TOU_CLASSIC, TUNED_RENO, _SHOWN, _SHOWN),
    (TOU_PAPER_RTO, TUNED_RENO, _SHOWN, _SHOWN),
    (TOU_PAPER_RTO, TOU_CLASSIC, _SHOWN, _SHOWN),
    (TOU_NONE, KERNEL_RENO, _SHOWN, _SHOWN),
)


def judge(cells: Sequence[Cell], runs: Runs, whole: bool) -> list[Comparison]:
    """Every figure of some cells; `whole` says that transfers had their full size."""
    return [comparison for cell in cells for comparison in _of_cell(cell, runs, whole)]


def _of_cell(cell: Cell, runs: Runs, whole: bool) -> Iterator[Comparison]:
    for above, below, time, cwnd in _PAIRS:
        yield from _ratio(cell, above, below, "time", lambda run: run.seconds, time, runs, whole)
        yield from _ratio(cell, above, below, "mean cwnd", lambda run: run.cwnd, cwnd, runs, whole)
    yield from _own_losses(cell, runs, whole)


def _ratio(
    cell: Cell,
    above: Contender,
    below: Contender,
    what: str,
    figure: Callable[[Run], float],
    asked: Asked | None,
    runs: Runs,
    whole: bool,
) -> Iterator[Comparison]:
    ratios = paired(Test(cell, above), Test(cell, below), figure, runs)
    if not ratios:
        return
    judged = whole and enough(ratios)
    subject = Subject(
        f"{cell.label}: {what}, {above.label} over {below.label}",
        measured=Estimate.of(ratios),
        headline=asked is _TIME and not below.tuned,
        case=cell.name,
        key=f"{what}.{above.name}.{below.name}",
    )
    if asked is None:
        yield informative(subject)
        return
    about = replace(subject, criterion=asked.criterion, fewest=SEEDS)
    if judged:
        found = within(about, asked.bounds, of_median(ratios))
        # Without losses every seed has the same list, and the runs are of one path.
        yield found if cell.loss else replace(found, why=f"one path; {found.why}".strip("; "))
    else:
        yield replace(informative(about, unjudged(ratios, whole)), verdict=UNDECIDED)


def enough(found: Sequence[object]) -> bool:
    """Whether that many seeds are judged."""
    return len(found) >= SEEDS


def unjudged(found: Sequence[object], whole: bool) -> str:
    """Why nothing is judged."""
    if not whole:
        return "transfers of another size"
    return f"{NOT_ENOUGH_RUNS}: {len(found)} of {SEEDS}"


def paired(above: Test, below: Test, figure: Callable[[Run], float], runs: Runs) -> list[float]:
    """The ratio of each seed that both have."""
    ours, theirs = runs.get(above.name, {}), runs.get(below.name, {})
    return [figure(ours[seed]) / figure(theirs[seed]) for seed in sorted(ours.keys() & theirs)]


def _own_losses(cell: Cell, runs: Runs, whole: bool) -> Iterator[Comparison]:
    """Packets that the queue dropped. Any drop makes the losses of the transports differ."""
    names = [Test(cell, contender).name for contender in CONTENDERS]
    found = [run for name in names for run in runs.get(name, {}).values()]
    if not found:
        return
    dropped = Estimate(float(sum(run.dropped for run in found)), 0.0, len(found))
    what = f"{cell.label}: packets lost beyond the list, all runs"
    asked = criteria.OWN_LOSSES
    subject = Subject(
        what,
        measured=dropped,
        case=cell.name,
        key="dropped",
        criterion=asked.criterion,
        exact=True,
    )
    most = max((list(runs.get(name, {})) for name in names), key=len)
    if whole and enough(most):
        yield within(subject, asked.bounds)
    else:
        yield replace(informative(subject, unjudged(most, whole)), verdict=UNDECIDED)
    for contender in CONTENDERS:
        yield from _sent_again(cell, contender, runs)


def _sent_again(cell: Cell, contender: Contender, runs: Runs) -> Iterator[Comparison]:
    found = list(runs.get(Test(cell, contender).name, {}).values())
    if not found:
        return
    extra = [run.retransmitted - run.lost for run in found]
    what = f"{cell.label}: sent again for nothing, {contender.label}"
    yield informative(
        Subject(what, "segments", measured=Estimate.of(extra), case=cell.name, key="again")
    )
