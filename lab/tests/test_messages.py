"""The lab's messages for inputs that it refuses: input, message, exit status."""

import json
from pathlib import Path

import pytest

from windlass_lab.cli import main


def program(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def world(tmp_path):
    """Inputs that the cases name in braces."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "summary.json").write_text(json.dumps({"schema": 1, "kind": "sim.run"}))
    (tmp_path / "empty").mkdir()
    old = tmp_path / "old"
    old.mkdir()
    (old / "results.json").write_text('{"format": "windlass-lab result", "schema_version": 2}')
    return {
        "run": str(run),
        "empty": str(tmp_path / "empty"),
        "old": str(old),
        "none": str(tmp_path / "none"),
        "out": str(tmp_path / "out"),
        "other": program(tmp_path, "other", "echo other 1.2"),
        "silent": program(tmp_path, "silent", "exit 0"),
        "broken": program(tmp_path, "broken", "exit 5"),
    }


CASES = {
    "a paper's name without its hyphen": (
        "reproduce newecn",
        "no paper 'newecn' in the catalogue; did you mean 'new-ecn'?",
    ),
    "an experiment's name with a typing error": (
        "reproduce new-ecn/kernal",
        "no experiment 'new-ecn/kernal' in the catalogue; did you mean 'new-ecn/kernel'?",
    ),
    "a name like no other": ("reproduce xyzzy", "there is: new-ecn, ecn-proxy, split-ack, tou"),
    "a report of a plain run": (
        "report {run}",
        "{run} holds a run of `windlass sim run` or `windlass-lab testbed run`",
    ),
    "a report of an empty directory": (
        "report {empty}",
        "{empty} holds no result of `windlass-lab reproduce`: it has no results.json",
    ),
    "a report of nothing": ("report {none}", "there is no directory {none}"),
    "a report of an older result": ("report {old}", "is of an older lab; this lab reads schema 4"),
    "another program for the binary": (
        "reproduce new-ecn --out {out} --windlass {other}",
        "{other} is not the binary windlass: for --version it prints 'other 1.2'",
    ),
    "a program that prints nothing": (
        "reproduce new-ecn --out {out} --windlass {silent}",
        "{silent} is not the binary windlass: for --version it prints nothing",
    ),
    "a program that fails": (
        "reproduce new-ecn --out {out} --windlass {broken}",
        "{broken} is not the binary windlass: windlass --version ended with status 5",
    ),
    "a binary that is not there": (
        "reproduce new-ecn --out {out} --windlass {none}",
        "--windlass: there is no file {none}",
    ),
    "a number that is none": (
        "reproduce new-ecn --jobs many",
        "argument --jobs/--parallel: invalid whole number value: 'many'",
    ),
    "a scale above 1": (
        "reproduce tou --scale 2",
        "argument --scale: must be above 0 and at most 1",
    ),
    "no command": ("", "the following arguments are required: COMMAND"),
}


@pytest.mark.parametrize(("line", "message"), CASES.values(), ids=CASES.keys())
def test_a_wrong_input_has_a_clear_message(line, message, world, capsys):
    try:
        status = main([word.format(**world) for word in line.split()])
    except SystemExit as stop:
        status = stop.code
    printed = capsys.readouterr().err
    assert status == 2
    assert printed.startswith("error: ")
    assert message.format(**world) in printed
    assert "Errno" not in printed and "(os error" not in printed
    assert not Path(world["out"]).exists()


def test_a_binary_of_another_version_is_named(fake_windlass, experiments, tmp_path, capsys):
    old = program(tmp_path, "windlass", f'FAKE_WINDLASS=old exec {fake_windlass} "$@"')
    command = ["reproduce", "new-ecn", "--quick", "--windlass", old, "--out", str(tmp_path / "out")]
    assert main([*command, "--experiments", str(experiments)]) == 3
    printed = capsys.readouterr().err
    assert f"error: {old} is another version than this lab" in printed
    assert "hint: `make build`" in printed
