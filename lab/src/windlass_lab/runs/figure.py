"""Figures of runs: shown by a notebook, saved as a picture or a page."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from windlass_lab.core.errors import LabError
from windlass_lab.runs.panels import Row, Runs, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

DEFAULT = ("cwnd", "queue")
_PICTURES = (".svg", ".png", ".pdf")


@dataclass(frozen=True)
class Figure:
    """A figure. A notebook shows it; `save` writes it."""

    title: str
    rows: Sequence[Row]
    runs: Runs

    def save(self, path: str | Path) -> Path:
        """Writes a picture (.svg, .png, .pdf) or a page that needs nothing else (.html), by the
        name's ending. Raises `LabError` for other endings, or if the file cannot be written.
        """
        path = Path(path)
        kind = path.suffix.lower()
        if kind != ".html" and kind not in _PICTURES:
            raise LabError(f"{path}: expected a name that ends in .html, {', '.join(_PICTURES)}")
        content = self.html().encode() if kind == ".html" else self._picture(kind[1:])
        try:
            path.write_bytes(content)
        except OSError as error:
            raise LabError(f"{path}: cannot write: {error.strerror}") from None
        return path

    def html(self) -> str:
        """The page, which needs no network."""
        from windlass_lab.runs.page import render

        return render(self.title, self.rows, self.runs)

    def drawing(self) -> Drawing:
        """The figure of matplotlib, to be changed before it is saved."""
        from windlass_lab.runs.picture import draw

        return draw(self.rows)

    def _picture(self, kind: str) -> bytes:
        out = io.BytesIO()
        # Without a date the same run gives the same bytes.
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        self.drawing().savefig(out, format=kind, dpi=150, metadata=metadata)
        return out.getvalue()

    def _repr_png_(self) -> bytes:
        return self._picture("png")


def compare(runs: Runs, what: Sequence[str] = DEFAULT) -> Figure:
    """A figure of runs side by side, each with its label. `what` are names of
    `windlass_lab.runs.panels.QUANTITIES`. Raises `LabError` for other names, and if no run has any
    of it.
    """
    return Figure(" and ".join(label for label, _ in runs), rows_of(runs, what), runs)
