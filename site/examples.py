"""The examples of the pages: which there are, and what a session of a tutorial is.

A block of shell is a fence `sh` or `console`, or indented code in a guide. A tutorial's fence
`console` has commands after `$ ` and what they print; `[...]` stands for lines left out. A fence
with `file=NAME` in its first line is a file that the reader saves.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

REPOSITORY = Path(__file__).resolve().parents[1]
SHELL = {"sh", "console"}
PROMPT = "$ "
LEFT_OUT = "[...]"


@dataclass(frozen=True, slots=True)
class Block:
    """A code block of a page."""

    page: str
    line: int
    info: str
    text: str

    @property
    def language(self) -> str:
        """The first word after the fence."""
        return self.info.split(" ")[0]

    @property
    def file(self) -> str | None:
        """The file that the reader saves it as."""
        found = re.search(r"\bfile=(\S+)", self.info)
        return found[1] if found else None

    @property
    def is_shell(self) -> bool:
        """Whether it holds commands, alone or with what they print."""
        return self.language in SHELL or (self.language == "text" and self.text.startswith(PROMPT))


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a session, and the lines that the page says it prints."""

    text: str
    expected: list[str]


def pages() -> list[str]:
    """The pages whose examples are checked: README.md, lessons, tutorials, guides."""
    found = [
        *(REPOSITORY / "docs/course").glob("*.md"),
        *(REPOSITORY / "docs/tutorials").glob("*.md"),
        *(REPOSITORY / "docs/guide").glob("*.md"),
    ]
    return ["README.md", *sorted(str(path.relative_to(REPOSITORY)) for path in found)]


def blocks(page: str) -> Iterator[Block]:
    """The code blocks of a page; indented ones have the language `indented`."""
    for token in MarkdownIt("commonmark").parse((REPOSITORY / page).read_text()):
        if token.type in ("fence", "code_block"):
            info = token.info.strip() if token.type == "fence" else "indented"
            yield Block(page, (token.map or [0])[0] + 1, info, token.content)


def joined(text: str) -> list[str]:
    """The lines of a shell script, those that end with a backslash joined to the next."""
    return re.sub(r"\\\n\s*", "", text).splitlines()


def commands(block: Block) -> list[Command]:
    """The commands of a block."""
    if not block.text.startswith(PROMPT):
        return [Command(line, []) for line in joined(block.text) if line.strip()]
    found: list[Command] = []
    for line in joined(block.text):
        if line.startswith(PROMPT):
            found.append(Command(line.removeprefix(PROMPT), []))
        elif line.strip():
            found[-1].expected.append(line)
    return found


def shape(line: str) -> str:
    """A line of output without what differs from run to run: numbers, keys, widths."""
    line = re.sub(r"\b[a-z2-7]{52}\b", "KEY", line)
    line = re.sub(r"\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b", "MAC", line)
    line = re.sub(r"fe80::[0-9a-f:]+", "LINK-LOCAL", line)
    line = re.sub(r"\d+(\.\d+)?", "#", line)
    line = re.sub(r"[─]+", "─", line)
    return re.sub(r"\s+", " ", line).strip()


def missing(expected: list[str], printed: list[str]) -> str | None:
    """The first line of the page that the output lacks, its order kept; `None` if all are there."""
    at = 0
    shapes = [shape(line) for line in printed]
    for line in expected:
        if line.strip() == LEFT_OUT:
            continue
        try:
            at = shapes.index(shape(line), at) + 1
        except ValueError:
            return line
    return None


def classified() -> dict[str, list[dict[str, str]]]:
    """site/examples.toml: for each page its blocks, with what becomes of them."""
    return tomllib.loads((REPOSITORY / "site/examples.toml").read_text())["page"]


def sessions() -> dict[str, dict[str, dict[str, str]]]:
    """The pages that are one session each, with the settings of site/examples.toml."""
    return tomllib.loads((REPOSITORY / "site/examples.toml").read_text())["session"]
