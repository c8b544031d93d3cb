"""Runs the cells of the experiments that are asked for, here or on a cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.core.files import output
from windlass_lab.core.pipeline.campaign import Campaign, Wanted
from windlass_lab.core.pipeline.document import experiment_document
from windlass_lab.core.pipeline.request import Request
from windlass_lab.core.pipeline.run_lines import RunLines
from windlass_lab.core.report.page import verdict_tables
from windlass_lab.papers.coexistence import matrix_page, overview, scenario, simulate
from windlass_lab.papers.coexistence.catalogue import CELLS, EFFECTS, JUDGED
from windlass_lab.papers.coexistence.judge import judge, show
from windlass_lab.papers.coexistence.measure import Runs
from windlass_lab.papers.coexistence.plan import SEEDS, SEEDS_JUDGED, Cell
from windlass_lab.papers.coexistence.runs import Run

_ROWS = {JUDGED: judge, EFFECTS: show}


def _settled(request: Request) -> Request:
    if request.real or request.scale != 1.0:
        raise LabError("coexistence is simulated, at full length: leave out --real and --scale")
    return replace(request, runs=request.replicates or SEEDS_JUDGED)


def _cells(request: Request) -> Sequence[Cell]:
    asked = [CELLS[experiment.id]() for experiment in request.experiments]
    return list(dict.fromkeys(cell for cells in asked for cell in cells))


def _possible(chosen: Sequence[Cell], request: Request) -> Sequence[Cell]:
    """Those whose controllers the simulator has, with a line for each that it lacks."""
    unknown = simulate.unknown_controllers(request)
    for name in unknown:
        request.progress(f"this windlass has no controller {name}: its cells are not run")
    return [cell for cell in chosen if not unknown.keys() & set(cell.contenders)]


def _most_runs(cell: Cell, request: Request) -> int | None:
    """Of the matrix there are three seeds; what is judged has twenty."""
    judged = {experiment.id for experiment in request.experiments} & {JUDGED, EFFECTS}
    if any(cell in _decided(id_) for id_ in judged):
        return request.runs
    return min(request.runs or SEEDS, SEEDS)


def _decided(id_: str) -> frozenset[Cell]:
    if id_ not in _DECIDED:
        _DECIDED[id_] = frozenset(CELLS[id_]())
    return _DECIDED[id_]


_DECIDED: dict[str, frozenset[Cell]] = {}


def _measure(
    _campaign: Campaign, missing: Wanted[Cell], request: Request, store: RunLines[Run]
) -> None:
    simulate.simulate(missing, request, store)


def _reported(
    store: RunLines[Run], cells: Sequence[Cell], _chosen: Sequence[Cell], _request: Request
) -> Runs:
    """With `--resume` also cells that were run before: a matrix grows part by part."""
    there = store.by_test()
    return {cell.name: there[cell.name] for cell in cells if cell.name in there}


def _documents(request: Request, runs: Runs) -> list[dict]:
    return [
        experiment_document(each.id, each.first_result, _rows(each, runs))
        for each in request.experiments
    ]


def _rows(experiment: Experiment, runs: Runs) -> list:
    return _ROWS[experiment.id](runs) if experiment.id in _ROWS else []


def _command(request: Request, globs: str) -> str:
    whole = len(request.experiments) == len(request.paper.experiments)
    target = request.paper.id if whole else f"{request.paper.id}/{request.experiments[0].id}"
    return (
        f"windlass-lab reproduce {target} {globs}--replicates {request.runs} "
        f"--jobs {request.jobs} --seed {request.seed}"
    )


CAMPAIGN = Campaign(
    # Cells are simulated, and no process is started for one.
    module="",
    order=lambda *_: {},
    outcome=lambda _run: "",
    read=Run,
    settled=_settled,
    tests=_cells,
    possible=_possible,
    most_runs=_most_runs,
    inputs=lambda _request, _cells: {"scenarios": scenario.digest()},
    measure=_measure,
    reported=_reported,
    jitter_ms=scenario.JITTER_MS,
    documents=_documents,
    command=_command,
    content=lambda experiment, runs, _results: overview.content(
        experiment.id, CELLS[experiment.id](), runs
    ),
    verdict_tables=lambda comparisons: verdict_tables(comparisons, ["plain", "measured"]),
)


def files(paper: Paper, results: Mapping, series: Mapping) -> dict[str, str]:
    """Every file that is made from a result, by its path in the directory."""
    runs = {
        name: [Run(**run) for run in summary["runs"]]
        for name, summary in results["summaries"].items()
    }
    page = matrix_page.render(runs, results)
    return {**CAMPAIGN.files(paper, results, series), output.MATRIX: page}
