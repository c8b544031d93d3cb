#!/usr/bin/env python3
"""Check the prose and the size of the parts of this repository; CONTRIBUTING.md has the rules.

Without arguments every tracked file is checked. With arguments, only the files and folders named:

    scripts/lint_text.py docs/guide crates/tcp
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from source_files import FILE_LINES_MAX, definitions, functions, source_file, tracked_files

SENTENCE_WORDS_MAX = 40
LONG_SENTENCE_WORDS = 30
LONG_SENTENCES_MAX_PERCENT = 5
FUNCTION_LINES_MAX = 70

DOC_FOLDERS = {"course", "tutorials", "guide", "reference", "internals", "results"}
DOC_PAGES = {"SUMMARY.md", "status.md", "glossary.md", "papers.md"}
# Files that must quote what they forbid.
QUOTES_THE_RULES = {"scripts/lint_text.py", "scripts/test_lint_text.py", "CONTRIBUTING.md"}
# Machine-made, or another project's format.
SKIPPED_SUFFIXES = {".lock", ".svg", ".json", ".csv", ".sha256", ".png"}
SKIPPED_FOLDERS = ("experiments/published", "fuzz/seeds")

FORBIDDEN = [
    (re.compile(r"\btold\b", re.IGNORECASE), "'told': name the signal (acknowledged, advertised)"),
    (re.compile(r"\bnobody\b", re.IGNORECASE), "'nobody': name the actor"),
    (re.compile(r"papers/0"), "a path of a paper: cite author, year and section (docs/papers.md)"),
    (
        re.compile(r"""(?:^|[.!:]\s+|//[/!]?\s+|[#*]\s+|["'`(]|\s\*\s)Who (?![^.!]*\?)"""),
        "a statement that starts with 'Who': name the subject",
    ),
    (
        re.compile(
            r"""(?:^\s*|[.!:]\s+|//[/!]?\s*|[#*|-]\s+|["'`(*])What (?!was found$)(?![^.!]*\?)"""
        ),
        "a statement that starts with 'What': a noun phrase with meaning, unit, range, error",
    ),
    (re.compile(r"\bWhose (?![^.!]*\?)"), "'Whose': name the owner"),
    (re.compile(r"\bof what\b", re.IGNORECASE), "'of what': name the thing"),
    (re.compile(r"\bso that any\b", re.IGNORECASE), "'so that any': begin a new sentence"),
    (
        # `cwnd_told` is a key of the lab's saved runs.
        re.compile(r"(?<!\bcwnd)_told|told_"),
        "a name with 'told': name the signal (acknowledged, reported, marked)",
    ),
]

# Each line that breaks a rule above has one of these.
TRIGGERS = re.compile(r"told|nobody|papers/0|Wh(?:o|at|ose) |of what|so that any", re.IGNORECASE)

ONE_WORD = re.compile(r"[\w'`\[\]:-]+[.!]?")
ONE_WORD_DOC = re.compile(rf"^[ \t]*//[/!] ?[ \t]*{ONE_WORD.pattern}[ \t]*$", re.MULTILINE)
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|vs|cf|etc|approx|No|Fig|Sect|resp)\.$")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_`]*[A-Z0-9])")


def is_text(name: str) -> bool:
    """Whether the prose of the file is Windlass's own."""
    path = Path(name)
    return path.suffix not in SKIPPED_SUFFIXES and not name.startswith(SKIPPED_FOLDERS)


def is_page(name: str) -> bool:
    """Whether sentences are measured in the file: documentation in Markdown."""
    return name.endswith(".md") and (name.startswith("docs/") or "/" not in name)


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Each paragraph and list item with its first line; code, tables and quotations left out."""
    exempt = 0
    in_paragraph = False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type in ("table_open", "blockquote_open"):
            exempt += 1
        elif token.type in ("table_close", "blockquote_close"):
            exempt -= 1
        elif token.type in ("paragraph_open", "paragraph_close"):
            in_paragraph = token.type == "paragraph_open"
        elif token.type == "inline" and in_paragraph and not exempt:
            yield (token.map or [0])[0] + 1, inline_text(token)


def inline_text(token: Token) -> str:
    """The words as a reader sees them; a piece of code counts as one word."""
    parts = []
    for child in token.children or []:
        if child.type == "code_inline":
            parts.append("`code`")
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "text":
            parts.append(child.content)
    return "".join(parts)


def sentences(paragraph: str) -> Iterator[str]:
    """Split a paragraph at full stops that end a sentence."""
    begun = ""
    for piece in SENTENCE_END.split(paragraph):
        begun = f"{begun} {piece}".strip()
        if not ABBREVIATION.search(begun):
            yield begun
            begun = ""
    if begun:
        yield begun


def word_count(sentence: str) -> int:
    """Words, numbers and pieces of code."""
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def check_sentences(name: str, text: str) -> Iterator[str]:
    """Sentences of a page that are too long, alone or in their number."""
    counts = [
        (line, word_count(sentence), sentence)
        for line, paragraph in paragraphs(text)
        for sentence in sentences(paragraph)
    ]
    for line, words, sentence in counts:
        if words > SENTENCE_WORDS_MAX:
            yield (
                f"{name}:{line}: a sentence of {words} words, at most {SENTENCE_WORDS_MAX}: "
                f"{sentence[:60]}..."
            )
    long = [entry for entry in counts if entry[1] > LONG_SENTENCE_WORDS]
    allowed = max(1, len(counts) * LONG_SENTENCES_MAX_PERCENT // 100)
    if len(long) > allowed:
        where = ", ".join(str(line) for line, _, _ in long)
        yield (
            f"{name}: {len(long)} of {len(counts)} sentences have over "
            f"{LONG_SENTENCE_WORDS} words, at most {allowed} may: paragraphs at lines {where}"
        )


def check_words(name: str, text: str) -> Iterator[str]:
    """Words and phrases that the rules forbid."""
    if name in QUOTES_THE_RULES:
        return
    if not TRIGGERS.search(text):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if TRIGGERS.search(line):
            for pattern, complaint in FORBIDDEN:
                if pattern.search(line):
                    yield f"{name}:{number}: {complaint}"


def check_doc_comments(name: str, text: str) -> Iterator[str]:
    """Doc comments of one word: they say no more than the name of the item."""
    if name.endswith(".rs"):
        lines = text.splitlines()
        for found in ONE_WORD_DOC.finditer(text):
            index = text.count("\n", 0, found.start())
            beside = [*lines[max(index - 1, 0) : index], *lines[index + 1 : index + 2]]
            if not any(line.lstrip().startswith(("///", "//!")) for line in beside):
                yield f"{name}:{index + 1}: a doc comment of one word"
    elif name.endswith(".py"):
        for node in definitions(text):
            if ONE_WORD.fullmatch(ast.get_docstring(node) or ""):
                yield f"{name}:{getattr(node, 'lineno', 1)}: a docstring of one word"


def check_lengths(name: str, text: str) -> Iterator[str]:
    """Files and functions that want to be two. Of Rust's functions, clippy counts the lines."""
    lines = text.splitlines()
    if Path(name).suffix in {".rs", ".py", ".c", ".h", ".hpp", ".lua", ".sh", ""} and (
        len(lines) > FILE_LINES_MAX
    ):
        yield f"{name}: {len(lines)} lines, at most {FILE_LINES_MAX}"
    source = source_file(name, text)
    for function in functions(source) if source else ():
        if function.lines > FUNCTION_LINES_MAX:
            yield (
                f"{name}:{function.first_line}: a function of {function.lines} lines, "
                f"at most {FUNCTION_LINES_MAX}"
            )


def check_place(name: str) -> Iterator[str]:
    """A page of docs/ belongs to one of the four kinds of document."""
    parts = Path(name).parts
    if parts[0] != "docs" or not name.endswith(".md"):
        return
    if not (parts[1] in DOC_FOLDERS if len(parts) > 2 else parts[1] in DOC_PAGES):
        yield f"{name}: outside docs/{{{','.join(sorted(DOC_FOLDERS))}}}"


def check_file(name: str) -> Iterator[str]:
    """All that there is to say about one file."""
    yield from check_place(name)
    if not is_text(name):
        return
    try:
        text = Path(name).read_text()
    except UnicodeDecodeError:
        return
    yield from check_words(name, text)
    yield from check_doc_comments(name, text)
    yield from check_lengths(name, text)
    if is_page(name):
        yield from check_sentences(name, text)


def main() -> int:
    """Print each complaint on a line; 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="files and folders (default: all)")
    complaints = [
        complaint
        for name in tracked_files(parser.parse_args().paths, Path())
        for complaint in check_file(name)
    ]
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
