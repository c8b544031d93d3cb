"""Probes of kernels: the settings that are tried, the tables, the folders, the server."""

import json
from pathlib import Path

import pytest

from windlass_lab.cli import main
from windlass_lab.core.errors import LabError
from windlass_lab.emulated.machine import kernel_of, prepare
from windlass_lab.kernels.settings import settings_of, values_to_try


@pytest.mark.parametrize(
    ("value", "tried"),
    [
        ("1", ["0", "2", "3"]),
        ("120", ["30", "480"]),
        ("4096 16384 4194304", ["1024 4096 1048576", "16384 65536 16777216"]),
        ("-1", ["0", "-4"]),
        ("2147483647", ["536870911"]),
        ("cubic", []),
    ],
)
def test_a_choice_has_its_neighbours_and_an_amount_less_and_more(
    value: str, tried: list[str]
) -> None:
    found = values_to_try(value)
    assert sorted(found) == sorted(tried)


def test_lists_and_keys_are_no_settings_to_try(tmp_path: Path) -> None:
    for name, value in {
        "tcp_sack": "1\n",
        "tcp_rmem": "4096\t131072\t6291456\n",
        "tcp_congestion_control": "cubic\n",
        "tcp_available_ulp": "mptcp\n",
        "ip_forward": "1\n",
    }.items():
        (tmp_path / name).write_text(value)
    assert settings_of(tmp_path) == {"tcp_sack": "1", "tcp_rmem": "4096 131072 6291456"}


def _line(controller: str, setting: str | None, value: str | None, packets: int | None) -> str:
    probe = packets and {
        "tests": [{"test": test, "data_packets": {"median": packets}} for test in "ACES"],
        "verdict": {
            "reaction": {"kind": "counts-bytes", "limit": "none"},
            "initial_window": {"packets": 10, "exact": True},
        },
        "failure": None,
    }
    run = {"controller": controller, "setting": setting, "value": value, "probe": probe}
    return json.dumps(run)


def test_the_tables_join_controllers_and_show_what_a_setting_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "6.1"
    prepare(folder, "6.1", resume=False)
    runs = [
        _line("reno", None, None, 16),
        _line("cubic", None, None, 16),
        _line("bbr2", None, None, None),
        _line("cubic", "tcp_sack", "0", 16),
        _line("cubic", "tcp_sack", "3", None),
        _line("cubic", "tcp_wmem", "1 2 3", 4),
    ]
    (folder / "runs.jsonl").write_text("\n".join(runs) + "\n")
    assert main(["kernels", "table", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "| 6.1 | reno, cubic | 10 | 16 |  | 16 |" in printed
    assert "| 6.1 | bbr2 | not in this kernel |" in printed
    assert "Linux 6.1: 2 settings, 3 values, of which the kernel refused 1." in printed
    assert "| 6.1 | `tcp_wmem` | 1 2 3 | 10 | 4 | 4 | 4 | 4 | counts-bytes, no limit |" in printed
    assert "`tcp_sack`" not in printed


def test_a_folder_of_something_else_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kernels", "table", str(tmp_path)]) == 2
    assert "not a folder of runs" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="is not empty"):
        prepare(tmp_path, "6.1", resume=False)
    prepare(tmp_path, "6.1", resume=True)
    assert kernel_of(tmp_path) == "6.1"
    (tmp_path / "runs.jsonl").write_text("{}\n")
    assert main(["kernels", "table", str(tmp_path)]) == 2
    assert "not of `kernels trace`" in capsys.readouterr().err
