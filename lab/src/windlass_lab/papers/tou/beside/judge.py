"""The shares of a link, and the verdict on ToU as it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, log
from statistics import median

from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.statistics.ratios import ratio
from windlass_lab.core.text.numbers import NONE, figure
from windlass_lab.core.verdicts.verdict import (
    NOT_ENOUGH_RUNS,
    UNDECIDED,
    Comparison,
    Subject,
    informative,
    within,
)
from windlass_lab.papers.tou.beside import criteria
from windlass_lab.papers.tou.beside.plan import RUNS, SIDES, TOU, Cell, Side, Test, neighbours
from windlass_lab.papers.tou.beside.share import Run

# The runs of each test, by its name.
Runs = Mapping[str, Sequence[Run]]


def judge(cells: Sequence[Cell], runs: Runs, judged: bool) -> list[Comparison]:
    """Each cell: the share of ToU as it is over that of the kernel in its place, which has a bound,
    and those of the other sides, which have none. Cells by which the default was chosen have no
    bound (`judged` is false).
    """
    found = [each for cell in cells for each in _default(cell, runs, judged)]
    others = [side for side in SIDES if side != TOU]
    return found + [each for cell in cells for side in others for each in _shown(cell, side, runs)]


def _default(cell: Cell, runs: Runs, judged: bool) -> Iterator[Comparison]:
    relative = over_the_kernel(cell, TOU, runs)
    if relative is None:
        return
    subject = _subject(cell, TOU, relative)
    counts = [len(runs[Test(cell, side).name]) for side in (TOU, neighbours(cell))]
    if not judged:
        yield informative(subject)
        return
    asked = criteria.BESIDE
    about = replace(subject, criterion=asked.criterion, fewest=RUNS)
    if min(counts) < RUNS:
        why = f"{NOT_ENOUGH_RUNS}: {min(counts)} of {RUNS}"
        yield replace(informative(about, why), verdict=UNDECIDED)
        return
    ours, theirs = ([r.share for r in runs[Test(cell, s).name]] for s in (TOU, neighbours(cell)))
    yield within(about, asked.bounds, ratio(ours, theirs).interval)


def _shown(cell: Cell, side: Side, runs: Runs) -> Iterator[Comparison]:
    relative = over_the_kernel(cell, side, runs)
    if relative is not None and side != neighbours(cell):
        yield informative(_subject(cell, side, relative))


def _subject(cell: Cell, side: Side, relative: Estimate) -> Subject:
    return Subject(
        f"{cell.label}: share of {side.label} over that of the kernel in its place",
        measured=relative,
        headline=side == TOU,
        case=cell.name,
        key=f"share.{side.name}",
    )


def over_the_kernel(cell: Cell, side: Side, runs: Runs) -> Estimate | None:
    """The median share of a side over the median share of the neighbours' own kind in its place;
    None unless both were run.
    """
    ours, theirs = (runs.get(Test(cell, each).name, ()) for each in (side, neighbours(cell)))
    if not ours or not theirs:
        return None
    middle = middle_share(theirs)
    shares = [run.share / middle for run in ours]
    return Estimate.of(shares, lambda _: middle_share(ours) / middle)


def middle_share(runs: Sequence[Run]) -> float:
    """The median share; of an even number the geometric mean of the two in the middle, so that it
    is the same seen from either side.
    """
    return exp(median(log(run.share) for run in runs))


def table(cells: Sequence[Cell], runs: Runs) -> dict:
    """The median rates of both sides, ours beside theirs, in Mbit/s."""
    rows = []
    for cell in cells:
        found = [runs.get(Test(cell, side).name, ()) for side in SIDES]
        if any(found):
            rows.append((cell.label, *map(_rates, found), str(max(map(len, found)))))
    headings = ("", *(side.label for side in SIDES), "runs")
    caption = "Median rates in Mbit/s of payload: the side of the column, and its neighbours"
    return {"caption": caption, "headings": headings, "rows": rows, "open": True}


def _rates(found: Sequence[Run]) -> str:
    if not found:
        return NONE
    ours, theirs = (median(getattr(run, end) for run in found) for end in ("ours", "theirs"))
    return f"{figure(ours)} : {figure(theirs)}"
