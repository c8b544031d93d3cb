"""Runs the cells on this machine, several testbeds at a time, and gathers one result document."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from windlass_lab.core import provenance
from windlass_lab.core.errors import RunError
from windlass_lab.core.experiments.model import Experiment, Paper
from windlass_lab.core.files import output
from windlass_lab.core.pipeline import child
from windlass_lab.core.pipeline.choose import select
from windlass_lab.core.pipeline.document import experiment_document
from windlass_lab.core.pipeline.request import Progress, Request
from windlass_lab.core.pipeline.run_lines import RunLines
from windlass_lab.core.report.page import judged_tiles, render, verdict_tables
from windlass_lab.core.text import verdicts
from windlass_lab.core.verdicts.verdict import Comparison
from windlass_lab.core.version import VERSION
from windlass_lab.papers.tou.beside import criteria, plan, topology
from windlass_lab.papers.tou.beside.judge import Runs, judge, table
from windlass_lab.papers.tou.beside.share import Run
from windlass_lab.testbed import check

BESIDE, PILOT = "beside", "beside-pilot"
_CELLS = {BESIDE: plan.judged_cells, PILOT: plan.pilot_cells}
_CHAPTER = "Beside the kernel's TCP on one link"
_POLL_S = 0.1
# How often a run is made again because the link was late.
_ATTEMPTS = 3
Wanted = tuple[plan.Test, int]


def experiments() -> list[Experiment]:
    """The experiments, which run if asked for by name: they are none of the paper's."""
    return [
        _experiment(BESIDE, "How ToU and the kernel's TCP share a link", 4500.0),
        _experiment(PILOT, "The cells by which the default was chosen", 3000.0),
    ]


def _experiment(id_: str, title: str, seconds: float) -> Experiment:
    return Experiment(
        id=id_,
        chapter=_CHAPTER,
        section="Coexistence",
        title=title,
        shows="Half of the flows are the kernel's CUBIC, half are ToU's or, to compare with, the "
        "kernel's as well. A share is what one side got for each bit of the other.",
        quick=False,
        seconds=seconds,
        first_result=criteria.FIRST_BESIDE,
        kind="testbed",
        needs_root=True,
        short=True,
    )


def is_asked(ids: Sequence[str]) -> bool:
    """Whether these experiments are of this package: each runs alone."""
    return len(ids) == 1 and ids[0] in _CELLS


def reproduce(request: Request) -> dict:
    """Runs what is missing and returns the document for results.json. Raises `LabError` where it
    cannot start, `RunError` where a run fails; the runs made before are kept for `resume`.
    """
    [experiment] = request.experiments
    cells = _CELLS[experiment.id]()
    tests = select(plan.tests(cells), request.tests)
    count = request.runs or request.replicates or plan.RUNS
    for test in tests:
        check.require(topology.experiment(test.cell))
    begin, made = time.monotonic(), provenance.provenance()
    store = RunLines[Run](
        request.folder / output.RUN_LINES, _made_by(request), request.resume, lambda **of: Run(**of)
    )
    try:
        # Every test once, then every test again: what is broken off has something of each.
        wanted = [(test, number) for number in range(1, count + 1) for test in tests]
        missing = [(test, n) for test, n in wanted if (test.name, n) not in store.runs]
        _run(missing, request, store)
    finally:
        store.close()
    runs = {test.name: store.of(test) for test in plan.tests(cells)}
    runs = {name: found for name, found in runs.items() if found}
    comparisons = judge(cells, runs, judged=experiment.id == BESIDE)
    globs = "".join(f" --tests '{glob}'" for glob in request.tests)
    command = f"windlass-lab reproduce {request.paper.id}/{experiment.id}"
    return {
        **output.envelope(output.RESULT_KIND),
        "paper": request.paper.id,
        "method": "real",
        "scale": 1,
        "replicates": count,
        "jitter_ms": 0,
        "seed": request.seed,
        "windlass_version": request.windlass.version(),
        "lab_version": VERSION,
        **made,
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "elapsed_s": round(time.monotonic() - begin, 1),
        "commands": [f"{command}{globs} --runs {count} --parallel {request.jobs}"],
        "published": {},
        "summaries": {
            name: {"runs": [asdict(run) for run in found]} for name, found in runs.items()
        },
        "experiments": [experiment_document(experiment.id, experiment.first_result, comparisons)],
    }


def files(paper: Paper, results: Mapping) -> dict[str, str]:
    """Every file that is made from a result, by its path in the directory."""
    runs = {
        name: [Run(**run) for run in summary["runs"]]
        for name, summary in results["summaries"].items()
    }
    sections = [_section(paper, document, runs) for document in results["experiments"]]
    return {
        output.REPORT: render(paper, results, sections),
        output.SUMMARY: verdicts.summary(paper, results),
    }


def _section(paper: Paper, document: Mapping, runs: Runs) -> dict:
    comparisons = [Comparison.from_json(entry) for entry in document["comparisons"]]
    return {
        "experiment": next(each for each in paper.experiments if each.id == document["id"]),
        "tally": verdicts.tally(comparisons),
        "verdict": verdicts.section_verdict(comparisons),
        "tiles": judged_tiles(comparisons),
        "tables": verdict_tables(comparisons, ["measured"]),
        "powers": [table(_CELLS[document["id"]](), runs)],
        "plots": [],
        "drawn": [],
    }


def _run(waiting: list[Wanted], request: Request, store: RunLines[Run]) -> None:
    running: dict[Wanted, subprocess.Popen] = {}
    attempts: dict[Wanted, int] = {}
    failed: list[RunError] = []
    total = len(waiting)
    try:
        while waiting or running:
            while waiting and len(running) < request.jobs:
                each = waiting.pop(0)
                running[each] = _start(each, request.windlass.path)
            time.sleep(_POLL_S)
            for each in [e for e, process in running.items() if process.poll() is not None]:
                process = running.pop(each)
                made = total - len(waiting) - len(running)
                what = f"[{made}/{total}] {each[0].name}, run {each[1]}"
                try:
                    run = Run(**child.result(each[0].name, process))
                except RunError as error:
                    failed.append(error)
                    request.progress(f"{what}: {error}")
                    continue
                attempts[each] = attempts.get(each, 0) + 1
                if _is_kept(run, attempts[each], what, request.progress):
                    store.add(*each, run)
                else:
                    waiting.append(each)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
    if failed:
        raise failed[0]


def _is_kept(run: Run, attempt: int, what: str, progress: Progress) -> bool:
    """Whether the link was in time. Raises `RunError` where it never is."""
    shares = f"{run.ours:.2f} : {run.theirs:.2f} Mbit/s"
    if run.late_ms <= plan.LATE_MS_MAX:
        progress(f"{what}: {shares}")
        return True
    late = f"the link was late by {run.late_ms:.1f} ms"
    if attempt == _ATTEMPTS:
        raise RunError(f"{what}: {late} {attempt} times: run fewer at a time (--parallel)")
    progress(f"{what}: {shares}; {late}: once more")
    return False


def _start(each: Wanted, windlass: Path) -> subprocess.Popen:
    test, number = each
    order = {**asdict(test), "number": number, "windlass": str(windlass)}
    return child.start("windlass_lab.papers.tou.beside.share", order)


def _made_by(request: Request) -> dict:
    """The inputs of a run: with another binary or machine it is made again."""
    binary = request.windlass.path.stat()
    return {
        "version": request.windlass.version(),
        "binary": [binary.st_size, binary.st_mtime_ns],
        "machine": provenance.machine(),
        "lasts": [plan.OMIT_S, plan.LASTS_S, plan.LEAD_S],
    }
