"""ToU in a line, and its bars on the front page."""

from collections.abc import Iterator, Mapping

from windlass_lab.core.experiments.model import Paper
from windlass_lab.core.report.bar_rows import MEASURED, REFERENCE, Bar, BarRow
from windlass_lab.core.report.measured import seconds
from windlass_lab.papers.tou.plan import (
    CELLS,
    KERNEL_CUBIC,
    KERNEL_RENO,
    TOU_CUBIC,
    TOU_NEWRENO,
    Cell,
    Contender,
    Test,
)

CLAIM = "ToU takes longer than the kernel's TCP; the longer the delay the smaller the difference"
_PAIRS = ((TOU_NEWRENO, KERNEL_RENO), (TOU_CUBIC, KERNEL_CUBIC))
# The paper's longer ways with its loss of 1 %; the first of them stands for all in a line.
_SHOWN = tuple(cell for cell in CELLS if cell.loss == 0.01 and cell.rtt_ms)
_Times = tuple[Contender, float, Contender, float]


def finding(results: Mapping) -> str:
    """The times of ToU and of the kernel with 1 % loss."""
    for cell in _SHOWN:
        if times := list(_times(results, cell)):
            each = (f"{b.controller}: ToU {x:.2f} s, kernel {y:.2f} s" for _, x, b, y in times)
            return f"{'; '.join(each)} ({cell.rtt_ms} ms, 1 % loss)"
    return ""


def bars(_paper: Paper, results: Mapping) -> list[BarRow]:
    """The times of ToU, the kernel's TCP beside them."""
    return [
        BarRow(
            f"Time with an RTT of {cell.rtt_ms} ms and 1 % loss, {ours.controller}",
            "s",
            [Bar(theirs.label, REFERENCE, y), Bar(ours.label, MEASURED, x)],
        )
        for cell in _SHOWN
        for ours, x, theirs, y in _times(results, cell)
    ]


def _times(results: Mapping, cell: Cell) -> Iterator[_Times]:
    for ours, theirs in _PAIRS:
        x, y = (seconds(results, Test(cell, each).name) for each in (ours, theirs))
        if x and y:
            yield ours, x, theirs, y
