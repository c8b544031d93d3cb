"""Which experiment repeats which figure, table or sentence of the papers, or why none does."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from windlass_lab.core.files.output import envelope

COVERAGE_KIND = "lab.coverage"
_FILE = "coverage.toml"
_TO = " to "
SENTENCE = "Text"


@dataclass(frozen=True, slots=True)
class Covered:
    """A numbered figure or table of a paper, or what its text says (then `number` is that, in the
    lab's words): the id of its experiment, or the reason for none.
    """

    paper: str
    kind: str
    number: str
    experiment: str | None
    reason: str | None

    @property
    def what(self) -> str:
        """How tables call it."""
        return self.number if self.kind == SENTENCE else f"{self.kind} {self.number}"


@cache
def coverage() -> Sequence[Covered]:
    """Every figure and table of the papers, in their order, then what their text says."""
    text = resources.files("windlass_lab").joinpath("data", _FILE).read_text(encoding="utf-8")
    found = [
        Covered(paper, kind, number, entry.get("experiment"), entry.get("reason"))
        for paper, entries in tomllib.loads(text).items()
        for entry in entries
        for kind, numbers in _of(entry)
        for number in numbers
    ]
    papers = list(dict.fromkeys(each.paper for each in found))
    return sorted(found, key=lambda each: (papers.index(each.paper), *_order(each)))


def _of(entry: Mapping) -> Iterator[tuple[str, Iterable[str]]]:
    yield "Figure", _numbers(entry.get("figures", ()))
    yield "Table", _numbers(entry.get("tables", ()))
    yield SENTENCE, entry.get("says", ())


def as_json() -> dict:
    """For scripts."""
    items = [
        {
            "paper": each.paper,
            "what": each.what,
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
        last = found[-1] if found and each.kind != SENTENCE else None
        if last and (last[0], last[1], last[4]) == (each.paper, each.kind, answer):
            last[3] = each.number
        else:
            found.append([each.paper, each.kind, each.number, each.number, answer])
    return [
        (paper, _range(kind, first, last), answer) for paper, kind, first, last, answer in found
    ]


def _range(kind: str, first: str, last: str) -> str:
    if kind == SENTENCE:
        return first
    return f"{kind} {first}" if first == last else f"{kind}s {first} to {last}"


def _numbers(ranges: Sequence[str]) -> Iterator[str]:
    for text in ranges:
        first, _, last = text.partition(_TO)
        chapter, _, start = first.rpartition(".")
        end = last.rpartition(".")[2] or start
        for number in range(int(start), int(end) + 1):
            yield f"{chapter}.{number}" if chapter else str(number)


def _order(each: Covered) -> tuple:
    """Appendices have letters and come last; the text keeps the order of the file."""
    if each.kind == SENTENCE:
        return (True,)
    chapter, _, rest = each.number.rpartition(".")
    return (False, each.kind, not (chapter or "0").isdigit(), chapter, int(rest))
