"""Which experiment repeats which figure or table of the papers, and why some have none."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from windlass_lab.core.output import envelope

COVERAGE_KIND = "lab.coverage"
_FILE = "coverage.toml"
_TO = " to "


@dataclass(frozen=True, slots=True)
class Covered:
    """A numbered figure or table of a paper: the id of its experiment, or the reason for none."""

    paper: str
    kind: str
    number: str
    experiment: str | None
    reason: str | None


@cache
def coverage() -> Sequence[Covered]:
    """Every figure and table of the papers, in their order."""
    text = resources.files("windlass_lab").joinpath("data", _FILE).read_text(encoding="utf-8")
    found = [
        Covered(paper, kind, number, entry.get("experiment"), entry.get("reason"))
        for paper, entries in tomllib.loads(text).items()
        for entry in entries
        for kind, key in (("Figure", "figures"), ("Table", "tables"))
        for number in _numbers(entry.get(key, ()))
    ]
    papers = list(dict.fromkeys(each.paper for each in found))
    return sorted(found, key=lambda c: (papers.index(c.paper), c.kind, _order(c.number)))


def as_json() -> dict:
    """For scripts."""
    items = [
        {
            "paper": each.paper,
            "what": f"{each.kind} {each.number}",
            "experiment": f"{each.paper}/{each.experiment}" if each.experiment else None,
            "reason": each.reason,
        }
        for each in coverage()
    ]
    return {**envelope(COVERAGE_KIND), "items": items}


def rows() -> list[tuple[str, str, str]]:
    """For people: neighbours with the same answer in one row."""
    found: list[list] = []
    for each in coverage():
        answer = f"{each.paper}/{each.experiment}" if each.experiment else f"– {each.reason}"
        last = found[-1] if found else None
        if last and (last[0], last[1], last[4]) == (each.paper, each.kind, answer):
            last[3] = each.number
        else:
            found.append([each.paper, each.kind, each.number, each.number, answer])
    return [
        (paper, f"{kind} {first}" if first == last else f"{kind}s {first} to {last}", answer)
        for paper, kind, first, last, answer in found
    ]


def _numbers(ranges: Sequence[str]) -> Iterator[str]:
    for text in ranges:
        first, _, last = text.partition(_TO)
        chapter, _, start = first.rpartition(".")
        end = last.rpartition(".")[2] or start
        for number in range(int(start), int(end) + 1):
            yield f"{chapter}.{number}" if chapter else str(number)


def _order(number: str) -> tuple[int, str, int]:
    """Appendices have letters and come last."""
    chapter, _, rest = number.rpartition(".")
    return (not (chapter or "0").isdigit(), chapter, int(rest))
