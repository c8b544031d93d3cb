"""Figures of studies: names, numbers of quantities, what is drawn, and the command."""

import json

import pytest

import windlass_lab as wl
from windlass_lab.cli import main
from windlass_lab.core.errors import LabError

pl = pytest.importorskip("polars")

from windlass_lab.sweeps.columns import figure_title  # noqa: E402
from windlass_lab.sweeps.quantities import numbers_of  # noqa: E402
from windlass_lab.sweeps.results import StudyResults  # noqa: E402
from windlass_lab.sweeps.table import frame_of  # noqa: E402

AXES = ["flows.0.controller", "dumbbell.bottleneck.rate", "dumbbell.bottleneck.delay"]
CONTROLLERS = ["reno", {"kind": "new-ecn", "beta": 8}]
RATES = ["500kbit/s", "5Mbit/s", "50Mbit/s"]
DELAYS = ["50ms", "10ms"]
SEEDS = 4


def rows() -> list[dict]:
    """A table whose figures say where they are from: 100 c + 10 r + d + seed / 10."""
    made = []
    for c, controller in enumerate(CONTROLLERS):
        for r, rate in enumerate(RATES):
            for d, delay in enumerate(DELAYS):
                for seed in range(SEEDS):
                    value = 100 * c + 10 * r + d + seed / 10
                    values = dict(zip(AXES, (controller, rate, delay), strict=True))
                    figures = {
                        "fairness_index.whole_run": 1.0,
                        "fairness_index.steady": value,
                        "total_packets_per_s.steady": 2 * value,
                    }
                    made.append({"run": len(made), "seed": seed} | values | figures)
    return made


@pytest.fixture(scope="module")
def study() -> StudyResults:
    return StudyResults("study", frame_of(rows(), axes=AXES), AXES)


@pytest.mark.parametrize(
    ("texts", "numbers", "unit"),
    [
        (["10Mbit/s", "2.5Mbit/s"], [10, 2.5], "Mbit/s"),
        (["500kbit/s", "2Mbit/s"], [0.5, 2], "Mbit/s"),
        (["100us", "0.3ms", "1s"], [0.0001, 0.0003, 1], "s"),
        (["50 packets", "7 packets"], [50, 7], "packets"),
        (["64KiB", None], [64, None], "KiB"),
    ],
)
def test_quantities_are_numbers_of_one_unit(texts, numbers, unit):
    assert numbers_of(texts) == (numbers, unit)


@pytest.mark.parametrize("texts", [["10ms", "5 packets"], ["reno"], ["10ms", 5], [], ["10"]])
def test_what_is_no_quantity_stays_as_it_is(texts):
    assert numbers_of(texts) is None


def test_an_axis_with_a_unit_has_a_column_of_numbers_after_its_own():
    frame = frame_of(rows(), axes=AXES)
    assert frame.columns[2:7] == [
        "flows.0.controller",
        "dumbbell.bottleneck.rate",
        "dumbbell.bottleneck.rate_mbit_per_s",
        "dumbbell.bottleneck.delay",
        "dumbbell.bottleneck.delay_ms",
    ]
    assert frame["dumbbell.bottleneck.rate"][0] == "500kbit/s"
    assert frame["dumbbell.bottleneck.rate_mbit_per_s"][0] == 0.5
    limits = [{"run": 0, "seed": 1, "queues.q.limit": "50 packets"}]
    assert frame_of(limits, axes=["queues.q.limit"])["queues.q.limit_packets"].to_list() == [50]


def test_short_names_mean_axes_first_and_figures_of_the_steady_part(study):
    figure = study.plot("rate", "fairness", by="controller")
    assert figure.x.key == "dumbbell.bottleneck.rate"
    assert [axis.key for axis in figure.by] == ["flows.0.controller"]
    assert [y for y, _ in figure.rows] == ["fairness_index.steady"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": "speed"}, "no column speed: expected one of flows"),
        ({"x": "dumbbell"}, r"dumbbell could be dumbbell\.bottleneck\.rate, "),
        ({"y": "controller"}, "controller has no numbers"),
        ({"kind": "pie"}, "expected lines, heat, box"),
        ({"kind": "heat", "by": ["controller", "delay"]}, "a heat map takes one axis"),
    ],
)
def test_a_wrong_name_is_refused(study, arguments, message):
    with pytest.raises(LabError, match=message):
        study.plot(**arguments)


def test_a_line_has_the_means_of_the_seeds_and_no_other_axis_is_averaged_in_silence(study):
    figure = study.plot("rate", "fairness", by="controller")
    ((_, panels),) = figure.rows
    assert [panel.label for panel in panels] == ["delay 10ms", "delay 50ms"]
    point = figure.points()[0]
    assert (point["x"], point["group"], point["runs"]) == (0.5, "reno", SEEDS)
    # 1 for the second delay of the study, and seeds of 0, 0.1, 0.2 and 0.3.
    assert point["mean"] == pytest.approx(1.15)
    assert point["sd"] == pytest.approx(0.129, abs=1e-3)
    over = study.plot("rate", "fairness", by="controller", over="delay")
    assert [panel.label for _, panels in over.rows for panel in panels] == [""]
    assert over.points()[0]["mean"] == pytest.approx(0.65)
    assert "over all values of dumbbell.bottleneck.delay" in over.facts()


def test_numbers_are_in_their_order_and_rates_by_factors_on_a_log_scale(study):
    figure = study.plot("rate", "fairness")
    assert figure.x.order == [0.5, 5.0, 50.0] and figure.has_log_axis
    assert figure.x.title == "rate (Mbit/s)"
    delays = study.plot("delay", "fairness")
    assert delays.x.order == [10.0, 50.0] and not delays.has_log_axis


def test_too_many_panels_are_refused_with_the_way_out():
    many = [{"run": n, "seed": 1, "a": n % 2, "b": n // 2, "y": 1.0} for n in range(40)]
    with pytest.raises(LabError, match=r"20 panels for the values of b.*--over"):
        StudyResults("s", frame_of(many), ["a", "b"]).plot("a", "y")


def test_the_axes_of_the_picture_have_whole_titles_and_its_legend_every_group(study):
    drawing = study.plot("rate", ["fairness", "total_packets_per_s"], by="controller").drawing()
    axes = [place for place in drawing.axes if place.get_visible()]
    assert {place.get_xlabel() for place in axes} == {"rate (Mbit/s)"}
    titles = {place.get_ylabel().replace("\n", " ") for place in axes}
    assert titles == {"fairness index, steady", "total rate, steady (packets/s)"}
    (legend,) = drawing.legends
    assert legend.get_title().get_text() == "controller"
    assert [text.get_text() for text in legend.get_texts()] == ["reno", "new-ecn beta=8"]
    drawing.draw_without_rendering()
    size = drawing.bbox
    for place in axes:
        for text in (place.xaxis.label, place.yaxis.label):
            box = text.get_window_extent()
            assert size.x0 <= box.x0 and box.x1 <= size.x1 and size.y0 <= box.y0, text
    colours = {line.get_color() for line in legend.get_lines()}
    assert len(colours) == 2


def test_boxes_hold_all_runs_and_a_heat_map_a_cell_for_each_pair(study, tmp_path):
    box = study.plot("controller", "fairness", over=["rate", "delay"])
    assert box.kind == "box"
    ((_, (panel,)),) = box.rows
    assert [len(figures) for _, figures in panel.groups[0].cells] == [24, 24]
    heat = study.plot("rate", "fairness", by="delay", kind="heat", over="controller")
    assert heat.bounds("fairness_index.steady") == pytest.approx((50.15, 71.15))
    for name, figure in (("box", box), ("heat", heat)):
        for ending in ("png", "svg", "html"):
            assert figure.save(tmp_path / f"{name}.{ending}").stat().st_size > 1000
    image = heat.drawing().axes[0].images[0].get_array()
    assert image.shape == (2, 3) and not image.mask.any()


@pytest.mark.parametrize(
    ("key", "title"),
    [
        ("fairness_index.steady", "fairness index, steady"),
        ("total_packets_per_s.whole_run", "total rate, whole run (packets/s)"),
        ("flows.0.packets_per_s.steady", "flow 0 rate, steady (packets/s)"),
        ("flows.1.srtt_ms.time_mean", "flow 1 srtt ms time mean"),
        ("mean_queue_packets.steady", "mean queue, steady (packets)"),
        ("drops", "drops"),
    ],
)
def test_titles_of_figures_have_their_unit(key, title):
    assert figure_title(key) == title


def write_rows(folder, head: dict | None = None) -> None:
    folder.mkdir()
    first = {"schema": 1, "kind": "lab.sweep", "study": "", "runs": 24, "axes": AXES}
    lines = [first if head is None else head, *rows()]
    (folder / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_the_command_plots_an_output_of_a_sweep(tmp_path, capsys):
    out = tmp_path / "study"
    write_rows(out)
    named = ["--x", "rate", "--y", "fairness", "--by", "controller"]
    assert main(["plot", str(out), *named]) == 0
    assert capsys.readouterr().out.strip() == str(out / "plot.html")
    page = (out / "plot.html").read_text()
    assert "fairness index, steady" in page and "new-ecn beta=8" in page
    picture = ["--over", "delay", "--to", str(tmp_path / "f.svg"), "--json"]
    assert main(["plot", str(out), *named, *picture]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["kind"], answer["x"]) == ("lab.plot", "dumbbell.bottleneck.rate")
    assert len(answer["points"]) == 6 and (tmp_path / "f.svg").is_file()


def test_rows_of_an_interrupted_sweep_are_plotted(tmp_path):
    write_rows(tmp_path / "cut")
    with (tmp_path / "cut/rows.jsonl").open("a") as file:
        file.write('{"run": 48, "se')
    assert wl.read_study(tmp_path / "cut").plot("rate", "fairness").points()[0]["runs"] == SEEDS


@pytest.mark.parametrize(
    ("head", "message"),
    [({"kind": "lab.search"}, "not the rows of a sweep"), ({"kind": "lab.sweep"}, "older version")],
)
def test_rows_of_something_else_are_refused(tmp_path, head, message):
    write_rows(tmp_path / "other", head)
    with pytest.raises(LabError, match=message):
        wl.read_study(tmp_path / "other")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["OUT", "--what", "cwnd"], "--what is for runs, and this is a sweep"),
        (["OUT", "--by", ","], "--by: expected a name"),
        (["OUT", "OUT"], "holds a sweep, which is plotted by itself"),
        (["EMPTY", "--x", "rate"], "--x is for a sweep, and this is none"),
    ],
)
def test_the_command_names_what_is_wrong(tmp_path, capsys, arguments, message):
    write_rows(tmp_path / "study")
    (tmp_path / "empty").mkdir()
    places = {"OUT": str(tmp_path / "study"), "EMPTY": str(tmp_path / "empty")}
    assert main(["plot", *(places.get(word, word) for word in arguments)]) == 2
    assert message in capsys.readouterr().err


def test_a_study_shows_its_means_and_a_plot_in_a_notebook(study):
    shown = study._repr_html_()
    assert "48 runs" in shown and "<table>" in shown and "<svg " in shown
    assert "fairness index, steady" in shown and "http-equiv" not in shown
