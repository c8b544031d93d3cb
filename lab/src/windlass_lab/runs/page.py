"""The page of a figure of runs: one HTML file that needs nothing else."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from plotly.offline import get_plotlyjs

from windlass_lab.core.page import embedded, environment
from windlass_lab.runs.panels import Row, Runs, overview


def render(title: str, rows: Sequence[Row], runs: Runs) -> str:
    """The page of a figure."""
    headings, flows = overview(runs)
    template = environment().get_template("runs.html.j2")
    return template.render(
        title=title,
        rows=rows,
        facts=[_facts(label, run.summary) for label, run in runs],
        headings=headings,
        flows=flows,
        specs=embedded({panel.id: panel.spec for row in rows for panel in row.panels}),
        plotly=Markup(get_plotlyjs()),
    )


def _facts(label: str, summary: Mapping) -> str:
    """What one reads of a run first."""
    index = (summary.get("fairness_index") or {}).get("steady")
    fairness = f", fairness index {index:.3f}" if index is not None else ""
    marks, drops = summary.get("marks"), summary.get("drops")
    return (
        f"{label}: {summary['name']}, {summary['duration_s']:g} s, seed {summary.get('seed')}; "
        f"{marks} marks and {drops} drops at the bottleneck{fairness}"
    )
