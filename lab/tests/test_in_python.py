"""The package as programs and notebooks meet it: progress, HTML, pandas, types."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import windlass_lab as wl
from windlass_lab.core.errors import LabError
from windlass_lab.core.files import pandas_frame
from windlass_lab.core.report.notebook_form import notebook_form
from windlass_lab.core.report.panel_page import Table
from windlass_lab.sweeps.report import Report

pl = pytest.importorskip("polars")
native = pytest.importorskip("windlass_lab._native", reason="build it with scripts/build-native")

SOURCE = Path(wl.__file__).parent
SCENARIO = """
schema = 1
name = "two-flows"
duration = "20s"
steady_from = "1s"
flows = [{ from = "each", controller = "reno" }]
[dumbbell]
access = [{ delay = "1ms", count = 2 }]
bottleneck = { rate = "10Mbit/s", delay = "5ms", queue = "droptail" }
"""
STUDY = """
schema = 1
scenario = "two.toml"
[axes]
"dumbbell.bottleneck.rate" = ["10Mbit/s", "20Mbit/s"]
"""
SEARCH = """
schema = 1
scenario = "two.toml"
[axes]
"dumbbell.bottleneck.delay" = { from = 1, to = 9, whole = true, unit = "ms" }
[search]
trials = 4
[search.objectives]
"mean_queue_packets.steady" = "min"
"total_packets_per_s.steady" = "max"
"""


@pytest.fixture
def scenario(tmp_path) -> Path:
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "search.toml").write_text(SEARCH)
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO)
    return path


LONG = {"duration": "1000s", "dumbbell.bottleneck.rate": "100Mbit/s"}


def test_one_long_run_says_how_far_it_is_and_what_the_function_raises_ends_it(scenario):
    class EnoughError(Exception):
        pass

    said: list[float] = []

    def say(fraction: float) -> None:
        said.append(fraction)
        if len(said) == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        wl.simulate(scenario, set=LONG, series="none", progress=say)
    assert said == sorted(said) and 0 < said[0] < said[2] < 1


def test_a_run_gives_the_same_with_progress(scenario):
    watched = wl.simulate(scenario, seed=3, progress=lambda _: None)
    plain = wl.simulate(scenario, seed=3)
    assert watched.summary == plain.summary
    assert all(watched.tables[name].equals(table) for name, table in plain.tables.items())


def test_a_sweep_counts_the_runs_that_are_under_way_by_their_part(scenario):
    class EnoughError(Exception):
        pass

    said: list[float] = []

    def say(done: float, of: int) -> None:
        said.append(done)
        # Where the machine is busy, a whole run may end before the first report.
        if 0 < done < of and done != 1:
            raise EnoughError

    study = scenario.with_name("study.toml")
    study.write_text(STUDY + 'duration = ["1000s"]\n')
    with pytest.raises(EnoughError):
        wl.sweep(study, jobs=2).collect(say)
    assert 0 < said[-1] < 2 and said[-1] != 1


def test_a_terminal_sees_the_percentage_of_a_single_run(capsys, monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    report = Report("runs")
    report(0.1, 1)
    report(0.4, 1)
    report(1, 1)
    first, second, last = capsys.readouterr().err.split("\r")[1:]
    assert first.strip() == "0 of 1 runs"
    assert second.startswith("0 of 1 runs, 40%, ") and second.strip().endswith("s left")
    assert last.strip() == "1 of 1 runs" and last.endswith("\n")


def test_a_run_a_sweep_and_a_search_show_a_table_and_a_plot(scenario):
    run = wl.simulate(scenario)._repr_html_()
    assert "two-flows" in run
    assert run.count("<tr>") == 3 and "<svg " in run and "fairness index" in run
    silent = wl.simulate(scenario, series="none")._repr_html_()
    assert "<table>" in silent and "<svg " not in silent
    study = wl.sweep(scenario.with_name("study.toml"))
    assert "2 runs" in study._repr_html_() and "<svg " not in study._repr_html_()
    study.collect()
    assert "fairness index, steady" in study._repr_html_() and "<svg " in study._repr_html_()
    search = wl.search(scenario.with_name("search.toml"))
    assert "4 trials" in search._repr_html_() and "1 to 9ms" in search._repr_html_()
    assert "<svg " in search.collect()._repr_html_() == search._repr_html_()


def test_texts_of_the_html_form_are_escaped_and_a_long_table_is_cut():
    shown = notebook_form("a <b>", ["1 & 2"], Table("", ["x"], [[str(n)] for n in range(25)]))
    assert "a &lt;b&gt;" in shown and "1 &amp; 2" in shown
    assert shown.count("<td>") == 20 and "and 5 rows more" in shown


def test_a_sweep_that_has_not_run_is_run_by_its_plot(scenario):
    figure = wl.sweep(scenario.with_name("study.toml")).plot(x="rate", y="total_mbit_per_s")
    assert [point["x"] for point in figure.points()] == [10, 20]


def test_the_command_prints_the_table_of_a_sweep_as_json(scenario, tmp_path, capsys):
    from windlass_lab.cli import main

    out = tmp_path / "out"
    assert main(["sweep", str(scenario.with_name("study.toml")), "--out", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["schema"], answer["kind"]) == (1, "lab.sweep")
    assert answer["file"] == str(out / "rows.parquet")
    assert answer["axes"] == ["dumbbell.bottleneck.rate"]
    assert [row["dumbbell.bottleneck.rate_mbit_per_s"] for row in answer["rows"]] == [10, 20]


@pytest.mark.parametrize("missing", [["pyarrow"], ["pandas", "pyarrow"]])
def test_to_pandas_says_what_it_takes(scenario, monkeypatch, missing):
    monkeypatch.setattr(pandas_frame, "find_spec", lambda name: None if name in missing else 1)
    run = wl.simulate(scenario, series="none")
    expected = rf"{' and '.join(missing)}: pip install 'windlass-lab\[pandas\]'"
    with pytest.raises(LabError, match=expected):
        run.to_pandas()


@pytest.fixture
def pandas():
    """pandas itself; skips with the command that installs it and pyarrow."""
    install = "pip install 'windlass-lab[pandas]'"
    pytest.importorskip("pyarrow", reason=f"no pyarrow: {install}")
    return pytest.importorskip("pandas", reason=f"no pandas: {install}")


def assert_same(found, frame) -> None:
    """The table of pandas has the columns and values of that of polars."""
    assert list(found.columns) == frame.columns
    for name in frame.columns:
        # A missing number is NaN in pandas.
        values = [None if value != value else value for value in found[name].tolist()]
        assert values == frame[name].to_list(), name


def test_a_run_gives_its_tables_to_pandas(scenario, pandas):
    run = wl.simulate(scenario)
    assert isinstance(run.to_pandas(), pandas.DataFrame)
    assert_same(run.to_pandas(), run.flows)
    assert_same(run.to_pandas("cwnd"), run.series("cwnd"))


def test_a_sweep_gives_its_table_to_pandas(scenario, pandas):
    study = wl.sweep(scenario.with_name("study.toml"))
    found = study.to_pandas()
    assert_same(found, study.collect())
    assert found["dumbbell.bottleneck.rate_mbit_per_s"].tolist() == [10, 20]
    assert pandas.api.types.is_numeric_dtype(found["utilisation.steady"])


def test_a_search_gives_its_trials_to_pandas(scenario, pandas):
    search = wl.search(scenario.with_name("search.toml"))
    found = search.to_pandas()
    assert_same(found, search.result.trials)
    assert pandas.api.types.is_bool_dtype(found["best"])
    assert found["trial"].tolist() == [0, 1, 2, 3]


def names_of(body: list[ast.stmt]) -> set[str]:
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {node.name for node in body if isinstance(node, kinds)}


def test_the_stub_has_all_that_the_native_half_has():
    tree = ast.parse((SOURCE / "_native.pyi").read_text())
    public = {name for name in dir(native) if not name.startswith("_")}
    assert names_of(tree.body) == public
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name != "Stopped":
            own = {name for name in vars(getattr(native, node.name)) if not name.startswith("__")}
            stubbed = {name for name in names_of(node.body) if not name.startswith("__")}
            assert stubbed == own, node.name


USER = """
from pathlib import Path
import polars as pl
import windlass_lab as wl
from windlass_lab.runs.figure import compare

run = wl.simulate("a.toml", seed=1, set={"x": 1}, progress=print)
frame: pl.DataFrame = run.flows
path: Path = run.plot("cwnd").save("a.svg")
study = wl.sweep("s.toml", out="out", jobs=2, resume=True)
rows: pl.DataFrame = study.collect(print)
study.plot("rate", ["fairness"], by="controller", over=["delay"], kind="heat").save("b.png")
mean: float = wl.read_study("out").plot(kind="lines").points()[0]["mean"]
front: pl.DataFrame = wl.search("s.toml").collect().front
compare([("a", run), ("b", wl.read("out"))], ["cwnd"]).drawing().savefig("c.png")
study.plot(kind="pie")
"""


def test_a_strict_type_checker_knows_the_package(tmp_path):
    """The stub alone, and a program that uses the package with one mistake in its last line."""
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    settings = ["--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    files = [str(SOURCE / "_native.pyi"), str(tmp_path / "user.py")]
    checked = subprocess.run(
        [*command, *settings, *files], capture_output=True, text=True, cwd=SOURCE.parent
    )
    found = [line for line in checked.stdout.splitlines() if ": error: " in line]
    assert len(found) == 1, checked.stdout + checked.stderr
    assert 'Argument "kind"' in found[0] and "user.py:16" in found[0]
