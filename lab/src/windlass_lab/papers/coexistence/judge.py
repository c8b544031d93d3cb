"""The rows of the cells: verdicts on those that are named, and the disturbances as figures."""

from windlass_lab.core.verdicts.verdict import Comparison, Subject, informative, within
from windlass_lab.papers.coexistence.effects import LACKING, effects
from windlass_lab.papers.coexistence.measure import Runs, estimate
from windlass_lab.papers.coexistence.named import NAMED
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
    """The named cells by their bounds; those that were not run are rows without a verdict."""
    found = []
    for named in NAMED:
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
    """The disturbances beside the plain cells."""
    found = []
    for each in effects():
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
    found += [informative(Subject(each.what), f"{_NOT_RUN}: {each.why}") for each in LACKING]
    return found
