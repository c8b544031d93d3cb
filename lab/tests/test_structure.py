"""The rules between the parts of the package: which may import which."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
REGISTRY = "windlass_lab.core.registry"


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


def breaches(graph: dict[str, set[str]]) -> list[str]:
    """Imports that lead from a part to one that it must not know."""
    found = []
    for name, imported in graph.items():
        for other in imported:
            if name.startswith("windlass_lab.core") and name != REGISTRY:
                wrong = other.startswith(("windlass_lab.papers", "windlass_lab.testbed"))
            elif name.startswith("windlass_lab.testbed"):
                wrong = other.startswith("windlass_lab.papers") or other == REGISTRY
            elif name.startswith("windlass_lab.papers."):
                mine = ".".join(name.split(".")[:3])
                wrong = other == REGISTRY or (
                    other.startswith("windlass_lab.papers.") and not other.startswith(mine)
                )
            else:
                wrong = False
            if wrong:
                found.append(f"{name} imports {other}")
    return found


def test_no_import_runs_in_a_circle():
    try:
        list(TopologicalSorter(GRAPH).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_each_part_imports_only_the_parts_below_it():
    assert breaches(GRAPH) == []


def test_an_import_of_a_paper_from_the_core_is_found():
    wrong = {"windlass_lab.core.text": {"windlass_lab.papers.tou.plan"}}
    assert breaches(wrong) == ["windlass_lab.core.text imports windlass_lab.papers.tou.plan"]


@pytest.mark.parametrize("paper", ["new_ecn", "ecn_proxy", "split_ack", "tou"])
def test_every_paper_has_the_same_files_for_the_same_jobs(paper):
    names = {name.rpartition(".")[2] for name in MODULES if f".papers.{paper}." in name}
    assert {"catalogue", "plan", "measure", "reproduce"} <= names
