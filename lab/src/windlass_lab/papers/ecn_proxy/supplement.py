"""The parts of an experiment beyond the paper's tables: runs, verdicts, tables and plots."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from windlass_lab.core.experiments.model import Case, Experiment
from windlass_lab.core.pipeline.run_lines import Named
from windlass_lab.core.plots.parts import Drawn
from windlass_lab.core.statistics.ratios import ratio
from windlass_lab.core.verdicts.verdict import Asked, Comparison, Subject
from windlass_lab.papers.ecn_proxy.judge import held
from windlass_lab.papers.ecn_proxy.plan import START_S, Test
from windlass_lab.papers.ecn_proxy.runs import Run
from windlass_lab.papers.ecn_proxy.simulate import Simulated

Runs = Mapping[str, Sequence[Run]]
# Of a test whose figures are shown and not judged.
RUNS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Supplement:
    """An experiment that is not a table of the paper: simulated, or `real`, on kernels only.

    `most_runs` of each test are made, however many are asked for, and `RUNS_SHOWN` of those of the
    tests that `shown` returns, by which nothing is judged. `judge`, `tables`, `draw` and
    `files` take the runs by the names of the tests; `files` returns further CSV files by name.
    """

    experiment: Experiment
    tests: Callable[[], Sequence[Named]]
    most_runs: int
    judge: Callable[[Runs], list[Comparison]]
    tables: Callable[[Runs], list[dict]]
    draw: Callable[[Runs], list[Drawn]]
    files: Callable[[Runs], Mapping[str, str]] = field(default=lambda _runs: {})
    real: bool = False
    shown: Callable[[], Sequence[Named]] = field(default=tuple)


@dataclass(frozen=True, slots=True)
class Variant:
    """A test of the paper with some keys of its scenario replaced, under a name of its own.

    `limit_s` is for connections that may never end: the seconds at full size after which the run
    ends without them.
    """

    test: Test
    variant: str
    changed: Mapping[str, object] = field(hash=False)
    limit_s: float | None = None

    @property
    def name(self) -> str:
        """Its name in results."""
        return f"{self.test.name}@{self.variant}"

    @property
    def scenario(self) -> str:
        """The stem of its scenario file: that of the test."""
        return self.test.scenario

    @property
    def connections(self) -> int:
        """Connections at a time."""
        return self.test.connections

    def keys(self, scale: float) -> Mapping[str, object]:
        """The keys of the test, and those that it replaces itself."""
        keys = {**self.test.keys(scale), **self.changed}
        if self.limit_s is not None:
            keys["duration"] = f"{START_S + self.limit_s * scale:g}s"
        return keys

    def transfers(self, scale: float) -> int:
        """How many transfers each connection's place has."""
        return self.test.transfers(scale)


def case(test: Simulated, label: str) -> Case:
    """A test as the catalogue lists it."""
    return Case(test.name, label, scenario=test.scenario, overrides=test.keys(1.0))


def seconds(runs: Runs, test: Named) -> list[float]:
    """The completion times of a test's runs, in seconds; none if it was not run."""
    return [run.seconds for run in runs.get(test.name, ())]


def over(
    quantity: str,
    runs: Runs,
    above: Named,
    below: Named,
    asked: Asked | None,
    fewest: int,
    published: float | None = None,
    headline: bool = False,
) -> Comparison | None:
    """The median time of one test over that of another; None unless both were run. The interval
    of `fewest` runs or more decides whether it lies within what is asked.
    """
    measured = seconds(runs, above), seconds(runs, below)
    if not all(measured):
        return None
    found = ratio(*measured)
    subject = Subject(
        quantity,
        published=published,
        measured=found.estimate,
        headline=headline,
        case=above.name,
        fewest=fewest,
    )
    return held(subject, asked, found.interval if found.count > 1 else None)
