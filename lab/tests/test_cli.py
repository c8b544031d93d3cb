import json
import os
import signal
import subprocess
import sys
import time
from importlib import resources

import jsonschema
import pytest

from windlass_lab.cli import main


def schema(name):
    return json.loads(resources.files("windlass_lab").joinpath("data", name).read_text())


def read(folder, name):
    return json.loads((folder / name).read_text())


def test_list_names_every_experiment(capsys):
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    for expected in ("new-ecn/4.2.2", "new-ecn/3.2", "simulated", "Hamann"):
        assert expected in text


def test_list_for_scripts(capsys):
    assert main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert list(listed)[:2] == ["schema", "kind"]
    experiments = {entry["id"]: entry for entry in listed["experiments"]}
    entry = experiments["new-ecn/4.2.2"]
    both = ["s1_10M_p0.1_newecn", "s1_10M_p0.1_ecn"]
    assert entry["cases"] == [*both, *(f"{name}@20s" for name in both)]
    assert entry["kind"] == "simulated"
    assert not entry["needs_root"]
    assert "1999" in entry["paper"]


@pytest.mark.parametrize("command", [[], ["list"], ["reproduce"], ["report"]])
def test_help_has_examples_and_exit_codes(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*command, "--help"])
    text = capsys.readouterr().out
    assert stop.value.code == 0
    assert "examples:" in text
    assert "exit status:" in text


def test_a_quick_run_writes_a_whole_result(lab, tmp_path, capsys):
    assert lab("--quick", out=tmp_path / "out") == 0
    written = sorted(os.listdir(tmp_path / "out"))
    assert written == [
        *("data", "main-plot.json", "report.html", "results.json", "series.json", "summary.txt")
    ]
    streams = capsys.readouterr()
    assert streams.out.startswith((tmp_path / "out" / "summary.txt").read_text())
    assert "Held against the reference: figures" in streams.out
    assert "[1/10] s1_10M_p0.1_newecn: 20 replicates" in streams.err


def test_results_and_series_follow_their_schemas(whole_result):
    jsonschema.validate(read(whole_result, "results.json"), schema("results.schema.json"))
    jsonschema.validate(read(whole_result, "series.json"), schema("series.schema.json"))


def test_a_result_says_how_it_was_made(lab, tmp_path):
    assert (
        lab("--quick", "--replicates", "7", "--seed", "42", "--jobs", "3", out=tmp_path / "out")
        == 0
    )
    results = read(tmp_path / "out", "results.json")
    assert (results["replicates"], results["seed"]) == (7, 42)
    assert results["windlass_version"] == "windlass 0.0.0-fake"
    command = next(command for command in results["commands"] if "p0.1_ecn.toml" in command)
    assert command.endswith("/new-ecn/s1_10M_p0.1_ecn.toml --replicates 7 --jitter 100ms --seed 42")
    assert str(tmp_path) not in (tmp_path / "out" / "report.html").read_text()


def test_the_whole_paper_judges_every_case(whole_result):
    results = read(whole_result, "results.json")
    assert [e["id"] for e in results["experiments"]] == [
        "3.2",
        "4.2.1-setup1",
        "4.2.1-setup2-p0.1",
        "4.2.1-setup2-p0.2",
        "4.2.2",
        "4.2.3",
        "4.2-reno",
        "4.3.1",
        "4.3.2",
        "4.3.3",
        "kernel-short",
        "kernel",
        "kernel-others",
        "linux",
        "limit-cycle",
        "p-max",
        "window-limit",
        "gateways",
        "queue-papers",
        "queues",
        "robustness",
        "friendliness",
        "cycle-model",
        "parameters",
    ]
    assert all(e["passed"] for e in results["experiments"])


def test_one_experiment_alone(lab, tmp_path):
    assert lab(out=tmp_path / "out", target="new-ecn/4.3.1") == 0
    results = read(tmp_path / "out", "results.json")
    assert [e["id"] for e in results["experiments"]] == ["4.3.1"]


def test_published_figures_come_from_the_scenario_files(whole_result):
    comparisons = read(whole_result, "results.json")["experiments"][1]["comparisons"]
    windows = [c["published"] for c in comparisons if "cwnd, mean of trace" in c["quantity"]]
    assert windows == [114.26, 46.86, 23.14, 8.21]


def test_figures_that_differ_end_with_status_1(lab, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FAKE_WINDLASS", "unfair")
    assert lab("--quick", out=tmp_path / "out") == 1
    assert "figures 61 of 66 met" in capsys.readouterr().out
    results = read(tmp_path / "out", "results.json")
    assert [e["passed"] for e in results["experiments"]] == [True, False, False]


def test_a_failing_binary_ends_with_status_3_and_its_words(lab, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FAKE_WINDLASS", "fail")
    assert lab("--quick", out=tmp_path / "out") == 3
    error = capsys.readouterr().err
    assert "scenario.toml:3: unknown key `rat`" in error
    assert "sim batch" in error
    assert not (tmp_path / "out").exists()


def test_output_that_is_not_json_is_reported(lab, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FAKE_WINDLASS", "garbage")
    assert lab("--quick", out=tmp_path / "out") == 3
    assert "not JSON" in capsys.readouterr().err


def test_a_missing_binary_is_one_clear_error(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("WINDLASS", raising=False)
    missing = tmp_path / "windlass"
    assert main(["reproduce", "new-ecn", "--windlass", str(missing)]) == 2
    assert f"there is no file {missing}" in capsys.readouterr().err


def test_the_binary_may_be_named_by_the_environment(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WINDLASS", str(tmp_path / "nowhere"))
    assert main(["reproduce", "new-ecn", "--out", str(tmp_path / "out")]) == 2
    assert "WINDLASS" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_unknown_paper_lists_the_known_ones(capsys):
    assert main(["reproduce", "new-enc"]) == 2
    assert "new-ecn" in capsys.readouterr().err


def test_a_missing_scenario_is_reported_before_anything_runs(
    fake_windlass, experiments, tmp_path, capsys
):
    partial = tmp_path / "experiments" / "new-ecn"
    partial.mkdir(parents=True)
    name = "s1_10M_p0.1_newecn.toml"
    (partial / name).write_text((experiments / "new-ecn" / name).read_text())
    world = ["--windlass", str(fake_windlass), "--experiments", str(partial.parent)]
    assert main(["reproduce", "new-ecn", "--quick", *world, "--out", str(tmp_path / "out")]) == 2
    streams = capsys.readouterr()
    assert "s1_10M_p0.1_ecn.toml" in streams.err
    assert "[1/" not in streams.err


def test_a_foreign_directory_is_refused_before_anything_runs(lab, tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("years of work")
    assert lab("--quick", out=tmp_path) == 2
    assert "[1/" not in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["thesis.tex"]


@pytest.mark.parametrize("option", [["--replicates", "0"], ["--jobs", "x"], ["--seed", "-1"]])
def test_wrong_numbers_are_refused(option):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "new-ecn", *option])
    assert stop.value.code == 2


def test_report_makes_the_same_page_again(lab, tmp_path):
    folder = tmp_path / "out"
    lab("--quick", out=folder)
    page, text = (folder / "report.html").read_text(), (folder / "summary.txt").read_text()
    (folder / "report.html").unlink()
    (folder / "summary.txt").unlink()
    assert main(["report", str(folder)]) == 0
    assert (folder / "report.html").read_text() == page
    assert (folder / "summary.txt").read_text() == text


def test_report_of_a_folder_without_a_result(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 2
    assert "results.json" in capsys.readouterr().err


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_stops_the_binary_and_leaves_nothing(
    fake_windlass, experiments, tmp_path, number, status
):
    started = tmp_path / "started"
    hanging = {"FAKE_WINDLASS": "hang", "FAKE_WINDLASS_STARTED": str(started)}
    # Only the lab gets the signal: it must end the binary itself.
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "windlass_lab", "reproduce", "new-ecn", "--quick"),
            *("--windlass", str(fake_windlass), "--experiments", str(experiments)),
            *("--out", str(tmp_path / "out")),
        ],
        env=os.environ | hanging,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while not (started.exists() and started.read_text()):
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.01)
    process.send_signal(number)
    _, complaints = process.communicate(timeout=30)
    assert process.returncode == status
    assert b"Traceback" not in complaints
    assert not (tmp_path / "out").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
