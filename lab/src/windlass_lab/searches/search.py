"""Runs a search: optuna proposes values, the simulator runs them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Literal

import polars as pl

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.output import make_folder, remove_empty
from windlass_lab.core.files.pandas_frame import to_pandas
from windlass_lab.core.report.notebook_form import notebook_form
from windlass_lab.core.report.panel_page import Table
from windlass_lab.runs.portable import portable_text
from windlass_lab.runs.simulate import ScenarioError
from windlass_lab.searches.figure import FrontFigure
from windlass_lab.searches.study import Range, SearchStudy, read
from windlass_lab.sweeps.keep import MISSING, find
from windlass_lab.sweeps.pool import run_points
from windlass_lab.sweeps.rows import Runner
from windlass_lab.sweeps.study import Point, with_unit
from windlass_lab.sweeps.sweep import jobs_of
from windlass_lab.sweeps.table import frame_of, write_parquet

if TYPE_CHECKING:
    import optuna
    import pandas as pd

TRIALS = "trials.parquet"
# Trials that are proposed together. It does not depend on the number of jobs, so that the same
# study makes the same search on every machine.
_BATCH = 8
_DIRECTIONS: Mapping[str, Literal["minimize", "maximize"]] = {
    "min": "minimize",
    "max": "maximize",
}

Progress = Callable[[float, int], None]
"""Called with how many trials are done, those under way by their part, and of how many."""


@dataclass(frozen=True)
class SearchResult:
    """The trials of a search, and its objectives."""

    trials: pl.DataFrame
    """A row per trial: `trial`, a column per axis, a column per objective (a mean over paths and
    seeds), `refused`, why the trial does not count, if it does not: what the scenario has against
    the values, or which objective is null; and `best`, whether no other trial is better in one
    objective and as good in all others. Of the best ones and the first ones `unseen.` and each
    objective, on the paths that took no part.
    """
    objectives: Mapping[str, str]

    @property
    def front(self) -> pl.DataFrame:
        """The trials that are best, by the first objective: the Pareto front. With one objective it
        is the best trial.
        """
        return self.trials.filter("best").sort(next(iter(self.objectives)), "trial")

    def plot(self) -> FrontFigure:
        """All trials and the front, which a notebook shows and `save` writes."""
        return FrontFigure(self.trials, self.objectives)

    def to_pandas(self) -> pd.DataFrame:
        """The trials for pandas. Raises `LabError` without the packages of the extra `pandas`."""
        return to_pandas(self.trials)

    def _repr_html_(self) -> str:
        figure = self.plot()
        return notebook_form("Search", [figure.facts()], figure.table(), figure.drawing())


@dataclass
class Search:
    """A search: ready to run, and with its result once it has run. A notebook shows it."""

    study: SearchStudy
    out: Path | None
    jobs: int
    _result: SearchResult | None = field(default=None, init=False, repr=False, compare=False)

    def collect(self, progress: Progress | None = None) -> SearchResult:
        """Runs all trials. The same study gives the same result, with any number of jobs. With an
        output directory the table of trials is written there. Raises `LabError`, also if one is
        there already.
        """
        if self.out and (self.out / TRIALS).exists():
            raise LabError(
                f"{self.out / TRIALS}: exists already: remove it, or choose another --out"
            )
        trials: list[dict] = []
        tried: list[dict] = []
        proposals = _Proposals(self.study)
        _check_objectives(self.study)
        while len(trials) < self.study.trials:
            batch = proposals.next(min(_BATCH, self.study.trials - len(trials)))
            tell = partial(_tell, progress, len(trials), len(batch), self.study)
            measured = _measure(self.study, self.study.paths, batch, self.jobs, tell)
            proposals.answer(measured)
            tried += batch
            trials += [
                {"trial": number} | set_ | row
                for number, (set_, row) in enumerate(zip(batch, measured, strict=True), len(trials))
            ]
            if progress:
                progress(len(trials), self.study.trials)
        if all(trial["refused"] for trial in trials):
            raise LabError(trials[0]["refused"])
        frame = frame_of(trials, order="trial", axes=self.study.axes)
        values = [
            None if row["refused"] else [row[key] for key in self.study.objectives]
            for row in trials
        ]
        best = best_of(values, self._signs)
        frame = frame.with_columns(pl.Series("best", best))
        result = SearchResult(self._judged(frame, tried), self.study.objectives)
        if self.out:
            made = make_folder(self.out)
            try:
                write_parquet(result.trials, self.out / TRIALS)
            finally:
                remove_empty(made)
        self._result = result
        return result

    @property
    def result(self) -> SearchResult:
        """The result. Runs the search if `collect` has not; raises as `collect` does."""
        return self._result or self.collect()

    def plot(self) -> FrontFigure:
        """All trials and the front, as `SearchResult.plot` shows them."""
        return self.result.plot()

    def to_pandas(self) -> pd.DataFrame:
        """The trials for pandas, as `SearchResult.to_pandas` gives them."""
        return self.result.to_pandas()

    def _repr_html_(self) -> str:
        if self._result is not None:
            return self._result._repr_html_()
        axes = [[key, _range_of(axis)] for key, axis in self.study.axes.items()]
        goals = ", ".join(f"{key} ({goal})" for key, goal in self.study.objectives.items())
        facts = [
            f"{self.study.trials:,} trials of {self.study.scenario.name}, which collect() makes. "
            f"Objectives: {goals}."
        ]
        return notebook_form(self.study.path.stem, facts, Table("Axes", ["Axis", "Values"], axes))

    def _judged(self, trials: pl.DataFrame, tried: Sequence[Mapping]) -> pl.DataFrame:
        """With the objectives of the best trials, and of those that were asked for first, on the
        paths that took no part in the search.
        """
        if not self.study.unseen:
            return trials
        asked = pl.col("trial") < len(self.study.first)
        judged = trials.filter((pl.col("best") | asked) & pl.col("refused").is_null())
        batch = [tried[trial] for trial in judged["trial"]]
        rows = _measure(self.study, self.study.unseen, batch, self.jobs)
        found = frame_of(
            [
                {"trial": trial} | {f"unseen.{key}": row[key] for key in self.study.objectives}
                for trial, row in zip(judged["trial"], rows, strict=True)
            ],
            order="trial",
        )
        return trials.join(found, on="trial", how="left", maintain_order="left")

    @property
    def _signs(self) -> list[int]:
        return [1 if goal == "max" else -1 for goal in self.study.objectives.values()]


def _tell(
    progress: Progress | None, before: int, batch: int, study: SearchStudy, runs: float
) -> None:
    """Says how far a batch of trials is, of whose runs so many are simulated."""
    if progress:
        each = len(study.paths) * len(study.seeds)
        progress(before + min(runs / each, batch), study.trials)


def _range_of(axis: Range | Sequence[object]) -> str:
    if not isinstance(axis, Range):
        return ", ".join(str(value) for value in axis)
    return f"{axis.low:g} to {axis.high:g}{axis.unit or ''}"


def search(path: str | Path, *, out: str | Path | None = None, jobs: int | None = None) -> Search:
    """The search of a study file (docs/reference/studies.md). `jobs` are runs at the same time; the
    default is the number of cores. Raises `LabError` for a study that cannot be run.
    """
    return Search(read(path), Path(out) if out else None, jobs_of(jobs))


def best_of(rows: Sequence[Sequence[float] | None], signs: Sequence[int]) -> list[bool]:
    """Which rows no other dominates: as good in all objectives and better in one. A sign is 1 where
    more is better and -1 where less is. A row without values is none.
    """
    scores = [row and tuple(sign * x for sign, x in zip(signs, row, strict=True)) for row in rows]

    def dominates(a: Sequence[float] | None, b: Sequence[float]) -> bool:
        return a is not None and a != b and all(x >= y for x, y in zip(a, b, strict=True))

    return [
        score is not None and not any(dominates(other, score) for other in scores)
        for score in scores
    ]


class _Runner(Runner):
    """A runner for which values that the scenario refuses are a result."""

    def run(
        self,
        point: Point,
        stop: object | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> dict:
        try:
            return super().run(point, stop, progress)
        except ScenarioError as error:
            return {"run": point.run, "refused": str(error)}


def _measure(
    study: SearchStudy,
    paths: Sequence[Mapping[str, object]],
    batch: Sequence[Mapping[str, object]],
    jobs: int,
    tell: Callable[[float], None] = lambda _: None,
) -> list[dict]:
    """The objectives of each set of values (means over paths and seeds), or why it was refused.
    `tell` is called with how many runs are simulated, those under way by their part.
    """
    text = portable_text(study.scenario)
    runner = _Runner(str(study.scenario), text, study.jitter, list(study.objectives))
    each = len(paths) * len(study.seeds)
    sets = ((seed, {**path, **set_}) for set_ in batch for path in paths for seed in study.seeds)
    points = (Point(number, seed, set_) for number, (seed, set_) in enumerate(sets))
    rows: list[dict] = []
    run_points(runner, points, jobs, rows.extend, lambda part: tell(len(rows) + part))
    rows.sort(key=lambda row: row["run"])
    return [_trial(study, rows[first : first + each]) for first in range(0, len(rows), each)]


def _check_objectives(study: SearchStudy) -> None:
    """Raises `LabError` for an objective that the summary does not have on any of the paths. Paths
    that the scenario refuses without the values of the axes say nothing.
    """
    text = portable_text(study.scenario)
    runner = Runner(str(study.scenario), text, study.jitter, list(study.objectives))
    summaries = []
    for path in study.paths:
        try:
            summaries.append(runner.check(Point(0, study.seeds[0], path)))
        except ScenarioError:
            continue
    for key in study.objectives:
        if summaries and all(find(summary, key) is MISSING for summary in summaries):
            raise LabError(f"{study.path}: search.objectives: the summary has no {key}")


def _trial(study: SearchStudy, rows: Sequence[Mapping]) -> dict:
    if refused := next((row["refused"] for row in rows if "refused" in row), None):
        return dict.fromkeys(study.objectives) | {"refused": refused}
    means = {key: _mean([row[key] for row in rows]) for key in study.objectives}
    null = next((key for key, mean in means.items() if mean is None), None)
    return means | {"refused": f"no figure: {null} is null" if null else None}


def _mean(values: Sequence[object]) -> float | None:
    """The mean; None if one of the values is no finite number, such as that of a run in which no
    transfer ended.
    """
    numbers = [value for value in values if isinstance(value, float) and isfinite(value)]
    return fmean(numbers) if len(numbers) == len(values) else None


@dataclass
class _Proposals:
    """The values that optuna proposes, a batch at a time."""

    study: SearchStudy
    asked: list[optuna.trial.Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna = optuna.create_study(
            directions=[_DIRECTIONS[goal] for goal in self.study.objectives.values()],
            sampler=_sampler(self.study),
        )

        for set_ in self.study.first:
            self._optuna.enqueue_trial(
                {key: _as_suggested(self.study.axes[key], value) for key, value in set_.items()}
            )

    def next(self, count: int) -> list[dict[str, object]]:
        self.asked = [self._optuna.ask() for _ in range(count)]
        return [self._values(trial) for trial in self.asked]

    def answer(self, measured: Sequence[Mapping]) -> None:
        import optuna

        for trial, row in zip(self.asked, measured, strict=True):
            if row["refused"]:
                self._optuna.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                self._optuna.tell(trial, [row[key] for key in self.study.objectives])

    def _values(self, trial: optuna.trial.Trial) -> dict[str, object]:
        return {key: _suggested(trial, key, axis) for key, axis in self.study.axes.items()}


def _as_suggested(axis: Range | Sequence[object], value: object) -> object:
    return value if isinstance(axis, Range) else list(axis).index(value)


def _suggested(trial: optuna.trial.Trial, key: str, axis: Range | Sequence[object]) -> object:
    if not isinstance(axis, Range):
        # By place, since optuna takes no lists and tables.
        return axis[trial.suggest_categorical(key, list(range(len(axis))))]
    if axis.whole:
        low, high = int(axis.low), int(axis.high)
        return with_unit(trial.suggest_int(key, low, high, log=axis.log), axis.unit)
    return with_unit(trial.suggest_float(key, axis.low, axis.high, log=axis.log), axis.unit)


def _sampler(study: SearchStudy) -> optuna.samplers.BaseSampler:
    import optuna

    if study.sampler == "nsga2":
        return optuna.samplers.NSGAIISampler(seed=study.seed)
    if study.sampler == "random":
        return optuna.samplers.RandomSampler(seed=study.seed)
    # A batch is asked before any of it is answered.
    return optuna.samplers.TPESampler(seed=study.seed, constant_liar=True)


def as_json(result: SearchResult) -> str:
    """The front, for scripts."""
    body = {"schema": 1, "kind": "lab.search", "front": result.front.to_dicts()}
    return json.dumps(body)
