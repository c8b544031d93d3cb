"""Runs the experiments of a paper and gathers one result document from them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from windlass_lab.core.binary import aggregate
from windlass_lab.core.binary.locate import find_experiments
from windlass_lab.core.binary.over_time import window_spread
from windlass_lab.core.binary.windlass import Run, Sampling, Series, Windlass
from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.decisive import decisive_cases
from windlass_lab.core.experiments.judge import Evidence, evidence_in, judge
from windlass_lab.core.experiments.model import (
    Arithmetic,
    Case,
    CycleModel,
    Experiment,
    Paper,
    SeriesPlot,
    SimpleModel,
    TracePlot,
)
from windlass_lab.core.experiments.reference import Published, load_published
from windlass_lab.core.files.output import SERIES_KIND, envelope
from windlass_lab.core.pipeline.document import Origin, experiment_document, result_document
from windlass_lab.core.pipeline.request import Progress, Request
from windlass_lab.core.statistics.thin import thin

# Of each simulated case, by default.
REPLICATES = 20
# Points of one curve: more than a screen has columns, few enough for a page of tens of curves.
CURVE_POINTS = 1600
# A column that only grows has no peaks to lose.
_SMOOTH_POINTS = {"acked_packets": 400}
# Digits of a curve's values: beyond what a plot can show.
_TIME_DIGITS = 3
_VALUE_DIGITS = 5


@dataclass(slots=True)
class Gathered:
    """The results of the runs: summaries as the binary printed them, thinned curves, published
    figures by case, and the commands in order.
    """

    summaries: dict[str, dict] = field(default_factory=dict)
    curves: dict[str, list[dict]] = field(default_factory=dict)
    published: dict[str, Published] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)


class Source(Protocol):
    """Runs the cases of one kind outside the simulator."""

    def add_to(
        self, gathered: Gathered, experiments: Sequence[Experiment], progress: Progress
    ) -> None:
        """Runs its cases of the experiments and adds their results.

        Raises `LabError` where they cannot run, `RunError` where one fails.
        """


def reproduce(
    paper: Paper,
    experiments: Sequence[Experiment],
    windlass: Windlass,
    scenarios: Path,
    sampling: Sampling,
    progress: Progress,
    sources: Sequence[Source] = (),
) -> tuple[dict, dict]:
    """Runs the experiments; returns the documents for results.json and series.json.

    Cases of the simulator run first, then those of each of the `sources`.

    Raises `LabError` before the first run when a scenario is missing, `RunError` when one fails.
    """
    cases = {case.name: case for e in experiments for case in e.cases}
    runs = _runs(cases.values(), scenarios)
    # A variant has no published figures: they are those of the scenario as it stands.
    gathered = Gathered()
    gathered.published = {
        name: load_published(run.scenario) for name, run in runs.items() if not run.overrides
    }
    computed: list[SimpleModel | Arithmetic] = [m for e in experiments for m in e.models]
    computed += [case for e in experiments for case in e.arithmetic]
    gathered.published |= {case.name: Published(case.published) for case in computed}
    gathered.summaries = {
        case.name: {"replicates": 1, **case.figures()} for e in experiments for case in e.arithmetic
    }
    origin = Origin(windlass)
    steps = _steps(experiments, runs, windlass, sampling, gathered)
    for number, (what, action) in enumerate(steps, start=1):
        progress(f"[{number}/{len(steps)}] {what}")
        action()
    gathered.commands = _portable(windlass.commands, scenarios)
    for source in sources:
        source.add_to(gathered, experiments, progress)
    how = {
        "replicates": sampling.replicates,
        "brief": sampling.brief,
        "jitter_ms": sampling.jitter_ms,
        "seed": sampling.seed,
    }
    results = result_document(
        paper,
        how,
        origin,
        gathered.commands,
        {name: found.table for name, found in gathered.published.items()},
        gathered.summaries,
    )
    evidence = evidence_in(paper, results)
    results["experiments"] = [_experiment_document(e, evidence) for e in experiments]
    return results, _series_document(paper, gathered)


def reproduce_request(
    request: Request, experiments: Sequence[Experiment], sources: Sequence[Source]
) -> tuple[dict, dict]:
    """The same by the options of the command line; `experiments` are those that can run here."""
    return reproduce(
        request.paper,
        experiments,
        request.windlass,
        find_experiments(request.experiments_folder, request.paper.id),
        Sampling(request.replicates or REPLICATES, request.jobs, request.seed, brief=request.check),
        request.progress,
        sources,
    )


def _runs(cases: Iterable[Case], scenarios: Path) -> dict[str, Run]:
    runs = {case.name: Run(scenarios / f"{case.stem}.toml", case.overrides) for case in cases}
    missing = [run.scenario for run in runs.values() if not run.scenario.is_file()]
    if missing:
        raise LabError(f"there is no scenario {missing[0]}")
    return runs


def _steps(
    experiments: Sequence[Experiment],
    runs: Mapping[str, Run],
    windlass: Windlass,
    sampling: Sampling,
    gathered: Gathered,
) -> list[tuple[str, Callable[[], None]]]:
    """Each call of the binary: what it is about and what does it.

    Every case is run once, however many experiments look at it.
    """

    def summarise(case: Case, drawn: Sampling) -> None:
        found = windlass.summary(runs[case.name], drawn)
        if case.window_spread:
            spread = window_spread(windlass, runs[case.name], drawn, found["steady_from_s"])
            found["cwnd_sd_steady"] = spread["cwnd_packets"]
        gathered.summaries[case.name] = found

    def trace(name: str, columns: Sequence[str]) -> None:
        gathered.curves[name] = _traced(windlass, runs[name], sampling.seed, columns)

    def compute(model: SimpleModel) -> None:
        summary = windlass.simple_model(model.variant, model.steps, model.seeds, sampling.seed)
        gathered.curves[model.name] = _model_curves(summary.pop("series"), summary["flows"])
        gathered.summaries[model.name] = summary

    def predict(model: CycleModel) -> None:
        gathered.summaries[model.name] = windlass.cycle_model(model.arguments, sampling.seed)

    decisive = decisive_cases(experiments)
    steps: list[tuple[str, Callable[[], None]]] = []
    for name, case in {case.name: case for e in experiments for case in e.cases}.items():
        count = _replicates(case, sampling, name in decisive)
        drawn = replace(sampling, replicates=count, seed=case.first_seed or sampling.seed)
        steps.append((f"{name}: {count} replicates", partial(summarise, case, drawn)))
        if columns := plotted_columns(experiments, name):
            steps.append((f"{name}: time series", partial(trace, name, columns)))
    for model in {m.name: m for e in experiments for m in e.models}.values():
        steps.append((f"simple model, {model.label}", partial(compute, model)))
    for predicted in {m.name: m for e in experiments for m in e.cycle_models}.values():
        steps.append((f"cycle model, {predicted.label}", partial(predict, predicted)))
    return steps


def _replicates(case: Case, sampling: Sampling, decisive: bool) -> int:
    if sampling.brief and not decisive:
        return 1
    return min(case.most_replicates or sampling.replicates, sampling.replicates)


def plotted_columns(experiments: Sequence[Experiment], case: str) -> list[str]:
    """The columns of a case's time series that some plot of the experiments shows."""
    plots = (plot for experiment in experiments for plot in experiment.plots)
    wanted = (p.column for p in plots if isinstance(p, SeriesPlot | TracePlot) and case in p.cases)
    return list(dict.fromkeys(wanted))


def _traced(windlass: Windlass, run: Run, seed: int, columns: Sequence[str]) -> list[dict]:
    summed = [column for column in columns if column in aggregate.COLUMNS]
    found = windlass.series(run, seed, [*columns, aggregate.CWND] if summed else columns)
    if summed:
        found.append(aggregate.together([s for s in found if s.rtt_min_ms is not None]))
    curves = [curves_of(series, columns) for series in found]
    return [entry for entry in curves if entry["curves"]]


def curves_of(series: Series, columns: Sequence[str]) -> dict:
    """A time series as series.json has it: these columns, thinned to what a plot can show."""
    curves = {}
    for column in columns:
        if column not in series.columns:
            continue
        limit = _SMOOTH_POINTS.get(column, CURVE_POINTS)
        times, values = thin(series.time_s, series.columns[column], limit)
        curves[column] = {
            "time_s": [round(t, _TIME_DIGITS) for t in times],
            "values": [_rounded(v) for v in values],
        }
    return {
        "name": series.name,
        "rtt_min_ms": series.rtt_min_ms,
        "controller": series.controller,
        "curves": curves,
    }


def _rounded(value: float) -> float:
    """With digits beyond what a plot can show, and none where there are none."""
    short = float(f"{value:.{_VALUE_DIGITS}g}") if abs(value) < 10**_VALUE_DIGITS else round(value)
    return int(short) if short == int(short) else short


def _model_curves(series: Mapping, flows: Sequence[Mapping]) -> list[dict]:
    """Curves of the simple model, every step of them: rates are windows over round-trip times."""
    curves = []
    for flow, windows in zip(flows, series["cwnd_packets"], strict=True):
        times = [round(step * series["step_s"], _TIME_DIGITS) for step in range(len(windows))]
        rates = [_rounded(window / flow["rtt_min_ms"] * 1000) for window in windows]
        by_column = {
            "cwnd_packets": {"time_s": times, "values": [_rounded(w) for w in windows]},
            "rate_packets_per_s": {"time_s": times, "values": rates},
        }
        name, rtt = flow["name"], flow["rtt_min_ms"]
        curves.append({"name": name, "rtt_min_ms": rtt, "controller": "", "curves": by_column})
    return curves


def _experiment_document(experiment: Experiment, evidence: Evidence) -> dict:
    return experiment_document(experiment.id, experiment.first_result, judge(experiment, evidence))


def no_series(paper: Paper) -> dict:
    """The document for series.json where a result has none."""
    return _series_document(paper, Gathered())


def _series_document(paper: Paper, gathered: Gathered) -> dict:
    return {
        **envelope(SERIES_KIND),
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
