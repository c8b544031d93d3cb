"""Runs the cells on this machine, several testbeds at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from windlass_lab.core import provenance
from windlass_lab.core.pipeline.campaign import Campaign, Runs
from windlass_lab.core.pipeline.document import experiment_document
from windlass_lab.core.pipeline.request import Request
from windlass_lab.core.report.report import Content
from windlass_lab.papers.tou.beside import plan, topology
from windlass_lab.papers.tou.beside.catalogue import CELLS, JUDGED
from windlass_lab.papers.tou.beside.judge import judge, table
from windlass_lab.papers.tou.beside.share import Run
from windlass_lab.testbed import check


def is_beside(ids: Sequence[str]) -> bool:
    """Whether these experiments are of this package: each runs alone."""
    return len(ids) == 1 and ids[0] in CELLS


def _settled(request: Request) -> Request:
    """Runs have no scale."""
    runs = request.runs or request.replicates or plan.RUNS
    return replace(request, runs=runs, scale=1, real=True)


def _tests(request: Request) -> Sequence[plan.Test]:
    [experiment] = request.experiments
    return plan.tests(CELLS[experiment.id]())


def _possible(chosen: Sequence[plan.Test], _request: Request) -> Sequence[plan.Test]:
    for test in chosen:
        check.require(topology.experiment(test.cell))
    return chosen


def _order(test: plan.Test, number: int, request: Request) -> Mapping[str, object]:
    return {**asdict(test), "number": number, "windlass": str(request.windlass.path)}


def _complaint(run: Run) -> str:
    is_late = run.late_ms > plan.LATE_MS_MAX
    return f"the link was late by {run.late_ms:.1f} ms" if is_late else ""


def _documents(request: Request, runs: Runs) -> list[dict]:
    """The cells by which the default was chosen are not judged."""
    [experiment] = request.experiments
    comparisons = judge(CELLS[experiment.id](), runs, judged=experiment.id == JUDGED)
    return [experiment_document(experiment.id, experiment.first_result, comparisons)]


def _command(request: Request, globs: str) -> str:
    [experiment] = request.experiments
    return (
        f"windlass-lab reproduce {request.paper.id}/{experiment.id} {globs}"
        f"--runs {request.runs} --parallel {request.jobs}"
    )


BESIDE = Campaign(
    module="windlass_lab.papers.tou.beside.share",
    read=Run,
    settled=_settled,
    tests=_tests,
    possible=_possible,
    # From 1, whatever the seed: in every second run the other side begins.
    numbers=lambda request: range(1, (request.runs or 0) + 1),
    inputs=lambda _request, _tests: {
        "machine": provenance.machine(),
        "lasts": [plan.OMIT_S, plan.LASTS_S, plan.LEAD_S],
    },
    order=_order,
    outcome=lambda run: f"{run.ours:.2f} : {run.theirs:.2f} Mbit/s",
    complaint=_complaint,
    reported=lambda store, tests, _chosen, _request: {test.name: store.of(test) for test in tests},
    documents=_documents,
    command=_command,
    content=lambda experiment, runs, _results: Content([table(CELLS[experiment.id](), runs)], []),
)
