"""The rule of all verdicts: a criterion has a reason, a source and a date; it is older than what it
judges, or says that it is not; and a series is judged whole or not at all.
"""

from dataclasses import replace
from datetime import date

import pytest

from windlass_lab.core.experiments.model import (
    AtLeast,
    Case,
    Compared,
    Effect,
    Experiment,
    Line,
    Near,
    Quantity,
    Shown,
    Statement,
    SweepPlot,
)
from windlass_lab.core.pipeline.document import experiment_document
from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.verdicts.criterion import Basis, Criterion
from windlass_lab.core.verdicts.verdict import Subject, Tolerance, informative, near
from windlass_lab.papers.new_ecn.over_tou import NEW_ECN_TOU
from windlass_lab.papers.registry import all_papers

EXPERIMENTS = [(p, e) for p in (*all_papers(), NEW_ECN_TOU) for e in p.experiments]
EACH = pytest.mark.parametrize(("paper", "experiment"), EXPERIMENTS, ids=lambda value: value.id)
BEFORE = Criterion("why", "a source", date(2026, 11, 20), Basis.BEFORE)
FIRST = date(2026, 11, 21)


def criteria(experiment):
    return [check.criterion for check in experiment.checks if hasattr(check, "criterion")]


@EACH
def test_every_criterion_has_a_reason_a_source_and_a_date(paper, experiment):
    for criterion in criteria(experiment):
        assert criterion.why and criterion.source
        assert date(2026, 11, 20) <= criterion.set_on <= date.today()


@EACH
def test_no_criterion_is_newer_than_the_results_unless_it_says_so(paper, experiment):
    for criterion in criteria(experiment):
        assert criterion.basis != Basis.BEFORE or criterion.set_on <= experiment.first_result


def uneven(experiment) -> list[str]:
    """The series of which some cells are judged and others not: the lines of the sweeps' plots."""
    judged = set()
    for check in experiment.checks:
        if isinstance(check, Near | AtLeast | Statement):
            judged.add((check.case, check.quantity.key))
        elif isinstance(check, Effect):
            # The series that the others are divided by has a ratio of 1.
            judged |= {(case, check.quantity.key) for case in (check.case, check.beside)}
    lines = [(p, line) for p in experiment.plots if isinstance(p, SweepPlot) for line in p.lines]
    return [
        f"{plot.id}, {line.label}: {plot.quantity.key}"
        for plot, line in lines
        if len({(case, plot.quantity.key) in judged for _, case in line.points}) > 1
    ]


@EACH
def test_no_series_is_judged_in_part(paper, experiment):
    assert uneven(experiment) == []


def series(*checks):
    quantity = Quantity("index", "Index")
    cases = [Case(name, name) for name in "abc"]
    return Experiment(
        id="x",
        chapter="",
        section="",
        title="",
        shows="",
        quick=False,
        seconds=1,
        first_result=FIRST,
        cases=cases,
        checks=checks,
        plots=[
            SweepPlot(
                "p", "", [Line("l", [(n, c.name) for n, c in enumerate(cases)])], quantity, ""
            )
        ],
    )


def test_a_cell_that_is_shown_only_makes_a_series_uneven():
    index = Quantity("index", "Index")
    judged = [AtLeast(name, index, 0.9, criterion=BEFORE) for name in "ab"]
    assert uneven(series(*judged, Shown("c", index))) == ["p, l: index"]
    assert uneven(series(*judged, AtLeast("c", index, 0.9, criterion=BEFORE))) == []
    assert uneven(series(*(Shown(name, index) for name in "abc"))) == []
    assert uneven(series(*judged, Compared("c", "a", index))) == ["p, l: index"]


def row(criterion):
    subject = Subject("index", measured=Estimate(1.0), criterion=criterion)
    return near(subject, Tolerance(relative=0.1), target=1.0)


def test_a_result_without_a_criterion_is_refused():
    with pytest.raises(ValueError, match="judged without a criterion"):
        experiment_document("x", FIRST, [row(None)])
    document = experiment_document("x", FIRST, [row(BEFORE), informative(Subject("shown"))])
    assert document["comparisons"][0]["criterion"]["set_on"] == "2026-11-20"


def test_a_criterion_that_is_newer_than_its_result_is_refused_unless_labelled():
    newer = replace(BEFORE, set_on=date(2026, 11, 22))
    with pytest.raises(ValueError, match="newer than the result of 2026-11-21"):
        experiment_document("x", FIRST, [row(newer)])
    for basis in (Basis.AFTER, Basis.PAPER, Basis.THEORY):
        experiment_document("x", FIRST, [row(replace(newer, basis=basis))])
    assert "set after the result, 2026-11-22" in str(replace(newer, basis=Basis.AFTER))
