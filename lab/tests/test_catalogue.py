from pathlib import Path

import pytest

from windlass_lab.catalogue import SeriesPlot, all_papers
from windlass_lab.windlass import FLOW_COLUMNS

EXPERIMENTS = [(paper, e) for paper in all_papers() for e in paper.experiments]


def test_ids_are_unique():
    ids = [f"{paper.id}/{experiment.id}" for paper, experiment in EXPERIMENTS]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("paper", "experiment"), EXPERIMENTS, ids=lambda value: value.id)
def test_checks_and_plots_name_cases_of_their_experiment(paper, experiment):
    known = {case.name for case in (*experiment.cases, *experiment.models)}
    for check in experiment.checks:
        assert set(getattr(check, "cases", None) or [check.case]) <= known
    for plot in experiment.plots:
        assert set(plot.cases) <= known
        assert not isinstance(plot, SeriesPlot) or plot.column in COLUMNS


@pytest.mark.parametrize(("paper", "experiment"), EXPERIMENTS, ids=lambda value: value.id)
def test_every_scenario_is_in_the_repository(paper, experiment):
    folder = Path(__file__).resolve().parents[2] / "experiments" / paper.id
    if not folder.is_dir():
        pytest.skip(f"no folder experiments/{paper.id}: not run in the repository")
    for case in experiment.cases:
        assert (folder / f"{case.name}.toml").is_file()
