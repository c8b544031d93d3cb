"""The plot that the page of a paper begins with, kept for the front page of all papers."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.core.files import output
from windlass_lab.core.plots.parts import Drawn, Panel

KIND, SCHEMA = "lab.main-plot", 1


def main_plot(paper: Paper, sections: Sequence[Mapping]) -> tuple[Drawn, Experiment] | None:
    """The first of the paper's main plots that there is, else its first plot, and the experiment;
    `None` where there is no plot.
    """
    drawn = [(plot, s["experiment"]) for s in sections for plot in s["drawn"] if plot.panels]
    by_id = {plot.id: (plot, experiment) for plot, experiment in drawn}
    found = [by_id[id_] for id_ in paper.main_plots if id_ in by_id] or drawn
    return found[0] if found else None


def as_json(drawn: Drawn) -> str:
    """The plot as it is kept beside a result."""
    return json.dumps({"schema": SCHEMA, "kind": KIND, "plot": dataclasses.asdict(drawn)}) + "\n"


def read(folder: Path, paper: str) -> Drawn | None:
    """The plot beside a paper's result, under ids that are the paper's own on a page of several;
    `None` where a result has none.
    """
    try:
        document = json.loads((folder / output.MAIN_PLOT).read_text(encoding="utf-8"))
    except OSError:
        return None
    plot = document["plot"]
    panels = [Panel(**panel | {"id": f"{paper}-{panel['id']}"}) for panel in plot["panels"]]
    return Drawn(**plot | {"id": f"{paper}-{plot['id']}", "panels": panels})
