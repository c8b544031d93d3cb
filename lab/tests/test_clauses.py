"""Controllers in Python, judged by clauses."""

import json
from pathlib import Path

import pytest

from windlass_lab import Controller, judge
from windlass_lab.cli import main
from windlass_lab.core.errors import LabError

RENO = '''
from windlass_lab import Controller


class Reno(Controller):
    """RFC 5681 in Python."""

    share = 0.5

    def on_ack(self, ack):
        if self.cwnd < self.ssthresh:
            self.cwnd += min(ack.credit, self.ssthresh - self.cwnd)
        else:
            self.cwnd += self.mss * ack.credit / self.cwnd

    def on_congestion(self, congestion):
        reduced = congestion.window * self.share
        if not congestion.hold_ssthresh:
            self.ssthresh = max(reduced, 2 * self.mss)
        self.cwnd = self.mss if congestion.cause == "timeout" else self.ssthresh


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


def test_reno_in_python_passes_what_concerns_reno(
    reno: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["judge", f"{reno}:Reno", "--as", "reno", "--json"]) == 0
    verdicts = json.loads(capsys.readouterr().out)
    assert {verdict["outcome"] for verdict in verdicts} == {"passed"}
    assert any(verdict["document"] == "RFC 5681" for verdict in verdicts)


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
    assert main(["judge", f"{reno}:Reno", "--suite", "bbr", "--json"]) == 0
    verdicts = json.loads(capsys.readouterr().out)
    assert {verdict["outcome"] for verdict in verdicts} == {"not observable"}
    assert all("no variable" in verdict["reason"] for verdict in verdicts)


def test_mistakes_are_named(reno: Path, tmp_path: Path) -> None:
    with pytest.raises(LabError, match="expected one of"):
        judge(Controller, suites=["rfc568"])
    assert main(["judge", f"{reno}:Absent"]) == 2
    assert main(["judge", str(tmp_path / "absent.py")]) == 2
