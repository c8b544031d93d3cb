"""The pages of docs/ as they are: the index is whole, links and anchors lead somewhere, every block
of shell is run by a test or has a reason, every option in a block exists, plots are their tables',
and tables their data's.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import examples
from assemble import ENTRY
from windlass_lab import cli as lab

ROOT = examples.REPOSITORY
PAGES = sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md"))
LINKING = [*PAGES, *(Path(name.name) for name in ROOT.glob("*.md")), Path("site/index.md")]
# The site generates these pages; its front page links to them.
GENERATED = {"docs/commands/windlass.md", "docs/python.md", "docs/rust.md"}
TOOLS = ("windlass", "windlass-lab")


def test_the_index_has_every_page_once():
    text = (ROOT / "docs/SUMMARY.md").read_text()
    listed = Counter(match[2] for line in text.splitlines() if (match := ENTRY.match(line)))
    there = {str(page.relative_to("docs")) for page in PAGES} - {"SUMMARY.md"}
    assert set(listed) == there
    assert [page for page, count in listed.items() if count > 1] == []


def slug(heading: str) -> str:
    """The anchor that a forge and the site give a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    tokens = MarkdownIt("commonmark").parse((ROOT / page).read_text())
    found: Counter[str] = Counter()
    names = set()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            words = "".join(child.content for child in inline.children or [])
            name = slug(words)
            names.add(f"{name}-{found[name]}" if found[name] else name)
            found[name] += 1
    return frozenset(names)


def links(page: Path) -> list[str]:
    tokens = MarkdownIt("commonmark").enable("table").parse((ROOT / page).read_text())
    children = (child for token in tokens for child in token.children or [])
    targets = (child.attrGet("href") or child.attrGet("src") for child in children)
    return [str(target) for target in targets if target]


def complaint(page: Path, link: str) -> str | None:
    """Why a link within the repository leads nowhere."""
    path, _, anchor = link.partition("#")
    # The front page of the site stands beside docs/, and is read in it.
    folder = Path("docs") if page == Path("site/index.md") else page.parent
    target = Path(os.path.normpath(folder / path)) if path else page
    if str(target) in GENERATED and page == Path("site/index.md"):
        return None
    if not (ROOT / target).exists():
        return f"{page}: {link}: no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return f"{page}: {link}: no such heading"
    return None


def test_links_and_anchors_lead_somewhere():
    inside = [(page, link) for page in LINKING for link in links(page) if "://" not in link]
    print(f"{len(inside)} links within the repository")
    assert len(inside) > 400
    assert [said for page, link in inside if (said := complaint(page, link))] == []


def is_text(file: Path) -> bool:
    try:
        file.read_text()
    except UnicodeDecodeError:
        return False
    return True


def test_a_folder_that_a_page_links_to_holds_texts():
    """The site has such a folder as one page with all of its files."""
    targets = {
        Path(os.path.normpath(page.parent / link))
        for page in LINKING
        for link in links(page)
        if (ROOT / page.parent / link).is_dir()
    }
    print(f"{len(targets)} folders: {', '.join(sorted(map(str, targets)))}")
    assert targets
    files = [file for target in targets for file in (ROOT / target).rglob("*") if file.is_file()]
    assert [file for file in files if not is_text(file)] == []


def unclassified(page: str) -> list[examples.Block]:
    """Blocks of a page that a session does not have."""
    session = page in examples.sessions()
    return [
        block
        for block in examples.blocks(page)
        if (block.is_shell or block.language == "indented")
        and not (session and block.language == "console")
    ]


@pytest.mark.parametrize("page", examples.pages())
def test_every_block_is_run_or_has_a_reason(page):
    entries = examples.classified().get(page, [])
    found = unclassified(page)
    for block in found:
        fitting = [entry for entry in entries if block.text.startswith(entry["begins"])]
        assert len(fitting) == 1, f"{page}:{block.line}: {len(fitting)} times in site/examples.toml"
    for entry in entries:
        fitting = [block for block in found if block.text.startswith(entry["begins"])]
        assert len(fitting) == 1, f"{page} has {len(fitting)} blocks of {entry['begins']!r}"
        assert bool(entry.get("run")) != bool(entry.get("not_run")), entry


def test_the_classified_pages_and_sessions_are_there():
    known = set(examples.pages())
    assert set(examples.classified()) <= known
    tutorials = {page for page in known if page.startswith("docs/tutorials/")}
    assert set(examples.sessions()) == tutorials


def test_the_tests_that_reasons_name_are_there():
    reasons = [e.get("not_run", "") for entries in examples.classified().values() for e in entries]
    named = {
        path for reason in reasons for path in re.findall(r"\b(?:crates|lab)/[\w/.-]+", reason)
    }
    assert len(named) > 10
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def invocations(line: str) -> list[list[str]]:
    """The calls of Windlass's programs in a line of shell, each as its words."""
    try:
        words = list(shlex.shlex(line, posix=True, punctuation_chars="();<>|&"))
    except ValueError:
        return []
    found: list[list[str]] = []
    call: list[str] | None = None
    # To these the name of a program is an argument, such as the name of its package.
    others = {"cargo", "command", "ssh-keygen"}
    other = False
    for word in words:
        if set(word) <= set("();<>|&"):
            call, other = None, False
        elif word in others and call is None:
            other = True
        elif Path(word).name in TOOLS and not other:
            call = [Path(word).name]
            found.append(call)
        elif word == "--" or call is None:
            call = None
        else:
            call.append(word)
    nested = [word for word in words if " " in word and any(tool in word for tool in TOOLS)]
    return found + [call for word in nested for call in invocations(word)]


def help_of_lab(words: tuple[str, ...]) -> str:
    """The help of a command of the lab, in this process: a new one takes half a second to start."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit):
        lab.main([*words, "--help"])
    return said.getvalue()


@cache
def help_of(words: tuple[str, ...]) -> str | None:
    """The help of a command, `None` where there is none."""
    if words[0] == "windlass-lab":
        return help_of_lab(words[1:])
    done = subprocess.run([*words, "--help"], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def subcommands(text: str) -> set[str]:
    """The names of a command's own commands, from its help."""
    part = re.search(r"^[Cc]ommands:\n(.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"^ {2,4}([a-z][a-z-]*)(?: |$)", part[1] if part else "", re.MULTILINE))


def unknown_options(words: list[str]) -> list[str]:
    """The options of a call that its command does not have."""
    command = (words[0],)
    for word in words[1:]:
        if word not in subcommands(help_of(command) or ""):
            break
        command = (*command, word)
    text = help_of(command) or ""
    options = [word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)]
    return [
        f"{' '.join(command)} {option}"
        for option in options
        if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text)
    ]


def test_every_option_in_a_block_exists():
    if not shutil.which("windlass"):
        pytest.skip("no windlass on the PATH")
    calls = [
        (block, call)
        for page in examples.pages()
        for block in examples.blocks(page)
        if block.is_shell or block.language == "indented"
        for command in examples.commands(block)
        for call in invocations(command.text)
    ]
    print(f"{len(calls)} calls of Windlass's programs")
    assert len(calls) > 80
    assert [
        f"{block.page}:{block.line}: {said}"
        for block, call in calls
        for said in unknown_options(call)
    ] == []


@pytest.mark.parametrize("script", ["docs/images/results.py", "docs/results/tables.py"])
def test_every_plot_is_that_of_its_table_and_every_table_that_of_its_data(script):
    command = [sys.executable, ROOT / script, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_the_page_of_the_libraries_names_what_there_is():
    page = (ROOT / "docs/reference/libraries.md").read_text()
    # Blanks are in commands only.
    parts = {part for code in re.findall(r"`([^`\s]+)`", page) for part in code.split("::")}
    crates = {path.name for path in (ROOT / "crates").iterdir()}
    crates |= {f"windlass-{name}" for name in crates} | {f"windlass_{name}" for name in crates}
    names = {part for part in parts if re.fullmatch(r"[A-Za-z_]\w*", part)} - crates
    sources = "\n".join(path.read_text() for path in ROOT.glob("crates/*/src/**/*.rs"))
    defined = set(re.findall(r"\b(?:fn|struct|enum|trait|type|mod|const) (\w+)", sources))
    variants = re.findall(r"^    ([A-Z]\w*)(?:,| \{|\()", sources, re.MULTILINE)
    assert names - defined - set(variants) == set()
