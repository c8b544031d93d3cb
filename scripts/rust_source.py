"""Reads Rust source as far as measures and checks of the text need it: comments, strings, tests,
items and functions. No compiler is involved, so a macro counts as the text that it is.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_COMMENT_OR_STRING = re.compile(
    r"""
      (?P<comment> //[^\n]* | /\*.*?\*/ )
    | (?<!\w) [bc]? r (?P<hashes>\#*) " .*? " (?P=hashes)
    | " (?: [^"\\] | \\. )* "
    | ' (?: [^'\\\n] | \\.[^'\n]{0,8} ) '
    """,
    re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE = re.compile(r"\s*#!?\[")
_TEST_ATTRIBUTE = re.compile(r"#\[(?:cfg\(\s*(?:all\(\s*)?test\b|test\s*\])")
_TEST_MODULE = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*mod (\w+);")
_ITEM = re.compile(
    r"\s*(?:pub\b(?:\([^)]*\))?\s*)?"
    r"(?:async|const|enum|extern|fn|impl|macro_rules|mod|static|struct|trait|type|unsafe|use)\b"
)
_FUNCTION = re.compile(r"\bfn\s+(\w+)")
_BRACKET = re.compile(r"[][(){};,]")
_BRACE = re.compile(r"[{}]")


@dataclass(frozen=True)
class Function:
    """A function with a body; its lines count from 1, both ends included."""

    name: str
    first_line: int
    last_line: int

    @property
    def lines(self) -> int:
        """The number of lines, signature included."""
        return self.last_line - self.first_line + 1


class Source:
    """The text of one file, and views of it that have the same length and lines."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def uncommented(self) -> str:
        """The text with its comments blanked."""
        return _COMMENT_OR_STRING.sub(lambda m: _blank(m[0]) if m["comment"] else m[0], self.text)

    @cached_property
    def code(self) -> str:
        """The text with comments and strings blanked."""
        return _COMMENT_OR_STRING.sub(lambda m: _blank(m[0]), self.text)

    @cached_property
    def shipped(self) -> str:
        """The code without items that are compiled for tests only."""
        code, position, kept = self.code, 0, []
        for start, end in self._test_items:
            kept += [code[position:start], _blank(code[start:end])]
            position = end
        return "".join([*kept, code[position:]])

    @cached_property
    def test_lines(self) -> set[int]:
        """The lines of items that are compiled for tests only."""
        return {
            line
            for start, end in self._test_items
            for line in range(self.line(start), self.line(end - 1) + 1)
        }

    @cached_property
    def _test_items(self) -> list[tuple[int, int]]:
        code, position, items = self.code, 0, []
        while found := _TEST_ATTRIBUTE.search(code, position):
            position = _item_end(code, found.start())
            items.append((found.start(), position))
        return items

    @cached_property
    def test_modules(self) -> list[str]:
        """The names of the child modules, in files of their own, that only tests have."""
        return _TEST_MODULE.findall(self.code)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def line(self, position: int) -> int:
        """The line of a position in the text, from 1."""
        return bisect_right(self._line_starts, position)

    def functions(self) -> Iterator[Function]:
        """The functions outside tests, nested ones included."""
        code = self.shipped
        for found in _FUNCTION.finditer(code):
            body = _first_outside(code, found.end(), "{;")
            if code[body : body + 1] == "{":
                end = matching_brace(code, body)
                yield Function(found[1], self.line(found.start()), self.line(end - 1))


def shipped_files(folder: Path) -> dict[Path, Source]:
    """The files of Rust under a folder, without those of test modules."""
    sources = {path: Source(path.read_text()) for path in sorted(folder.rglob("*.rs"))}
    return without_test_modules(sources)


def without_test_modules(sources: dict[Path, Source]) -> dict[Path, Source]:
    """The files that belong to no module which only tests have, in a file or folder of its own."""
    tests = set()
    for path, source in sources.items():
        inside = path.parent if path.stem in ("mod", "lib", "main") else path.with_suffix("")
        tests |= {inside / name for name in source.test_modules}
    return {
        path: source
        for path, source in sources.items()
        if path.with_suffix("") not in tests and tests.isdisjoint(path.parents)
    }


def matching_brace(code: str, start: int) -> int:
    """The position after the brace that closes the one at `start`."""
    depth = 0
    for brace in _BRACE.finditer(code, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return len(code)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _first_outside(code: str, start: int, ends: str) -> int:
    """The first of `ends` behind `start` that no bracket encloses, or the bracket that closes
    what encloses `start`."""
    depth = 0
    for found in _BRACKET.finditer(code, start):
        if depth == 0 and found[0] in ends:
            return found.start()
        if found[0] in "([{":
            depth += 1
        elif found[0] in ")]}":
            depth -= 1
            if depth < 0:
                return found.start()
    return len(code)


def _item_end(code: str, start: int) -> int:
    """The position behind the item, field, arm or statement whose attributes begin at `start`."""
    while _ATTRIBUTE.match(code, start):
        start = _first_outside(code, code.index("[", start) + 1, "") + 1
    if not _ITEM.match(code, start):
        end = _first_outside(code, start, ",;")
        return end + 1 if code[end : end + 1] in (",", ";") else end
    end = _first_outside(code, start, "{;")
    if code[end : end + 1] == "{":
        end = matching_brace(code, end)
    # A use declaration of several items, or a static value, ends behind its brace.
    return end + 1 if code[end : end + 1] == ";" else end
