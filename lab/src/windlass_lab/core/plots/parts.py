"""The parts of every plot, as plain data for Plotly: what is drawn, not in which colours (the
page's theme says that). A trace's `meta.colour` is a place in the page's palette, or the name of a
role.
"""

import csv
import io
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from windlass_lab.core.experiments.judge import Evidence
from windlass_lab.core.experiments.model import NamedCase
from windlass_lab.core.statistics.estimate import CaseResult, Estimate
from windlass_lab.core.text.numbers import figure

PALETTE_SIZE = 8
# Characters in a line of an axis title: what the width of a phone has room for.
_AXIS_WIDTH = 40
# Beside many curves a box with every value hides the plot.
FEW_FLOWS = 6
CSV_HEADINGS = ("panel", "curve", "x", "y", "sd")

Cases = Mapping[str, NamedCase]


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes."""

    id: str
    label: str
    spec: dict


@dataclass(frozen=True, slots=True)
class Drawn:
    """A plot ready for the page; `rows` are its values for those who read rather than look."""

    id: str
    figure: str
    title: str
    note: str
    panels: Sequence[Panel]
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    zoom_s: float | None = None
    zoom_from_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Material:
    """The results that plots show."""

    evidence: Evidence
    curves: Mapping[str, Sequence[Mapping]]
    reference_acks: Mapping[str, Sequence[Mapping]]


def axis_title(text: str) -> dict:
    """The title of an axis, in lines that a phone's plot has room for."""
    return {"text": "<br>".join(textwrap.wrap(text, _AXIS_WIDTH)) or text}


def line(label: str, index: int, x: Sequence, y: Sequence) -> dict:
    """A curve in the colour of place `index`."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label,
        "legendgroup": label,
        "x": x,
        "y": y,
        "line": {"width": 1.6, "dash": "solid" if index < PALETTE_SIZE else "dash"},
        "meta": {"colour": index % PALETTE_SIZE},
        "hovertemplate": "%{y:,.4~g}",
    }


def dotted(label: str, index: int, x: Sequence, y: Sequence) -> dict:
    """The reference's curve beside the measured one of the same name."""
    trace = line(label, index, x, y)
    hidden = {"showlegend": False, "hoverinfo": "skip", "opacity": 0.75}
    del trace["hovertemplate"]
    return trace | hidden | {"line": {"width": 1.4, "dash": "dot"}}


def with_spread(trace: dict, values: Sequence[Estimate | None]) -> dict:
    """The trace with whiskers of one standard deviation, where there is any."""
    spread = [value.sd if value else 0.0 for value in values]
    if not any(spread):
        return trace
    trace["error_y"] = {"type": "data", "array": spread, "thickness": 1.5, "width": 4}
    trace["hovertemplate"] = "%{y:,.4~g} ± %{error_y.array:,.2~g}"
    return trace


def value_of(case: CaseResult | None, key: str) -> Estimate | None:
    """A figure of a case that may not have been run."""
    return case.values.get(key) if case else None


def mean_of(value: Estimate | None) -> str:
    """The mean as text."""
    return figure(value.mean if value else None)


def as_csv(drawn: Drawn) -> str:
    """The values of a plot, a line a point; the page's button writes the same."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_HEADINGS)
    writer.writerows(_points(drawn))
    return out.getvalue()


def _points(drawn: Drawn) -> Iterator[Sequence]:
    for panel in drawn.panels:
        for trace in panel.spec["data"]:
            reference = trace.get("showlegend") is False and not trace.get("hovertemplate")
            name = f"{trace['name']} (reference)" if reference else trace["name"]
            spread = trace.get("error_y", {}).get("array", [None] * len(trace["x"]))
            for x, y, sd in zip(trace["x"], trace["y"], spread, strict=True):
                if y is not None:
                    yield panel.label, name.replace("<br>", ", "), _plain(x), y, sd


def _plain(x: object) -> object:
    return x.replace("<br>", ", ") if isinstance(x, str) else x
