import json
import re
from importlib import resources
from itertools import combinations

import pytest
from plotly import graph_objects

from windlass_lab.core.experiments.judge import evidence_in
from windlass_lab.core.experiments.model import Experiment
from windlass_lab.core.experiments.reference import load_reference_acks
from windlass_lab.core.plots.draw import draw
from windlass_lab.core.plots.parts import Drawn, Material, as_csv
from windlass_lab.papers.ecn_proxy import figures
from windlass_lab.papers.ecn_proxy.plan import Test as ProxyTest
from windlass_lab.papers.registry import find


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


def axis_titles(plot: Drawn) -> list[str]:
    layouts = [panel.spec["layout"] for panel in plot.panels]
    axes = [layout[key] for layout in layouts for key in ("xaxis", "yaxis")]
    return [axis.get("title", {}).get("text", "") for axis in axes]


def test_no_line_of_an_axis_title_is_longer_than_a_phone_shows(whole_result):
    titles = [t for _, plots in drawn(whole_result) for plot in plots for t in axis_titles(plot)]
    assert titles
    for title in titles:
        assert max(map(len, title.split("<br>"))) <= 40, title


def lab(colour: str) -> tuple[float, float, float]:
    """CIE L*a*b* of an sRGB colour such as #0b5cad, white point D65 (IEC 61966-2-1, CIE 15)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_no_two_curves_of_a_page_have_colours_that_look_alike():
    css = resources.files("windlass_lab").joinpath("templates", "report.css").read_text()
    found = re.findall(r"--s(\d): (#[0-9a-f]{6})", css)
    light, dark = found[:8], found[8:]
    assert [place for place, _ in light] == [place for place, _ in dark] == list("01234567")
    for theme in (light, dark):
        for (_, one), (_, other) in combinations(theme, 2):
            distance = sum((a - b) ** 2 for a, b in zip(lab(one), lab(other), strict=True)) ** 0.5
            assert distance > 28, (one, other)


def test_a_run_far_from_the_others_leaves_the_boxes_their_height():
    test = ProxyTest("upload", "3", False, "noEcn_noProxy")
    ours = [83.0, 84.0, 84.5, 85.0, 86.0]
    row = (test, [80.0, 82.0, 84.0, 90.0, 1801.2], ours)
    [panel] = figures.draw("C.8", "", [row], 1.0).panels
    layout = panel.spec["layout"]
    assert layout["yaxis"]["range"][1] == pytest.approx(90 * 1.12)
    assert [note["text"] for note in layout["annotations"]] == ["↑ 1,801 s"]
    # Nothing is left out of the data.
    assert 1801.2 in panel.spec["data"][0]["y"]
    [panel] = figures.draw("C.8", "", [(test, ours, ours)], 1.0).panels
    assert panel.spec["layout"]["annotations"] == []
