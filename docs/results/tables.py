#!/usr/bin/env python3
"""Fill the tables of docs/results/ from docs/results/data/, so that no figure is typed by hand.

From the root of the repository:

    .venv/bin/python docs/results/tables.py            # writes the pages
    .venv/bin/python docs/results/tables.py --check    # 1 if a table is not that of its data

A comment before a table says in TOML what it shows:

    <!-- table
    data = "new-ecn"                    # docs/results/data/new-ecn.json
    experiment = "gateways"
    rows = [["one", "1"], ["two", "2"]]
    columns = ["gateways", {title = "New-ECN", case = "gateways$1_newecn", key = "long_over_cross"}]
    -->

A column that is only a title shows the row's field at its place. In the strings of any other `$0`,
`$1` and so on are the fields of the row; without such a field the cell stays empty. Keys of the
table hold for each column that has no other:

- `data`; and fields of the rows of the data, with patterns (`*`, `?`, `a|b`), `false`, a relation
  (">= 0.95") or a range ("0.9 to 1.05"): `experiment`, `case`, `key`, `flow`, `quantity`, `kind`,
  `verdict`, `paper`, `by_construction`, `measured`, `sd`, `ratio` (measured over reference). All
  rows that fit must give the same cell.
- `show`: a format of such fields, by default "{measured:.3f}"; also `published`, `reference`,
  `reference_sd` (of rows since 30 November 2026), `low` and `high` (of the interval), `allowed`.
- `scale`: a factor; `text`: the cell; `align = "left"`.
- `count`: patterns. The cell is then of all rows that fit: `n` of them, `met` fit these patterns
  too, which is a `share` of them. `median`, `p5` and `p95` are of their `value`.
- `sd_from`: the standard deviation from which it is shown; `mark`: patterns, and as `as` a format
  such as "**{cell}**" for the cells of rows that fit.
"""

import argparse
import json
import os
import re
import statistics
import sys
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent
BLOCK = re.compile(r"^<!-- table\n(.*?)^-->\n\n?((?:\|[^\n]*\n)*)", re.MULTILINE | re.DOTALL)
RELATIONS = {">=": ge, ">": gt, "<=": le, "<": lt}
WORDS = {"pass": "met", "fail": "**not met**", "undecided": "not decided", "informative": ""}
USUAL: dict[str, Any] = {
    **dict.fromkeys(("case", "key", "flow", "quantity"), ""),
    **{"verdict": "informative", "paper": "informative", "kind": "figure"},
    "by_construction": False,
}
PATTERNS = (*USUAL, "experiment", "measured", "sd", "ratio")
OPTIONS = ("data", "show", "scale", "count", "value", "sd_from", "mark", "text", "align")
FIGURES = ("measured", "sd", "low", "high", "reference", "reference_sd", "published")
Row = dict[str, Any]


class TableError(Exception):
    """A specification that cannot be filled."""


@cache
def rows_of(data: str) -> list[Row]:
    """The rows of a file, each with its experiment and what its line leaves out."""
    file = RESULTS / "data" / f"{data}.json"
    if not file.is_file():
        raise TableError(f"no data/{data}.json")
    found = []
    for experiment, rows in json.loads(file.read_text())["experiments"].items():
        for row in rows:
            ratio = row["measured"] / row["reference"] if row.get("reference") else None
            found.append(USUAL | row | {"experiment": experiment, "ratio": ratio})
    return found


def fits(row: Row, patterns: Row) -> bool:
    """Whether each field of the row is as its pattern wants it."""
    return all(fits_one(row.get(field), pattern) for field, pattern in patterns.items())


def fits_one(value: Any, pattern: str | bool) -> bool:
    """Whether a field is as a pattern wants it."""
    if isinstance(pattern, bool):
        return value is pattern
    if relation := re.fullmatch(r"([<>]=?) (\S+)", pattern):
        return value is not None and RELATIONS[relation[1]](value, float(relation[2]))
    if ends := re.fullmatch(r"([\d.]+) to ([\d.]+)", pattern):
        return value is not None and float(ends[1]) <= value <= float(ends[2])
    return any(fnmatchcase(str(value), each) for each in pattern.split("|"))


def put(value: Any, fields: list[str]) -> Any:
    """A value of a specification with the fields of a row; KeyError without such a field."""
    if isinstance(value, dict):
        return {name: put(each, fields) for name, each in value.items()}
    if not isinstance(value, str):
        return value

    def field(match: re.Match[str]) -> str:
        if int(match[1]) >= len(fields) or not fields[int(match[1])]:
            raise KeyError(match[0])
        return fields[int(match[1])]

    return re.sub(r"\$(\d)", field, value)


def patterns_of(column: Row) -> Row:
    """The part of a column that says which rows it is of."""
    return {name: column[name] for name in PATTERNS if name in column}


def chosen(column: Row, patterns: Row) -> list[Row]:
    """The rows of the data that fit, at least one."""
    found = [row for row in rows_of(column["data"]) if fits(row, patterns)]
    if not found:
        raise TableError(f"no row of data/{column['data']}.json fits {patterns}")
    return found


def one_cell(column: Row, row: Row) -> str:
    """The cell of one row of the data."""
    factor = float(column.get("scale", 1))
    shown = {name: value for name, value in row.items() if value is not None}
    for name in FIGURES if factor != 1 else ():
        if isinstance(shown.get(name), int | float):
            shown[name] *= factor
    built = ", by construction" if row["by_construction"] else ""
    for name in ("verdict", "paper"):
        shown[name] = WORDS[row[name]] and WORDS[row[name]] + built
    found = str(column.get("show", "{measured:.3f}")).format(**shown)
    if shown.get("sd", 0) >= column.get("sd_from", float("inf")):
        found += f" ± {shown['sd']:.3f}"
    mark = column.get("mark", {"as": "{cell}"})
    is_marked = fits(row, {name: each for name, each in mark.items() if name != "as"})
    return str(mark["as"]).format(cell=found, **shown) if is_marked else found


def of_all(column: Row, rows: list[Row]) -> str:
    """The cell of those rows of some experiments that fit; empty without any."""
    rows = [row for row in rows if fits(row, patterns_of(column))]
    if not rows:
        return ""
    shown: Row = {"n": len(rows), "met": sum(fits(row, column["count"]) for row in rows)}
    shown["share"] = float(column.get("scale", 1)) * shown["met"] / shown["n"]
    if "value" in column:
        values = sorted(row[column["value"]] for row in rows)
        last = len(values) - 1
        shown |= {"median": statistics.median(values)}
        shown |= {"p5": values[round(0.05 * last)], "p95": values[round(0.95 * last)]}
    return str(column["show"]).format(**shown)


def cell(column: Row, fields: list[str]) -> str:
    """The cell of a column in a row of the table."""
    column = {"text": column["text"]} if "text" in column else column
    try:
        column = put(column, fields)
    except KeyError:
        return ""
    if "text" in column:
        return str(column["text"])
    if "count" in column:
        return of_all(column, chosen(column, {"experiment": column["experiment"]}))
    cells = {one_cell(column, row) for row in chosen(column, patterns_of(column))}
    if len(cells) > 1:
        raise TableError(f"different rows fit {patterns_of(column)}: {', '.join(sorted(cells))}")
    return cells.pop()


def columns_of(specification: Row) -> Iterator[Row]:
    """The columns of a specification, each with the keys that the table has for all."""
    common = {key: each for key, each in specification.items() if key not in ("rows", "columns")}
    for place, column in enumerate(specification["columns"]):
        if isinstance(column, str):
            yield {"title": column, "text": f"${place}", "align": "left"}
            continue
        known = {"title", *PATTERNS, *OPTIONS}
        if unknown := (common | column).keys() - known:
            raise TableError(f"unknown: {', '.join(sorted(unknown))}")
        yield common | column


def line(cells: Iterable[str]) -> str:
    """A line of a table in Markdown."""
    return "".join(f"| {each} " if each else "| " for each in cells) + "|"


def table(text: str) -> str:
    """The Markdown of a table by its specification in TOML."""
    specification = tomllib.loads(text)
    columns = list(columns_of(specification))
    lines = [line(str(column["title"]) for column in columns)]
    rules = ["---" if column.get("align") == "left" else "---:" for column in columns]
    lines.append(f"|{'|'.join(rules)}|")
    for fields in specification["rows"]:
        cells = []
        for column in columns:
            try:
                cells.append(cell(column, fields))
            except (TableError, KeyError, ValueError, TypeError) as error:
                why = error if isinstance(error, TableError) else f"{type(error).__name__} {error}"
                raise TableError(f"row {fields[0]!r}, column {column['title']!r}: {why}") from error
        lines.append(line(cells))
    return "\n".join(lines) + "\n"


def tables(page: str) -> Iterator[tuple[int, str, str]]:
    """Of each specification of a page: its line, the comment with its table as it is, and as it
    should be.
    """
    blocks = list(BLOCK.finditer(page))
    if len(blocks) < page.count("<!-- table\n"):
        line = page.count("\n", 0, page.rindex("<!-- table\n")) + 1
        raise TableError(f"{line}: the comment has no end")
    for block in blocks:
        line = page.count("\n", 0, block.start()) + 1
        try:
            new = table(block[1])
        except (TableError, KeyError, tomllib.TOMLDecodeError) as error:
            why = f"no {error}" if isinstance(error, KeyError) else error
            raise TableError(f"{line}: {why}") from error
        yield line, block[0], f"<!-- table\n{block[1]}-->\n\n{new}"


def main() -> int:
    """Fill or check the tables of every page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("pages", nargs="*", type=Path, default=sorted(RESULTS.glob("*.md")))
    arguments = parser.parse_args()
    wrong = 0
    for page in arguments.pages:
        text = page.read_text()
        try:
            found = list(tables(text))
        except TableError as error:
            print(f"{os.path.relpath(page)}:{error}")
            wrong = 1
            continue
        for line, old, new in found:
            if arguments.check and old != new:
                name = os.path.relpath(page)
                print(f"{name}:{line}: not that of its data: run docs/results/tables.py")
                wrong = 1
            text = text.replace(old, new, 1)
        if not arguments.check:
            page.write_text(text)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
