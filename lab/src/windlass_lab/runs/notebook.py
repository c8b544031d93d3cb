"""How a run shows itself in a notebook."""

from windlass_lab.core.errors import LabError
from windlass_lab.core.report.notebook_form import notebook_form
from windlass_lab.core.report.panel_page import Table
from windlass_lab.runs.figure import DEFAULT, compare
from windlass_lab.runs.page import facts_of
from windlass_lab.runs.panels import RunLike, overview


def show(run: RunLike) -> str:
    """The facts, the flows, and of a run that has kept time series a small plot, as HTML."""
    name = run.summary["name"]
    headings, flows = overview([(name, run)])
    try:
        drawing = compare([(name, run)], DEFAULT).drawing()
    except LabError:
        # No series was kept.
        drawing = None
    facts = facts_of(name, run.summary).partition(", ")[2]
    return notebook_form(name, [facts], Table("Flows", headings, flows), drawing)
