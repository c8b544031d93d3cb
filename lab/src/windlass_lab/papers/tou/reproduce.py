"""Runs the cells on this machine, and gathers one result document."""

import hashlib
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType

from windlass_lab.core import provenance
from windlass_lab.core.binary.windlass import Windlass
from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.core.files import output
from windlass_lab.core.pipeline.choose import select
from windlass_lab.core.pipeline.reproduce import no_series
from windlass_lab.core.pipeline.request import Progress, Request
from windlass_lab.core.version import VERSION
from windlass_lab.papers.tou import (
    course,
    losses,
    plan,
    report,
    stream,
    topology,
    transfer,
)
from windlass_lab.papers.tou.beside import reproduce as beside
from windlass_lab.papers.tou.catalogue import SHORT, SHORT_SCALE, cells_of
from windlass_lab.papers.tou.judge import SEEDS
from windlass_lab.papers.tou.measure import measure, require
from windlass_lab.papers.tou.runs import Store

# The code on which a run's figures depend. A change of another file does not cost the runs.
_MEASURING = (course, losses, plan, stream, topology, transfer)


@dataclass(frozen=True, slots=True)
class Options:
    """How the cells are measured; `jobs` transfers at the full rate at a time; `tests`: globs, none
    is all.
    """

    runs: int
    jobs: int
    seed: int
    scale: float
    resume: bool
    tests: tuple[str, ...] = ()


def reproduce(
    paper: Paper,
    experiments: Sequence[Experiment],
    windlass: Windlass,
    options: Options,
    folder: Path,
    progress: Progress,
) -> dict:
    """Runs what is missing and returns the document for results.json.

    Raises `LabError` where it cannot start, `RunError` where a run fails; the runs made before that
    are kept, and `resume` goes on from them.
    """
    ids = [experiment.id for experiment in experiments]
    cells = {cell.name for id_ in ids for cell in cells_of(id_)}
    tests = [test for test in plan.all_tests() if test.cell.name in cells]
    chosen = _possible(select(tests, options.tests), windlass, progress)
    require(chosen)
    begin = time.monotonic()
    # Before the runs: meanwhile somebody may commit.
    made = provenance.provenance()
    store = Store(folder / output.RUN_LINES, _made_by(windlass, options), options.resume)
    try:
        _run(chosen, windlass, options, store, progress)
    finally:
        store.close()
    # With `tests` and `resume` also what the file has of others.
    known = {(test.name, seed) for test in tests for seed in _seeds(options)} & set(store.runs)
    runs = {
        test.name: {
            seed: store.runs[name, seed] for name, seed in sorted(known) if name == test.name
        }
        for test in tests
    }
    return {
        **output.envelope(output.RESULT_KIND),
        "paper": paper.id,
        "method": "real",
        "scale": options.scale,
        "replicates": options.runs,
        "jitter_ms": 0,
        "seed": options.seed,
        "windlass_version": windlass.version(),
        "lab_version": VERSION,
        **made,
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "elapsed_s": round(time.monotonic() - begin, 1),
        "commands": [_command(paper, experiments, options)],
        "published": {},
        "summaries": {
            name: {"runs": {str(seed): asdict(run) for seed, run in of.items()}}
            for name, of in runs.items()
            if of
        },
        "experiments": report.experiments(ids, runs, options.scale),
    }


def reproduce_request(request: Request) -> tuple[dict, dict]:
    """The same by the options of the command line; there is no time series."""
    request.refuse_check()
    options = Options(
        runs=request.runs or request.replicates or SEEDS,
        jobs=request.jobs,
        seed=request.seed,
        scale=request.scale,
        resume=request.resume,
        tests=request.tests,
    )
    ids = [experiment.id for experiment in request.experiments]
    if beside.is_asked(ids):
        return beside.reproduce(request), no_series(request.paper)
    if ids == [SHORT]:
        options = for_short(options)
    results = reproduce(
        request.paper,
        request.experiments,
        request.windlass,
        options,
        request.folder,
        request.progress,
    )
    return results, no_series(request.paper)


def _possible(
    chosen: Sequence[plan.Test], windlass: Windlass, progress: Progress
) -> list[plan.Test]:
    """Without those for which the binary is too old, in a line that says so."""
    command = [str(windlass.path), "tou", "perf", "client", "--help"]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    if "none" in printed or all(test.contender != plan.TOU_NONE for test in chosen):
        return list(chosen)
    progress("this windlass has no controller none: Figure 19 is left out")
    return [test for test in chosen if test.contender != plan.TOU_NONE]


def for_short(options: Options) -> Options:
    """Those of the short form: a twentieth of the bytes, once."""
    return replace(options, runs=1, scale=SHORT_SCALE)


def _seeds(options: Options) -> range:
    return range(options.seed, options.seed + options.runs)


def _run(
    chosen: Sequence[plan.Test],
    windlass: Windlass,
    options: Options,
    store: Store,
    progress: Progress,
) -> None:
    # Every test once, then every test again: what is broken off has something of each.
    wanted = [(test, seed) for seed in _seeds(options) for test in chosen]
    missing = [(test, seed) for test, seed in wanted if (test.name, seed) not in store.runs]
    if len(missing) < len(wanted):
        progress(f"{len(wanted) - len(missing)} of {len(wanted)} runs are there already")
    measure(windlass.path, missing, options.scale, options.jobs, options.seed, store, progress)


def _made_by(windlass: Windlass, options: Options) -> dict:
    """The inputs of a run. With another binary, machine, path or measuring code it is made again,
    so that all of a result is from one state of things however often it was broken off.
    """
    binary = windlass.path.stat()
    return {
        "version": windlass.version(),
        "binary": [binary.st_size, binary.st_mtime_ns],
        "machine": provenance.machine(),
        "measured_by": [_digest(each) for each in _MEASURING],
        "scale": options.scale,
        "path": [plan.RATE, plan.WINDOW_BYTES, plan.QUEUE_PACKETS],
        "settings": [dict(plan.sysctls(each)) for each in (plan.KERNEL_RENO, plan.TUNED_RENO)],
    }


def _digest(module: ModuleType) -> str:
    return hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest()


def _command(paper: Paper, experiments: Sequence[Experiment], options: Options) -> str:
    target = paper.id if len(experiments) > 1 else f"{paper.id}/{experiments[0].id}"
    globs = "".join(f"--tests '{glob}' " for glob in options.tests)
    return (
        f"windlass-lab reproduce {target} --scale {options.scale:g} {globs}"
        f"--runs {options.runs} --parallel {options.jobs} --seed {options.seed}"
    )
