import json
import shlex
import subprocess
from pathlib import Path

import pytest

from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.binary.windlass import Run, Sampling, Windlass, read_series
from windlass_lab.core.errors import LabError, RunError


def write_run(folder, csv):
    (folder / "summary.json").write_text('{"flows": [{"name": "tcp1", "rtt_min_ms": 4.0}]}')
    (folder / "flow-tcp1.csv").write_text(csv)


def test_a_series_is_read_with_what_columns_it_has(tmp_path):
    write_run(tmp_path, "time_s,cwnd_packets,srtt_ms\n0,1,\n0.5,2.5,30\n")
    [flow] = read_series(tmp_path, ("cwnd_packets", "srtt_ms", "slope"))
    assert (flow.name, flow.rtt_min_ms) == ("tcp1", 4.0)
    assert flow.time_s == [0.0, 0.5]
    assert flow.columns == {"cwnd_packets": [1.0, 2.5], "srtt_ms": [None, 30.0]}


@pytest.mark.parametrize("csv", ["", "t,cwnd\n1,2\n", "time_s,cwnd_packets\nsoon,2\n"])
def test_a_series_that_is_not_one_is_refused(tmp_path, csv):
    write_run(tmp_path, csv)
    with pytest.raises(RunError, match="time series"):
        read_series(tmp_path, ("cwnd_packets",))


def test_the_queue_is_read_where_a_column_is_of_it(tmp_path):
    flows = '"flows": [{"name": "tcp1", "rtt_min_ms": 4.0}]'
    queues = '"queues": [{"link": "r1-d", "direction": "forward"}]'
    write_run(tmp_path, "time_s,cwnd_packets\n0,1\n")
    (tmp_path / "summary.json").write_text(f"{{{flows}, {queues}}}")
    (tmp_path / "queue-r1-d-forward.csv").write_text("time_s,queue_packets\n0,3\n")
    _, queue = read_series(tmp_path, ("cwnd_packets", "queue_packets"))
    assert (queue.name, queue.rtt_min_ms) == ("bottleneck", None)
    assert queue.columns == {"queue_packets": [3.0]}


def test_overrides_stand_in_the_command(tmp_path, fake_windlass):
    windlass = Windlass(fake_windlass)
    file = tmp_path / "s1_10M_p0.1_newecn.toml"
    run = Run(file, {"queues.marking.gentle": True, "defaults.window_limit": "16 segments"})
    summary = windlass.summary(run, Sampling(replicates=3, seed=5))
    assert summary["replicates"] == 3
    assert windlass.commands == [
        f"windlass sim run {file} --set queues.marking.gentle=true"
        " --set 'defaults.window_limit=16 segments' --replicates 3 --jitter 100ms --seed 5"
    ]


def test_the_built_binary_is_found_above_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.delenv("WINDLASS", raising=False)
    binary = tmp_path / "target" / "release" / "windlass"
    binary.parent.mkdir(parents=True)
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    (tmp_path / "lab").mkdir()
    monkeypatch.chdir(tmp_path / "lab")
    assert find_windlass(None) == binary


def test_a_file_that_cannot_be_run_is_refused(tmp_path):
    file = tmp_path / "windlass"
    file.write_text("")
    with pytest.raises(LabError, match="not executable"):
        find_windlass(file)


def test_the_lines_of_a_batch_mean_what_replicates_mean():
    scenarios = Path(__file__).resolve().parents[2] / "experiments" / "new-ecn"
    try:
        windlass = Windlass(find_windlass(None))
    except LabError:
        pytest.skip("no binary windlass: not built")
    overrides = {"duration": "3s", "steady_from": "1s", "queues.marking.p_max": 0.2}
    run = Run(scenarios / "s2_2M_p0.1_newecn.toml", overrides)
    ours = windlass.summary(run, Sampling(replicates=3, seed=5))
    [command] = windlass.commands
    shown = [str(windlass.path), *shlex.split(command)[1:], "--json"]
    theirs = json.loads(subprocess.run(shown, capture_output=True, check=True).stdout)
    for flow, other in zip(ours["flows"], theirs["flows"], strict=True):
        for span in ("whole_run", "steady"):
            assert flow["packets_per_s"][span] == pytest.approx(other["packets_per_s"][span])
    assert ours["fairness_index"]["steady"] == pytest.approx(theirs["fairness_index"]["steady"])
