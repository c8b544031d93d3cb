import json

from plotly import graph_objects

from windlass_lab.core.judge import evidence_in
from windlass_lab.core.model import Experiment
from windlass_lab.core.plot_parts import Drawn, Material, as_csv
from windlass_lab.core.plots import draw
from windlass_lab.core.reference import load_reference_acks
from windlass_lab.core.registry import find


def drawn(folder) -> list[tuple[Experiment, list[Drawn]]]:
    results = json.loads((folder / "results.json").read_text())
    series = json.loads((folder / "series.json").read_text())
    return [
        (experiment, [made for _, made in draw(experiment, material)])
        for paper, _ in [find("new-ecn", quick=False)]
        for material in [
            Material(evidence_in(paper, results), series["cases"], load_reference_acks(paper.id))
        ]
        for experiment in paper.experiments
    ]


def test_every_plot_of_the_catalogue_is_one_that_plotly_accepts(whole_result):
    for experiment, plots in drawn(whole_result):
        assert [plot.id for plot in plots] == [plot.id for plot in experiment.plots]
        for panel in (panel for plot in plots for panel in plot.panels):
            assert graph_objects.Figure(panel.spec).data


def test_plots_of_results_without_series_are_left_out(whole_result):
    results = json.loads((whole_result / "results.json").read_text())
    paper, _ = find("new-ecn", quick=False)
    material = Material(evidence_in(paper, results), {}, {})
    [heart] = [e for e in paper.experiments if e.id == "4.2.2"]
    plots = [made.id for _, made in draw(heart, material)]
    assert plots == ["s1_10M_p0.1-fairness", "s1_10M_p0.1-rates"]


def heart(folder) -> list[Drawn]:
    return next(plots for experiment, plots in drawn(folder) if experiment.id == "4.2.2")


def test_a_flow_and_its_reference_share_a_colour(whole_result):
    acks = heart(whole_result)[0]
    traces = acks.panels[0].spec["data"]
    assert [t["name"] for t in traces[::2]] == [t["name"] for t in traces[1::2]]
    for measured, reference in zip(traces[::2], traces[1::2], strict=True):
        assert measured["meta"] == reference["meta"]
        assert reference["line"]["dash"] == "dot"
        # The stand-in gives back the reference's own acks: a wrong pairing would show here.
        assert abs(measured["y"][-1] - reference["y"][-1]) <= 0.01 * reference["y"][-1]


def test_panels_of_one_plot_share_their_scale(whole_result):
    for _, plots in drawn(whole_result):
        for plot in plots:
            axes = [panel.spec["layout"]["yaxis"] for panel in plot.panels]
            assert len({tuple(axis.get("range", ())) for axis in axes}) == 1


def test_values_of_a_plot_stand_in_its_table(whole_result):
    acks = heart(whole_result)[0]
    assert acks.headings == ["Flow", "10 s", "20 s", "30 s", "40 s", "50 s", "60 s"]
    assert len(acks.rows) == 8
    assert all(len(row) == len(acks.headings) for row in acks.rows)


def test_flows_of_a_mix_are_paired_by_controller(whole_result):
    plots = next(plots for e, plots in drawn(whole_result) if e.id == "4.3.2")
    traces = plots[0].panels[0].spec["data"]
    assert len(traces) == 12
    for measured, reference in zip(traces[::2], traces[1::2], strict=True):
        assert abs(measured["y"][-1] - reference["y"][-1]) <= 0.01 * reference["y"][-1]


def test_the_values_of_a_plot_are_lines_of_a_table(whole_result):
    lines = as_csv(heart(whole_result)[1]).splitlines()
    assert lines[0] == "panel,curve,x,y,sd"
    assert lines[1] == ",published,New-ECN,0.99,"
    assert len(lines) == 7


def test_every_figure_of_the_paper_is_drawn(whole_result):
    figures = [plot.figure for _, plots in drawn(whole_result) for plot in plots if plot.figure]
    simple, simulated = ["3.2", "3.3", "3.4"], [f"4.{number}" for number in range(2, 13)]
    assert sorted({f.partition(",")[0] for f in figures}) == sorted(simple + simulated)
