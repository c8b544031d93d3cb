"""The catalogue: what the lab can run, as plain data.

A `Paper` has experiments; an experiment has cases (scenario files), checks on their figures and
plots. Nothing here runs anything.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from windlass_lab.core.experiments.servers import ServerCase
from windlass_lab.core.statistics.bounds import Bounds
from windlass_lab.core.verdicts.criterion import Criterion
from windlass_lab.core.verdicts.verdict import Tolerance

# The TCP stacks that a testbed can run.
KERNEL, TOU = "kernel", "ToU"


class Flows(StrEnum):
    """The scope of a check: the case as a whole, or each flow in turn."""

    TOGETHER = "together"
    EACH = "each"


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario file and how the report calls it.

    The file is `experiments/PAPER/SCENARIO.toml`, by default of the case's own name; `overrides`
    replace keys of it. `most_replicates` bounds the replicates of a case that need not be exact.
    `beside` names the cycle model whose figures it is held against. `first_seed` is that of its
    replicates, where a criterion was committed before they were run. With `window_spread` each run
    also gives the spread of its first flow's window over time, `cwnd_sd_steady`.
    """

    name: str
    label: str
    scenario: str = ""
    overrides: Mapping[str, object] = field(default_factory=dict)
    most_replicates: int | None = None
    beside: str = ""
    first_seed: int | None = None
    window_spread: bool = False

    @property
    def stem(self) -> str:
        """The name of the scenario file."""
        return self.scenario or self.name


@dataclass(frozen=True, slots=True)
class KernelCase:
    """A testbed, run several times on this machine's kernel: each figure is the median.

    The file is `lab/testbeds/TESTBED.toml`; `time_s` replaces its duration. The figures are
    compared with those of the simulator's case `beside`. `most_runs` bounds the runs. `stack` names
    the TCP: the kernel's, or another over the kernel's UDP.
    """

    name: str
    label: str
    testbed: str
    beside: str
    time_s: float | None = None
    most_runs: int | None = None
    stack: str = KERNEL


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
class CycleModel:
    """The cycle model of New-ECN with these arguments of `windlass sim cycle-model`."""

    name: str
    label: str
    arguments: Sequence[str]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Figures that follow from rules alone: computed, not run. `published` is a table like
    `[published]` of a scenario.
    """

    name: str
    label: str
    figures: Callable[[], Mapping]
    published: Mapping = field(default_factory=dict)


NamedCase = Case | SimpleModel | CycleModel | Arithmetic | KernelCase | ServerCase


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure of the summary: its dotted `key`, its name in tables, its unit."""

    key: str
    label: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Near:
    """The measured mean lies within `tolerance` of `target` (None: of the reference mean).

    `by_construction`: what is measured was built to be so. `claim`: that the two agree is a claim,
    which may be wrong, and not what keeps the lab in order.
    """

    case: str
    quantity: Quantity
    tolerance: Tolerance
    flows: Flows = Flows.TOGETHER
    target: float | None = None
    headline: bool = False
    by_construction: bool = False
    claim: bool = False
    criterion: Criterion = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The measured mean is not below `bound`."""

    case: str
    quantity: Quantity
    bound: float
    headline: bool = False
    by_construction: bool = False
    exact: bool = False
    criterion: Criterion = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Effect:
    """The figure of `case` over that of `beside`, judged by the confidence interval of the ratio.

    `says` is what is claimed of it, `means` the bounds by which that is judged. `must` are those
    that the ratio has to meet by theory. `exact`: theory, the same in every run.
    """

    case: str
    beside: str
    quantity: Quantity
    says: str = ""
    means: Bounds | None = None
    must: Bounds | None = None
    headline: bool = False
    exact: bool = False
    criterion: Criterion = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Compared:
    """The figure of `case` over that of `beside`, with its interval, and not judged."""

    case: str
    beside: str
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim on a figure in words, `says`, and the bounds by which it is judged.

    The verdict on the claim is all there is, but for what was built to be so (`by_construction`).
    `exact`: the figure is not that of a sample.
    """

    case: str
    quantity: Quantity
    says: str
    means: Bounds
    headline: bool = False
    by_construction: bool = False
    exact: bool = False
    criterion: Criterion = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Ascending:
    """The figure rises from case to case. `says` is what the paper has of it: then the order is a
    claim, and not what keeps the lab in order.
    """

    cases: Sequence[str]
    quantity: Quantity
    says: str = ""
    criterion: Criterion = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Shown:
    """The figure stands in the table and is not judged."""

    case: str
    quantity: Quantity
    flows: Flows = Flows.TOGETHER


class PairFigure(StrEnum):
    """A figure of two flows: the ratio of their means, or the exponent of the ratio of their
    smoothed RTTs that gives it.
    """

    RATIO = "ratio"
    EXPONENT = "exponent"


@dataclass(frozen=True, slots=True)
class Pairs:
    """A figure of each two flows lies within `tolerance` of the reference's.

    `published` is by the pair's name, `1:4` being the slowest flow and the fastest of four.
    """

    case: str
    figure: PairFigure
    quantity: Quantity
    published: Mapping[str, float]
    tolerance: Tolerance
    criterion: Criterion = field(kw_only=True)


Judged = Near | AtLeast | Effect | Statement | Ascending | Pairs
Check = Judged | Compared | Shown


@dataclass(frozen=True, slots=True)
class SeriesPlot:
    """A column of the time series, one panel a case, as in the paper's `figure`.

    A button shows the span from `zoom_from_s` to `zoom_s`.
    `says` is what the paper reads from its figure; `keys` are the quantities whose comparisons say
    whether this one agrees.
    """

    id: str
    figure: str
    title: str
    cases: Sequence[str]
    column: str
    axis: str
    with_reference: bool = False
    zoom_s: float | None = None
    zoom_from_s: float = 0.0
    says: str = ""
    keys: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class TracePlot:
    """The same column of the two flows of a case against each other."""

    id: str
    figure: str
    title: str
    cases: Sequence[str]
    column: str
    axis: str
    says: str = ""
    keys: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class BarPlot:
    """Published, reference and measured figure side by side: a group a case, or a flow."""

    id: str
    title: str
    cases: Sequence[str]
    quantity: Quantity
    flows: Flows = Flows.TOGETHER
    figure: str = ""
    says: str = ""
    keys: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """Cases in a row: what stands on the x axis, and the case."""

    label: str
    points: Sequence[tuple[float | str, str]]
    reference: Sequence[tuple[float | str, float]] = ()


@dataclass(frozen=True, slots=True)
class SweepPlot:
    """A figure over cases: as lines over a number (`log`, `log_y`: on logarithmic axes), or as
    groups of bars where the x values are names. `with_reference`: the reference's figures beside
    them.
    """

    id: str
    title: str
    lines: Sequence[Line]
    quantity: Quantity
    axis: str
    log: bool = False
    figure: str = ""
    says: str = ""
    keys: Sequence[str] = ()
    with_reference: bool = False
    log_y: bool = False

    @property
    def cases(self) -> list[str]:
        """Every case on it."""
        return [case for line in self.lines for _, case in line.points]


@dataclass(frozen=True, slots=True)
class TestsPlot:
    """Of servers, a panel each: packets with new data, sent again, in all, and bytes, by test."""

    # pytest takes it for a class of tests otherwise.
    __test__ = False

    id: str
    title: str
    cases: Sequence[str]
    figure: str = ""
    says: str = ""
    keys: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class HistogramPlot:
    """How many of something there are by a figure: what stands in the summary below `key`."""

    id: str
    title: str
    case: str
    key: str
    axis: str
    figure: str = ""
    says: str = ""
    keys: Sequence[str] = ()

    @property
    def cases(self) -> list[str]:
        """The one that it is of."""
        return [self.case]


Plot = SeriesPlot | TracePlot | BarPlot | SweepPlot | TestsPlot | HistogramPlot


def columns(stack: str) -> tuple[str, str]:
    """The headings of reference and measured figures. For a kernel's TCP, or another in a testbed,
    the reference is the simulator. `stack` is empty for none.
    """
    return ("simulator", stack) if stack else ("reference", "measured")


@dataclass(frozen=True, slots=True)
class Experiment:
    """One figure, table or section of a paper; the report has them by `chapter`.

    A `short` one is what others are in short: it runs if asked for by name, or `--quick`. One that
    is `by_name` runs if asked for by name alone: it takes longer than the paper's others together.
    `first_result` is the day on which a result of it was first known.
    """

    id: str
    chapter: str
    section: str
    title: str
    shows: str
    quick: bool
    seconds: float
    first_result: date
    cases: Sequence[Case] = ()
    models: Sequence[SimpleModel] = ()
    cycle_models: Sequence[CycleModel] = ()
    arithmetic: Sequence[Arithmetic] = ()
    kernels: Sequence[KernelCase] = ()
    servers: Sequence[ServerCase] = ()
    checks: Sequence[Check] = ()
    plots: Sequence[Plot] = ()
    kind: str = "simulated"
    needs_root: bool = False
    tables: Sequence["PowerTable | ServersTable"] = ()
    reading: str = ""
    short: bool = False
    by_name: bool = False

    @property
    def named(self) -> Mapping[str, NamedCase]:
        """All that is run for it, by name."""
        kinds: tuple[Sequence[NamedCase], ...] = (
            self.cases,
            self.models,
            self.cycle_models,
            self.arithmetic,
            self.kernels,
            self.servers,
        )
        return {case.name: case for kind in kinds for case in kind}

    @property
    def columns(self) -> tuple[str, str]:
        """The headings of its reference and measured columns."""
        if self.cycle_models:
            return "model", "simulator"
        return columns(self.kernels[0].stack if self.kernels else "")


@dataclass(frozen=True, slots=True)
class PowerTable:
    """The ratio of smoothed RTTs to a power, less the ratio of `key`, for each two flows.

    `published` has a row a power: the power, then a figure a pair.
    """

    caption: str
    case: str
    key: str
    base: str
    published: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class ServersTable:
    """Published beside measured, of each of these servers and tests."""

    caption: str
    cases: Sequence[str]
    tests: Sequence[str] = ("A",)


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose experiments the lab repeats.

    `modern` names, by case, the case that is the same with a modern stack; `against` is what its
    figures are held against; `claim` what the paper says it found. The page of a result begins with
    the first of `main_plots` that it has, or with its first plot.
    """

    id: str
    citation: str
    title: str
    question: str
    experiments: Sequence[Experiment]
    modern: Mapping[str, str] = field(default_factory=dict)
    against: str = "the reference"
    claim: str = ""
    main_plots: Sequence[str] = ()
