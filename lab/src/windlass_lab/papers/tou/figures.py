"""The paper's Figures 16 to 19 and its lost Table 2, from the runs."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from windlass_lab.core.plots.parts import Drawn, Panel, line
from windlass_lab.core.text.numbers import NONE, figure
from windlass_lab.papers.tou.judge import Runs
from windlass_lab.papers.tou.plan import (
    CONTENDERS,
    KERNEL_CUBIC,
    KERNEL_RENO,
    TOU_CLASSIC,
    TOU_CUBIC,
    TOU_NEWRENO,
    TOU_NONE,
    TOU_PAPER_RTO,
    TUNED_CUBIC,
    TUNED_RENO,
    Cell,
    Contender,
    Test,
)
from windlass_lab.papers.tou.runs import Curve, Run

_TABLE_PLACES = 6
# Side by side: whose windows one compares.
_GROUPS: Sequence[tuple[str, Sequence[Contender]]] = (
    ("reno", (KERNEL_RENO, TOU_NEWRENO, TOU_CLASSIC, TUNED_RENO, TOU_PAPER_RTO)),
    ("cubic", (KERNEL_CUBIC, TOU_CUBIC, TUNED_CUBIC)),
)
WITHOUT_CONTROL = (("without control", (KERNEL_RENO, TOU_NEWRENO, TOU_NONE)),)
Groups = Sequence[tuple[str, Sequence[Contender]]]


@dataclass(frozen=True, slots=True)
class Axis:
    """The column of the curve on the x axis."""

    id: str
    column: str
    label: str
    unit: str


TIME = Axis("time", "time_s", "time (s)", "s")
SEQUENCE = Axis("sequence", "megabytes", "sequence number (MB acknowledged)", "MB")


def draw(
    number: str, cells: Sequence[Cell], runs: Runs, axis: Axis, groups: Groups = _GROUPS
) -> Drawn:
    """A panel for each cell and group of controllers, a curve a contender."""
    panels, rows = [], []
    for cell in cells:
        for group, contenders in groups:
            curves = list(_curves(cell, contenders, runs))
            if not curves:
                continue
            data = [
                line(contender.label, place, getattr(curve, axis.column), curve.cwnd)
                for place, (contender, curve) in enumerate(curves)
            ]
            id_ = f"{number}-{axis.id}-{cell.name}-{group}".replace(".", "-").replace(" ", "-")
            panels.append(Panel(id_, f"{cell.label}, {group}", _spec(data, axis)))
            rows += [_row(cell, contender, curve, axis) for contender, curve in curves]
    return Drawn(
        id=f"figure-{number}-{axis.id}",
        figure=number,
        title=f"cwnd over {axis.label.partition(' (')[0]}",
        note="One run each, all with the losses of the same seed. A segment of the kernel has 1448 "
        "bytes (1460 with the settings of Figure 12), one of ToU 1444 (1456 with rfc2581). With "
        "rfc2581 cwnd includes what fast recovery adds for duplicate ACKs.",
        panels=panels,
        headings=("", *(f"at {n}/{_TABLE_PLACES}" for n in range(1, _TABLE_PLACES + 1))),
        rows=rows,
    )


def _curves(
    cell: Cell, contenders: Sequence[Contender], runs: Runs
) -> Iterator[tuple[Contender, Curve]]:
    for contender in contenders:
        for run in runs.get(Test(cell, contender).name, {}).values():
            if run.curve:
                yield contender, run.curve


def _spec(data: list[dict], axis: Axis) -> dict:
    layout = {
        "xaxis": {"title": {"text": axis.label}, "hoverformat": ".2f"},
        "yaxis": {"title": {"text": "cwnd (segments)"}, "rangemode": "tozero"},
        "hovermode": "closest",
        "showlegend": True,
    }
    return {"data": data, "layout": layout}


def _row(cell: Cell, contender: Contender, curve: Curve, axis: Axis) -> tuple[str, ...]:
    over = getattr(curve, axis.column)
    ends = (over[-1] * n / _TABLE_PLACES for n in range(1, _TABLE_PLACES + 1))
    places = (bisect_right(over, end) - 1 for end in ends)
    return (f"{cell.label}: {contender.label}", *(figure(curve.cwnd[place]) for place in places))


def throughputs(cells: Sequence[Cell], runs: Runs) -> dict:
    """Table 2: the rate of each contender in each cell, in Mbit/s of payload."""
    return _table(
        "Table 2: throughput in Mbit/s of payload, medians", cells, runs, _megabits, opened=True
    )


def times(cells: Sequence[Cell], runs: Runs) -> dict:
    """The same transfers' times, in seconds."""
    return _table("Completion time in seconds, medians", cells, runs, lambda run: run.seconds)


def windows(cells: Sequence[Cell], runs: Runs) -> dict:
    """The same transfers' windows, in segments."""
    return _table("Mean cwnd in segments, medians", cells, runs, lambda run: run.cwnd)


def timeouts(cells: Sequence[Cell], runs: Runs) -> dict:
    """The same transfers' retransmission timeouts."""
    return _table("Retransmission timeouts, medians", cells, runs, lambda run: run.timeouts)


def _megabits(run: Run) -> float:
    return run.megabits_per_s


def _table(
    caption: str,
    cells: Sequence[Cell],
    runs: Runs,
    value: Callable[[Run], float],
    opened: bool = False,
) -> dict:
    rows = []
    for cell in cells:
        found = [list(runs.get(Test(cell, each).name, {}).values()) for each in CONTENDERS]
        if any(found):
            medians = [figure(median(map(value, of))) if of else NONE for of in found]
            count = max(len(of) for of in found)
            rows.append((cell.label, *medians, str(count)))
    headings = ("", *(contender.label for contender in CONTENDERS), "runs")
    return {"caption": caption, "headings": headings, "rows": rows, "open": opened}
