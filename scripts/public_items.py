"""The public items of the library crates, and who names them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rust_source import Source, matching_brace, shipped_files
from source_files import ROOT, tracked_files

_ITEM = re.compile(
    r"""^[ \t]*pub\s+(?:(?:async|const|unsafe|extern\s+"\s*")\s+)*
    (?P<kind>fn|struct|enum|trait|type|const|static|union)\s+(?P<name>\w+)""",
    re.MULTILINE | re.VERBOSE,
)
# The parts of a declaration that name other items: the signature of a function, an alias, a field.
_SIGNATURE = re.compile(
    r"""^[ \t]*(?:
    pub\s+(?:[^;{}]*?\bfn\s+\w+[^;{]* | \w+:[^,\n]* | struct\s[^{;]*)
    | (?:pub\s+)?type\s[^;]* )""",
    re.MULTILINE | re.VERBOSE,
)
_BODY = re.compile(r"\bpub\s+(?:enum|trait)\s+\w+[^{;]*\{")
_WORD = re.compile(r"\w+")
# A page is documentation in Markdown; the rest is code that can name an item.
_CODE = {".rs", ".py", ".js", ".c", ".h", ".hpp", ".html", ".lua"}


@dataclass(frozen=True, order=True)
class Item:
    """A public item of a crate. `need` says why it is public although nothing else names it: the
    crate's own tests, or the signature of another public item."""

    crate: str
    file: str
    line: int
    kind: str
    name: str
    used: bool
    need: str | None


def public_items(root: Path = ROOT) -> list[Item]:
    """The public items of every crate that has a library."""
    crates = sorted(
        str(path.parent.parent.relative_to(root)) for path in root.glob("crates/*/src/lib.rs")
    )
    words = _words(root, crates)
    items = []
    for crate in crates:
        elsewhere = set().union(*(found for key, found in words.items() if key[0] != crate))
        own_tests = words.get((crate, False), set())
        sources = shipped_files(root / crate / "src")
        signatures = _signatures(sources.values())
        for path, source in sources.items():
            for found in _ITEM.finditer(source.shipped):
                name = found["name"]
                need = "tests" if name in own_tests else None
                need = need or ("signature" if name in signatures else None)
                file = str(path.relative_to(root))
                line = source.line(found.start("name"))
                used = name in elsewhere
                items.append(Item(crate, file, line, found["kind"], name, used, need))
    return items


def _words(root: Path, crates: list[str]) -> dict[tuple[str, bool], set[str]]:
    """The words of each crate's sources (true) and of its tests and examples (false); those of
    everything else stand under an empty name."""
    words: dict[tuple[str, bool], set[str]] = {}
    for name in tracked_files(root=root):
        path = Path(name)
        page = path.suffix == ".md" and (path.parts[0] == "docs" or path.name == "README.md")
        if not page and path.suffix not in _CODE:
            continue
        crate = next((crate for crate in crates if name.startswith(f"{crate}/")), "")
        source = bool(crate) and name.startswith(f"{crate}/src/")
        words.setdefault((crate, source), set()).update(_WORD.findall((root / name).read_text()))
    return words


def _signatures(sources: Iterable[Source]) -> set[str]:
    """The words in the declarations of public items, other than their own names."""
    words: set[str] = set()
    for source in sources:
        code = source.shipped
        for found in _SIGNATURE.finditer(code):
            words.update(
                _WORD.findall(re.sub(r"\b(?:fn|type|struct)\s+\w+", "", found[0], count=1))
            )
        for found in _BODY.finditer(code):
            words.update(_WORD.findall(code[found.end() : matching_brace(code, found.end() - 1)]))
    return words
