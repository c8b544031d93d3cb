"""Cases on this machine's kernel: the runs they take, several at a time, and what comes of them."""

import json
import statistics
import subprocess
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from windlass_lab.core.binary.windlass import read_series
from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.model import KERNEL, Experiment, KernelCase
from windlass_lab.core.pipeline.reproduce import Gathered, curves_of, plotted_columns
from windlass_lab.core.pipeline.request import Progress
from windlass_lab.core.statistics.derive import of_kernel
from windlass_lab.core.statistics.estimate import pool
from windlass_lab.testbed import check, controller, load, stored
from windlass_lab.testbed.many import Job, run_all


@dataclass(frozen=True, slots=True)
class Kernel:
    """How runs are made: `runs` of each case, `at_once` testbeds side by side, below `folder`."""

    windlass: Path
    testbeds: Path
    folder: Path
    runs: int = 5
    at_once: int = 1
    resume: bool = False

    def jobs(self, case: KernelCase) -> list[Job]:
        """The runs of a case."""
        count = min(case.most_runs or self.runs, self.runs)
        file = self.testbeds / f"{case.testbed}.toml"
        return [
            Job(file, self.folder / case.name / f"run-{number}", case.time_s, self.windlass)
            for number in range(1, count + 1)
        ]

    def add_to(
        self, gathered: Gathered, experiments: Sequence[Experiment], progress: Progress
    ) -> None:
        """Runs the experiments' cases on this kernel and adds their results.

        Raises `LabError` where they cannot run, `RunError` where one fails.
        """
        cases = cases_of(experiments)
        if not cases:
            return
        for name, found in gather(self, cases, progress).items():
            gathered.summaries[name] = found.summary
            if columns := plotted_columns(experiments, name):
                series = read_series(found.middle, columns)
                gathered.curves[name] = [curves_of(each, columns) for each in series]
        gathered.commands += as_commands(self, cases)


@dataclass(frozen=True, slots=True)
class Found:
    """The results of a case: the pooled summary, and the folder of the median run."""

    summary: dict
    middle: Path


def cases_of(experiments: Sequence[Experiment]) -> list[KernelCase]:
    """The cases that need a kernel, each once."""
    return list({case.name: case for e in experiments for case in e.kernels}.values())


def missing_requirement(kernel: Kernel, cases: Sequence[KernelCase]) -> str:
    """The first requirement that this machine lacks, in one line; empty if it lacks none."""
    try:
        for job in (job for case in cases for job in kernel.jobs(case)[:1]):
            check.require_programs(load.load(job.file, job.time_s))
        return _doctor(kernel.windlass, _tools(cases))
    except LabError as error:
        return str(error)


def _tools(cases: Sequence[KernelCase]) -> list[str]:
    """The tools that `windlass doctor` checks: the link, and the transport under test."""
    return ["link", *sorted({"cc" if case.stack == KERNEL else "tou" for case in cases})]


def _doctor(windlass: Path, asked: Sequence[str]) -> str:
    command = [str(windlass), "doctor", *asked, "--json"]
    printed = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        tools = json.loads(printed.stdout)["tools"]
        needs = [(tool["tool"], need) for tool in tools for need in tool["needs"]]
        absent = [(t, n) for t, n in needs if n["required"] and not n["present"]]
    except (ValueError, KeyError, TypeError):
        return f"this binary windlass cannot say whether it has {' and '.join(asked)}"
    for tool, need in absent:
        return f"windlass {tool}: {need['need']}: {need['found']}; {need['get']}"
    return ""


def gather(kernel: Kernel, cases: Sequence[KernelCase], progress: Progress) -> dict[str, Found]:
    """Runs the cases, or what is missing of them with `resume`, with New-ECN in the kernel as long
    as they run, where it is the kernel's TCP that runs. By name, what came of each.

    Raises `LabError` where they cannot run, `RunError` where one fails.
    """
    jobs = [job for case in cases for job in kernel.jobs(case)]
    wanted = [job for job in jobs if not (kernel.resume and _is_there(job))]
    if wanted != jobs:
        progress(f"kernel: {len(jobs) - len(wanted)} of {len(jobs)} runs are there already")
    done: list[Job] = []

    def tell(job: Job) -> None:
        done.append(job)
        name = job.out.relative_to(kernel.folder)
        progress(f"kernel: {len(done)} of {len(wanted)} runs are done, the last {name}")

    if wanted:
        loaded = any(case.stack == KERNEL for case in cases)
        with controller.in_kernel(kernel.windlass, progress) if loaded else nullcontext():
            run_all(wanted, kernel.at_once, tell)
    return {case.name: _found([job.out for job in kernel.jobs(case)]) for case in cases}


def _is_there(job: Job) -> bool:
    return stored.is_there(job.out, load.load(job.file, job.time_s))


def _found(folders: Sequence[Path]) -> Found:
    summaries = [of_kernel(stored.summary(folder)) for folder in folders]
    indices = [summary["fairness_index"]["steady"] for summary in summaries]
    return Found(pool(summaries, median=True), folders[_middle(indices)])


def _middle(values: Sequence[float]) -> int:
    """The place of the value that is the median, or next to it."""
    return values.index(statistics.median_low(values))


def as_commands(kernel: Kernel, cases: Sequence[KernelCase]) -> list[str]:
    """The runs as one types them in the repository."""
    loads = any(case.stack == KERNEL for case in cases)
    lines = ["windlass cc load new-ecn"] if loads else []
    for case in cases:
        time = f" --time {case.time_s:g}" if case.time_s is not None else ""
        runs = f" --runs {len(kernel.jobs(case))} --jobs {kernel.at_once}"
        lines.append(f"windlass-lab testbed run lab/testbeds/{case.testbed}.toml{time}{runs}")
    return lines
