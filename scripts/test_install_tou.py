"""`make install-tou`: what it needs of a machine, and what it says at its end."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
# The programs that a minimal system has anyway.
BASE = ("bash", "cut", "dirname", "head", "id", "sed", "sort")


class Setup(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for name in BASE:
            found = shutil.which(name)
            assert found is not None, name
            (self.bin / name).symlink_to(found)
        (self.root / "scripts").mkdir()
        for name in ("setup", "common"):
            shutil.copy(SCRIPTS / name, self.root / "scripts" / name)
        (self.root / "Cargo.toml").write_text('rust-version = "1.80"\n')

    def program(self, name: str, prints: str) -> None:
        path = self.bin / name
        path.write_text(f"#!{self.bin / 'bash'}\necho '{prints}'\n")
        path.chmod(0o755)

    def setup_of_tou(self) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", self.root / "scripts/setup", "tou"],
            env={"PATH": str(self.bin), "HOME": str(self.root)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def test_a_compiler_and_rust_are_enough(self) -> None:
        self.program("cc", "")
        self.program("cargo", "cargo 1.91.0 (abc 2026-01-01)")
        done = self.setup_of_tou()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertFalse((self.root / ".venv").exists())

    def test_without_a_compiler_it_says_so_and_asks_for_nothing_else(self) -> None:
        self.program("cargo", "cargo 1.91.0 (abc 2026-01-01)")
        done = self.setup_of_tou()
        self.assertEqual(done.returncode, 1)
        self.assertIn("build-essential is missing", done.stderr)
        for name in ("python", "nginx", "clang", "iperf"):
            self.assertNotIn(name, done.stderr)


class Report(unittest.TestCase):
    def install(self, prefix: Path) -> str:
        built = prefix / "built"
        built.mkdir()
        for name in ("libtou.a", "libtou.so"):
            (built / name).write_text("")
        return subprocess.run(
            [SCRIPTS / "install-tou"],
            env=os.environ | {"BUILT": str(built), "PREFIX": str(prefix)},
            capture_output=True,
            text=True,
            check=True,
        ).stderr

    def test_it_ends_with_the_installed_files_and_a_line_that_compiles(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            prefix = Path(folder).resolve()
            report = self.install(prefix)
            for file in (
                "include/tou.h",
                "lib/libtou.so",
                "share/man/man3/tou.3",
            ):
                self.assertIn(str(prefix / file), report)
                self.assertTrue((prefix / file).exists())
            last = report.splitlines()[-1]
            self.assertIn("cc program.c $(", last)
            if shutil.which("pkg-config"):
                flags = last[last.index("$(") + 2 : -1]
                found = subprocess.run(
                    ["sh", "-c", flags], capture_output=True, text=True, check=True
                )
                self.assertIn(f"-I{prefix}/include", found.stdout)


if __name__ == "__main__":
    unittest.main()
