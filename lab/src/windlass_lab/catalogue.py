"""The catalogue: what the lab can run, as plain data.

A `Paper` has experiments; an experiment has cases (scenario files), checks on their figures and
plots. Nothing here runs anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from windlass_lab.errors import LabError
from windlass_lab.verdict import Tolerance


class Flows(StrEnum):
    """What a check looks at: the case as a whole, or each flow in turn."""

    TOGETHER = "together"
    EACH = "each"


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario file, `experiments/PAPER/NAME.toml`, and how the report calls it."""

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class SimpleModel:
    """A run of the paper's simple model.

    `name` is that of its reference figures; `published` is a table like `[published]` of a
    scenario, since no scenario file stands behind the model.
    """

    name: str
    label: str
    variant: str
    steps: int
    seeds: int
    published: Mapping


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure of the summary: its dotted `key`, its name in tables, its unit."""

    key: str
    label: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Near:
    """The measured mean lies within `tolerance` of `target` (None: of the reference mean)."""

    case: str
    quantity: Quantity
    tolerance: Tolerance
    flows: Flows = Flows.TOGETHER
    target: float | None = None
    headline: bool = False


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The measured mean is not below `bound`."""

    case: str
    quantity: Quantity
    bound: float
    headline: bool = False


@dataclass(frozen=True, slots=True)
class Ascending:
    """The figure rises from case to case."""

    cases: Sequence[str]
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class Shown:
    """The figure stands in the table and is not judged."""

    case: str
    quantity: Quantity
    flows: Flows = Flows.TOGETHER


Check = Near | AtLeast | Ascending | Shown


@dataclass(frozen=True, slots=True)
class SeriesPlot:
    """A column of the flows' time series, one panel a case, as in the paper's `figure`."""

    id: str
    figure: str
    title: str
    cases: Sequence[str]
    column: str
    axis: str
    with_reference: bool = False
    zoom_s: float | None = None


@dataclass(frozen=True, slots=True)
class BarPlot:
    """Published, reference and measured figure side by side: a group a case, or a flow."""

    id: str
    title: str
    cases: Sequence[str]
    quantity: Quantity
    flows: Flows = Flows.TOGETHER


Plot = SeriesPlot | BarPlot


@dataclass(frozen=True, slots=True)
class Experiment:
    """One figure, table or section of a paper."""

    id: str
    section: str
    title: str
    shows: str
    quick: bool
    seconds: float
    cases: Sequence[Case] = ()
    models: Sequence[SimpleModel] = ()
    checks: Sequence[Check] = ()
    plots: Sequence[Plot] = ()
    kind: str = "simulated"
    needs_root: bool = False


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose experiments the lab repeats."""

    id: str
    citation: str
    title: str
    question: str
    experiments: Sequence[Experiment]


def all_papers() -> list[Paper]:
    """Every paper in the catalogue."""
    from windlass_lab.new_ecn import NEW_ECN

    return [NEW_ECN]


def find(target: str, quick: bool) -> tuple[Paper, list[Experiment]]:
    """The paper and the experiments that `PAPER` or `PAPER/EXPERIMENT` names.

    `quick` leaves those of a whole paper that end in seconds. Raises `LabError` for a name that
    is not in the catalogue.
    """
    paper_id, _, experiment_id = target.partition("/")
    papers = {paper.id: paper for paper in all_papers()}
    if paper_id not in papers:
        raise LabError(f"no paper {paper_id!r} in the catalogue; there is: {', '.join(papers)}")
    paper = papers[paper_id]
    if not experiment_id:
        return paper, [e for e in paper.experiments if e.quick or not quick]
    chosen = [e for e in paper.experiments if e.id == experiment_id]
    if not chosen:
        known = ", ".join(f"{paper.id}/{e.id}" for e in paper.experiments)
        raise LabError(f"no experiment {target!r} in the catalogue; there is: {known}")
    return paper, chosen
