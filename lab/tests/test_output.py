import errno
import json
import os
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from windlass_lab.core.errors import LabError
from windlass_lab.core.files import output
from windlass_lab.core.files.line_file import LineFile
from windlass_lab.core.pipeline.run_lines import RunLines


def previous_result(folder):
    folder.mkdir(exist_ok=True)
    result = output.envelope(output.RESULT_KIND)
    (folder / output.RESULTS).write_text(json.dumps(result))
    return folder


def test_a_new_directory_is_made_and_kept_once_something_is_written(tmp_path):
    folder = tmp_path / "deep" / "out"
    with output.OutputDirectory(folder) as directory:
        directory.write(output.SUMMARY, "hello\n")
    assert (folder / output.SUMMARY).read_text() == "hello\n"
    assert os.listdir(folder) == [output.SUMMARY]


def test_a_directory_made_for_nothing_is_taken_away(tmp_path):
    with pytest.raises(KeyboardInterrupt), output.OutputDirectory(tmp_path / "deep" / "out"):
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_a_directory_that_was_there_stays(tmp_path):
    with pytest.raises(KeyboardInterrupt), output.OutputDirectory(tmp_path):
        raise KeyboardInterrupt
    assert tmp_path.is_dir()


def test_a_previous_result_may_be_replaced(tmp_path):
    with output.OutputDirectory(previous_result(tmp_path / "out")) as directory:
        directory.write(output.RESULTS, "new")
    assert (tmp_path / "out" / output.RESULTS).read_text() == "new"


def test_foreign_content_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(LabError, match=r"thesis\.tex"):
        output.OutputDirectory(tmp_path)


def test_foreign_content_beside_a_result_is_refused(tmp_path):
    (previous_result(tmp_path) / "notes.txt").write_text("mine")
    with pytest.raises(LabError, match=r"notes\.txt"):
        output.OutputDirectory(tmp_path)


def test_a_file_that_only_has_the_name_of_a_result_is_foreign(tmp_path):
    (tmp_path / output.RESULTS).write_text('{"kind": "something else"}')
    with pytest.raises(LabError, match="no result"):
        output.OutputDirectory(tmp_path)


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(LabError, match="out"):
        output.OutputDirectory(tmp_path / "out")


def test_what_a_killed_run_left_does_not_stop_the_next(tmp_path):
    (previous_result(tmp_path) / f".{output.REPORT}-abc").write_text("half")
    output.OutputDirectory(tmp_path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    target = tmp_path / "file"
    target.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(LabError, match="file: cannot write: disk full"):
        output.write_atomically(target, "new")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk_ends_reproduce_with_one_error(lab, tmp_path, monkeypatch, capsys):
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(full))
    out = tmp_path / "new/out"
    assert lab("--quick", "--replicates", "1", out=out) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert errors == [f"error: {out}/results.json: cannot write: No space left on device"]
    assert not out.parent.exists()


@pytest.mark.parametrize("room", [0, 3])
def test_a_line_is_in_the_file_or_not_at_all(tmp_path, monkeypatch, room):
    """A disk takes the first bytes of a line and is full then."""
    file = LineFile(tmp_path / "lines")
    file.append("one\n")
    write, left = os.write, [room]

    def write_some(number, data):
        taken, left[0] = bytes(data[: left[0]]), 0
        if not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(number, taken)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_some)
        with pytest.raises(LabError, match="lines: cannot write: No space left on device"):
            file.append("two\nthree\n")
    file.append("four\n")
    file.close()
    assert (tmp_path / "lines").read_text() == "one\nfour\n"


def test_runs_that_are_there_survive_a_full_disk(tmp_path, monkeypatch):
    """Going on with them writes the file anew, beside the old one."""

    @dataclass
    class Run:
        time_s: float

    test = SimpleNamespace(name="a")
    lines = RunLines(tmp_path / "runs.jsonl", "here", False, Run)
    lines.add(test, 1, Run(2.5))
    lines.close()
    full = OSError(errno.ENOSPC, "No space left on device")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(full))
        with pytest.raises(LabError, match="cannot write"):
            RunLines(tmp_path / "runs.jsonl", "here", True, Run)
    assert RunLines(tmp_path / "runs.jsonl", "here", True, Run).of(test) == [Run(2.5)]
    assert os.listdir(tmp_path) == ["runs.jsonl"]


def test_a_result_of_another_schema_is_refused(tmp_path):
    (tmp_path / output.RESULTS).write_text(json.dumps({"kind": output.RESULT_KIND, "schema": 99}))
    with pytest.raises(LabError, match="schema 99"):
        output.load(tmp_path, output.RESULTS, output.RESULT_KIND)
