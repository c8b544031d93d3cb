"""Runs the cells on this machine, several testbeds at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from windlass_lab.core import provenance
from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.pipeline.campaign import Campaign, Runs
from windlass_lab.core.pipeline.document import experiment_document
from windlass_lab.core.pipeline.request import Request
from windlass_lab.core.pipeline.run_lines import RunLines
from windlass_lab.core.report.report import Content
from windlass_lab.papers.tou.beside import plan, topology
from windlass_lab.papers.tou.beside.catalogue import CELLS, JUDGED
from windlass_lab.papers.tou.beside.judge import judge, table
from windlass_lab.papers.tou.beside.share import Run
from windlass_lab.testbed import check


def is_beside(ids: Sequence[str]) -> bool:
    """Whether these experiments are of this package: each runs alone."""
    return len(ids) == 1 and ids[0] in CELLS


class Beside(Campaign[plan.Test, Run]):
    """Every side beside the neighbours of every cell."""

    module = "windlass_lab.papers.tou.beside.share"
    read = Run

    def settled(self, request: Request) -> Request:
        """Runs have no scale."""
        runs = request.runs or request.replicates or plan.RUNS
        return replace(request, runs=runs, scale=1, real=True)

    def tests(self, request: Request) -> Sequence[plan.Test]:
        """Those of the experiment's cells."""
        [experiment] = request.experiments
        return plan.tests(CELLS[experiment.id]())

    def possible(self, chosen: Sequence[plan.Test], _request: Request) -> Sequence[plan.Test]:
        """All of them, or none."""
        for test in chosen:
            check.require(topology.experiment(test.cell))
        return chosen

    def numbers(self, request: Request) -> range:
        """From 1, whatever the seed: in every second run the other side begins."""
        assert request.runs is not None
        return range(1, request.runs + 1)

    def inputs(self, _request: Request, _tests: Sequence[plan.Test]) -> Mapping[str, object]:
        """With another machine a run is made again."""
        return {
            "machine": provenance.machine(),
            "lasts": [plan.OMIT_S, plan.LASTS_S, plan.LEAD_S],
        }

    def order(self, test: plan.Test, number: int, request: Request) -> Mapping[str, object]:
        """The number decides which side begins."""
        return {**asdict(test), "number": number, "windlass": str(request.windlass.path)}

    def outcome(self, run: Run) -> str:
        """The rates of both sides."""
        return f"{run.ours:.2f} : {run.theirs:.2f} Mbit/s"

    def complaint(self, run: Run) -> str:
        """Whether the link was late."""
        is_late = run.late_ms > plan.LATE_MS_MAX
        return f"the link was late by {run.late_ms:.1f} ms" if is_late else ""

    def reported(
        self,
        store: RunLines[Run],
        tests: Sequence[plan.Test],
        _chosen: Sequence[plan.Test],
        _request: Request,
    ) -> Runs:
        """All that the file has of the experiment's tests."""
        return {test.name: store.of(test) for test in tests}

    def documents(self, request: Request, runs: Runs) -> list[dict]:
        """The cells by which the default was chosen are not judged."""
        [experiment] = request.experiments
        comparisons = judge(CELLS[experiment.id](), runs, judged=experiment.id == JUDGED)
        return [experiment_document(experiment.id, experiment.first_result, comparisons)]

    def command(self, request: Request, globs: str) -> str:
        """Without a scale or a seed."""
        [experiment] = request.experiments
        return (
            f"windlass-lab reproduce {request.paper.id}/{experiment.id} {globs}"
            f"--runs {request.runs} --parallel {request.jobs}"
        )

    def content(self, experiment: Experiment, runs: Runs, _results: Mapping) -> Content:
        """The rates of both sides; there are no plots."""
        return Content([table(CELLS[experiment.id](), runs)], [])


BESIDE = Beside()
