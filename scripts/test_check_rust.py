"""Each rule of check_rust.py has a text that breaks it and one that keeps it."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import check_rust as check
from rust_source import Source


class Unsafe(unittest.TestCase):
    def complaints(self, text: str, *allowed: str) -> list[str]:
        return list(check.check_unsafe({"crates/a/src/b.rs": Source(text)}, list(allowed)))

    def test_unsafe_outside_its_places_is_found(self) -> None:
        text = "// SAFETY: sound.\nunsafe { f() };"
        self.assertEqual(len(self.complaints(text)), 1)
        self.assertEqual(len(self.complaints(text, "crates/a/src/c.rs")), 2)
        for place in ("crates/a", "crates/a/src/b.rs"):
            self.assertEqual(self.complaints(text, place), [])

    def test_a_place_without_unsafe_is_found(self) -> None:
        self.assertEqual(len(self.complaints("// unsafe", "crates/a")), 1)

    def test_each_block_needs_a_comment(self) -> None:
        for text in (
            "fn f() {\n    unsafe { g() }\n}",
            "// SAFETY: of another.\nlet a = 1;\nunsafe { g() };",
            "// SAFETY: too far.\n\nunsafe impl Send for A {}",
            'unsafe extern "C" {\n    fn f();\n}',
        ):
            with self.subTest(text=text):
                self.assertEqual(len(self.complaints(text, "crates/a")), 1)
        for text in (
            "// SAFETY: sound,\n// and why.\nunsafe impl Send for A {}",
            "// SAFETY: sound.\nlet a = match b {\n    C => unsafe { g() },\n};",
            '#[unsafe(no_mangle)]\npub unsafe extern "C" fn f() {}',
        ):
            with self.subTest(text=text):
                self.assertEqual(self.complaints(text, "crates/a"), [])

    def test_places_are_read_from_the_table(self) -> None:
        text = (
            "### Unsafe code\n\n| place | reason |\n|---|---|\n| `a/b` | `c` |\n\n## Next\n| `d` |"
        )
        self.assertEqual(check.places(text), ["a/b"])


class Exceptions(unittest.TestCase):
    def complaints(self, text: str) -> list[str]:
        return list(check.check_exceptions("a.rs", Source(text)))

    def test_an_exception_is_expected_and_has_a_reason(self) -> None:
        for text in (
            '#[allow(dead_code, reason = "x")]',
            '#![allow(dead_code, reason = "x")]',
            '#[cfg_attr(not(unix), allow(dead_code, reason = "x"))]',
            "#[expect(dead_code)]",
            "macro_rules! m {\n    () => {\n        #[allow(dead_code)]\n    };\n}",
        ):
            with self.subTest(text=text):
                self.assertEqual(len(self.complaints(text)), 1)

    def test_expectations_with_a_reason_pass_and_a_macro_may_allow(self) -> None:
        for text in (
            '#[expect(dead_code, reason = "x")]',
            '#[cfg_attr(not(unix), expect(dead_code, reason = "x"))]',
            'macro_rules! m {\n    () => {\n        #[allow(dead_code, reason = "x")]\n    };\n}',
            "a.expect(b)",
            '"#[allow(dead_code)]"',
        ):
            with self.subTest(text=text):
                self.assertEqual(self.complaints(text), [])


class Modules(unittest.TestCase):
    def test_a_module_beside_its_folder_is_found(self) -> None:
        names = ["crates/a/src/b.rs", "crates/a/src/b/c.rs"]
        self.assertEqual(len(list(check.check_modules(names))), 1)

    def test_a_module_inside_its_folder_passes_and_so_does_a_test_program(self) -> None:
        names = ["crates/a/src/b/mod.rs", "crates/a/src/b/c.rs", "a/tests/b.rs", "a/tests/b/c.rs"]
        self.assertEqual(list(check.check_modules(names)), [])


if __name__ == "__main__":
    unittest.main()
