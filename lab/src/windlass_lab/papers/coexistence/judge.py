"""The rows of the cells: verdicts on those that are named, and the disturbances as figures."""

from collections.abc import Sequence

from windlass_lab.core.verdicts.verdict import Comparison, Subject, informative, within
from windlass_lab.papers.coexistence import unresponsive
from windlass_lab.papers.coexistence.effects import effects
from windlass_lab.papers.coexistence.measure import Runs, estimate
from windlass_lab.papers.coexistence.named import NAMED, Named
from windlass_lab.papers.coexistence.plan import CONTENDERS, Cell

_NOT_RUN = "not run"


def label(cell: Cell) -> str:
    """A cell in words."""
    path = cell.path
    names = " and ".join(CONTENDERS[name].label for name in cell.contenders)
    trips = (
        f"{path.rtt_ms} ms"
        if path.ratio == 1
        else " and ".join(f"{rtt:g} ms" for rtt in path.rtts_ms())
    )
    return f"{names}, {path.queue}, {path.rate_mbit} Mbit/s, {trips}"


def judge(runs: Runs) -> list[Comparison]:
    """The named cells by their bounds."""
    return _judged(NAMED, runs)


def _judged(rows: Sequence[Named], runs: Runs) -> list[Comparison]:
    """Those that were not run are rows without a verdict."""
    found = []
    for named in rows:
        measured = estimate(named.measure, named.cell, runs)
        subject = Subject(
            f"{named.title}: {named.measure.label} ({label(named.cell)})",
            named.measure.unit,
            measured=measured,
            case=named.cell.name,
            key=named.measure.key,
            criterion=named.criterion,
        )
        if measured is None:
            found.append(informative(subject, _NOT_RUN))
        else:
            found.append(within(subject, named.bounds))
    return found


def show(runs: Runs) -> list[Comparison]:
    """The disturbances beside the plain cells, and those that are judged by their bounds."""
    found = []
    for each in (*effects(), *unresponsive.shown()):
        measured = estimate(each.measure, each.cell, runs)
        subject = Subject(
            f"{each.what}: {each.measure.label} ({label(each.cell)})",
            each.measure.unit,
            reference=estimate(each.measure, each.plain, runs),
            measured=measured,
            case=each.cell.name,
            key=each.measure.key,
        )
        found.append(informative(subject, "" if measured else _NOT_RUN))
    return found + _judged(unresponsive.EXPECTED, runs)
