"""Runs the tests, simulated or on real kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TypeGuard

from windlass_lab.core.binary.locate import find_experiments
from windlass_lab.core.errors import LabError
from windlass_lab.core.pipeline.campaign import Campaign, Wanted
from windlass_lab.core.pipeline.request import Request
from windlass_lab.core.pipeline.run_lines import Named, RunLines
from windlass_lab.core.statistics.interval import FEWEST_RUNS, FEWEST_SEEDS
from windlass_lab.papers.ecn_proxy import report, simulate
from windlass_lab.papers.ecn_proxy.aside_kernel import KernelCell, SimulatedCell
from windlass_lab.papers.ecn_proxy.catalogue import SUPPLEMENTS
from windlass_lab.papers.ecn_proxy.emulated import measure_emulated
from windlass_lab.papers.ecn_proxy.judge import SEEDS_ALIKE, takes_fewer_runs
from windlass_lab.papers.ecn_proxy.measure import possible_on_kernels
from windlass_lab.papers.ecn_proxy.plan import DEMO, DEMO_SCALE, Test, all_tests, demo_tests
from windlass_lab.papers.ecn_proxy.published import published
from windlass_lab.papers.ecn_proxy.runs import Run
from windlass_lab.papers.ecn_proxy.sch_red import ThroughSchRed
from windlass_lab.papers.ecn_proxy.simulate import Simulated
from windlass_lab.papers.ecn_proxy.supplement import RUNS_SHOWN
from windlass_lab.testbed import check

# Of each test, by default: what decides a bound, on kernels and in the simulator.
RUNS, RUNS_SIMULATED = FEWEST_RUNS, FEWEST_SEEDS


def _is_judged(request: Request) -> bool:
    return {experiment.id for experiment in request.experiments} != {DEMO}


def _settled(request: Request) -> Request:
    """The demonstration runs once, on this kernel, all testbeds side by side."""
    if not _is_judged(request):
        jobs = len(demo_tests())
        return replace(request, runs=1, replicates=1, jobs=jobs, scale=DEMO_SCALE, real=True)
    default = RUNS if request.real else RUNS_SIMULATED
    return replace(request, runs=request.replicates or default)


def _scenarios(request: Request) -> Path:
    return find_experiments(request.experiments_folder, request.paper.id)


def _tests(request: Request) -> Sequence[Named]:
    """The tests of the experiments: of those beyond the paper's tables, which are simulated or on
    kernels, those that can be made.
    """
    if not _is_judged(request):
        return demo_tests()
    wanted, real = {experiment.id for experiment in request.experiments}, request.real
    found: list[Named] = [test for test in all_tests() if test.table in wanted]
    beyond = [each for each in SUPPLEMENTS.values() if each.experiment.id in wanted]
    found += [test for each in beyond if each.real == real for test in each.tests()]
    others = ", ".join(each.experiment.id for each in beyond if each.real != real)
    if others and not found:
        missing = (
            "testbed of it; leave out --real" if real else "simulation of it; add --real, as root"
        )
        raise LabError(f"{others}: there is no {missing}")
    if others:
        request.progress(f"{'simulated' if real else 'on kernels'} only, left out: {others}")
    return found


@cache
def _most_runs_beyond() -> Mapping[str, int]:
    every = SUPPLEMENTS.values()
    most = {test.name: each.most_runs for each in every for test in each.tests()}
    return most | {test.name: RUNS_SHOWN for each in every for test in each.shown()}


def _most_runs(test: Named, request: Request) -> int | None:
    if isinstance(test, Test) and takes_fewer_runs(test):
        return request.replicates or (RUNS if request.real else SEEDS_ALIKE)
    return _most_runs_beyond().get(test.name, request.runs)


def _inputs(request: Request, tests: Sequence[Named]) -> Mapping[str, object]:
    """The scenarios' text, too: runs of another one do not count as the same."""
    scenarios = _scenarios(request)
    read = sorted(scenarios.glob("*.toml"))
    if request.real:
        stems = {test.scenario for test in tests if isinstance(test, SimulatedCell)}
        read = [path for path in read if path.stem in stems]
    try:
        texts = {path.name: path.read_text(encoding="utf-8") for path in read}
    except OSError as error:
        raise LabError(f"cannot read the scenarios in {scenarios}: {error}") from error
    return {"scale": request.scale, "real": request.real, **texts}


def _measure(
    campaign: Campaign, missing: Wanted[Named], request: Request, store: RunLines[Run]
) -> None:
    """Simulates, runs testbeds, or runs an emulated machine, by the kind of test."""
    windlass, scenarios, progress = request.windlass.path, _scenarios(request), request.progress
    simulated = [(test, n) for test, n in missing if _is_simulated(test, request)]
    if simulated:
        simulate.simulate(
            windlass, scenarios, simulated, request.scale, request.jobs, store, progress
        )
    if not request.real:
        return
    on_kernels = [(test, n) for test, n in missing if isinstance(test, Test | KernelCell)]
    if on_kernels and not check.has_real_time():
        progress(f"warning: {check.LATE_LINKS}")
    possible = possible_on_kernels(windlass, on_kernels, progress)
    campaign.run_processes(possible, request, store)
    emulated = [(test, n) for test, n in missing if isinstance(test, ThroughSchRed)]
    measure_emulated(windlass, scenarios, emulated, request.scale, store, progress)


def _is_simulated(test: Named, request: Request) -> TypeGuard[Simulated]:
    """Of an experiment on kernels only what its cells are compared with is simulated."""
    return isinstance(test, SimulatedCell if request.real else Simulated)


def _order(test: Named, _number: int, request: Request) -> Mapping[str, object]:
    assert isinstance(test, Test | KernelCell)
    return {"test": asdict(test), "scale": request.scale, "windlass": str(request.windlass.path)}


def _published(chosen: Sequence[Named]) -> dict[str, dict]:
    tests = (test for test in chosen if isinstance(test, Test))
    return {test.name: {"seconds": list(published().get(test, ()))} for test in tests}


def _command(request: Request, globs: str) -> str:
    paper = request.paper
    whole = len(request.experiments) == len(paper.experiments)
    target = paper.id if whole else f"{paper.id}/{request.experiments[0].id}"
    kind = "--real" if request.real else "--sim"
    return (
        f"windlass-lab reproduce {target} {kind} --scale {request.scale:g} {globs}"
        f"--replicates {request.runs} --parallel {request.jobs} --seed {request.seed}"
    )


CAMPAIGN = Campaign(
    module="windlass_lab.papers.ecn_proxy.transfer",
    read=Run,
    settled=_settled,
    tests=_tests,
    most_runs=_most_runs,
    inputs=_inputs,
    measure=_measure,
    order=_order,
    label=lambda test, _number: test.name,
    outcome=lambda run: f"{run.seconds:.1f} s",
    stops=True,
    reported=lambda store, _tests, chosen, request: {
        test.name: store.of(test)[: request.runs] for test in chosen
    },
    published=_published,
    jitter_ms=simulate.JITTER_MS,
    documents=lambda request, runs: report.experiments(runs, request.real, _is_judged(request)),
    command=_command,
    content=lambda experiment, runs, results: report.content(experiment, runs, results["scale"]),
)
