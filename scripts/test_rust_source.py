"""Comments, strings, tests and functions as rust_source.py finds them."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from rust_source import Source, shipped_files


class Views(unittest.TestCase):
    def test_comments_and_strings_are_blank(self) -> None:
        source = Source('let a = "fn x() {"; // fn y()\n/* fn z() */ let b = 1;')
        self.assertEqual(source.code.split(), ["let", "a", "=", ";", "let", "b", "=", "1;"])
        self.assertIn("fn x", source.uncommented)
        self.assertNotIn("fn y", source.uncommented)
        self.assertEqual(len(source.code), len(source.text))

    def test_quotes_of_all_kinds_end_where_rust_ends_them(self) -> None:
        for text in (
            r'f("\"", a)',
            'f(r#"a " b"#, a)',
            r"f('\'', a)",
            "f('\"', a)",
            r"f(b'\\', a)",
            r"f('\u{1F600}', a)",
            "f::<'_>(a)",
            "fn f<'a>(b: &'a str, a)",
        ):
            with self.subTest(text=text):
                self.assertTrue(Source(text).code.endswith("a)"))

    def test_a_comment_in_a_string_is_none(self) -> None:
        self.assertEqual(Source('"http://x"; a').uncommented, '"http://x"; a')


class Tests(unittest.TestCase):
    def test_items_for_tests_are_blank(self) -> None:
        for item in (
            "#[cfg(test)]\nmod tests {\n    fn f() {}\n}",
            '#[cfg(all(test, unix))]\n#[path = "a.rs"]\nmod tests;',
            "#[cfg(test)]\npub(crate) fn only<T>(a: [u8; 4]) -> T {\n    { a }\n}",
            "#[cfg(test)]\nuse a::{b, c};",
            "#[cfg(test)]\nimpl A { fn f() {} }",
        ):
            with self.subTest(item=item):
                source = Source(f"fn before() {{}}\n{item}\nfn after() {{}}\n")
                self.assertEqual(
                    source.shipped.split(), ["fn", "before()", "{}", "fn", "after()", "{}"]
                )
                self.assertEqual(source.test_lines, set(range(2, 3 + item.count("\n"))))

    def test_a_field_for_tests_ends_at_its_comma(self) -> None:
        source = Source("struct A {\n    #[cfg(test)]\n    a: u8,\n    b: u8,\n}")
        self.assertEqual(source.shipped.split(), ["struct", "A", "{", "b:", "u8,", "}"])

    def test_an_item_that_tests_lack_is_shipped(self) -> None:
        source = Source("#[cfg(not(test))]\nfn f() {}")
        self.assertIn("fn f", source.shipped)

    def test_files_of_test_modules_are_left_out(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "a" / "tests").mkdir(parents=True)
            (folder / "lib.rs").write_text("mod a;\n#[cfg(test)]\nmod helpers;\n")
            (folder / "helpers.rs").write_text("")
            (folder / "a" / "mod.rs").write_text("#[cfg(test)]\nmod tests;\n")
            (folder / "a" / "tests" / "mod.rs").write_text("mod b;")
            (folder / "a" / "tests" / "b.rs").write_text("")
            found = [str(path.relative_to(folder)) for path in shipped_files(folder)]
            self.assertEqual(found, ["a/mod.rs", "lib.rs"])


class Functions(unittest.TestCase):
    def test_each_function_has_its_lines(self) -> None:
        source = Source(
            "fn one() {}\n"
            "trait T {\n    fn no_body(&self);\n}\n"
            "pub(crate) fn two<F: Fn(u8) -> [u8; 2]>(\n    f: F,\n) {\n    f(1);\n}\n"
            "#[cfg(test)]\nfn test() {}\n"
        )
        found = [
            (function.name, function.first_line, function.lines) for function in source.functions()
        ]
        self.assertEqual(found, [("one", 1, 1), ("two", 5, 5)])


if __name__ == "__main__":
    unittest.main()
