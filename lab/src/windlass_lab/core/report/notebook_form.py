"""How results show themselves in a notebook: lines of facts, a small plot and a table, as HTML."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from windlass_lab.core.report.panel_page import Table

# More rows than that push the next cell off the screen.
_ROWS_MAX = 20
_WIDTH_PX = 720


def notebook_form(
    title: str, facts: Sequence[str], table: Table | None = None, drawing: Drawing | None = None
) -> str:
    """The HTML. Texts are escaped; a long table is cut, and says so."""
    parts = [f"<p><strong>{escape(title)}</strong></p>"]
    parts += [f"<p>{escape(fact)}</p>" for fact in facts]
    if drawing is not None:
        parts.append(_inline(drawing))
    if table is not None:
        parts.append(_table(table))
    return f'<div class="windlass">{"".join(parts)}</div>'


def _table(table: Table) -> str:
    head = _row("th", table.headings)
    body = "".join(_row("td", row) for row in table.rows[:_ROWS_MAX])
    left = len(table.rows) - _ROWS_MAX
    more = f"<p>and {left:,} rows more</p>" if left > 0 else ""
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{more}"


def _row(kind: str, cells: Iterable[object]) -> str:
    inside = "".join(f"<{kind}>{escape(str(cell))}</{kind}>" for cell in cells)
    return f"<tr>{inside}</tr>"


def _inline(drawing: Drawing) -> str:
    """The drawing as an SVG element that fits the notebook's width."""
    import matplotlib as mpl

    out = io.StringIO()
    # Text stays text, which is smaller than its outlines; the ids of the same drawing are the same.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "windlass"}):
        drawing.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    style = f'style="max-width: {_WIDTH_PX}px; width: 100%; height: auto" '
    return "<svg " + style + text[text.index("<svg ") + len("<svg ") :]
