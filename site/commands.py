"""A page for each command of `windlass`, made of the help that the binary prints."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

# An option or an argument, with its description behind two blanks or on the next lines.
ITEM = re.compile(r" {2,10}(-\S.*?|<\S.*?|\[\S.*?)(?: {2,}(\S.*))?$")
SUBCOMMAND = re.compile(r" {2}([a-z][a-z0-9-]*)(?: {2,}(.*))?$")


def help_of(windlass: Path, words: tuple[str, ...]) -> str:
    """The help of a command, given by its words: `("sim", "run")`."""
    command = [str(windlass), *words, "--help"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """The blocks of a help text: a heading and its indented lines, or "" and a paragraph."""
    for block in re.split(r"\n\n(?=\S)", text.strip("\n")):
        lines = block.split("\n")
        if lines[0].endswith(":") and len(lines) > 1 and lines[1].startswith("  "):
            yield lines[0][:-1], lines[1:]
        else:
            yield "", lines


def subcommands(text: str) -> list[str]:
    """The names of a command's own commands, without `help`."""
    for heading, lines in sections(text):
        if heading == "Commands":
            found = (SUBCOMMAND.match(line) for line in lines)
            return [match[1] for match in found if match and match[1] != "help"]
    return []


def items(lines: list[str]) -> Iterator[tuple[str, str]]:
    """The options or arguments of a section, each with its description in one line."""
    name = ""
    words: list[str] = []
    for line in lines:
        match = ITEM.match(line)
        if match:
            if name:
                yield name, " ".join(words)
            name, words = match[1], [match[2] or ""]
        else:
            words.append(line.strip())
    if name:
        yield name, " ".join(words)


def literal(text: str) -> str:
    """Text of a help as Markdown that shows it as it is, but words in backticks as code."""
    parts = re.split(r"(`[^`\n]+`)", text)
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]|~#$])", r"\\\1", text)


def page(words: tuple[str, ...], text: str) -> str:
    """The page of a command in Markdown."""
    parts = ["# `" + " ".join(("windlass", *words)) + "`"]
    for heading, lines in sections(text):
        if heading == "Commands":
            parts.append("## Commands")
            parts.append(_commands(words, lines))
        elif heading and any(ITEM.match(line) for line in lines):
            parts.append(f"## {heading}")
            parts += [f"`{name}`\n: {literal(said) or '&nbsp;'}" for name, said in items(lines)]
        elif heading or lines[0].startswith("Usage:"):
            parts += [f"## {heading}"] if heading else []
            parts.append("```text\n" + "\n".join(lines) + "\n```")
        else:
            parts.append(literal("\n".join(lines)))
    return "\n\n".join(parts) + "\n"


def _commands(words: tuple[str, ...], lines: list[str]) -> str:
    rows: list[list[str]] = []
    for line in lines:
        match = SUBCOMMAND.match(line)
        if match:
            rows.append([match[1], match[2] or ""])
        elif rows:
            rows[-1][1] += " " + line.strip()
    links = []
    for name, said in rows:
        shown = f"`{name}`"
        if name != "help":
            shown = f"[`{name}`]({'-'.join(('windlass', *words, name))}.md)"
        links.append(f"{shown}\n: {literal(said)}")
    return "\n\n".join(links)


def all_commands(windlass: Path, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command, a parent before its children."""
    yield words
    for name in subcommands(help_of(windlass, words)):
        yield from all_commands(windlass, (*words, name))


def write_pages(windlass: Path, folder: Path) -> list[str]:
    """Write the pages into a folder: `windlass-sim-run.md` and so on. Returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for words in all_commands(windlass):
        name = "-".join(("windlass", *words))
        (folder / f"{name}.md").write_text(page(words, help_of(windlass, words)))
        names.append(name)
    return names
