from dataclasses import replace

from windlass_lab.core.statistics.estimate import Estimate
from windlass_lab.core.text.numbers import estimate, figure, table
from windlass_lab.core.text.verdicts import (
    Count,
    figure_verdict,
    section_verdict,
    tally,
    verdict_line,
)
from windlass_lab.core.verdicts.verdict import Subject, Tolerance, informative, near


def test_figures_have_the_digits_they_deserve():
    shown = [figure(value) for value in (0, 0.16234, 8.271, 23.14159, 579.94, 72583.4)]
    assert shown == ["0", "0.162", "8.271", "23.14", "579.9", "72,583"]
    assert estimate(Estimate(1207.28, 0.5, 20)) == "1,207.3 ± 0.5"
    assert estimate(Estimate(0.9844, 0.0054, 20)) == "0.984 ± 0.005"
    assert estimate(Estimate(4.0, 0.0, 20)) == "4.000"
    assert estimate(None) == "–"


def test_tables_line_up():
    lines = table([("rate", "1"), ("fairness", "100")], right={1}).splitlines()
    assert lines == ["rate        1", "fairness  100"]


def judged(measured, **more):
    subject = Subject("rate", "packets/s", **more, measured=Estimate(measured))
    return near(subject, Tolerance(relative=0.1), target=100.0)


def test_a_section_names_the_figure_furthest_out():
    line = section_verdict([judged(101.0), judged(105.0, flow="b"), judged(99.0)])
    assert line == (
        "All 3 met; the furthest out: rate, b (packets/s), +5.0 % (50% of the tolerance)"
    )


def test_what_is_by_construction_counts_apart():
    built = replace(judged(101.0), by_construction=True)
    found = tally([judged(101.0), judged(150.0), built])
    assert (found.own, found.built) == ({"figure": Count(1, 1)}, Count(1))
    assert found.failed and not tally([built]).failed
    assert tally([replace(built, verdict="fail")]).failed
    assert section_verdict([built]) == "All 1 are so by construction"
    assert section_verdict([judged(100.0), built]) == "All 1 met"


def test_nothing_judged_is_no_agreement():
    results = {"experiments": [{"comparisons": [informative(Subject("rate")).to_json()]}]}
    line = "These figures are shown for information; none has a criterion."
    assert verdict_line(results, "the reference") == line


def test_paper_and_reference_and_kinds_are_distinguished():
    rows = [
        replace(judged(101.0), paper="fail"),
        judged(99.0),
        replace(judged(99.0), kind="order", verdict="undecided"),
        replace(judged(99.0), kind="trivial"),
    ]
    results = {"experiments": [{"comparisons": [row.to_json() for row in rows]}]}
    assert verdict_line(results, "the reference") == (
        "Held against the reference: figures 2 of 2 met, orders 0 of 1 met, 1 not decided, "
        "figures that are 1 by their nature 1 of 1 met. The paper: figures 0 of 1 met."
    )


def test_what_differs_is_named():
    assert section_verdict([judged(101.0), judged(150.0, flow="b")]) == (
        "1 of 2 not met: rate, b (packets/s)"
    )


def test_a_figure_has_a_line_with_all_that_is_known():
    comparison = judged(150.0, published=98, reference=Estimate(100.0, 1.0, 20))
    assert figure_verdict([comparison]) == (
        "rate (packets/s) 150.0 (published 98, reference 100.0 ± 1.0, "
        "deviation +50.0 % of ± 10 %): NOT MET"
    )
