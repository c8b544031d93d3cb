"""A scenario in three worlds on this machine: a few seconds. Needs root, iperf3 and a windlass with
`link` and `tou`; otherwise it skips.
"""

import json
import subprocess
import sys

import pytest

from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.errors import LabError
from windlass_lab.testbed import check

SECONDS = 3


def why_not() -> str:
    """The first requirement that this machine lacks; empty for none."""
    try:
        find_windlass(None)
    except LabError as error:
        return str(error)
    return next((line for needed, line in check.missing() if needed or "iperf3" in line), "")


@pytest.mark.root
def test_one_page_has_all_worlds(tmp_path, repository):
    if missing := why_not():
        pytest.skip(missing)
    out = tmp_path / "out"
    command = [
        *(sys.executable, "-m", "windlass_lab", "run"),
        *(str(repository / "experiments/worlds/reno.toml"), "--on", "sim,kernel,tou"),
        *("--set", f'duration="{SECONDS}s"', "--set", 'steady_from="1s"', "--out", str(out)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    page = (out / "worlds.html").read_text()
    for table in ("Queueing delay at the bottleneck", "Beside the simulator"):
        assert table in page
    # A row of each world for its flows and its queue.
    for title in ("simulator", "kernel", "ToU"):
        assert page.count(f"<td>{title}</td>") >= 2
        assert f'<th scope="row">{title}</th>' in page
    for world in ("sim", "kernel", "tou"):
        summary = json.loads((out / world / "summary.json").read_text())
        bits = [
            flow["packets_per_s"]["steady"] * (flow.get("packet_bytes") or 1448) * 8
            for flow in summary["flows"]
        ]
        # Both flows together fill a good part of the 10 Mbit/s. No more than the link carries after
        # `steady_from` is acknowledged there, and what the queue held before: 50 packets.
        assert 5e6 < sum(bits) < 10e6 + 50 * 1500 * 8 / (SECONDS - 1), world
        assert summary["queues"][0]["arrived"] > 0


@pytest.mark.root
def test_the_testbed_runs_a_scenario(tmp_path, repository):
    if missing := why_not():
        pytest.skip(missing)
    out = tmp_path / "out"
    file = tmp_path / "my.toml"
    text = (repository / "experiments/worlds/reno.toml").read_text()
    file.write_text(text.replace('steady_from = "5s"', 'steady_from = "1s"'))
    command = [sys.executable, "-m", "windlass_lab", "testbed", "run", str(file)]
    command += ["--time", str(SECONDS), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads((out / "summary.json").read_text())
    assert [flow["name"] for flow in summary["flows"]] == ["one", "two"]
    assert summary["queues"][0]["arrived"] > 0
    assert (out / "flow-one.csv").is_file()
