"""Rows for what disturbs the shares: bursts, lost ACKs, unequal paths. None of them is judged."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from windlass_lab.papers.coexistence import measure, scenario
from windlass_lab.papers.coexistence.measure import Measure
from windlass_lab.papers.coexistence.plan import Cell, Path


@dataclass(frozen=True, slots=True)
class Effect:
    """A figure of a cell beside the same figure of another one, which lacks what is examined."""

    what: str
    cell: Cell
    plain: Cell
    measure: Measure


_PATH = Path("fifo1", 25, 20)
_LOW_DELAY = Path("dualpi2", 160, 20)
_DISTURBED = (
    (_PATH, "reno", "cubic"),
    (_PATH, "cubic", "bbr"),
    (_PATH, "bbr", "bbr"),
    (_LOW_DELAY, "cubic", "prague"),
    (_PATH, "cubic", "bbr3"),
)
_CLASSIC = ("red", "codel", "pie")
_UNEQUAL = (("cubic", "cubic"), ("dctcp", "dctcp"), ("prague", "prague"), ("cubic", "prague"))


def effects() -> Iterator[Effect]:
    """Every row of one flow beside another."""
    for variant in (scenario.THINNED, scenario.BURSTS):
        for path, first, second in _DISTURBED:
            plain = Cell(path, first, second)
            yield _with(variant, plain)
    for queue in _CLASSIC:
        yield _with(scenario.FALLBACK, Cell(replace(_PATH, queue=queue), "cubic", "prague"))
    for ratio in (4, 16):
        for first, second in _UNEQUAL:
            plain = Cell(_LOW_DELAY, first, second)
            far = replace(plain, path=replace(_LOW_DELAY, ratio=ratio))
            what = f"the first flow's round trip is {ratio} times the other one's"
            yield Effect(what, far, plain, measure.SHARE)


def _with(variant: str, plain: Cell) -> Effect:
    """The share with what a variant changes, beside that without."""
    changed = replace(plain, variant=variant)
    return Effect(scenario.VARIANTS[variant], changed, plain, measure.SHARE)
