"""Runs from Python, and from `--out` directories: the same numbers, and their figures."""

import csv
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import windlass_lab as wl
from windlass_lab.cli import main
from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.errors import LabError
from windlass_lab.runs.figure import compare
from windlass_lab.runs.panels import kept, rows_of
from windlass_lab.runs.run import Run
from windlass_lab.runs.simulate import ScenarioError

SMALL = """
schema = 1
name = "two-flows"
duration = "5s"
steady_from = "1s"
flows = [{ from = "each", controller = "new-ecn", ecn = true }]
[dumbbell]
access = [{ delay = "1ms", count = 2 }]
bottleneck = { rate = "10Mbit/s", delay = "5ms", queue = "red" }
"""
pl = pytest.importorskip("polars")


@pytest.fixture(scope="session", autouse=True)
def _native():
    try:
        from windlass_lab import _native as native
    except ImportError as error:
        pytest.skip(f"the native half is not built (scripts/build-native): {error}")
    return native


@pytest.fixture(scope="session")
def windlass(repository) -> Path:
    try:
        return find_windlass(None)
    except LabError as error:
        pytest.skip(str(error))


TRAFFIC = """
schema = 2
name = "traffic"
duration = "5s"
interval = "500ms"
[[flows]]
name = "bulk"
from = "s1"
count = 2
[[flows]]
name = "web"
from = "s1"
app = { kind = "arrivals", arrivals = { rate = 20 }, sizes = "20kB" }
[dumbbell]
access = [{ delay = "1ms" }]
bottleneck = { rate = "10Mbit/s", delay = "5ms", queue = "red" }
"""


@pytest.fixture
def small(tmp_path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def hashed_scenarios(repository: Path) -> list[str]:
    lines = (repository / "tests/determinism.sha256").read_text().splitlines()
    return [line.split()[1] for line in lines]


@pytest.mark.parametrize("number", range(7))
def test_python_has_the_series_and_the_summary_of_the_command(
    repository, windlass, tmp_path, number
):
    scenarios = hashed_scenarios(repository)
    assert len(scenarios) == 7, "a scenario was added: add its number"
    scenario = repository / scenarios[number]
    command = [windlass, "sim", "run", scenario, "--seed", "1", "--out", tmp_path / "out"]
    subprocess.run(command, check=True, capture_output=True)
    run = wl.simulate(scenario, seed=1)
    written = json.loads((tmp_path / "out/summary.json").read_text())
    assert run.summary == written
    files = sorted((tmp_path / "out").glob("*.csv"))
    assert sorted(run.tables) == [path.stem for path in files]
    for path in files:
        table = run.tables[path.stem]
        assert table.columns == path.read_text().split("\n", 1)[0].split(",")
        # Of millions of rows some, and the ends.
        with path.open(newline="") as lines:
            rows = list(csv.reader(lines))[1:]
        assert len(table) == len(rows)
        for place in {*range(0, len(rows), 997), len(rows) - 1}:
            parsed = tuple(float(field) if field else None for field in rows[place])
            assert table.row(place) == parsed, (path.name, place)
    stored = wl.read(tmp_path / "out")
    assert all(stored.tables[name].equals(table) for name, table in run.tables.items())


def test_parquet_holds_the_series_of_the_csv(small, windlass, tmp_path):
    for arguments in (["--out", "csv"], ["--out", "parquet", "--parquet"]):
        command = [windlass, "sim", "run", small, *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    assert not list((tmp_path / "parquet").glob("*.csv"))
    written, columns = wl.read(tmp_path / "csv"), wl.read(tmp_path / "parquet")
    assert written.summary == columns.summary
    assert sorted(written.tables) == sorted(columns.tables)
    for name, table in written.tables.items():
        assert table.equals(columns.tables[name]), name
    flow = min((tmp_path / "parquet").glob("flow-*.parquet"))
    thresholds = pl.read_parquet(flow)["ssthresh_packets"]
    assert thresholds.null_count() > 0, "null before the first cut"


def test_a_run_has_flows_queues_and_series(small):
    run = wl.simulate(small, seed=3)
    assert (run.name, run.seed) == ("two-flows", 3)
    assert len(run.flows) == 2
    assert run.flows["packets_per_s.steady"].sum() > 300
    assert run.queues["marks"][0] > 0
    cwnd = run.series("cwnd", "slope")
    assert cwnd.columns == ["flow", "time_s", "cwnd_packets", "slope"]
    assert set(cwnd["flow"]) == set(run.flows["name"])
    assert run.series("queue").columns == ["queue", "time_s", "queue_packets"]


def test_values_are_replaced_and_a_mapping_is_a_scenario(small):
    changed = wl.simulate(small, set={"flows.0.controller": "cubic", "duration": "2s"})
    assert set(changed.flows["controller"]) == {"cubic"}
    import tomllib

    document = tomllib.loads(SMALL)
    assert wl.simulate(document).summary == wl.simulate(small).summary
    nested = wl.simulate(small, set={"dumbbell.bottleneck.queue": {"kind": "red", "weight": 0.01}})
    assert nested.summary != wl.simulate(small).summary


def test_only_the_series_that_are_asked_for_are_kept(small):
    assert wl.simulate(small, series="none").tables == {}
    flows = wl.simulate(small, series="flows")
    assert all(name.startswith("flow-") for name in flows.tables)
    with pytest.raises(LabError, match="no series of a queue"):
        flows.series("queue")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"set": {"flows.0.controler": "reno"}}, "controler.*did you mean.*controller|unknown key"),
        ({"set": {"duration": 5}}, "duration"),
        ({"set": {"duration": None}}, "None is not a value"),
        ({"jitter": "5"}, "jitter"),
        ({"series": "some"}, "expected"),
    ],
)
def test_a_bad_argument_is_named(small, change, message):
    with pytest.raises(ScenarioError, match=message):
        wl.simulate(small, **change)


def test_a_missing_file_and_a_broken_one_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"no\.toml: cannot read: No such file"):
        wl.simulate(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_text("schema = 1\nduration = \n")
    with pytest.raises(ValueError, match=r"bad\.toml:2"):
        wl.simulate(tmp_path / "bad.toml")
    (tmp_path / "bad.json").write_text('{"schema": 1,')
    with pytest.raises(ValueError, match=r"bad\.json"):
        wl.simulate(tmp_path / "bad.json")


def test_other_threads_run_while_it_simulates(small):
    ticks = 0
    done = threading.Event()

    def tick():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    wl.simulate(small, set={"duration": "120s"}, series="none")
    done.set()
    thread.join()
    assert ticks > 5


def test_a_figure_is_saved_by_the_ending_of_its_name(small, tmp_path):
    figure = wl.simulate(small).plot("cwnd", "queue")
    starts = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!doctype"}
    for ending, start in starts.items():
        assert figure.save(tmp_path / f"f.{ending}").read_bytes().startswith(start)
    first = (tmp_path / "f.png").read_bytes()
    assert figure.save(tmp_path / "again.png").read_bytes() == first
    assert figure._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(LabError, match=r"f\.gif: expected a name"):
        figure.save(tmp_path / "f.gif")
    with pytest.raises(LabError, match="no speed"):
        wl.simulate(small).plot("speed")


def test_runs_side_by_side_share_their_axes(small):
    runs = [
        (name, wl.simulate(small, set={"flows.0.controller": name})) for name in ("reno", "cubic")
    ]
    figure = compare(runs, ["cwnd"])
    (row,) = figure.rows
    assert [panel.label for panel in row.panels] == ["reno", "cubic"]
    ranges = [panel.spec["layout"]["yaxis"]["range"] for panel in row.panels]
    assert ranges[0] == ranges[1]


def _run(controller="reno", **columns):
    """A run of one flow and one queue, from made-up series."""
    rates = {"whole_run": 100.0, "steady": 100.0}
    flow = {"name": "a", "controller": controller, "packets_per_s": rates}
    flow["mbit_per_s"] = {window: rate * 0.012 for window, rate in rates.items()}
    series = {"time_s": [0.0, 0.5, 1.0, 1.5], **columns}
    kind = "queue-r1-r2-forward" if "delay_ms" in columns else "flow-a"
    summary = {"name": "x", "seed": 1, "duration_s": 2.0, "flows": [flow], "queues": []}
    return Run(summary, {kind: pl.DataFrame(series)})


def test_a_rate_is_the_growth_of_each_span_in_mbit():
    run = _run(acked_packets=[0.0, 50.0, 100.0, 100.0])
    (row,) = rows_of([("x", run)], ["rate"])
    (trace,) = row.panels[0].spec["data"]
    assert trace["name"] == "a (reno)"
    mean = sum(trace["y"]) / len(trace["y"])
    # 100 packets of 12,000 bits in two seconds.
    assert mean == pytest.approx(0.6)
    assert max(trace["y"]) == pytest.approx(50 * 0.012 / 0.1), "a span of 0.1 s has one step"


def test_a_queues_delay_is_plotted_in_ms_and_listed(capsys):
    run = _run(delay_ms=[None, 0.0, 12.5, 3.0])
    (row,) = rows_of([("x", run)], ["delay"])
    (trace,) = row.panels[0].spec["data"]
    assert (trace["name"], row.unit, max(trace["y"])) == ("r1-r2-forward", "ms", 12.5)
    assert kept([("x", run)]) == [("delay", "Delay in the queue", "ms")]


def test_a_name_that_says_the_controller_stays():
    run = _run("cubic", acked_packets=[0.0, 1.0, 2.0, 3.0])
    run.summary["flows"][0]["name"] = "cubic-1"
    named = Run(run.summary, {"flow-cubic-1": run.tables["flow-a"]})
    (row,) = rows_of([("x", named)], ["acked"])
    assert row.panels[0].spec["data"][0]["name"] == "cubic-1"


def test_plot_without_a_name_lists_the_series_of_a_run(small, windlass, tmp_path, capsys):
    out = tmp_path / "out"
    subprocess.run([windlass, "sim", "run", small, "--out", out], check=True, capture_output=True)
    assert main(["plot", str(out), "--what"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split(maxsplit=1) == ["cwnd", "Congestion window (packets)"]
    assert {"rate", "delay", "queue"} <= {line.split()[0] for line in lines}
    assert main(["plot", str(out), "--what", "--json"]) == 0
    series = json.loads(capsys.readouterr().out)["series"]
    assert [each["name"] for each in series] == [line.split()[0] for line in lines]


def test_plot_writes_a_page_of_an_output(small, windlass, tmp_path, capsys):
    for seed in ("1", "2"):
        out = tmp_path / f"seed{seed}"
        command = [windlass, "sim", "run", small, "--seed", seed, "--out", out]
        subprocess.run(command, check=True, capture_output=True)
    assert main(["plot", str(tmp_path / "seed1")]) == 0
    assert (tmp_path / "seed1/plot.html").is_file()
    both = tmp_path / "both.html"
    outs = [str(tmp_path / "seed1"), str(tmp_path / "seed2")]
    assert main(["plot", *outs, "--to", str(both), "--what", "cwnd,srtt"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(both)
    text = both.read_text()
    assert text.count('class="panel"') == 4
    assert "http://" not in re.sub(r"(?s)<script>.*?</script>", "", text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plot", "nowhere"], "expected an --out directory"),
        (["plot", "OUT", "--what", "speed"], "no speed"),
        (["plot", "OUT", "--to", "x.gif"], "expected a name that ends in"),
    ],
)
def test_plot_names_what_is_wrong(small, windlass, tmp_path, capsys, arguments, message):
    out = tmp_path / "out"
    subprocess.run([windlass, "sim", "run", small, "--out", out], check=True, capture_output=True)
    assert main([str(out) if word == "OUT" else word for word in arguments]) == 2
    assert message in capsys.readouterr().err


def test_replicates_are_plotted_one_by_one(small, windlass, tmp_path, capsys):
    command = [windlass, "sim", "run", small, "--replicates", "2", "--out", tmp_path / "out"]
    subprocess.run(command, check=True, capture_output=True)
    assert main(["plot", str(tmp_path / "out")]) == 2
    assert "name one, such as" in capsys.readouterr().err
    assert main(["plot", str(tmp_path / "out/seed-1")]) == 0


def test_a_broken_series_is_named(small, windlass, tmp_path):
    out = tmp_path / "out"
    subprocess.run([windlass, "sim", "run", small, "--out", out], check=True, capture_output=True)
    next(out.glob("flow-*.csv")).write_text("time_s,cwnd_packets\n1,x\n")
    with pytest.raises(LabError, match="not a time series"):
        wl.read(out)


def test_the_package_loads_quickly_and_lazily():
    code = "import sys, windlass_lab; sys.exit('polars' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = wl.simulat


def test_transfers_and_fairness_are_plotted_where_a_run_has_them(tmp_path):
    path = tmp_path / "traffic.toml"
    path.write_text(TRAFFIC)
    run = wl.simulate(path)
    transfers = run.tables["transfers-web"]
    completions = next(f for f in run.summary["flows"] if f["name"] == "web")["completions"]
    assert len(transfers) == completions["completed"] > 50
    assert "flow-web" not in run.tables
    [row] = rows_of([("one", run)], ["completion"])
    [panel] = row.panels
    shares = panel.spec["data"][0]["y"]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert panel.spec["layout"]["xaxis"]["type"] == "log"
    [row] = rows_of([("one", run)], ["fairness"])
    assert all(0.3 <= value <= 1 for value in row.panels[0].spec["data"][0]["y"])
    assert {"completion", "fairness", "rate"} <= {name for name, *_ in kept([("one", run)])}
