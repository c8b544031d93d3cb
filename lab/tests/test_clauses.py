"""Controllers in Python, judged by clauses."""

import json
import subprocess
from pathlib import Path

import pytest

from windlass_lab import Controller, judge
from windlass_lab.cli import main
from windlass_lab.core.binary.locate import find_windlass
from windlass_lab.core.errors import LabError

RENO = '''
from windlass_lab import Controller


class Reno(Controller):
    """RFC 5681 in Python."""

    share = 0.5

    def __init__(self, params):
        super().__init__(params)
        self.abe = params.abe

    def on_ack(self, ack):
        if self.cwnd < self.ssthresh:
            self.cwnd += min(ack.credit, self.ssthresh - self.cwnd)
        else:
            self.cwnd += self.mss * ack.credit / self.cwnd

    def on_congestion(self, congestion):
        echo = congestion.cause == "ecn"
        reduced = congestion.window * (0.8 if echo and self.abe else self.share)
        if not congestion.hold_ssthresh:
            self.ssthresh = max(reduced, 2 * self.mss)
        if congestion.cause == "timeout":
            self.cwnd = self.mss
        else:
            least = self.mss if echo else 2 * self.mss
            self.cwnd = max(reduced, min(self.cwnd, least))


class Greedy(Reno):
    """Hardly reacts to a loss."""

    share = 0.95


class Broken(Reno):
    """Raises."""

    def on_ack(self, ack):
        raise RuntimeError(f"no idea what to do at {ack.now} s")
'''


@pytest.fixture
def reno(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(RENO)
    return file


def test_reno_in_python_gets_the_verdicts_of_reno(
    reno: Path, capsys: pytest.CaptureFixture
) -> None:
    main(["judge", f"{reno}:Reno", "--as", "reno", "--json"])
    verdicts = json.loads(capsys.readouterr().out)
    command = [str(find_windlass(None)), "judge", "reno", "--profile", "rfc5681", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    suites = json.loads(done.stdout)["suites"]
    expected = {
        (suite["suite"], case["case"]): case["outcome"]
        for suite in suites
        for case in suite["cases"]
    }
    assert {(found["suite"], found["case"]): found["outcome"] for found in verdicts} == expected
    assert any(found["document"] == "RFC 5681" for found in verdicts)


def test_one_that_hardly_reacts_fails_by_the_clause(
    reno: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["judge", f"{reno}:Greedy", "--as", "reno"]) == 1
    out = capsys.readouterr().out
    assert "RFC 5681 section" in out
    assert "failed" in out


def test_what_a_controller_raises_is_shown(reno: Path) -> None:
    with pytest.raises(RuntimeError, match="no idea what to do at 1"):
        main(["judge", f"{reno}:Broken", "--as", "reno"])


def test_a_suite_for_variables_that_python_has_not(
    reno: Path, capsys: pytest.CaptureFixture
) -> None:
    main(["judge", f"{reno}:Reno", "--suite", "bbr", "--json"])
    verdicts = json.loads(capsys.readouterr().out)
    hidden = [verdict for verdict in verdicts if verdict["outcome"] == "not observable"]
    assert len(hidden) >= 22
    assert all("no variable" in verdict["reason"] for verdict in hidden)


def test_mistakes_are_named(reno: Path, tmp_path: Path) -> None:
    with pytest.raises(LabError, match="expected one of"):
        judge(Controller, suites=["rfc568"])
    assert main(["judge", f"{reno}:Absent"]) == 2
    assert main(["judge", str(tmp_path / "absent.py")]) == 2
