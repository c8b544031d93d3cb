"""The base of every figure: a notebook can show it, and it can be saved as a picture or a page."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.output import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_PICTURES = (".svg", ".png", ".pdf")


class SavedFigure(ABC):
    """A figure. A notebook shows it; `save` writes it."""

    @abstractmethod
    def html(self) -> str:
        """The page, which needs no network."""

    @abstractmethod
    def drawing(self) -> Drawing:
        """The figure of matplotlib, to be changed before it is saved."""

    def save(self, path: str | Path) -> Path:
        """Writes a picture (.svg, .png, .pdf) or a page that needs nothing else (.html), by the
        name's ending. Raises `LabError` for other endings, or if the file cannot be written.
        """
        path = Path(path)
        kind = path.suffix.lower()
        if kind != ".html" and kind not in _PICTURES:
            raise LabError(f"{path}: expected a name that ends in .html, {', '.join(_PICTURES)}")
        content = self.html().encode() if kind == ".html" else self._picture(kind[1:])
        write_atomically(path, content)
        return path

    def _picture(self, kind: str) -> bytes:
        out = io.BytesIO()
        # Without a date the same figure gives the same bytes.
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        self.drawing().savefig(out, format=kind, dpi=150, metadata=metadata)
        return out.getvalue()

    def _repr_png_(self) -> bytes:
        return self._picture("png")
