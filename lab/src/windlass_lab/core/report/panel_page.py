"""A page of plots and a table: one HTML file that needs nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass

from windlass_lab.core.plots.parts import Panel
from windlass_lab.core.report.page import environment, packed_json, plotting_library


@dataclass(frozen=True)
class Row:
    """Panels side by side that show one thing."""

    id: str
    title: str
    unit: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Table:
    """The table below the plots."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


def render_panels(title: str, facts: Sequence[str], rows: Sequence[Row], *tables: Table) -> str:
    """The page; `facts` are lines below its title, and the tables stand below the plots."""
    return (
        environment()
        .get_template("panels.html.j2")
        .render(
            title=title,
            rows=rows,
            facts=facts,
            tables=tables,
            specs=packed_json({panel.id: panel.spec for row in rows for panel in row.panels}),
            library=plotting_library(),
        )
    )
