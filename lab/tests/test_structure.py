"""The rules between the parts of the package: which may import which."""

import ast
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in SOURCE.rglob("*.py")}


def imports_of(name: str) -> Iterator[str]:
    """The modules of the package that a module imports, inside functions as well."""
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                member = f"{node.module}.{alias.name}"
                yield member if member in MODULES else node.module


GRAPH = {name: set(imports_of(name)) for name in MODULES}


def folder_of(name: str) -> str:
    return str(MODULES[name].parent.relative_to(SOURCE))


def by_folder(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The folders that the modules of each folder import from."""
    folders: dict[str, set[str]] = {}
    for name, imported in graph.items():
        others = {folder_of(other) for other in imported} - {folder_of(name)}
        folders.setdefault(folder_of(name), set()).update(others)
    return folders


def circle(graph: dict[str, set[str]]) -> str:
    """One circle of imports; empty without one."""
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return " -> ".join(error.args[1])
    return ""


def breaches(graph: dict[str, set[str]]) -> list[str]:
    """Imports that lead from a part to one that it must not know."""
    found = []
    for name, imported in graph.items():
        for other in imported:
            if name.startswith("windlass_lab.core"):
                wrong = other.startswith(("windlass_lab.papers", "windlass_lab.testbed"))
            elif name.startswith("windlass_lab.testbed"):
                wrong = other.startswith("windlass_lab.papers")
            elif name.startswith("windlass_lab.papers.") and name.count(".") > 2:
                mine = ".".join(name.split(".")[:3])
                wrong = other.startswith("windlass_lab.papers.") and not other.startswith(mine)
            else:
                wrong = False
            if wrong:
                found.append(f"{name} imports {other}")
    return found


def test_no_import_between_files_runs_in_a_circle():
    assert not circle(GRAPH)


def test_no_import_between_folders_runs_in_a_circle():
    assert not circle(by_folder(GRAPH))


def test_a_circle_between_folders_is_found_where_no_file_is_in_one():
    graph = {
        "windlass_lab.core.text.numbers": {"windlass_lab.core.plots.draw"},
        "windlass_lab.core.plots.parts": {"windlass_lab.core.text.verdicts"},
    }
    assert not circle(graph)
    assert set(circle(by_folder(graph)).split(" -> ")) == {
        "windlass_lab/core/text",
        "windlass_lab/core/plots",
    }


def test_each_part_imports_only_the_parts_below_it():
    assert breaches(GRAPH) == []


def test_an_import_of_a_paper_from_the_core_is_found():
    wrong = {"windlass_lab.core.errors": {"windlass_lab.papers.tou.plan"}}
    assert breaches(wrong) == ["windlass_lab.core.errors imports windlass_lab.papers.tou.plan"]


@pytest.mark.parametrize("paper", ["new_ecn", "ecn_proxy", "split_ack", "tou"])
def test_every_paper_has_the_same_files_for_the_same_jobs(paper):
    names = {name.rpartition(".")[2] for name in MODULES if f".papers.{paper}." in name}
    assert {"catalogue", "plan", "measure", "reproduce"} <= names


def pins(name: str) -> set[str]:
    """The packages of a lock with their versions."""
    lines = (SOURCE.parent / name).read_text(encoding="utf-8").splitlines()
    return {line.split()[0] for line in lines if "==" in line}


def test_the_lock_without_the_tests_packages_has_the_pins_of_the_whole_one():
    """`scripts/setup demo` installs the one, and `scripts/setup` the other on top of it."""
    run, whole = pins("requirements-run.lock"), pins("requirements.lock")
    assert run < whole
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {text.partition(">")[0] for text in project["project"]["dependencies"]}
    assert needed <= {pin.partition("==")[0] for pin in run}
