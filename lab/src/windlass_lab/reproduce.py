"""Runs the experiments of a paper and gathers one result document from them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from windlass_lab import __version__
from windlass_lab.catalogue import Experiment, Paper, SeriesPlot, SimpleModel
from windlass_lab.errors import LabError
from windlass_lab.judge import Evidence, evidence_in, judge
from windlass_lab.output import RESULT_FORMAT, SCHEMA_VERSION, SERIES_FORMAT
from windlass_lab.reference import Published, load_published
from windlass_lab.thin import thin
from windlass_lab.verdict import failures
from windlass_lab.windlass import FlowSeries, Sampling, Windlass

# Points of one curve: more than a screen has columns, few enough for a page of tens of curves.
CURVE_POINTS = 1600
# Digits of a curve's values: beyond what a plot can show.
_TIME_DIGITS = 3
_VALUE_DIGITS = 4

Progress = Callable[[str], None]


@dataclass(slots=True)
class Gathered:
    """What the runs gave: summaries as the binary printed them, and thinned curves, by case."""

    summaries: dict[str, dict] = field(default_factory=dict)
    curves: dict[str, list[dict]] = field(default_factory=dict)


def reproduce(
    paper: Paper,
    experiments: Sequence[Experiment],
    windlass: Windlass,
    scenarios: Path,
    sampling: Sampling,
    progress: Progress,
) -> tuple[dict, dict]:
    """Runs the experiments; returns the documents for results.json and series.json.

    Raises `LabError` before the first run when a scenario is missing, `RunError` when one fails.
    """
    files = _scenario_files(experiments, scenarios)
    published = {name: load_published(file) for name, file in files.items()}
    published |= {m.name: Published(m.published) for e in experiments for m in e.models}
    begin = time.monotonic()
    version = windlass.version()
    gathered = Gathered()
    steps = _steps(experiments, files, windlass, sampling, gathered)
    for number, (what, action) in enumerate(steps, start=1):
        progress(f"[{number}/{len(steps)}] {what}")
        action()
    results = {
        "format": RESULT_FORMAT,
        "schema_version": SCHEMA_VERSION,
        "paper": paper.id,
        "replicates": sampling.replicates,
        "jitter_ms": sampling.jitter_ms,
        "seed": sampling.seed,
        "windlass_version": version,
        "lab_version": __version__,
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "elapsed_s": round(time.monotonic() - begin, 1),
        "commands": _portable(windlass.commands, scenarios),
        "published": {name: found.table for name, found in published.items()},
        "summaries": gathered.summaries,
    }
    evidence = evidence_in(paper, results)
    results["experiments"] = [_experiment_document(e, evidence) for e in experiments]
    return results, _series_document(paper, gathered)


def _scenario_files(experiments: Sequence[Experiment], scenarios: Path) -> dict[str, Path]:
    names = list(dict.fromkeys(case.name for e in experiments for case in e.cases))
    files = {name: scenarios / f"{name}.toml" for name in names}
    missing = [file for file in files.values() if not file.is_file()]
    if missing:
        raise LabError(f"there is no scenario {missing[0]}")
    return files


def _steps(
    experiments: Sequence[Experiment],
    files: Mapping[str, Path],
    windlass: Windlass,
    sampling: Sampling,
    gathered: Gathered,
) -> list[tuple[str, Callable[[], None]]]:
    """Each call of the binary: what it is about and what does it.

    Every case is run once, however many experiments look at it.
    """

    def summarise(name: str) -> None:
        gathered.summaries[name] = windlass.summary(files[name], sampling)

    def trace(name: str, columns: Sequence[str]) -> None:
        flows = windlass.series(files[name], sampling.seed)
        gathered.curves[name] = [_curves(flow, columns) for flow in flows]

    def compute(model: SimpleModel) -> None:
        summary = windlass.simple_model(model.variant, model.steps, model.seeds, sampling.seed)
        gathered.summaries[model.name] = summary

    steps = []
    for name in files:
        steps.append((f"{name}: {sampling.replicates} replicates", partial(summarise, name)))
        if columns := _plotted_columns(experiments, name):
            steps.append((f"{name}: time series", partial(trace, name, columns)))
    for model in {m.name: m for e in experiments for m in e.models}.values():
        steps.append((f"simple model, {model.label}", partial(compute, model)))
    return steps


def _plotted_columns(experiments: Sequence[Experiment], case: str) -> list[str]:
    plots = (plot for experiment in experiments for plot in experiment.plots)
    wanted = (p.column for p in plots if isinstance(p, SeriesPlot) and case in p.cases)
    return list(dict.fromkeys(wanted))


def _curves(flow: FlowSeries, columns: Sequence[str]) -> dict:
    curves = {}
    for column in columns:
        if column not in flow.columns:
            continue
        times, values = thin(flow.time_s, flow.columns[column], CURVE_POINTS)
        curves[column] = {
            "time_s": [round(t, _TIME_DIGITS) for t in times],
            "values": [round(v, _VALUE_DIGITS) for v in values],
        }
    return {"name": flow.name, "rtt_min_ms": flow.rtt_min_ms, "curves": curves}


def _experiment_document(experiment: Experiment, evidence: Evidence) -> dict:
    comparisons = judge(experiment, evidence)
    return {
        "id": experiment.id,
        "passed": not failures(comparisons),
        "comparisons": [comparison.to_json() for comparison in comparisons],
    }


def _series_document(paper: Paper, gathered: Gathered) -> dict:
    return {
        "format": SERIES_FORMAT,
        "schema_version": SCHEMA_VERSION,
        "paper": paper.id,
        "cases": gathered.curves,
    }


def _portable(commands: Sequence[str], scenarios: Path) -> list[str]:
    """The commands as one types them in the repository: no machine's paths in a report."""
    root = f"{scenarios.resolve().parent.parent}/"
    return [_without_scratch(command.replace(root, "")) for command in commands]


def _without_scratch(command: str) -> str:
    words = command.split(" ")
    if "--out" in words:
        words[words.index("--out") + 1] = "DIR"
    return " ".join(words)
