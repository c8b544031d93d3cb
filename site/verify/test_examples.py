"""The tutorials as sessions, and the blocks of the guides that can be run: `make verify-site`."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import machine
from machine import examples

pytestmark = pytest.mark.skipif(not machine.is_possible(), reason="namespaces need root")


def session_of(page: str) -> tuple[list[examples.Command], dict[str, str]]:
    """The commands of a tutorial in their order, and the files that the reader saves."""
    commands: list[examples.Command] = []
    files: dict[str, str] = {}
    for block in examples.blocks(page):
        if block.file:
            files[block.file] = block.text
        elif block.language == "console":
            commands += examples.commands(block)
    return commands, files


def saved(files: dict[str, str], folder: Path) -> list[str]:
    """Commands that write each file as soon as its folder is there."""
    copies = []
    for number, (name, text) in enumerate(files.items()):
        copy = folder / f".file-{number}"
        copy.write_text(text)
        copies.append(f"[ ! -d $(dirname {folder}/{name}) ] || cp {copy} {folder}/{name}")
    return copies


@pytest.mark.parametrize("page", examples.sessions())
def test_a_tutorial_prints_what_it_says(page, tmp_path):
    commands, files = session_of(page)
    replace = examples.sessions()[page].get("replace", {})
    copies = "; ".join(saved(files, tmp_path))
    texts = [machine.replaced(command.text, replace) for command in commands]
    # A job that goes to the background must be the last of its line.
    done = machine.run([f"{copies}\n{text}" if copies else text for text in texts], tmp_path)
    for command, (status, printed) in zip(commands, done, strict=False):
        said = "\n".join(printed)
        assert status == 0, f"$ {command.text}\n{said}"
        lost = examples.missing(command.expected, printed)
        assert lost is None, f"$ {command.text}\nlacks the line\n{lost}\nof the page:\n{said}"
    assert len(done) == len(commands)
    print(f"{page}: {len(commands)} commands")


RUN = [
    (page, entry)
    for page, entries in examples.classified().items()
    for entry in entries
    if entry.get("run")
]


@pytest.mark.parametrize(
    ("page", "entry"), RUN, ids=[f"{page}: {entry['begins']}" for page, entry in RUN]
)
def test_a_block_runs(page, entry, tmp_path):
    (block,) = [b for b in examples.blocks(page) if b.text.startswith(entry["begins"])]
    machine.borrow(tmp_path)
    commands = examples.commands(block)
    before = [entry["before"]] if "before" in entry else []
    texts = [machine.replaced(command.text, entry.get("replace", {})) for command in commands]
    done = machine.run([*before, *texts], tmp_path)
    for command, (status, printed) in zip([*before, *texts], done, strict=False):
        assert status == 0, f"$ {command}\n" + "\n".join(printed)
    assert len(done) == len(before) + len(commands)
    for command, (_, printed) in zip(commands, done[len(before) :], strict=True):
        assert examples.missing(command.expected, printed) is None, "\n".join(printed)
