"""The data that a figure of a study shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from statistics import pstdev
from typing import Any, Literal, get_args

from windlass_lab.sweeps.cells import Panel, combinations_of
from windlass_lab.sweeps.columns import Axis

Kind = Literal["lines", "heat", "box"]
KINDS: Sequence[Kind] = get_args(Kind)
# A log scale is for values that grow at least so much from the first to the last.
_LOG_SPAN = 10


@dataclass(frozen=True)
class Shown:
    """The data of a figure of a study's runs: lines of means with their standard deviations, a heat
    map of means, or boxes of all runs.
    """

    kind: Kind
    x: Axis
    by: Sequence[Axis]
    means_over: Sequence[str]
    """The keys of the axes over whose values the means are taken, beside the seeds."""
    rows: Sequence[tuple[str, Sequence[Panel]]]
    """For each figure its column and its panels."""

    @property
    def group_title(self) -> str:
        """The titles of the axes whose values are the groups."""
        return ", ".join(axis.title for axis in self.by)

    @property
    def group_labels(self) -> list[str]:
        """The labels of all groups, each once, in the order of their axes' values."""
        return [label for _, label in combinations_of(self.by)]

    def bounds(self, y: str) -> tuple[float, float]:
        """The least and the greatest mean of a figure, in all of its panels."""
        means = [point["mean"] for point in self.points() if point["y"] == y]
        return min(means), max(means)

    @property
    def has_log_axis(self) -> bool:
        """Whether the values of x grow by factors rather than by steps."""
        values = [value for value in self.x.order if isinstance(value, float)]
        if len(values) < 3 or len(values) < len(self.x.order) or values[0] <= 0:
            return False
        steps = [b - a for a, b in pairwise(values)]
        factors = [log(b / a) for a, b in pairwise(values)]
        uneven = [pstdev(found) * len(found) / sum(found) for found in (steps, factors)]
        return values[-1] >= _LOG_SPAN * values[0] and uneven[1] < uneven[0]

    def facts(self) -> str:
        """The columns, the kind of the plot and the number of runs behind each point, in words."""
        cells = [len(figures) for _, panels in self.rows for p in panels for figures in _of(p)]
        least, most = min(cells), max(cells)
        runs = f"{most} run{'s' if most > 1 else ''}"
        each = runs if least == most else f"{least} to {runs}"
        over = f", over all values of {', '.join(self.means_over)}" if self.means_over else ""
        shown = {
            "lines": "means and standard deviations",
            "heat": "means",
            "box": "medians, quartiles, and runs beyond 1.5 times their distance",
        }[self.kind]
        by = f", by {', '.join(axis.key for axis in self.by)}" if self.by else ""
        ys = " and ".join(y for y, _ in self.rows)
        return f"{ys} against {self.x.key}{by}: {shown} of {each} each{over}."

    def points(self) -> list[dict[str, Any]]:
        """The means, a mapping per point: `y` (the column), `panel`, `group`, `x`, `mean`, `sd`
        (the standard deviation between the runs) and `runs` (their number).
        """
        return [
            {"y": y, "panel": panel.label, "group": group.label, "x": x}
            | {"mean": mean.mean, "sd": mean.sd, "runs": mean.count}
            for y, panels in self.rows
            for panel in panels
            for group in panel.groups
            for x, mean in group.means()
        ]


def _of(panel: Panel) -> list[Sequence[float]]:
    return [figures for group in panel.groups for _, figures in group.cells]
