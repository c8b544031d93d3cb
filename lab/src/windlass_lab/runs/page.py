"""The page of a figure of runs."""

from collections.abc import Mapping, Sequence

from windlass_lab.core.report.panel_page import Row, Table, render_panels
from windlass_lab.runs.panels import Runs, overview


def render(title: str, rows: Sequence[Row], runs: Runs) -> str:
    """The page of a figure of runs."""
    headings, flows = overview(runs)
    facts = [facts_of(label, run.summary) for label, run in runs]
    return render_panels(title, facts, rows, Table("Flows", headings, flows))


def facts_of(label: str, summary: Mapping) -> str:
    """The line above a run's figures: name, duration, seed, marks, drops and fairness index."""
    index = (summary.get("fairness_index") or {}).get("steady")
    fairness = f", fairness index {index:.3f}" if index is not None else ""
    marks, drops = summary.get("marks"), summary.get("drops")
    policed = f", {summary['policed']} policed before it" if "policed" in summary else ""
    return (
        f"{label}: {summary['name']}, {summary['duration_s']:g} s, seed {summary.get('seed')}; "
        f"{marks} marks and {drops} drops at the bottleneck{policed}{fairness}"
    )
