"""The tables of docs/results: filled from data by a comment before them, and checked."""

import json
import sys
from argparse import Namespace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "site"), str(ROOT / "docs/results"), str(ROOT / "docs/results/data")]
import compact
import tables

import assemble

ROWS = {
    "one": [
        {"case": "a", "key": "time", "quantity": "a: time", "measured": 1.5, "sd": 0.25,
         "low": 1.25, "high": 1.75, "published": 2, "reference": 3.0, "paper": "fail"},
        {"case": "b", "key": "time", "quantity": "b: time", "measured": 0.5, "verdict": "pass"},
        {"case": "c", "key": "time", "measured": 1.0, "paper": "pass", "by_construction": True},
        {"case": "c", "key": "share", "measured": 0.125},
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/x.json").write_text(json.dumps({"experiments": ROWS}))
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    tables.rows_of.cache_clear()
    yield tmp_path
    tables.rows_of.cache_clear()


def filled(columns: str, rows: str = '[["A", "a"], ["B", "b"]]') -> list[list[str]]:
    """The cells of a table of experiment `one`, its rule left out."""
    head = f'data = "x"\nexperiment = "one"\ncase = "$1"\nkey = "time"\nrows = {rows}\n'
    head, _, *lines = tables.table(f"{head}columns = {columns}\n").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in [head, *lines]]


def cells(column: str, rows: str = '[["A", "a"], ["B", "b"]]') -> list[str]:
    """The cells of one column."""
    return [line[0] for line in filled(f'[{{title = "t", {column}}}]', rows)[1:]]


def test_a_column_shows_a_figure_of_each_row():
    table = filled('["name", {title = "time", show = "{measured:.2f} s"}]')
    assert table == [["name", "time"], ["A", "1.50 s"], ["B", "0.50 s"]]


def test_a_cell_may_show_the_interval_the_published_figure_and_the_verdicts():
    only = '[["A", "a"]]'
    assert cells('show = "{measured:.1f} ({low:.2f} to {high:.2f})"', only) == [
        "1.5 (1.25 to 1.75)"
    ]
    assert cells('show = "{published} {reference:.0f} {ratio:.1f}"', only) == ["2 3 0.5"]
    assert cells('show = "{paper}{verdict}"') == ["**not met**", "met"]
    assert cells('show = "{paper}"', '[["C", "c"]]') == ["met, by construction"]


def test_a_figure_may_be_scaled_marked_and_have_its_spread():
    assert cells('scale = 100, show = "{measured:.0f} %"') == ["150 %", "50 %"]
    assert cells('mark = {as = "**{cell}**", measured = "> 1"}') == ["**1.500**", "0.500"]
    assert cells("sd_from = 0.2") == ["1.500 ± 0.250", "0.500"]


def test_a_row_without_the_field_of_a_column_leaves_its_cell_empty():
    assert cells('show = "{measured:.1f}"', '[["**Part**"], ["A", "a"], ["", ""]]') == [
        "",
        "1.5",
        "",
    ]


def test_a_cell_may_count_rows():
    every = '[["all", "*"]]'
    assert cells('count = {measured = ">= 1"}, show = "{met} of {n}"', every) == ["2 of 3"]
    assert cells('count = {measured = "0.4 to 1"}, scale = 100, show = "{share:.0f}"', every) == [
        "67"
    ]
    median = 'count = {}, value = "measured", show = "{median} {p5} {p95}"'
    assert cells(median, every) == ["1.0 0.5 1.5"]
    assert cells('kind = "order", count = {}, show = "{n}"', every) == [""]


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ('case = "z"', "no row of data/x.json fits"),
        ('case = "*"', "different rows fit"),
        ('show = "{published}", case = "b"', "KeyError 'published'"),
        ('show = "{published:.1x}"', "ValueError"),
        ('digits = 3', "unknown: digits"),
        ('data = "y"', "no data/y.json"),
    ],
)  # fmt: skip
def test_a_specification_that_cannot_be_filled_says_why(column, why):
    with pytest.raises(tables.TableError, match=why):
        cells(column)


PAGE = """# A page

<!-- table
data = "x"
experiment = "one"
rows = [["A", "a"]]
columns = ["name", {title = "time", case = "$1"}]
-->

| name | time |
|---|---:|
| A | 1.500 |

The text goes on.
"""


def run(monkeypatch, *arguments) -> int:
    """The exit status of the script."""
    monkeypatch.setattr(sys, "argv", ["tables.py", *map(str, arguments)])
    return tables.main()


def test_check_accepts_a_table_and_finds_a_changed_number(folder, monkeypatch, capsys):
    page = folder / "page.md"
    page.write_text(PAGE)
    assert run(monkeypatch, "--check", page) == 0
    page.write_text(PAGE.replace("1.500", "1.501"))
    assert run(monkeypatch, "--check", page) == 1
    assert "page.md:3: not that of its data" in capsys.readouterr().out
    assert "1.501" in page.read_text()


def test_a_table_is_replaced_and_the_text_around_it_stays(folder, monkeypatch):
    page = folder / "page.md"
    page.write_text(PAGE.replace("| A | 1.500 |", "| B | 7 |\n| C | 8 |"))
    assert run(monkeypatch, page) == 0
    assert page.read_text() == PAGE


def test_a_bad_specification_is_one_line_with_page_and_line(folder, monkeypatch, capsys):
    page = folder / "page.md"
    for old, new in (('"one"', '"none"'), ("rows = [", "rows = "), ("-->", "->")):
        wrong = PAGE.replace(old, new)
        page.write_text(wrong)
        assert run(monkeypatch, page) == 1
        said = capsys.readouterr().out
        assert said.count("\n") == 1
        assert "page.md:3: " in said
        assert page.read_text() == wrong


def test_the_site_leaves_the_specifications_out():
    shown = assemble.TABLE.sub("", PAGE)
    assert shown == "# A page\n\n" + PAGE[PAGE.index("| name") :]


def result(finished: str, experiments: dict[str, float]) -> dict:
    """A result of `windlass-lab reproduce` with one figure of each experiment."""
    usual = {"verdict": "informative", "paper": "informative", "kind": "figure", "why": ""}
    usual |= dict.fromkeys(("key", "flow", "published", "reference", "interval", "allowed"))
    usual |= {"case": "a", "quantity": "q", "by_construction": False}
    figures = {id_: {"mean": mean, "sd": 0.0, "count": 20} for id_, mean in experiments.items()}
    return {
        "paper": "split-ack",
        "finished": finished,
        "commit": "abc",
        "windlass_version": "windlass 0.2.0",
        "machine": {"kernel": "6.18.44-of-a-machine", "cores": 2},
        "replicates": 20,
        "seed": 1,
        "summaries": {},
        "experiments": [
            {"id": id_, "comparisons": [usual | {"measured": figure}]}
            for id_, figure in figures.items()
        ],
    }


def test_the_compact_form_has_six_digits_and_of_each_experiment_the_newest(monkeypatch):
    old = result("2026-11-28T00:00:00Z", {"one": 1 / 3, "two": 2.0})
    new = result("2026-11-29T00:00:00Z", {"one": 2 / 3})
    options = Namespace(commit=None, note=None)
    found = json.loads(compact.text(compact.document([new, old], options, {})))
    assert found["experiments"]["one"] == [
        {"case": "a", "quantity": "q", "measured": 0.666667, "count": 20}
    ]
    assert found["experiments"]["two"][0]["measured"] == 2
    assert [run["experiments"] for run in found["runs"]] == [["two"], ["one"]]
    assert found["runs"][1]["command"] == "windlass-lab reproduce split-ack/one"
    assert "of-a-machine" not in compact.text(found)
    newer = result("2026-11-30T00:00:00Z", {"two": 3.0})
    found = compact.document([newer], options, found)
    assert [found["experiments"][id_][0]["measured"] for id_ in ("one", "two")] == [0.666667, 3]
    assert [run["date"] for run in found["runs"]] == ["2026-11-29", "2026-11-30"]


def test_a_rounded_figure_rounds_on_as_the_figure_itself():
    assert [compact.short(1 / 3), compact.short(0.125)] == [0.333333, 0.125]
    assert f"{compact.short(0.99349987):.3f}" == "0.993"


def test_a_figure_of_zero_is_kept():
    assert compact.packed({"measured": 0.0, "sd": None, "kind": "figure"}) == {"measured": 0}
