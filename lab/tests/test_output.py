import json
import os

import pytest

from windlass_lab.core import output
from windlass_lab.core.errors import LabError


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


def test_a_result_of_another_schema_is_refused(tmp_path):
    (tmp_path / output.RESULTS).write_text(json.dumps({"kind": output.RESULT_KIND, "schema": 99}))
    with pytest.raises(LabError, match="schema 99"):
        output.load(tmp_path, output.RESULTS, output.RESULT_KIND)
