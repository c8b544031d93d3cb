"""Each rule of lint_text.py has a text that breaks it and one that keeps it."""

import sys
import unittest
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import lint_text as lint


def words(count: int) -> str:
    return "Word " + "word " * (count - 2) + "word."


class Words(unittest.TestCase):
    def complaints(self, line: str, name: str = "crates/x/src/lib.rs") -> list[str]:
        return list(lint.check_words(name, line))

    def test_each_forbidden_phrase_is_found(self) -> None:
        for line in (
            "// The sender is told of it.",
            "// Nobody waits.",
            "// See papers/001, section 3.",
            "// Who sends a segment waits.",
            '"""Who sends waits."""',
            "/// What the daemon writes.",
            "//! What a link does over time.",
            "    // What has arrived may still be read.",
            "# What it keeps.",
            " * What struct flow has summed.",
            '    """What a run got done."""',
            "// It is lost. What follows is not.",
            "## What others lose",
            "## What was found on the way",
            "| What it is |",
            "**What holds:**",
            "/// Whose end it is.",
            "// The end of what was sent.",
            "// Of what comes, half is lost.",
            "// No sample, so that any difference is one.",
            "fn a_peer_is_told_once() {",
            "fn told_right() {",
            "self._told = now",
        ):
            with self.subTest(line=line):
                self.assertEqual(len(self.complaints(line)), 1)

    def test_plain_sentences_pass(self) -> None:
        for line in (
            "// The sender untold has no rule.",
            "// See Hamann 1999, section 3.1.",
            "// A sender who waits.",
            "// Who sends?",
            "// The text that What cites.",
            "## What does a NAT do?",
            "## What was found",
            "// Whose end is it?",
            "// A sender whose window is full.",
            "// Parts of whatever comes.",
            "cwnd_told=mean_window(rows),",
        ):
            with self.subTest(line=line):
                self.assertEqual(self.complaints(line), [])

    def test_a_file_that_quotes_the_rules_is_exempt(self) -> None:
        self.assertEqual(self.complaints("told", "CONTRIBUTING.md"), [])


class Sentences(unittest.TestCase):
    def complaints(self, text: str) -> list[str]:
        return list(lint.check_sentences("docs/guide/page.md", text))

    def test_a_sentence_over_the_limit_is_found(self) -> None:
        self.assertIn("41 words", self.complaints(words(41))[0])
        self.assertEqual(self.complaints(words(40)), [])

    def test_too_many_long_sentences_are_found(self) -> None:
        self.assertIn("2 of 2", self.complaints(f"{words(31)} {words(31)}")[0])
        self.assertEqual(self.complaints(f"{words(31)} {words(30)}"), [])

    def test_a_long_page_may_have_one_long_sentence_in_twenty(self) -> None:
        short = [words(5)] * 38
        self.assertEqual(self.complaints(" ".join([*short, words(31), words(31)])), [])
        many = [*short, words(31), words(31), words(31)]
        self.assertIn("3 of 41", self.complaints(" ".join(many))[0])

    def test_code_tables_and_quotations_are_exempt(self) -> None:
        table = f"| a |\n|---|\n| {words(50)} |\n"
        for text in (f"```\n{words(50)}\n```", f"> {words(50)}", table):
            with self.subTest(text=text[:10]):
                self.assertEqual(self.complaints(text), [])

    def test_an_abbreviation_ends_no_sentence(self) -> None:
        self.assertEqual(
            list(lint.sentences("See RFC 9293, e.g. Section 3. Then go on.")),
            [
                "See RFC 9293, e.g. Section 3.",
                "Then go on.",
            ],
        )


class DocComments(unittest.TestCase):
    def count(self, name: str, text: str) -> int:
        return len(list(lint.check_doc_comments(name, text)))

    def test_one_word_in_rust_is_found(self) -> None:
        self.assertEqual(self.count("a.rs", "/// Came.\nfn came() {}\n"), 1)
        self.assertEqual(self.count("a.rs", "/// Segments received.\nfn came() {}\n"), 0)

    def test_one_word_of_several_lines_passes(self) -> None:
        self.assertEqual(self.count("a.rs", "/// Segments\n/// received.\nfn came() {}\n"), 0)

    def test_one_word_in_python_is_found(self) -> None:
        self.assertEqual(self.count("a.py", 'def came():\n    """Came."""\n'), 1)
        self.assertEqual(self.count("a.py", 'def came():\n    """Segments received."""\n'), 0)


class Lengths(unittest.TestCase):
    def count(self, name: str, lines: Iterable[str]) -> int:
        return len(list(lint.check_lengths(name, "\n".join(lines))))

    def test_a_long_file_is_found(self) -> None:
        self.assertEqual(self.count("a.rs", ["// x"] * 601), 1)
        self.assertEqual(self.count("a.rs", ["// x"] * 600), 0)

    def test_a_long_function_is_found(self) -> None:
        for name, head, tail in (("a.py", "def f():", []), ("a.c", "{", ["}"])):
            with self.subTest(name=name):
                body = ["    x = 1"] * (70 - 1 - len(tail))
                self.assertEqual(self.count(name, [head, *body, *tail]), 0)
                self.assertEqual(self.count(name, [head, "    y = 2", *body, *tail]), 1)


class Places(unittest.TestCase):
    def test_a_page_outside_the_folders_is_found(self) -> None:
        self.assertEqual(len(list(lint.check_place("docs/notes.md"))), 1)
        self.assertEqual(len(list(lint.check_place("docs/diary/day.md"))), 1)
        for name in ("docs/guide/page.md", "docs/status.md", "README.md", "docs/images/a.py"):
            with self.subTest(name=name):
                self.assertEqual(list(lint.check_place(name)), [])


if __name__ == "__main__":
    unittest.main()
