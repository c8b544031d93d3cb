"""Every figure, table and conclusion of the papers has an experiment, or a reason for none."""

import json
import re

import pytest

from windlass_lab.cli import main
from windlass_lab.core.experiments.coverage import SENTENCE, coverage
from windlass_lab.papers.registry import all_papers

# The highest number of a figure or table in the papers, by kind and chapter.
PAPERS = {
    "new-ecn": {"Figure": {"2": 1, "3": 4, "4": 12}, "Table": {"4": 10}},
    "ecn-proxy": {
        "Figure": {"2": 5, "3": 2, "4": 7, "B": 40},
        "Table": {"2": 1, "C": 10},
    },
    "split-ack": {
        "Figure": {"2": 8, "3": 3, "4": 17},
        "Table": {"2": 2, "3": 1, "4": 12},
    },
    "tou": {"Figure": {"": 19}, "Table": {"": 2}},
}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_figure_and_table_of_a_paper_is_accounted_for_once(paper):
    expected = {
        (kind, f"{chapter}.{number}" if chapter else str(number))
        for kind, chapters in PAPERS[paper].items()
        for chapter, highest in chapters.items()
        for number in range(1, highest + 1)
    }
    found = [(c.kind, c.number) for c in coverage() if c.paper == paper and c.kind != SENTENCE]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("paper", PAPERS)
def test_what_the_text_says_is_accounted_for_once(paper):
    said = [c.number for c in coverage() if c.paper == paper and c.kind == SENTENCE]
    assert len(said) == len(set(said)) >= 5
    # A section and a statement, in the lab's words.
    assert all(re.match(r"\d[\d.]*( and [\d.]+)?: \w", each) for each in said), said


def test_each_has_an_experiment_of_the_catalogue_or_a_reason():
    known = {f"{paper.id}/{e.id}" for paper in all_papers() for e in paper.experiments}
    for each in coverage():
        assert (each.experiment is None) != (each.reason is None), each
        assert each.experiment is None or f"{each.paper}/{each.experiment}" in known, each


def test_a_plot_of_a_figure_stands_in_the_experiment_that_covers_it():
    by_figure = {(c.paper, c.number): c.experiment for c in coverage() if c.kind == "Figure"}
    for paper in all_papers():
        for experiment in paper.experiments:
            for plot in experiment.plots:
                number = re.match(r"[\dA-Z.]*", plot.figure).group() if plot.figure else ""
                if number:
                    covered = by_figure[paper.id, number]
                    assert covered in (experiment.id, experiment.id.removesuffix("-short"))


def test_the_command_lists_them_for_people_and_for_scripts(capsys):
    assert main(["coverage"]) == 0
    text = capsys.readouterr().out
    assert "Figures 4.2 to 4.5" in text and "new-ecn/4.2.1-setup1" in text
    assert main(["coverage", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "lab.coverage"
    assert {"paper": "tou", "what": "Figure 18", "experiment": "tou/bad", "reason": None} in found[
        "items"
    ]
