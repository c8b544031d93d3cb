#!/usr/bin/env python3
"""Checks rules of CONTRIBUTING.md that the compiler does not know, on all files of Rust.

    scripts/check_rust.py
    scripts/check_rust.py --move-modules

With --move-modules it moves each x.rs beside a folder x to x/mod.rs, also where a file names it.

- `unsafe` stands only in the places of the table in CONTRIBUTING.md, and each of them has some.
- Each `unsafe` block, `impl` and block of foreign declarations has a comment with SAFETY above it.
- An exception from a lint is `#[expect]` with a reason. Only a macro may have `#[allow]`, also with
  a reason: whether the lint fires depends on the arguments.
- A module with a folder is `x/mod.rs`, not `x.rs` beside `x`.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rust_source import Source, matching_brace
from source_files import ROOT, tracked_files

UNSAFE = re.compile(r"\bunsafe\b")
NEEDS_REASON = re.compile(r"\bunsafe\s*(?:\{|impl\b|extern\s*\{)")
TABLE = re.compile(r"^### Unsafe code$(.*?)^##", re.MULTILINE | re.DOTALL)
EXCEPTION = re.compile(
    r"#!?\[(?:cfg_attr\((?:[^][]|\[[^][]*\])*?,\s*)?(allow|expect)\(([^\]]*)\)\]"
)
MACRO = re.compile(r"\bmacro_rules!\s*\w+\s*\{")


def places(contributing: str) -> list[str]:
    """The files and folders that may have `unsafe`."""
    table = TABLE.search(contributing)
    return re.findall(r"^\| `([^`]+)` \|", table[1], re.MULTILINE) if table else []


def check_unsafe(sources: dict[str, Source], allowed: list[str]) -> Iterator[str]:
    """`unsafe` outside its places, or without its reason; places without any."""
    unused = set(allowed)
    for name, source in sources.items():
        if not UNSAFE.search(source.code):
            continue
        inside = {place for place in allowed if name == place or name.startswith(f"{place}/")}
        unused -= inside
        if not inside:
            yield f"{name}: unsafe, and no entry in the table of CONTRIBUTING.md"
        for found in NEEDS_REASON.finditer(source.code):
            line = source.line(found.start())
            if not has_safety_comment(source, line):
                yield f"{name}:{line}: unsafe without a SAFETY comment above it"
    for place in sorted(unused):
        yield f"CONTRIBUTING.md: no unsafe in {place}, which the table names"


def has_safety_comment(source: Source, line: int) -> bool:
    """Whether a comment with SAFETY stands on the line or above its statement."""
    text, code = source.text.splitlines(), source.code.splitlines()
    while line > 0:
        if "SAFETY:" in text[line - 1]:
            return True
        line -= 1
        if not text[line - 1].strip() or code[line - 1].rstrip().endswith((";", "}")):
            return False
    return False


def check_exceptions(name: str, source: Source) -> Iterator[str]:
    """Exceptions from lints without a reason, or that stay when their cause has gone."""
    code = source.code
    macros = [
        range(found.start(), matching_brace(code, found.end() - 1))
        for found in MACRO.finditer(code)
    ]
    for found in EXCEPTION.finditer(code):
        if found[1] == "allow" and not any(found.start() in macro for macro in macros):
            yield f"{name}:{source.line(found.start())}: #[allow]: use #[expect] with a reason"
        if "reason" not in found[2]:
            yield f"{name}:{source.line(found.start())}: an exception from a lint without a reason"


def check_modules(names: list[str]) -> Iterator[str]:
    """Modules with a folder whose file stands beside it."""
    for name in beside_their_folders(names):
        yield f"{name}: stands beside the folder of its modules (--move-modules)"


def beside_their_folders(names: list[str]) -> list[str]:
    """The files of modules that have a folder and stand outside it."""
    folders = {str(parent) for name in names for parent in Path(name).parents}
    # A file directly in `tests` is a program of its own, and no module.
    return [
        name
        for name in names
        if name.removesuffix(".rs") in folders and Path(name).parent.name != "tests"
    ]


def move_modules(names: list[str]) -> None:
    """Moves the files of modules into their folders. Documents name them without `crates/` too."""
    moved = {name: f"{name.removesuffix('.rs')}/mod.rs" for name in beside_their_folders(names)}
    for old, new in moved.items():
        subprocess.run(["git", "mv", old, new], cwd=ROOT, check=True)
        text = (ROOT / new).read_text()
        (ROOT / new).write_text(text.replace(f'path = "{Path(old).stem}/', 'path = "'))
    short = {old.removeprefix("crates/"): new.removeprefix("crates/") for old, new in moved.items()}
    for name in tracked_files():
        path = ROOT / name
        if path.suffix in {".md", ".toml", ".py", ".rs"} and name != "CHANGELOG.md":
            text = path.read_text()
            for old, new in short.items():
                text = re.sub(rf"(?<![\w/])(crates/)?{re.escape(old)}\b", rf"\g<1>{new}", text)
            if text != path.read_text():
                path.write_text(text)


def main() -> int:
    """Print each complaint on a line; 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--move-modules", action="store_true", help="file modules as they should be"
    )
    options = parser.parse_args()
    names = [name for name in tracked_files() if name.endswith(".rs")]
    if options.move_modules:
        move_modules(names)
        return 0
    sources = {name: Source((ROOT / name).read_text()) for name in names}
    allowed = places((ROOT / "CONTRIBUTING.md").read_text())
    complaints = [
        *check_unsafe(sources, allowed),
        *(line for name, source in sources.items() for line in check_exceptions(name, source)),
        *check_modules(names),
    ]
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
