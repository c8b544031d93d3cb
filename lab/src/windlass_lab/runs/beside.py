"""Two runs beside each other, such as a kernel's and the simulator's: their flows in pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass_lab.core.errors import LabError
from windlass_lab.core.plots.parts import Panel
from windlass_lab.core.report.panel_page import Row
from windlass_lab.core.text.numbers import NONE, figure, table
from windlass_lab.runs import harm
from windlass_lab.runs.columns import QUEUE_COLUMNS
from windlass_lab.runs.figure import Figure
from windlass_lab.runs.panels import ALL_FLOWS, QUANTITIES, RunLike, Runs, cell, curves_of, spec_of

_OF_FLOWS = {
    "packets_per_s.steady": "rate (packets/s)",
    "cwnd_packets.time_mean_steady": "mean window (packets)",
    "srtt_ms.time_mean": "mean SRTT (ms)",
    "retransmitted_segments": "retransmitted",
    "timeouts": "timeouts",
    "marks": "marks",
    "drops": "drops",
}
_OF_RUNS = {
    "total_packets_per_s.steady": "total rate (packets/s)",
    "fairness_index.steady": "fairness index",
    "mean_queue_packets.steady": "mean queue (packets)",
    "marks": "marks",
    "drops": "drops",
}
DEFAULT = ("cwnd", "srtt", "queue")
# More panels in a row cannot be read.
_PANELS_MAX = 8


@dataclass(frozen=True)
class Pair:
    """A flow of either run, or the runs themselves, and their figures by title: those that at least
    one of them has.
    """

    names: tuple[str | None, str | None]
    figures: Mapping[str, tuple[float | None, float | None]]


@dataclass(frozen=True)
class Comparison:
    """Two runs with their labels: their figures, and a figure of their curves in the same axes."""

    runs: Runs

    def flows(self) -> list[Pair]:
        """The flows of both: those of the same name, or, where they share no name and are equally
        many, those of the same place. A flow without a partner is a pair by itself.
        """
        first, second = ({flow["name"]: flow for flow in _flows(run)} for _, run in self.runs)
        return [
            Pair(names, _figures(_OF_FLOWS, first.get(names[0]), second.get(names[1])))
            for names in _paired(list(first), list(second))
        ]

    def whole(self) -> Pair:
        """The figures of the runs as a whole."""
        (a, first), (b, second) = self.runs
        return Pair((a, b), _figures(_OF_RUNS, first.summary, second.summary))

    def text(self) -> str:
        """A table: a line for each figure of each pair, and the second's ratio to the first."""
        (a, _), (b, _) = self.runs
        lines = [("flow", "figure", a, b, "ratio")]
        for pair in (*self.flows(), self.whole()):
            name = "all" if pair.names == (a, b) else _name(pair.names)
            for title, (x, y) in pair.figures.items():
                ratio = figure(y / x) if x and y is not None else NONE
                lines.append((name, title, cell(x), cell(y), ratio))
                name = ""
        return table(lines, right=(2, 3, 4))

    def document(self) -> dict:
        """The same for scripts."""
        whole = self.whole()
        flows = [{"names": pair.names, "figures": pair.figures} for pair in self.flows()]
        return {"runs": whole.names, "figures": whole.figures, "flows": flows}

    def plot(self, what: Sequence[str] = DEFAULT) -> Figure:
        """A panel for each pair of flows and the bottleneck's queues, in each a curve for each run.
        `what` are names of `QUANTITIES`. Raises `LabError` for other names, and if no run has any.
        """
        unknown = [name for name in what if name not in QUANTITIES]
        if unknown:
            known = ", ".join(QUANTITIES)
            raise LabError(f"compare: no {', '.join(unknown)}: expected some of {known}")
        rows = [row for name in what if (row := self._row(name)).panels]
        if not rows:
            raise LabError(f"compare: no run has kept {' or '.join(what)}")
        return Figure(" and ".join(label for label, _ in self.runs), rows, self.runs)

    def _row(self, name: str) -> Row:
        title, unit = QUANTITIES[name]
        if name == "harm":
            return Row(name, title, unit, self._harm())
        found = [{label: (x, y) for label, x, y in curves_of(name, run)} for _, run in self.runs]
        names: list[tuple[str | None, str | None]]
        if name == "fairness":
            names = [(ALL_FLOWS, ALL_FLOWS)]
        elif name not in QUEUE_COLUMNS:
            names = [pair.names for pair in self.flows()]
        else:
            # The bottleneck's queue is the first; the two worlds may name it differently.
            names = [(next(iter(found[0]), None), next(iter(found[1]), None))]
        curves = [(_name(pair), self._both(pair, found)) for pair in names]
        curves = [(label, both) for label, both in curves if both]
        if len(curves) > _PANELS_MAX:
            title = f"{title}: the first {_PANELS_MAX} of {len(curves)} flows"
        curves = curves[:_PANELS_MAX]
        highest = max((max(y) for _, both in curves for _, _, y in both), default=1.0)
        panels = [
            Panel(f"{name}-{number}", label, spec_of(name, both, highest))
            for number, (label, both) in enumerate(curves)
        ]
        return Row(name, title, unit, panels)

    def _harm(self) -> list[Panel]:
        """One panel, with a curve for each flow of both; the first run is without the others."""
        (_, alone), (label, together) = self.runs
        curves = harm.over_time(alone, together)
        highest = max((max(y) for _, _, y in curves), default=1.0)
        return [Panel("harm-0", label, spec_of("harm", curves, highest))] if curves else []

    def _both(
        self, pair: tuple[str | None, str | None], found: Sequence[Mapping[str, tuple[list, list]]]
    ) -> list[tuple[str, list, list]]:
        labelled = zip((label for label, _ in self.runs), pair, found, strict=True)
        return [
            (label, *curves[name])
            for label, name, curves in labelled
            if name is not None and name in curves
        ]


def _flows(run: RunLike) -> list[Mapping]:
    return list(run.summary["flows"])


def _paired(first: list[str], second: list[str]) -> list[tuple[str | None, str | None]]:
    if not set(first) & set(second) and len(first) == len(second):
        return list(zip(first, second, strict=True))
    both = [(name, name if name in second else None) for name in first]
    return [*both, *((None, name) for name in second if name not in first)]


def _name(names: tuple[str | None, str | None]) -> str:
    return " / ".join(dict.fromkeys(name for name in names if name is not None))


def _figures(
    titles: Mapping[str, str], first: Mapping | None, second: Mapping | None
) -> dict[str, tuple[float | None, float | None]]:
    pairs = {title: (_find(first, key), _find(second, key)) for key, title in titles.items()}
    return {title: pair for title, pair in pairs.items() if pair != (None, None)}


def _find(summary: Mapping | None, key: str) -> float | None:
    value: object = summary
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]
