"""The figures of scripts/measure, each on a small example."""

import importlib.machinery
import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from source_files import File, source_file  # noqa: E402

loader = importlib.machinery.SourceFileLoader("measure", str(FOLDER / "measure"))
spec = importlib.util.spec_from_loader("measure", loader)
assert spec
measure: Any = importlib.util.module_from_spec(spec)
loader.exec_module(measure)


def file(name: str, text: str) -> File:
    found = source_file(name, text)
    assert found
    return found


class Figures(unittest.TestCase):
    def test_lengths_of_functions_are_distributed(self) -> None:
        text = "fn a() {}\n" * 9 + "fn b() {\n\n\n}\n"
        found = measure.function_figures([file("a.rs", text)])
        self.assertEqual((found["count"], found["p50_lines"], found["p90_lines"]), (10, 1, 1))
        self.assertEqual((found["p99_lines"], found["largest"]), (4, "a.rs:10"))

    def test_functions_of_python_and_c_are_counted(self) -> None:
        python = file("a.py", "def a():\n    return 1\n\n\nasync def b():\n    pass\n")
        c = file("a.c", "int a(void)\n{\n\treturn 1;\n}\n")
        self.assertEqual([function.lines for function in python.functions], [2, 2])
        self.assertEqual([function.lines for function in c.functions], [3])

    def test_the_largest_file_and_those_over_the_limit_are_named(self) -> None:
        found = measure.file_figures([file("a.rs", "x\n" * 600), file("b.rs", "x\n" * 601)])
        self.assertEqual((found["largest"], found["over_limit"]), ("b.rs", ["b.rs"]))

    def test_a_line_is_code_or_comment_or_blank(self) -> None:
        for name, text in (
            ("a.rs", "// A comment.\n\nlet a = 1; // b\n#[cfg(test)]\nmod tests {}\n"),
            ("a.py", "# A comment.\n\na = 1  # b\n"),
            ("a.py", '"""A docstring."""\n\na = "# b"\n'),
            ("a.h", "/* A comment. */\n\nint a;\n"),
            ("a.lua", "-- A comment.\n\nlocal a = 1 -- b\n"),
            ("a.sh", "# A comment.\n\na=1\n"),
        ):
            with self.subTest(text=text):
                self.assertEqual(file(name, text).kinds, {"code": 1, "comments": 1, "blank": 1})

    def test_comments_count_inside_functions_alone(self) -> None:
        text = "// a\nfn f() {\n    // b\n    let c = 1; // d\n}\n"
        found = measure.comment_figures([file("a.rs", text)])
        self.assertEqual((found["lines_in_functions"], found["with_comment"]), (4, 2))

    def test_a_block_that_stands_twice_counts_once_however_long(self) -> None:
        block = "".join(f"let a{number} = 1;\n" for number in range(9))
        files = [file("a.rs", block), file("b.rs", f"\n// c\n    {block}let end = 1;\n")]
        found = measure.duplicate_figures(files, 8)
        self.assertEqual(found["places"], [["b.rs:3", "a.rs:1"]])
        self.assertEqual(measure.duplicate_figures(files, 10)["count"], 0)

    def test_a_seed_draws_the_same_twelve_files_in_any_order(self) -> None:
        files = [file(f"{number}.rs", "") for number in range(40)]
        drawn = measure.drawn(files, "7")
        self.assertEqual(drawn, measure.drawn(files[::-1], "7"))
        self.assertEqual(len(set(drawn)), 12)
        self.assertNotEqual(drawn, measure.drawn(files, "8"))

    def test_places_are_counted_in_the_table_of_the_architecture(self) -> None:
        text = (
            "## Find the file for a change\n\n| c | p |\n|---|---|\n"
            "| a queue | `a/b`, `c` or `a/b` |\n\n## Next\n"
        )
        self.assertEqual(measure.place_figures(text), {"a queue": 2})


class Checkout(unittest.TestCase):
    """Figures that need a whole repository."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in {
            "ARCHITECTURE.md": "",
            "CHANGELOG.md": "- `forgotten` is new.",
            "docs/guide/a.md": "Call `shown`.",
            "crates/a/Cargo.toml": "",
            "crates/a/src/lib.rs": "pub mod b;\nmod c;\nuse c::hidden;",
            "crates/a/src/b.rs": (
                "pub fn used() {}\npub fn shown() {}\npub fn tried() {}\npub fn forgotten() {}\n"
                "pub struct Named;\npub fn shown_too(a: Named) {}\npub(crate) fn own() {}\n"
                "use crate::c::hidden;\n"
            ),
            "crates/a/src/c.rs": "use crate::b::own;\nfn hidden() {}",
            "crates/a/tests/a.rs": "fn f() { tried() }",
            "crates/b/src/main.rs": "use a::b::{shown_too, used};",
        }.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        self.git("init", "--quiet")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True)

    def test_public_items_that_no_other_crate_names_are_found(self) -> None:
        found = measure.figures(self.root, 8)["public_items"]
        needs = {item["name"]: item["need"] for item in found["items"]}
        self.assertEqual(needs, {"tried": "tests", "forgotten": None, "Named": "signature"})
        self.assertEqual((found["count"], found["unused"]), (6, 1))

    def test_circles_of_all_crates_are_found(self) -> None:
        found = measure.figures(self.root, 8)["circles"]
        self.assertEqual(found["by_file"], ["a::b -> a::c -> a::b"])

    def test_files_and_places_of_an_addition_are_counted(self) -> None:
        name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        self.git("add", ".")
        self.git(*name, "commit", "--quiet", "-m", "first")
        path = self.root / "crates/a/src/b.rs"
        path.write_text(f"mod new;\n{path.read_text()}\nfn last() {{}}\n")
        self.git(*name, "commit", "--quiet", "--all", "-m", "example: A queue")
        found = measure.figures(self.root, 8, ["HEAD"])["additions"]
        self.assertEqual(
            found, [{"subject": "example: A queue", "files": ["crates/a/src/b.rs"], "places": 2}]
        )


if __name__ == "__main__":
    unittest.main()
