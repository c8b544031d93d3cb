"""The repository's source files, their languages, and the lines with code and comments."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from rust_source import Function, Source, without_test_modules

ROOT = Path(__file__).resolve().parent.parent
# A longer file holds two things.
FILE_LINES_MAX = 600
_LANGUAGES = {
    ".rs": "Rust",
    ".py": "Python",
    ".c": "C",
    ".h": "C",
    ".hpp": "C++",
    ".js": "JavaScript",
    ".lua": "Lua",
    ".sh": "shell",
}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
_SHEBANGS = {"python": "Python", "sh": "shell"}
# In these folders, and in files of these names, stand tests alone.
_TESTS = re.compile(r"(?:fuzz|crates/testbed|(?:.*/)?tests)/.*|(?:.*/)?(?:test_[^/]*|conftest)\.py")


def tracked_files(paths: Iterable[str] = (), root: Path = ROOT) -> list[str]:
    """Tracked files under the paths given, and new ones that are not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
    return [name for name in listed.stdout.split("\n") if name and (root / name).is_file()]


@dataclass(frozen=True)
class File:
    """A source file of the repository."""

    name: str
    language: str
    text: str

    @property
    def part(self) -> str:
        """The crate, or the folder of the repository."""
        parts = self.name.split("/")
        return "/".join(parts[:2]) if parts[0] == "crates" else parts[0]

    @cached_property
    def lines(self) -> list[str]:
        """The text, line by line."""
        return self.text.splitlines()

    @cached_property
    def rust(self) -> Source:
        """The text as Rust."""
        return Source(self.text)

    @cached_property
    def _comments_and_docs(self) -> tuple[str, set[int]]:
        """The text without comments and docstrings, and the lines with a docstring."""
        if self.language == "Python":
            return _uncommented_python(self.text)
        if self.language in ("shell", "Lua"):
            mark = "#" if self.language == "shell" else "--"
            return re.sub(rf"(?m)^\s*{mark}[^\n]*", "", self.text), set()
        return self.rust.uncommented, set()

    @cached_property
    def code_lines(self) -> dict[int, str]:
        """The lines with code outside tests, by their numbers: without comments and indentation."""
        tests = self.rust.test_lines if self.language == "Rust" else set()
        return {
            number: line.strip()
            for number, line in enumerate(self._comments_and_docs[0].splitlines(), 1)
            if line.strip() and number not in tests
        }

    @cached_property
    def comments(self) -> set[int]:
        """The lines with a comment; a docstring is no comment."""
        code, docs = self._comments_and_docs
        pairs = enumerate(zip(self.lines, code.splitlines(), strict=False), 1)
        return {number for number, (line, bare) in pairs if line.rstrip() != bare.rstrip()} - docs

    @cached_property
    def kinds(self) -> dict[str, int]:
        """The numbers of lines outside tests with code, with a comment alone, with nothing."""
        tests = self.rust.test_lines if self.language == "Rust" else set()
        counts = {"code": len(self.code_lines), "comments": 0, "blank": 0}
        for number, line in enumerate(self.lines, 1):
            if number not in tests and number not in self.code_lines:
                counts["comments" if line.strip() else "blank"] += 1
        return counts

    @cached_property
    def functions(self) -> list[Function]:
        """The functions outside tests, in the languages whose functions are counted."""
        return list(self.rust.functions() if self.language == "Rust" else functions(self))


def language(name: str, text: str) -> str | None:
    """The language of a file; None if it is no source."""
    path = Path(name)
    if path.suffix:
        return _LANGUAGES.get(path.suffix)
    first = text.partition("\n")[0]
    if not first.startswith("#!"):
        return None
    return next((known for mark, known in _SHEBANGS.items() if mark in first), None)


def source_file(name: str, text: str) -> File | None:
    """The file, if it is a source."""
    known = language(name, text)
    return File(name, known, text) if known else None


def shipped_files(root: Path = ROOT) -> list[File]:
    """The tracked sources outside tests."""
    files = []
    for name in tracked_files(root=root):
        if _TESTS.fullmatch(name):
            continue
        try:
            file = source_file(name, (root / name).read_text())
        except UnicodeDecodeError:
            continue
        if file:
            files.append(file)
    rust = {Path(file.name): file.rust for file in files if file.language == "Rust"}
    shipped = without_test_modules(rust)
    return [file for file in files if file.language != "Rust" or Path(file.name) in shipped]


def functions(file: File) -> Iterator[Function]:
    """The functions of a file in Python, C or C++."""
    if file.language == "Python":
        for node in definitions(file.text):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield Function(node.name, node.lineno, node.end_lineno or node.lineno)
    elif file.language in ("C", "C++"):
        start = 0
        for number, line in enumerate(file.lines, 1):
            if line == "{":
                start = number
            elif line.startswith("}") and start:
                yield Function(file.lines[start - 2], start, number)
                start = 0


@lru_cache(maxsize=1)
def definitions(text: str) -> list[Definition]:
    """The module, the classes and the functions of a file in Python."""
    found: list[Definition] = []
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Definition):
            found.append(node)
        # Definitions stand in the blocks of statements and nowhere else.
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside = getattr(node, block, ())
            waiting += inside if isinstance(inside, list) else ()
    return found


def _uncommented_python(text: str) -> tuple[str, set[int]]:
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    docs: set[int] = set()
    for node in definitions(text):
        if ast.get_docstring(node, clean=False) is not None:
            doc = node.body[0]
            docs |= set(range(doc.lineno, (doc.end_lineno or doc.lineno) + 1))
    return "\n".join("" if n in docs else line for n, line in enumerate(lines, 1)), docs
