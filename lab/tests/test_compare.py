"""Two runs beside each other: a kernel's flows and the simulator's."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from windlass_lab.cli import main
from windlass_lab.core.text.numbers import labels
from windlass_lab.runs import harm

pytest.importorskip("polars")

SERIES = "time_s,cwnd_packets,ssthresh_packets,srtt_ms,slope,acked_packets\n"


def flow(name: str, rate: float, marks: int | None) -> dict:
    return {
        "name": name,
        "controller": "cubic",
        "packets_per_s": {"whole_run": rate, "steady": rate},
        "mbit_per_s": {"whole_run": rate * 0.01, "steady": rate * 0.01},
        "cwnd_packets": {"time_mean_steady": rate / 10},
        "srtt_ms": {"time_mean": 80.0},
        "retransmitted_segments": 3,
        "timeouts": 0,
        "marks": marks,
        "drops": None,
    }


def write(folder: Path, flows: list[dict], kernel: bool) -> Path:
    """The output of a run, as `windlass sim run` or `windlass-lab testbed run` leaves it."""
    folder.mkdir(parents=True)
    summary = {
        "name": "two",
        "seed": None if kernel else 1,
        "series_schema": 1,
        "duration_s": 10.0,
        "fairness_index": {"steady": 0.9},
        "total_packets_per_s": {"steady": sum(f["packets_per_s"]["steady"] for f in flows)},
        "mean_queue_packets": {"steady": 20.0},
        "marks": None,
        "drops": 7,
        "flows": flows,
        "queues": [],
        **({"testbed": {"kernel": "6.1"}} if kernel else {"kind": "sim.run"}),
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    for each in flows:
        rows = "0,10,,80,,0\n5,20,,90,,100\n"
        (folder / f"flow-{each['name']}.csv").write_text(SERIES + rows)
    queue = "queue-b-down" if kernel else "queue-bottleneck-forward"
    (folder / f"{queue}.csv").write_text("time_s,queue_packets\n0,0\n5,20\n")
    return folder


@pytest.fixture
def outputs(tmp_path) -> list[str]:
    sim = write(tmp_path / "sim/run-1", [flow("a", 400, 5), flow("b", 500, 0)], kernel=False)
    kernel = write(tmp_path / "kernel/run-1", [flow("b", 450, None), flow("c", 7, None)], True)
    return [str(sim), str(kernel)]


def lines_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_flows_of_one_name_stand_beside_each_other_with_their_ratio(outputs, tmp_path, capsys):
    page = tmp_path / "both.html"
    assert main(["compare", *outputs, "--to", str(page)]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[-1] == str(page)
    lines = lines_of(text)
    assert lines[0] == ["flow", "figure", "sim/run-1", "kernel/run-1", "ratio"]
    assert ["b", "rate", "(packets/s)", "500", "450", "0.900"] in lines
    assert ["a", "rate", "(packets/s)", "400", "–", "–"] in lines
    assert ["c", "rate", "(packets/s)", "–", "7", "–"] in lines
    # A kernel reports no marks of a flow; a figure that neither has is left out.
    assert ["marks", "5", "–", "–"] in lines
    assert not any(line[0] == "b" and "drops" in line for line in lines if line)
    assert "all" in [line[0] for line in lines if line]


def test_the_page_has_a_panel_for_each_pair_with_a_curve_for_each_world(outputs, tmp_path, capsys):
    from windlass_lab.runs.beside import Comparison
    from windlass_lab.runs.stored import read

    names = ("simulator", "kernel")
    figure = Comparison([(n, read(out)) for n, out in zip(names, outputs, strict=True)]).plot()
    windows, rtts, queue = figure.rows
    assert [panel.label for panel in windows.panels] == ["a", "b", "c"]
    curves = [[trace["name"] for trace in panel.spec["data"]] for panel in windows.panels]
    assert curves == [["simulator"], ["simulator", "kernel"], ["kernel"]]
    assert [panel.label for panel in rtts.panels] == ["a", "b", "c"]
    # The two worlds name the bottleneck's queue differently; it is one panel.
    (panel,) = queue.panels
    assert panel.label == "bottleneck-forward / b-down"
    assert [trace["name"] for trace in panel.spec["data"]] == ["simulator", "kernel"]
    drawing = figure.drawing()
    named = [place for place in drawing.axes if place.get_xlabel() == "time (s)"]
    assert len(named) == 3, "the lowest panel of each column names the axis"
    assert figure.save(tmp_path / "both.png").stat().st_size > 1000


def test_rates_are_those_of_pairs_of_flows_too(outputs):
    from windlass_lab.runs.beside import Comparison
    from windlass_lab.runs.stored import read

    runs = [(folder, read(folder)) for folder in outputs]
    (rates,) = Comparison(runs).plot(["rate"]).rows
    assert [(panel.label, len(panel.spec["data"])) for panel in rates.panels] == [
        ("a", 1),
        ("b", 2),
        ("c", 1),
    ]


def test_flows_without_a_name_in_common_are_paired_by_place_and_json_has_all(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a", [flow("x", 100, 1), flow("y", 200, 1)], kernel=False)
    write(tmp_path / "b", [flow("one", 90, 1), flow("two", 220, 1)], kernel=True)
    assert main(["compare", "a", "b", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["kind"], answer["file"], answer["runs"]) == (
        "lab.compare",
        "compare.html",
        ["a", "b"],
    )
    assert [pair["names"] for pair in answer["flows"]] == [["x", "one"], ["y", "two"]]
    assert answer["flows"][1]["figures"]["rate (packets/s)"] == [200, 220]
    assert answer["figures"]["total rate (packets/s)"] == [300, 310]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--what", "speed"], "no speed: expected some of"),
        (["--what", "slope"], "no run has kept slope"),
        (["--what", ","], "--what: expected a name"),
    ],
)
def test_a_wrong_choice_is_named(outputs, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["compare", *outputs, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "compare.html").exists()


def test_labels_are_as_short_as_tells_folders_apart():
    assert labels([Path("/x/a"), Path("/x/b")]) == ["a", "b"]
    assert labels([Path("/x/sim/run-1"), Path("/y/kernel/run-1")]) == ["sim/run-1", "kernel/run-1"]
    assert labels([Path("/x"), Path("/x")]) == ["/x", "/x"]


def test_harm_is_the_share_of_the_rate_alone_that_a_flow_lacks():
    def run(**rates: list[float]):
        flows = [{"name": name, "mbit_per_s": values} for name, values in rates.items()]
        return SimpleNamespace(summary={"over_time": {"interval_s": 2.0, "flows": flows}})

    alone = run(a=[0.0, 8.0, 10.0, 10.0])
    together = run(a=[0.0, 8.0, 5.0, 12.0], b=[0.0, 0.0, 5.0, 1.0])
    assert harm.over_time(alone, together) == [
        ("a", [4.0, 6.0, 8.0], [0.0, 0.5, pytest.approx(-0.2)])
    ]
    assert harm.over_time(alone, SimpleNamespace(summary={})) == []


def test_harm_over_time_is_drawn_where_both_runs_have_intervals(outputs, tmp_path):
    for folder, rate in zip(outputs, (10.0, 4.0), strict=True):
        path = Path(folder) / "summary.json"
        flows = [{"name": "b", "mbit_per_s": [rate, rate]}]
        over_time = {"interval_s": 1.0, "flows": flows, "fairness_index": [None, None]}
        path.write_text(json.dumps(json.loads(path.read_text()) | {"over_time": over_time}))
    page = tmp_path / "harm.html"
    assert main(["compare", *outputs, "--what", "harm", "--to", str(page)]) == 0
    assert "Harm over time" in page.read_text()
