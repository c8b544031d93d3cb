"""Texts from other editors: with a byte order mark, with other ends of lines, in UTF-16."""

import codecs

import pytest

import windlass_lab as wl
from windlass_lab.core.errors import LabError
from windlass_lab.core.files.text_file import read_text
from windlass_lab.surveys.groups import read_pairs
from windlass_lab.testbed import load

TEXT = "schema = 1\nname = 'é'\n"


def test_a_mark_and_carriage_returns_are_no_part_of_the_text(tmp_path):
    path = tmp_path / "a.toml"
    for data in (TEXT.encode(), codecs.BOM_UTF8 + TEXT.replace("\n", "\r\n").encode()):
        path.write_bytes(data)
        assert read_text(path) == TEXT


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_another_encoding_is_refused_by_name(tmp_path, encoding):
    path = tmp_path / "a.toml"
    path.write_bytes(TEXT.encode(encoding))
    where = "line 2: not a text in UTF-8" if encoding == "latin-1" else "in UTF-16, or none"
    with pytest.raises(LabError, match=where):
        read_text(path)


def test_every_text_is_read_there(tmp_path):
    """A mark makes no difference to a testbed, a study, its scenario, a trace, a list of pairs."""
    pytest.importorskip("windlass_lab._native", reason="build it with scripts/build-native")

    def write(name, text):
        (tmp_path / name).write_bytes(codecs.BOM_UTF8 + text.replace("\n", "\r\n").encode())
        return tmp_path / name

    write("a.trace", "1\n2\n")
    scenario = write(
        "s.toml",
        "schema = 1\nname = 's'\nduration = '1s'\nflows = [{ name = 'a', from = 's1' }]\n"
        "[dumbbell]\naccess = [{ delay = '1ms' }]\n"
        "bottleneck = { rate = { trace = 'a.trace' }, delay = '1ms' }\n",
    )
    study = write("study.toml", "schema = 1\nscenario = 's.toml'\n")
    assert len(wl.sweep(study).collect()) == 1
    assert wl.simulate(scenario, series="none").name == "s"
    assert read_pairs(write("a.csv", "a,b\n"), "pairs") == [(1, ("a", "b"))]
    with pytest.raises(LabError, match="schema: expected 1"):
        load.load(write("bed.toml", "schema = 7\n"))
