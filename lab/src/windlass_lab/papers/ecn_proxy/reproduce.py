"""Runs the tests, simulated or on real kernels, and gathers one result document."""

import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeGuard

from windlass_lab.core import provenance
from windlass_lab.core.binary.locate import find_experiments
from windlass_lab.core.binary.windlass import Windlass
from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.core.files import output
from windlass_lab.core.pipeline.choose import select
from windlass_lab.core.pipeline.reproduce import no_series
from windlass_lab.core.pipeline.request import Progress, Request
from windlass_lab.core.pipeline.run_lines import Named
from windlass_lab.core.statistics.interval import FEWEST_RUNS, FEWEST_SEEDS
from windlass_lab.core.version import VERSION
from windlass_lab.papers.ecn_proxy import measure, report, simulate
from windlass_lab.papers.ecn_proxy.aside_kernel import KernelCell, SimulatedCell
from windlass_lab.papers.ecn_proxy.emulated import measure_emulated
from windlass_lab.papers.ecn_proxy.extras import EXTRAS
from windlass_lab.papers.ecn_proxy.judge import takes_fewer_runs
from windlass_lab.papers.ecn_proxy.plan import DEMO, DEMO_SCALE, Test, all_tests, demo_tests
from windlass_lab.papers.ecn_proxy.published import published
from windlass_lab.papers.ecn_proxy.runs import Store
from windlass_lab.papers.ecn_proxy.sch_red import ThroughSchRed
from windlass_lab.papers.ecn_proxy.simulate import Simulated
from windlass_lab.testbed import check

# Of each test, by default: what decides a bound, on kernels and in the simulator. Tests that are
# alike by their nature, or shown only, have as many as on kernels.
RUNS, RUNS_SIMULATED = FEWEST_RUNS, FEWEST_SEEDS


@dataclass(frozen=True, slots=True)
class Options:
    """How the tests are made; `jobs` runs, or testbeds, at a time; `tests`: globs, none is all.
    `fewer_runs` are those of tests that are alike by their nature, or shown only.
    """

    runs: int
    fewer_runs: int
    jobs: int
    seed: int
    scale: float
    real: bool
    resume: bool
    tests: tuple[str, ...] = ()


def reproduce(
    paper: Paper,
    experiments: Sequence[Experiment],
    windlass: Windlass,
    scenarios: Path,
    options: Options,
    folder: Path,
    progress: Progress,
) -> dict:
    """Runs what is missing and returns the document for results.json.

    Raises `LabError` where it cannot start, `RunError` where a run fails; the runs made before that
    are kept, and `resume` goes on from them.
    """
    wanted = {experiment.id for experiment in experiments}
    judged = wanted != {DEMO}
    tests = _tests(wanted, options.real, progress) if judged else demo_tests()
    chosen = select(tests, options.tests)
    begin = time.monotonic()
    made_by = _made_by(windlass, scenarios, options, tests)
    store = Store(folder / output.RUN_LINES, made_by, options.resume)
    try:
        _run(chosen, windlass, scenarios, options, store, progress)
    finally:
        store.close()
    runs = {test.name: store.of(test)[: options.runs] for test in chosen if store.of(test)}
    theirs = {
        test.name: {"seconds": list(published().get(test, ()))}
        for test in chosen
        if isinstance(test, Test)
    }
    return {
        **output.envelope(output.RESULT_KIND),
        "paper": paper.id,
        "method": "real" if options.real else "simulated",
        "scale": options.scale,
        "replicates": options.runs,
        "jitter_ms": 0 if options.real else simulate.JITTER_MS,
        "seed": options.seed,
        "windlass_version": windlass.version(),
        "lab_version": VERSION,
        **provenance.provenance(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "elapsed_s": round(time.monotonic() - begin, 1),
        "commands": [_command(paper, experiments, options)],
        "published": theirs,
        "summaries": {name: {"runs": [asdict(run) for run in of]} for name, of in runs.items()},
        "experiments": report.experiments(runs, options.real, judged),
    }


def _tests(wanted: Collection[str], real: bool, progress: Progress) -> list[Named]:
    """The tests of these experiments: of those beyond the paper's tables, which are simulated or on
    kernels, those that can be made.
    """
    found: list[Named] = [test for test in all_tests() if test.table in wanted]
    extras = [extra for extra in EXTRAS.values() if extra.experiment.id in wanted]
    found += [test for extra in extras if extra.real == real for test in extra.tests()]
    others = ", ".join(extra.experiment.id for extra in extras if extra.real != real)
    if others and not found:
        lacks = (
            "testbed of it; leave out --real" if real else "simulation of it; add --real, as root"
        )
        raise LabError(f"{others}: there is no {lacks}")
    if others:
        progress(f"{'simulated' if real else 'on kernels'} only, left out: {others}")
    return found


def reproduce_request(request: Request) -> tuple[dict, dict]:
    """The same by the options of the command line; there is no time series."""
    request.refuse_check()
    options = Options(
        runs=request.replicates or (RUNS if request.real else RUNS_SIMULATED),
        fewer_runs=request.replicates or RUNS,
        jobs=request.jobs,
        seed=request.seed,
        scale=request.scale,
        real=request.real,
        resume=request.resume,
        tests=request.tests,
    )
    if [experiment.id for experiment in request.experiments] == [DEMO]:
        options = for_demo(options)
    results = reproduce(
        request.paper,
        request.experiments,
        request.windlass,
        find_experiments(request.experiments_folder, request.paper.id),
        options,
        request.folder,
        request.progress,
    )
    return results, no_series(request.paper)


def for_demo(options: Options) -> Options:
    """Those with which the demonstration runs: once, on this kernel, all testbeds side by side."""
    return replace(
        options, runs=1, fewer_runs=1, jobs=len(demo_tests()), scale=DEMO_SCALE, real=True
    )


def _run(
    chosen: Sequence[Named],
    windlass: Windlass,
    scenarios: Path,
    options: Options,
    store: Store,
    progress: Progress,
) -> None:
    seeds = range(options.seed, options.seed + options.runs)
    # Every test once, then every test again: what is broken off has something of each.
    most = {test.name: extra.most_runs for extra in EXTRAS.values() for test in extra.tests()}
    most |= {test.name: options.fewer_runs for test in all_tests() if takes_fewer_runs(test)}
    wanted = [
        (test, seed)
        for made, seed in enumerate(seeds)
        for test in chosen
        if made < most.get(test.name, options.runs)
    ]
    missing = [(test, seed) for test, seed in wanted if (test.name, seed) not in store.runs]
    if len(missing) < len(wanted):
        progress(f"{len(wanted) - len(missing)} of {len(wanted)} runs are there already")
    simulated = [(test, seed) for test, seed in missing if _is_simulated(test, options)]
    if simulated:
        simulate.simulate(
            windlass.path, scenarios, simulated, options.scale, options.jobs, store, progress
        )
    if options.real:
        on_kernels = [(test, n) for test, n in missing if isinstance(test, Test | KernelCell)]
        if on_kernels and not check.has_real_time():
            progress(f"warning: {check.LATE_LINKS}")
        measure.measure(windlass.path, on_kernels, options.scale, options.jobs, store, progress)
        emulated = [(test, seed) for test, seed in missing if isinstance(test, ThroughSchRed)]
        measure_emulated(windlass.path, scenarios, emulated, options.scale, store, progress)


def _is_simulated(test: Named, options: Options) -> TypeGuard[Simulated]:
    """Of an experiment on kernels only what its cells are compared with is simulated."""
    return isinstance(test, SimulatedCell if options.real else Simulated)


def _made_by(windlass: Windlass, scenarios: Path, options: Options, tests: Sequence[Named]) -> dict:
    """The inputs of a run. Runs of another binary or scenario do not count as the same."""
    made = {"version": windlass.version(), "scale": options.scale, "real": options.real}
    binary = windlass.path.stat()
    made["binary"] = [binary.st_size, binary.st_mtime_ns]
    read = sorted(scenarios.glob("*.toml"))
    if options.real:
        stems = {test.scenario for test in tests if isinstance(test, SimulatedCell)}
        read = [path for path in read if path.stem in stems]
    try:
        for path in read:
            made[path.name] = path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(f"cannot read the scenarios in {scenarios}: {error}") from error
    return made


def _command(paper: Paper, experiments: Sequence[Experiment], options: Options) -> str:
    whole = len(experiments) == len(paper.experiments)
    target = paper.id if whole else f"{paper.id}/{experiments[0].id}"
    kind = "--real" if options.real else "--sim"
    globs = "".join(f"--tests '{glob}' " for glob in options.tests)
    return (
        f"windlass-lab reproduce {target} {kind} --scale {options.scale:g} {globs}"
        f"--replicates {options.runs} --parallel {options.jobs} --seed {options.seed}"
    )
