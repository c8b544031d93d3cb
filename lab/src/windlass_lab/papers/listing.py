"""The catalogue for people and for scripts."""

from collections.abc import Iterator

from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.core.files.output import envelope
from windlass_lab.core.text.numbers import table
from windlass_lab.papers.registry import all_papers

LIST_KIND = "lab.list"
HEADINGS = ("id", "title", "section", "takes about", "kind", "root", "quick")


def _pairs() -> Iterator[tuple[Paper, Experiment]]:
    return ((paper, experiment) for paper in all_papers() for experiment in paper.experiments)


def as_text() -> str:
    """Each paper with a table of its experiments, and what each shows."""
    parts = []
    for paper in all_papers():
        rows = [HEADINGS, *(_row(paper, experiment) for experiment in paper.experiments)]
        shows = [f"  {paper.id}/{e.id}: {e.shows}" for e in paper.experiments]
        parts.append("\n".join([f"{paper.id}: {paper.citation}\n", table(rows), "", *shows]))
    return "\n\n".join(parts)


def _row(paper: Paper, experiment: Experiment) -> tuple[str, ...]:
    return (
        f"{paper.id}/{experiment.id}",
        experiment.title,
        experiment.section,
        f"{experiment.seconds:g} s",
        experiment.kind,
        "needed" if experiment.needs_root else "no",
        "yes" if experiment.quick else "no",
    )


def as_json() -> dict:
    """The experiments, each an object; `seconds` is a rough time on two cores, 20 replicates."""
    return {**envelope(LIST_KIND), "experiments": [_object(*pair) for pair in _pairs()]}


def _object(paper: Paper, experiment: Experiment) -> dict:
    return {
        "id": f"{paper.id}/{experiment.id}",
        "paper": paper.citation,
        "section": experiment.section,
        "title": experiment.title,
        "shows": experiment.shows,
        "seconds": experiment.seconds,
        "kind": experiment.kind,
        "needs_root": experiment.needs_root,
        "quick": experiment.quick,
        "cases": list(experiment.named),
    }
