"""Which imports import_graph.py finds, and which circles."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from import_graph import Graph, Module, file_circles, folder_circles, python_graph, rust_graph


class Picture(unittest.TestCase):
    def test_the_picture_of_the_architecture_names_every_crate(self) -> None:
        root = Path(__file__).resolve().parents[1]
        drawn = (root / "docs" / "architecture.svg").read_text(encoding="utf-8")
        crates = {path.parent.name for path in root.glob("crates/*/Cargo.toml")}
        self.assertEqual({name for name in crates if f">{name}</text>" not in drawn}, set())


class Written(unittest.TestCase):
    """Writes files into a folder that goes with the test."""

    def write(self, files: dict[str, str]) -> Path:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, text in files.items():
            path = Path(folder.name) / "pkg" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Path(folder.name) / "pkg"


class Rust(Written):
    def imports(self, files: dict[str, str], module: Module) -> set[Module]:
        return rust_graph(self.write(files))[module]

    def test_each_form_of_a_path_is_an_import(self) -> None:
        for text in (
            "use crate::b::Item;",
            "use super::b::{Item, other};",
            "use crate::{\n    b::Item as Renamed,\n};",
            "fn f() { crate::b::call() }",
            "fn f() -> super::b::Item {}",
            "pub(in crate::x) use crate::b::Item;",
        ):
            with self.subTest(text=text):
                self.assertEqual(
                    self.imports({"lib.rs": "mod a; mod b;", "a.rs": text, "b.rs": ""}, ("a",)),
                    {("b",)},
                )

    def test_comments_strings_and_tests_import_nothing(self) -> None:
        text = (
            '// crate::b::x\nconst A: &str = "crate::b::x";\n'
            "#[cfg(test)]\nmod tests { use crate::b; }"
        )
        self.assertEqual(self.imports({"lib.rs": "", "a.rs": text, "b.rs": ""}, ("a",)), set())

    def test_an_import_goes_to_the_file_that_defines_the_item(self) -> None:
        files = {
            "lib.rs": "mod a; mod b;\npub use b::inner::Item;",
            "a.rs": "use crate::Item;\nuse crate::b::Renamed;",
            "b/mod.rs": "mod inner;\nmod third;\nuse third::Thing as Renamed;",
            "b/inner.rs": "pub struct Item;",
            "b/third.rs": "pub struct Thing;",
        }
        self.assertEqual(self.imports(files, ("a",)), {("b", "inner"), ("b", "third")})


class Python(Written):
    def test_each_form_of_an_import_counts(self) -> None:
        folder = self.write(
            {
                "__init__.py": "",
                "a.py": "import os\nimport pkg.b\nfrom pkg import c\nfrom pkg.sub import thing",
                "b.py": "from . import c\ndef f():\n    from .sub.inner import thing",
                "c.py": "",
                "sub/__init__.py": "from .inner import thing",
                "sub/inner.py": "thing = 1",
            }
        )
        graph = python_graph(folder)
        self.assertEqual(graph["a",], {("b",), ("c",), ("sub", "inner")})
        self.assertEqual(graph["b",], {("c",), ("sub", "inner")})
        self.assertEqual(graph["sub",], {("sub", "inner")})


def graph(**edges: str) -> Graph:
    """A graph from the names of modules, whose parts `_` joins."""
    found: Graph = {tuple(name.split("_")): set() for name in edges}
    for name, others in edges.items():
        found[tuple(name.split("_"))] = {tuple(other.split("_")) for other in others.split()}
    return found


class Circles(unittest.TestCase):
    def test_two_files_that_import_each_other_are_a_circle(self) -> None:
        found = graph(a="b", b="a", c="a")
        self.assertEqual(file_circles(found), [[("a",), ("b",), ("a",)]])
        self.assertEqual(folder_circles(found), [])

    def test_a_circle_is_shown_by_its_shortest_way(self) -> None:
        found = graph(a="b", b="c d", c="a", d="b")
        self.assertEqual(file_circles(found), [[("b",), ("d",), ("b",)]])

    def test_a_module_and_those_inside_it_may_use_each_other(self) -> None:
        found = graph(a="a_b a_b_c", a_b="a", a_b_c="a")
        self.assertEqual(file_circles(found) + folder_circles(found), [])

    def test_folders_may_close_a_circle_that_files_do_not(self) -> None:
        found = graph(a="", a_x="b", b="", b_y="a")
        self.assertEqual(file_circles(found), [])
        self.assertEqual(folder_circles(found), [[("a",), ("b",), ("a",)]])

    def test_a_circle_counts_at_the_level_at_which_it_closes(self) -> None:
        found = graph(r="", r_a="", r_a_x="r_b", r_b="r_a", s="r_a_x")
        self.assertEqual(folder_circles(found), [[("r", "a"), ("r", "b"), ("r", "a")]])


if __name__ == "__main__":
    unittest.main()
