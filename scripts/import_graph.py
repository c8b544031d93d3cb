"""The imports between the modules of a crate or of a Python package, and the circles of them.

A module is known by its path in its crate, and `()` is the root. An import counts for the module
that defines the item, behind re-exports. `mod x;` alone is no import, and test modules do not
count.

A module and the modules inside it may use each other. All others may not, neither file by file nor
folder by folder: of two modules side by side, with all that is inside them, only one uses the
other.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from rust_source import Source, shipped_files

Module = tuple[str, ...]
Graph = dict[Module, set[Module]]
# The path of each item that a module imports, by the item's name in the module.
Imports = dict[str, str]

_USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
_PATH = re.compile(r"(?:\$?\bcrate|\bself|\bsuper)(?:::\w+)+")


def rust_graph(folder: Path) -> Graph:
    """The modules that each module of the crate with this folder of sources imports from."""
    sources = {_rust_module(path, folder): source for path, source in shipped_files(folder).items()}
    read = {here: _paths(source) for here, source in sources.items()}
    imports = {here: imported for here, (_, imported) in read.items()}
    graph: Graph = {}
    for here, (text, imported) in read.items():
        inside = "|".join(module[-1] for module in sources if module and module[:-1] == here)
        paths = _PATH.findall(text)
        paths += re.findall(rf"(?<![:\w])(?:{inside})(?:::\w+)+", text) if inside else []
        targets = {_target(path, here, imports) for path in [*imported.values(), *paths]}
        graph[here] = {module for module in targets if module is not None and module != here}
    return graph


def _rust_module(path: Path, folder: Path) -> Module:
    parts = path.relative_to(folder).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def _paths(source: Source) -> tuple[str, Imports]:
    """The code without its use declarations, and what these import."""
    text = re.sub(r"pub\(in [^)]*\)", "pub", source.shipped)
    imported = {name: path for tree in _USE.findall(text) for path, name in leaves(tree)}
    return _USE.sub("", text), imported


def leaves(tree: str) -> Iterator[tuple[str, str]]:
    """Path and name of each item of a use declaration: `a::{b, c::d as e}` gives a::b as b and
    a::c::d as e."""
    tree = re.sub(r"\s+", " ", tree).strip()
    brace = tree.find("{")
    if brace < 0:
        path, _, name = tree.partition(" as ")
        # Globs and `as _` get a name that no other has.
        name = name or path.removesuffix("::self").rsplit("::", 1)[-1]
        yield path.removesuffix("::self"), path if name in ("*", "_") else name
        return
    depth, start = 0, brace + 1
    for position in range(brace, len(tree)):
        depth += {"{": 1, "}": -1}.get(tree[position], 0)
        if (tree[position] == "," and depth == 1) or (tree[position] == "}" and depth == 0):
            if item := tree[start:position].strip():
                yield from leaves(tree[:brace] + item)
            start = position + 1


def _target(
    path: str, here: Module, imports: dict[Module, Imports], steps_left: int = 8
) -> Module | None:
    """The module that defines the item at `path`, seen from `here`; None outside the crate."""
    steps = path.lstrip("$").split("::")
    module = here
    if steps[0] == "crate":
        module, steps = (), steps[1:]
    elif steps[0] in ("self", "super"):
        while steps and steps[0] in ("self", "super"):
            module = module if steps[0] == "self" else module[:-1]
            steps = steps[1:]
    elif (*here, steps[0]) not in imports:
        return None
    while steps and (*module, steps[0]) in imports:
        module, steps = (*module, steps[0]), steps[1:]
    original = imports[module].get(steps[0]) if steps and module in imports else None
    if original and steps_left:
        return _target("::".join([original, *steps[1:]]), module, imports, steps_left - 1)
    return module


def python_graph(package: Path) -> Graph:
    """The modules that each module of a Python package imports from."""
    trees = {
        _python_module(path, package): ast.parse(path.read_text())
        for path in sorted(package.rglob("*.py"))
    }
    packages = {_python_module(path, package) for path in package.rglob("__init__.py")}
    imports = {
        here: dict(_python_imports(tree, here, here in packages, package.name))
        for here, tree in trees.items()
    }
    return {
        here: {_python_target(path, imports) for path in imported.values()} - {here}
        for here, imported in imports.items()
    }


def _python_module(path: Path, package: Path) -> Module:
    parts = path.relative_to(package).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _python_imports(
    tree: ast.AST, here: Module, is_package: bool, package: str
) -> Iterator[tuple[str, Module]]:
    """Name here and path in the package of each item that is imported from the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = tuple(alias.name.split("."))
                if parts[0] == package:
                    yield alias.asname or alias.name, parts[1:]
        elif isinstance(node, ast.ImportFrom):
            parts = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                base = here if is_package else here[:-1]
                parts = (*base[: len(base) - node.level + 1], *parts)
            elif parts[:1] == (package,):
                parts = parts[1:]
            else:
                continue
            for alias in node.names:
                yield alias.asname or alias.name, (*parts, alias.name)


def _python_target(path: Module, imports: dict[Module, dict[str, Module]]) -> Module:
    """The module that defines the item at `path`."""
    for _ in range(8):
        if path in imports:
            return path
        module, name = path[:-1], path[-1]
        while module not in imports:
            module, name = module[:-1], module[-1]
        original = imports[module].get(name)
        if original is None or original == path:
            return module
        path = original
    return module


def packages(root: Path) -> Iterator[tuple[str, Graph]]:
    """The graphs of all crates and of the lab, by their names."""
    for manifest in sorted(root.glob("crates/*/Cargo.toml")):
        yield manifest.parent.name, rust_graph(manifest.parent / "src")
    lab = root / "lab/src/windlass_lab"
    if lab.exists():
        yield lab.name, python_graph(lab)


def file_circles(graph: Graph) -> list[list[Module]]:
    """One circle of files for each group of files that depend on each other."""
    return circles(
        {
            module: {other for other in targets if not _encloses(module, other)}
            for module, targets in graph.items()
        }
    )


def folder_circles(graph: Graph) -> list[list[Module]]:
    """One circle for each group of neighbours, a folder among them, whose contents depend on each
    other. Circles of files are left out."""
    found: list[list[Module]] = []
    for parent in {module[:-1] for module in graph if module}:
        depth = len(parent) + 1
        beside: Graph = {}
        for module, targets in graph.items():
            if module[: depth - 1] == parent and len(module) >= depth:
                beside.setdefault(module[:depth], set()).update(
                    target[:depth]
                    for target in targets
                    if target[: depth - 1] == parent
                    and len(target) >= depth
                    and target[:depth] != module[:depth]
                )
        found += [
            circle
            for circle in circles(beside)
            if any(len(module) > depth and module[:depth] in circle for module in graph)
        ]
    files = file_circles(graph)
    return sorted(circle for circle in found if circle not in files)


def _encloses(one: Module, other: Module) -> bool:
    """Whether one of the modules is inside the other."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def circles(graph: Graph) -> list[list[Module]]:
    """A shortest circle of each strongly connected component of two nodes or more; the first node
    stands again at its end."""
    reached = {node: _reachable(graph, node) for node in graph}
    found: list[list[Module]] = []
    done: set[Module] = set()
    for node in sorted(graph):
        if node in done or node not in reached[node]:
            continue
        component = {other for other in reached[node] if node in reached.get(other, ())}
        done |= component
        found.append(min((_shortest(graph, start) for start in sorted(component)), key=len))
    return found


def _reachable(graph: Graph, start: Module) -> set[Module]:
    reached: set[Module] = set()
    waiting = list(graph[start])
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            waiting += graph.get(node, ())
    return reached


def _shortest(graph: Graph, start: Module) -> list[Module]:
    """A shortest way from a node back to it; there must be one."""
    paths = [[start]]
    seen: set[Module] = set()
    for path in paths:
        for following in sorted(graph.get(path[-1], ())):
            if following == start:
                return [*path, start]
            if following not in seen:
                seen.add(following)
                paths.append([*path, following])
    raise ValueError("no circle")


def show(circle: Iterable[Module], root: str) -> str:
    """The circle as a line: `root::a -> root::b -> root::a`."""
    return " -> ".join("::".join((root, *module)) for module in circle)
