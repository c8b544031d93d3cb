"""New-ECN over ToU in short, from the command to the report. Needs root and a windlass with `link`
and `tou`, and some 20 s; otherwise it skips.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from windlass_lab.core.binary.locate import find_testbeds, find_windlass
from windlass_lab.core.errors import LabError
from windlass_lab.papers.new_ecn.measure import Kernel, cases_of, missing_requirement
from windlass_lab.papers.registry import find

TARGET = "new-ecn-tou/short"


def why_not() -> str:
    """The requirements that this machine lacks; empty for none."""
    try:
        kernel = Kernel(find_windlass(None), find_testbeds(), Path())
    except LabError as error:
        return str(error)
    return missing_requirement(kernel, cases_of(find(TARGET, quick=False)[1]))


@pytest.mark.root
def test_four_flows_of_tou_share_a_red_bottleneck(tmp_path):
    if missing := why_not():
        pytest.skip(missing)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "windlass_lab", "reproduce", TARGET, "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    # 1: done, but the index is further off than it should be, as one run on a busy machine may be.
    assert done.returncode in (0, 1), done.stderr
    found = json.loads((out / "results.json").read_text())["summaries"]
    summary = found["four_rtts_newecn@tou-15s"]
    assert summary["flows_without_ecn"] == 0
    for flow in summary["flows"]:
        # Payload of 512 bytes on the wire; each flow is marked, and slows down for it.
        assert flow["packet_bytes"] == 456
        assert flow["acked_bytes"] > 0 and flow["marks"] > 0 and flow["window_cuts_by_ecn"] > 0
    assert summary["marks"] > 0
    assert (out / "data/tou-new-ecn-short-cwnd.csv").is_file()
    assert "New-ECN, ToU" in (out / "report.html").read_text()
