"""The experiments in the lab's catalogue."""

from windlass_lab.core.experiments.model import Experiment
from windlass_lab.papers.tou.beside import criteria, plan

JUDGED, PILOT = "beside", "beside-pilot"
CELLS = {JUDGED: plan.judged_cells, PILOT: plan.pilot_cells}
_CHAPTER = "Beside the kernel's TCP on one link"


def experiments() -> list[Experiment]:
    """The experiments, which run if asked for by name: they are none of the paper's."""
    return [
        _experiment(JUDGED, "How ToU and the kernel's TCP share a link", 4500.0),
        _experiment(PILOT, "The cells by which the default was chosen", 3000.0),
    ]


def _experiment(id_: str, title: str, seconds: float) -> Experiment:
    return Experiment(
        id=id_,
        chapter=_CHAPTER,
        section="Coexistence",
        title=title,
        shows="Half of the flows are the kernel's CUBIC, half are ToU's or, to compare with, the "
        "kernel's as well. A share is what one side got for each bit of the other.",
        quick=False,
        seconds=seconds,
        first_result=criteria.FIRST_BESIDE,
        kind="testbed",
        needs_root=True,
        short=True,
    )
