"""The lines that `make demo` prints, its exit status and where it leaves the binary, with
stand-ins for the programs that install, build and measure.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
# A shell ignores SIGINT for what it starts in the background, and a test interrupts the demo.
signal.signal(signal.SIGINT, signal.default_int_handler)
SUMMARY = "New-ECN (all 3 met)\n  claimed  0.99\n  found    0.98\nNot run here:\n  2 others\n"
LAB = f"""#!/bin/sh
echo "PATH=$PATH"
echo "arguments: $*"
for line in 1 2 3; do echo "[$line/3] a long line of progress {"x" * 120}"; done
[ -z "$LAB_WAITS" ] || exec sleep 60
printf '{SUMMARY}' >out/demo/summary.txt
touch out/demo/index.html
[ "$LAB_STATUS" != 3 ] || echo "error: tou: a run failed" >&2
exit "$LAB_STATUS"
"""


class Demo(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        for name in ("demo", "common"):
            (self.root / "scripts").mkdir(exist_ok=True)
            shutil.copy(SCRIPTS / name, self.root / "scripts" / name)
        for name, text in (
            ("scripts/setup", "#!/bin/sh\necho 'setup: clang is missing: a reason'\n"),
            ("scripts/build-quick", '#!/bin/sh\necho "   Compiling x"\nexit "$BUILD_STATUS"\n'),
            ("scripts/demo_crossing.py", "#!/bin/sh\necho details\necho the crossing in a line\n"),
            ("target/quick/windlass", "#!/bin/sh\necho windlass 9\n"),
            (".venv/bin/windlass-lab", LAB),
            ("bin/id", '#!/bin/sh\necho "$USER_ID"\n'),
        ):
            self.program(name, text)
        self.environment = {
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.root),
            "USER_ID": "0",
            "LAB_STATUS": "0",
            "LAB_WAITS": "",
            "BUILD_STATUS": "0",
        }

    def program(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def demo(self, **environment: str) -> tuple[int, list[str]]:
        done = subprocess.run(
            [self.root / "scripts/demo"],
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout.splitlines()

    def log(self) -> str:
        return (self.root / "out/demo/log").read_text()

    def test_a_screen_of_lines_and_the_details_in_the_log(self) -> None:
        status, lines = self.demo()
        self.assertEqual(status, 0)
        # The papers' own lines are the lab's: five here.
        self.assertLessEqual(len(lines), 17)
        self.assertLessEqual(max(map(len, lines)), 100)
        self.assertTrue(set(SUMMARY.splitlines()) <= set(lines))
        self.assertIn("the crossing in a line", lines)
        self.assertTrue(any("three minutes" in line for line in lines))
        self.assertNotIn("details", lines)
        for text in ("clang is missing", "Compiling x", "[3/3]", "details"):
            self.assertIn(text, self.log())

    def test_the_binary_is_in_the_environment_that_the_last_lines_enter(self) -> None:
        _, lines = self.demo()
        self.assertTrue(any(". .venv/bin/activate" in line for line in lines))
        printed = subprocess.run(
            [self.root / ".venv/bin/windlass"], capture_output=True, text=True, check=True
        )
        self.assertEqual(printed.stdout, "windlass 9\n")

    def test_the_lab_finds_what_setup_has_unpacked(self) -> None:
        self.demo()
        self.assertIn(f"PATH={self.root / '.venv/bin'}:", self.log())
        self.assertIn("arguments: reproduce all --real --quick", self.log())

    def test_without_root_it_simulates_and_says_so_and_crosses_nothing(self) -> None:
        status, lines = self.demo(USER_ID="1000")
        self.assertEqual(status, 0)
        self.assertTrue(lines[0].startswith("Not root: simulated only"))
        self.assertIn("reproduce all --sim --quick", self.log())
        self.assertNotIn("the crossing in a line", lines)

    def test_what_the_machine_lacks_is_no_failure_and_what_fails_is(self) -> None:
        self.assertEqual(self.demo(LAB_STATUS="2")[0], 0)
        status, lines = self.demo(LAB_STATUS="1")
        self.assertEqual(status, 1)
        self.assertTrue(any("A figure is not met" in line for line in lines))
        status, lines = self.demo(LAB_STATUS="3")
        self.assertEqual(status, 3)
        self.assertIn("error: tou: a run failed", lines)
        self.assertTrue(any("out/demo/log" in line for line in lines))

    def test_a_crossing_that_fails_keeps_its_status(self) -> None:
        self.program("scripts/demo_crossing.py", "#!/bin/sh\necho 'error: no path' >&2\nexit 1\n")
        status, lines = self.demo()
        self.assertEqual(status, 1)
        self.assertIn("error: no path", lines)

    def test_a_build_that_fails_stops_it_and_names_the_log(self) -> None:
        self.program("scripts/build-quick", "#!/bin/sh\necho 'error: no linker' >&2\nexit 101\n")
        status, lines = self.demo()
        self.assertEqual(status, 101)
        self.assertIn("error: no linker", lines)
        self.assertIn("The demo stopped. All output is in out/demo/log.", lines)
        self.assertNotIn("arguments:", self.log())

    def test_ctrl_c_ends_it_with_all_that_it_started(self) -> None:
        demo = subprocess.Popen(
            [self.root / "scripts/demo"],
            env=self.environment | {"LAB_WAITS": "yes"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        end = time.monotonic() + 60
        log = self.root / "out/demo/log"
        while not (log.exists() and "[3/3]" in log.read_text()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        # As the terminal does: to every process of the group.
        os.killpg(demo.pid, signal.SIGINT)
        printed, _ = demo.communicate(timeout=60)
        self.assertEqual(demo.returncode, 130)
        self.assertIn("Interrupted.", printed)
        with self.assertRaises(ProcessLookupError):
            os.killpg(demo.pid, 0)

    def test_a_folder_of_somebody_else_stays(self) -> None:
        kept = self.root / "out/demo/mine"
        kept.parent.mkdir(parents=True)
        kept.write_text("mine")
        self.demo()
        self.assertEqual(kept.read_text(), "mine")


if __name__ == "__main__":
    unittest.main()
