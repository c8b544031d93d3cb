"""Papers whose tests have names: each test is run several times, by its number.

A paper says by a `Campaign` which tests there are, how one is run, and how the runs are judged and
drawn. Here they are run, kept, continued after an interruption, and gathered into a result.
"""

import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

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
Wanted = Sequence[tuple[T, int]]
# The runs of each test by its name: a sequence for each, or by their numbers.
Runs = Mapping[str, Any]
# How often a run is made that counts for nothing.
_ATTEMPTS = 3


def seeds(request: Request) -> range:
    """The numbers of a test's runs where they are seeds."""
    assert request.runs is not None
    return range(request.seed, request.seed + request.runs)


def tables(comparisons: Sequence[Comparison]) -> list[dict]:
    """The comparisons of an experiment as tables; those of a reference have a column for it."""
    columns = ["reference"] if any(each.reference for each in comparisons) else []
    return verdict_tables(comparisons, [*columns, "measured"])


@dataclass(frozen=True, kw_only=True)
class Campaign(Generic[T, R]):
    """The tests of some experiments, whose runs are dataclasses that `read` makes of their fields.

    How tests run:
    - `settled`: the request with the paper's defaults; its `runs` is then a number.
    - `tests`: all tests of the experiments. Raises `LabError` where this method has none.
    - `possible`: those of the chosen tests that can run here. Raises `LabError` for a machine that
      lacks something.
    - `numbers`, `most_runs`: the numbers of a test's runs, and how many of them a test has.
    - `inputs`: on which runs depend beside the binary. With other inputs they are made again.
    - `measure`: runs tests and adds the runs to the store; by default `run_processes`, which
      starts `module` with an `order` for each (`child.obey`), as `scheduler` allows.
    - `label`, `outcome`: a run and its result in a line of progress.
    - `complaint`: the reason for which a run counts for nothing and is repeated, or empty.
    - `stops`: a run that fails ends the others. Otherwise its error is raised when they are done.

    The result:
    - `reported`: the runs that it holds, of all tests or of the chosen ones. With `by_number` runs
      of a test have their numbers as keys.
    - `published`: published figures by test. `jitter_ms`: of simulated runs.
    - `documents`: the documents of the experiments, with the verdicts.
    - `command`: the command line that makes it; the second argument are its options `--tests`.
    - `content`, `verdict_tables`: an experiment on the page.
    """

    module: str
    read: Callable[..., R]
    settled: Callable[[Request], Request]
    tests: Callable[[Request], Sequence[T]]
    inputs: Callable[[Request, Sequence[T]], Mapping[str, object]]
    order: Callable[[T, int, Request], Mapping[str, object]]
    outcome: Callable[[R], str]
    reported: Callable[[RunLines[R], Sequence[T], Sequence[T], Request], Runs]
    documents: Callable[[Request, Runs], list[dict]]
    command: Callable[[Request, str], str]
    content: Callable[[Experiment, Runs, Mapping], Content]
    possible: Callable[[Sequence[T], Request], Sequence[T]] = lambda chosen, _request: chosen
    numbers: Callable[[Request], range] = seeds
    most_runs: Callable[[T, Request], int | None] = lambda _test, request: request.runs
    measure: "Callable[[Campaign, Wanted[T], Request, RunLines[R]], None] | None" = None
    scheduler: Callable[[Request], pool.Scheduler] = lambda request: pool.at_most(request.jobs)
    label: Callable[[T, int], str] = lambda test, number: f"{test.name}, run {number}"
    complaint: Callable[[R], str] = lambda _run: ""
    stops: bool = False
    by_number: bool = False
    published: Callable[[Sequence[T]], dict[str, dict]] = lambda _chosen: {}
    jitter_ms: int = 0
    verdict_tables: Callable[[Sequence[Comparison]], list[dict]] = tables

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
            "jitter_ms": 0 if request.real else self.jitter_ms,
            "seed": request.seed,
        }
        globs = "".join(f"--tests '{glob}' " for glob in request.tests)
        results = result_document(
            request.paper,
            how,
            origin,
            [self.command(request, globs)],
            self.published(chosen),
            {name: {"runs": self._as_json(found)} for name, found in runs.items() if found},
        )
        results["experiments"] = self.documents(request, runs)
        return results, no_series(request.paper)

    def files(self, paper: Paper, results: Mapping, _series: Mapping) -> dict[str, str]:
        """Every file that is made from a result, by its path in the directory."""
        runs = {name: self._from_json(of["runs"]) for name, of in results["summaries"].items()}
        experiments = {experiment.id: experiment for experiment in paper.experiments}
        sections: list[dict] = []
        data: dict[str, str] = {}
        for document in results["experiments"]:
            experiment = experiments[document["id"]]
            comparisons = [Comparison.from_json(entry) for entry in document["comparisons"]]
            content = self.content(experiment, runs, results)
            found = self.verdict_tables(comparisons)
            sections.append(section(experiment, comparisons, found, content))
            data |= content.files
        return paper_files(paper, results, sections, data)

    def run_processes(self, wanted: Wanted[T], request: Request, store: RunLines[R]) -> None:
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

    def _run_missing(self, chosen: Sequence[T], request: Request, store: RunLines[R]) -> None:
        # Every test once, then every test again: what is broken off has something of each.
        wanted = [
            (test, number)
            for made, number in enumerate(self.numbers(request))
            for test in chosen
            if made < (self.most_runs(test, request) or 0)
        ]
        missing = [(test, n) for test, n in wanted if (test.name, n) not in store.runs]
        if len(missing) < len(wanted):
            there = len(wanted) - len(missing)
            request.progress(f"{there} of {len(wanted)} runs are there already")
        if self.measure:
            self.measure(self, missing, request, store)
        else:
            self.run_processes(missing, request, store)

    def _as_json(self, runs: Any) -> object:
        if self.by_number:
            return {str(number): asdict(run) for number, run in runs.items()}
        return [asdict(run) for run in runs]

    def _from_json(self, runs: Any) -> Any:
        if self.by_number:
            return {int(number): self.read(**run) for number, run in runs.items()}
        return [self.read(**run) for run in runs]


def _binary(request: Request) -> dict[str, object]:
    """The binary among the inputs of a run."""
    binary = request.windlass.path.stat()
    return {
        "version": request.windlass.version(),
        "binary": [binary.st_size, binary.st_mtime_ns],
    }
