"""Runs the cells on this machine."""

import hashlib
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import ModuleType

from windlass_lab.core import provenance
from windlass_lab.core.experiments.model import Paper
from windlass_lab.core.pipeline.campaign import Campaign, Runs, seeds
from windlass_lab.core.pipeline.request import Request
from windlass_lab.core.pipeline.run_lines import RunLines
from windlass_lab.papers.tou import losses, plan, report, stream, topology, transfer, window
from windlass_lab.papers.tou.beside.reproduce import BESIDE, is_beside
from windlass_lab.papers.tou.catalogue import SHORT, SHORT_SCALE, cells_of
from windlass_lab.papers.tou.judge import SEEDS
from windlass_lab.papers.tou.measure import require, to_start
from windlass_lab.papers.tou.plan import Test
from windlass_lab.papers.tou.runs import Run, read_run
from windlass_lab.testbed import link, sockets

# The code on which a run's figures depend. A change of another file does not cost the runs.
_MEASURING = (window, losses, plan, stream, topology, transfer, link, sockets)


def reproduce(request: Request) -> tuple[dict, dict]:
    """Runs the experiments, those beside the kernel each alone, as `Campaign.reproduce` does."""
    return _campaign(_ids(request)).reproduce(request)


def files(paper: Paper, results: Mapping, series: Mapping) -> dict[str, str]:
    """Every file that is made from a result, by its path in the directory."""
    ids = [document["id"] for document in results["experiments"]]
    return _campaign(ids).files(paper, results, series)


def _settled(request: Request) -> Request:
    """The short form is a twentieth of the bytes, once."""
    if _ids(request) == [SHORT]:
        return replace(request, runs=1, scale=SHORT_SCALE, real=True)
    return replace(request, runs=request.runs or request.replicates or SEEDS, real=True)


def _tests(request: Request) -> Sequence[Test]:
    cells = {cell.name for id_ in _ids(request) for cell in cells_of(id_)}
    return [test for test in plan.all_tests() if test.cell.name in cells]


def _possible(chosen: Sequence[Test], request: Request) -> Sequence[Test]:
    """Without those for which the binary is too old, in a line that says so."""
    command = [str(request.windlass.path), "tou", "perf", "client", "--help"]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    if "none" not in printed and any(test.contender == plan.TOU_NONE for test in chosen):
        request.progress("this windlass has no controller none: Figure 19 is left out")
        chosen = [test for test in chosen if test.contender != plan.TOU_NONE]
    require(chosen)
    return chosen


def _inputs(request: Request, _tests: Sequence[Test]) -> Mapping[str, object]:
    """With another machine, path or measuring code a run is made again. All of a result is then
    made under the same conditions, however often it was broken off.
    """
    return {
        "machine": provenance.machine(),
        "measured_by": [_digest(each) for each in _MEASURING],
        "scale": request.scale,
        "path": [plan.RATE, plan.WINDOW_BYTES, plan.QUEUE_PACKETS],
        "settings": [dict(plan.sysctls(each)) for each in (plan.KERNEL_RENO, plan.TUNED_RENO)],
    }


def _order(test: Test, number: int, request: Request) -> Mapping[str, object]:
    """The curves of the first seed are kept."""
    return {
        **asdict(test),
        "seed": number,
        "scale": request.scale,
        "windlass": str(request.windlass.path),
        "traced": number == request.seed,
    }


def _reported(
    store: RunLines[Run], tests: Sequence[Test], _chosen: Sequence[Test], request: Request
) -> Runs:
    """With `tests` and `resume` also what the file has of others."""
    return {
        test.name: {
            seed: store.runs[test.name, seed]
            for seed in seeds(request)
            if (test.name, seed) in store.runs
        }
        for test in tests
    }


def _command(request: Request, globs: str) -> str:
    ids = _ids(request)
    target = request.paper.id if len(ids) > 1 else f"{request.paper.id}/{ids[0]}"
    return (
        f"windlass-lab reproduce {target} --scale {request.scale:g} {globs}"
        f"--runs {request.runs} --parallel {request.jobs} --seed {request.seed}"
    )


# A run's number is the seed of its losses; runs of a seed are compared with each other.
CELLS = Campaign(
    module="windlass_lab.papers.tou.transfer",
    read=read_run,
    settled=_settled,
    tests=_tests,
    possible=_possible,
    inputs=_inputs,
    order=_order,
    label=lambda test, seed: f"{test.name}, seed {seed}",
    outcome=lambda run: f"{run.seconds:.2f} s",
    scheduler=lambda request: partial(to_start, jobs=request.jobs),
    reported=_reported,
    by_number=True,
    documents=lambda request, runs: report.experiments(_ids(request), runs, request.scale),
    command=_command,
    content=lambda experiment, runs, results: report.content(experiment.id, runs, results["scale"]),
    verdict_tables=report.tables,
)


def _campaign(ids: Sequence[str]) -> Campaign:
    return BESIDE if is_beside(ids) else CELLS


def _ids(request: Request) -> list[str]:
    return [experiment.id for experiment in request.experiments]


def _digest(module: ModuleType) -> str:
    return hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest()
