"""Traces of controllers: their paths, the library, the confusion matrix, the command."""

import json
from pathlib import Path

import pytest

from windlass_lab.cli import main
from windlass_lab.controllers.judge import Verdict, read_verdicts, samples, summary, table
from windlass_lab.controllers.paths import draw
from windlass_lab.controllers.trace import trace
from windlass_lab.core.errors import LabError


def verdict(controller: str, *found: str, path: str = "1.0") -> Verdict:
    why = None if found else "no known controller is near"
    parts = [{"show": "loss", "logs": [-0.6931471, -0.5]}]
    return Verdict("6.1", path, controller, found, 0.9, why, 160.0, parts)


def test_a_seed_draws_the_same_paths_however_many_are_asked_for() -> None:
    assert draw(7, 20)[:5] == draw(7, 5)
    assert draw(7, 5) != draw(8, 5)
    assert all(158 <= path.rtt_ms <= 296 for path in draw(3, 200, far=True))
    for path in draw(3, 200):
        assert 7.9 <= path.rate_mbit <= 100
        assert 1.9 <= path.rtt_ms <= 126
        # A queue beyond what is on the way: netem counts both.
        on_the_way = path.rate_mbit * 1e6 * path.rtt_ms / 1e3 / 8 / 306
        assert path.limit_packets == pytest.approx(on_the_way + path.queue_packets, abs=1)


def test_a_matrix_counts_right_wrong_and_unknown() -> None:
    found = summary(
        [
            verdict("reno", "reno"),
            verdict("reno", "reno", "hybla"),
            verdict("reno", "vegas"),
            verdict("cubic"),
            verdict("cubic", "cubic"),
        ]
    )
    reno, cubic = found["controllers"]["reno"], found["controllers"]["cubic"]
    assert (reno["right"], reno["alone"], reno["unknown"]) == (2, 1, 0)
    assert (cubic["right"], cubic["unknown"]) == (1, 1)
    assert cubic["why_unknown"] == {"no known controller is near": 1}
    assert found["macro_average"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert (found["least"], found["wrong"]) == (0.5, 0.2)
    text = table(found)
    assert "1 vegas" in text and "1 unknown" in text and "wrong 0.200, of 5 runs" in text


def test_samples_are_the_signatures_that_were_seen() -> None:
    nothing = Verdict("6.1", "1.1", "reno", (), 0.0, "silent", 160.0, [])
    (sample,) = samples([verdict("reno", "reno"), nothing])
    assert sample["source"] == "Linux 6.1, path 1.0"
    assert sample["parts"] == [{"show": "loss", "logs": [-0.6931, -0.5]}]


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no runs of"):
        read_verdicts(Path("/bin/true"), [tmp_path], None)


def test_the_command_judges_runs_by_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "windlass"
    judged = {
        "file": str(tmp_path / "2.3-cubic.json"),
        "controller": {
            "controllers": ["cubic"],
            "confidence": 0.97,
            "why": None,
            "rtt_ms": 160.0,
            "signature": {"parts": []},
        },
    }
    program.write_text(f"#!/bin/sh\necho '{json.dumps(judged)}'\n")
    program.chmod(0o755)
    (tmp_path / "2.3-cubic.json").write_text("{}")
    (tmp_path / "about.json").write_text('{"kernel": "7.3"}')
    arguments = ["controllers", "judge", str(tmp_path), "--windlass", str(program)]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["macro_average"] == 1.0
    assert main(arguments) == 0
    assert "cubic           1 of 1" in capsys.readouterr().out
    assert main(["controllers", "library", str(tmp_path), "--windlass", str(program)]) == 0
    assert capsys.readouterr().out == ""
    program.write_text("#!/bin/sh\necho 'error: broken' >&2\nexit 2\n")
    assert main(arguments) == 3
    assert "broken" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ('{"kernel": "6.1"}', r"has runs of Linux 6\.1 with tcp_ecn 2"),
        ('{"kernel": "7.3", "tcp_ecn": 3}', r"has runs of Linux 7\.3 with tcp_ecn 3"),
        ('{"tcp_ecn": 2}', "not a folder of runs"),
    ],
)
def test_a_folder_holds_the_runs_of_one_kernel(tmp_path: Path, about: str, why: str) -> None:
    (tmp_path / "about.json").write_text(about)
    with pytest.raises(LabError, match=why):
        trace(
            Path("windlass"),
            seed=1,
            paths=1,
            far=False,
            controllers=["reno"],
            kernel="7.3",
            tcp_ecn=2,
            out=tmp_path,
            resume=True,
        )
