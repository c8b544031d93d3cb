"""Tests of the mutants' runner and of the list of teeth."""

import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import unittest
from unittest import mock

import mutants
import teeth

REPORT = {
    "tests": [
        "suites::rfc5681::each::initial_window",
        "suites::rate_limited::each::no_growth",
        "suites::rfc5681::tests::other",
    ],
    "mutants": [
        {"name": "b", "failed": ["suites::rfc5681::each::initial_window", "engine::tests::one"]},
        {"name": "a", "failed": ["suites::rfc5681::each::initial_window"]},
        {"name": "c", "failed": []},
    ],
}


class Teeth(unittest.TestCase):
    def test_a_case_has_the_faults_that_fail_it(self) -> None:
        found = tomllib.loads(teeth.text(teeth.teeth(REPORT)))
        self.assertEqual(found["rfc5681"], {"initial-window": ["a", "b"]})
        self.assertEqual(found["rate-limited"], {"no-growth": []})

    def test_the_command_prints_the_list(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "faults.json"
            file.write_text(json.dumps(REPORT))
            script = pathlib.Path(teeth.__file__)
            run = subprocess.run(
                [sys.executable, script, file], capture_output=True, text=True, check=True
            )
        self.assertIn('initial-window = ["a", "b"]', run.stdout)
        self.assertIn("2 cases, 1 that no fault fails", run.stderr)


class Failed(unittest.TestCase):
    def test_all_tests_that_fail_are_kept(self) -> None:
        output = "".join(f"test suites::x::each::t{number} ... FAILED\n" for number in range(5))
        fault = mutants.Mutant("a", "file", "x", "y", "cargo test")
        outcome = mutants.judge(fault, 101, output + "test other ... ok\n")
        self.assertEqual(len(outcome.failed), 5)
        self.assertTrue(outcome.ok)
        self.assertIn("and 2 more", outcome.detail)

    def test_a_run_writes_its_report(self) -> None:
        fault = mutants.Mutant("a", "Makefile", "verify-judge:", "verify-judje:", "true")
        caught = mutants.Outcome("caught", True, "t", ("t",))
        with (
            mock.patch.object(mutants.Copy, "synchronize"),
            mock.patch.object(mutants.Copy, "try_mutant", return_value=caught),
            mock.patch.object(mutants, "check_unbroken", return_value=["t"]),
            tempfile.TemporaryDirectory() as folder,
        ):
            file = pathlib.Path(folder) / "faults.json"
            self.assertEqual(mutants.run_all([fault], 1, 1.0, file), 0)
            report = json.loads(file.read_text())
        self.assertEqual(report["tests"], ["t"])
        self.assertEqual(report["mutants"], [{"name": "a", "status": "caught", "failed": ["t"]}])


if __name__ == "__main__":
    unittest.main()
