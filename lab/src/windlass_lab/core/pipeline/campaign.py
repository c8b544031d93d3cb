"""Papers whose tests have names: each test is run several times, by its number.

A paper says by a `Campaign` which tests there are, how one is run, and how the runs are judged and
drawn. Here they are run, kept, continued after an interruption, and gathered into a result.
"""

import subprocess
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from windlass_lab.core.errors import RunError
from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.core.files import output
from windlass_lab.core.pipeline import child, pool
from windlass_lab.core.pipeline.choose import select
from windlass_lab.core.pipeline.document import Origin, result_document
from windlass_lab.core.pipeline.reproduce import no_series
from windlass_lab.core.pipeline.request import Request
from windlass_lab.core.pipeline.run_lines import Named, RunLines
from windlass_lab.core.report.page import verdict_tables
from windlass_lab.core.report.report import Content, paper_files, section
from windlass_lab.core.verdicts.verdict import Comparison

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound=Named)
R = TypeVar("R", bound="DataclassInstance")
# How often a run is made that counts for nothing.
_ATTEMPTS = 3
# The runs of each test by its name: a sequence for each, or by their numbers.
Runs = Mapping[str, Any]


class Campaign(ABC, Generic[T, R]):
    """The tests of some experiments, with runs that are dataclasses `R`.

    `module` runs one test in a process of its own (`child.obey`). With `stops`, a run that fails
    ends the others; without, its error is raised when the others are done.
    """

    module: ClassVar[str]
    stops: ClassVar[bool] = False
    read: Callable[..., R]

    @abstractmethod
    def settled(self, request: Request) -> Request:
        """The request with the paper's defaults; `runs` is then a number."""

    @abstractmethod
    def tests(self, request: Request) -> Sequence[T]:
        """All tests of the experiments. Raises `LabError` where there are none of this method."""

    def possible(self, chosen: Sequence[T], _request: Request) -> Sequence[T]:
        """The tests that can run here. Raises `LabError` where this machine lacks something."""
        return chosen

    def numbers(self, request: Request) -> range:
        """The numbers of a test's runs: their seeds."""
        assert request.runs is not None
        return range(request.seed, request.seed + request.runs)

    def most_runs(self, _test: T, request: Request) -> int:
        """The number of runs of a test, at most."""
        return len(self.numbers(request))

    @abstractmethod
    def inputs(self, request: Request, tests: Sequence[T]) -> Mapping[str, object]:
        """On which the runs depend beside the binary: others make them again."""

    def measure(
        self, missing: Sequence[tuple[T, int]], request: Request, store: RunLines[R]
    ) -> None:
        """Runs tests with these numbers and adds the runs to the store. Raises `RunError`."""
        self.run_processes(missing, request, store)

    @abstractmethod
    def order(self, test: T, number: int, request: Request) -> Mapping[str, object]:
        """The order for the process that runs a test."""

    def label(self, test: T, number: int) -> str:
        """The name of a run in a line of progress."""
        return f"{test.name}, run {number}"

    @abstractmethod
    def outcome(self, run: R) -> str:
        """A run in a line of progress."""

    def scheduler(self, request: Request) -> pool.Scheduler:
        """Which tests run at the same time."""
        return pool.at_most(request.jobs)

    def complaint(self, _run: R) -> str:
        """The reason for which a run counts for nothing and is repeated; empty for none."""
        return ""

    @abstractmethod
    def reported(
        self, store: RunLines[R], tests: Sequence[T], chosen: Sequence[T], request: Request
    ) -> Runs:
        """The runs that the result holds, of all tests or of the chosen ones."""

    def published(self, _chosen: Sequence[T]) -> dict[str, dict]:
        """Published figures by test."""
        return {}

    @abstractmethod
    def documents(self, request: Request, runs: Runs) -> list[dict]:
        """The documents of the experiments: the verdicts on the runs."""

    @abstractmethod
    def command(self, request: Request, globs: str) -> str:
        """The command line that makes the result; `globs` are its options `--tests`."""

    @abstractmethod
    def content(self, experiment: Experiment, runs: Runs, results: Mapping) -> Content:
        """The tables and plots of an experiment."""

    def verdict_tables(self, comparisons: Sequence[Comparison]) -> list[dict]:
        """The comparisons of an experiment as tables."""
        columns = ["reference"] if any(each.reference for each in comparisons) else []
        return verdict_tables(comparisons, [*columns, "measured"])

    def as_json(self, runs: Any) -> object:
        """The runs of a test in a result."""
        return [asdict(run) for run in runs]

    def from_json(self, runs: Any) -> Any:
        """The runs of a test from a result."""
        return [self.read(**run) for run in runs]

    def reproduce(self, request: Request) -> tuple[dict, dict]:
        """Runs the missing tests; returns the documents for results.json and series.json.

        Raises `LabError` where it cannot start, `RunError` where a run fails; the runs made before
        that are kept, and `resume` continues from them.
        """
        request.refuse_check()
        request = self.settled(request)
        tests = self.tests(request)
        chosen = self.possible(select(tests, request.tests), request)
        origin = Origin(request.windlass)
        made_by = {**_binary(request), **self.inputs(request, tests)}
        store = RunLines(request.folder / output.RUN_LINES, made_by, request.resume, self.read)
        try:
            self._run_missing(chosen, request, store)
        finally:
            store.close()
        runs = self.reported(store, tests, chosen, request)
        how = {
            "method": "real" if request.real else "simulated",
            "scale": request.scale,
            "replicates": request.runs,
            "jitter_ms": self.jitter_ms(request),
            "seed": request.seed,
        }
        globs = "".join(f"--tests '{glob}' " for glob in request.tests)
        results = result_document(
            request.paper,
            how,
            origin,
            [self.command(request, globs)],
            self.published(chosen),
            {name: {"runs": self.as_json(of_test)} for name, of_test in runs.items() if of_test},
        )
        results["experiments"] = self.documents(request, runs)
        return results, no_series(request.paper)

    def jitter_ms(self, _request: Request) -> int:
        """The range of the random delay before each connection, in ms."""
        return 0

    def files(self, paper: Paper, results: Mapping, _series: Mapping) -> dict[str, str]:
        """Every file that is made from a result, by its path in the directory."""
        runs = {name: self.from_json(of["runs"]) for name, of in results["summaries"].items()}
        experiments = {experiment.id: experiment for experiment in paper.experiments}
        sections: list[dict] = []
        data: dict[str, str] = {}
        for document in results["experiments"]:
            experiment = experiments[document["id"]]
            comparisons = [Comparison.from_json(entry) for entry in document["comparisons"]]
            content = self.content(experiment, runs, results)
            tables = self.verdict_tables(comparisons)
            sections.append(section(experiment, comparisons, tables, content))
            data |= content.files
        return paper_files(paper, results, sections, data)

    def _run_missing(self, chosen: Sequence[T], request: Request, store: RunLines[R]) -> None:
        # Every test once, then every test again: what is broken off has something of each.
        wanted = [
            (test, number)
            for made, number in enumerate(self.numbers(request))
            for test in chosen
            if made < self.most_runs(test, request)
        ]
        missing = [(test, n) for test, n in wanted if (test.name, n) not in store.runs]
        if len(missing) < len(wanted):
            there = len(wanted) - len(missing)
            request.progress(f"{there} of {len(wanted)} runs are there already")
        self.measure(missing, request, store)

    def run_processes(
        self, wanted: Sequence[tuple[T, int]], request: Request, store: RunLines[R]
    ) -> None:
        """Runs each test in a process of its own, several at a time. Raises `RunError`."""
        failed: list[RunError] = []
        attempts: Counter[tuple[T, int]] = Counter()

        def start(each: tuple[T, int]) -> subprocess.Popen:
            return child.start(self.module, self.order(*each, request))

        def ended(each: tuple[T, int], process: subprocess.Popen, done: int) -> bool:
            label = f"[{done}/{len(wanted)}] {self.label(*each)}"
            try:
                run = self.read(**child.result(each[0].name, process))
            except RunError as error:
                if self.stops:
                    raise
                failed.append(error)
                request.progress(f"{label}: {error}")
                return False
            attempts[each] += 1
            complaint, outcome = self.complaint(run), f"{label}: {self.outcome(run)}"
            if complaint and attempts[each] == _ATTEMPTS:
                advice = "run fewer at a time (--parallel)"
                raise RunError(f"{label}: {complaint} {_ATTEMPTS} times: {advice}")
            if complaint:
                request.progress(f"{outcome}; {complaint}: once more")
                return True
            store.add(*each, run)
            request.progress(outcome)
            return False

        pool.run_all(wanted, self.scheduler(request), start, ended)
        if failed:
            raise failed[0]


def _binary(request: Request) -> dict[str, object]:
    """The binary among the inputs of a run."""
    binary = request.windlass.path.stat()
    return {
        "version": request.windlass.version(),
        "binary": [binary.st_size, binary.st_mtime_ns],
    }
