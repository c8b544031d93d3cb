"""The tag that scripts/release makes, and the commit that a build names."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
MANIFEST = '[workspace.package]\nversion = "1.2.3"\n'
CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-01-31)\n\n- Something.\n"
# The settings of this machine and its user, in place of which each test has its own.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{role}_NAME": "A Tester" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "tester@example.org" for role in ("AUTHOR", "COMMITTER")},
}


@unittest.skipUnless(shutil.which("git"), "git is missing")
class Checkout(unittest.TestCase):
    """A repository with the scripts, in which check-packaging has no complaint."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve() / "checkout"
        (self.root / "scripts").mkdir(parents=True)
        for name in ("common", "release"):
            shutil.copy(SCRIPTS / name, self.root / "scripts")
        agreeing = self.root / "scripts/check-packaging"
        agreeing.write_text("#!/bin/sh\n")
        agreeing.chmod(0o755)
        (self.root / "Cargo.toml").write_text(MANIFEST)
        (self.root / "CHANGELOG.md").write_text(CHANGELOG)
        self.git("init", "--quiet")
        self.commit()

    def git(self, *arguments: str) -> str:
        return self.run_in(self.root, "git", *arguments).stdout.strip()

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A commit")

    def run_in(
        self, folder: Path, *command: str, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=folder, env=ENVIRONMENT, check=check, capture_output=True, text=True
        )

    def release(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run_in(self.root, "scripts/release", *arguments, check=False)


class Tag(Checkout):
    def check_refused(self, message: str) -> None:
        before = self.git("tag")
        for arguments in (["--tag"], ["../out"]):
            with self.subTest(arguments=arguments):
                run = self.release(*arguments)
                self.assertEqual((run.returncode, run.stderr), (1, f"error: {message}\n"))
                self.assertEqual(self.git("tag"), before)

    def test_the_tag_has_a_message_and_is_at_the_last_commit(self) -> None:
        run = self.release("--tag")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(self.git("cat-file", "-t", "v1.2.3"), "tag")
        self.assertEqual(self.git("rev-parse", "v1.2.3^{}"), self.git("rev-parse", "HEAD"))
        self.assertEqual(
            self.git("for-each-ref", "--format=%(contents)", "refs/tags"), "Windlass 1.2.3"
        )

    @unittest.skipUnless(shutil.which("ssh-keygen"), "ssh-keygen is missing")
    def test_with_a_key_the_tag_is_signed(self) -> None:
        key = self.root.parent / "key"
        self.run_in(self.root, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
        run = self.release("--tag", str(key))
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("-----BEGIN SSH SIGNATURE-----", self.git("cat-file", "tag", "v1.2.3"))

    def test_a_version_without_a_section_is_refused(self) -> None:
        for text in ("## Unreleased\n", "## 1.2.30 (2026-01-31)\n", "## 1a2b3 (2026-01-31)\n"):
            (self.root / "CHANGELOG.md").write_text(text)
            self.commit()
            self.check_refused("CHANGELOG.md has no section '## 1.2.3 (DATE)'")

    def test_changes_that_are_not_committed_are_refused(self) -> None:
        (self.root / "new").touch()
        self.check_refused("the checkout has changes that are not committed")
        self.commit()
        (self.root / "new").write_text("changed\n")
        self.check_refused("the checkout has changes that are not committed")

    def test_a_tag_that_exists_is_refused(self) -> None:
        self.git("tag", "v1.2.3")
        self.check_refused("the tag v1.2.3 exists")

    def test_a_missing_key_is_refused(self) -> None:
        run = self.release("--tag", "/nonexistent")
        self.assertEqual((run.returncode, run.stderr), (1, "error: /nonexistent: no such key\n"))

    def test_help_names_both_forms(self) -> None:
        run = self.release("--help")
        self.assertEqual(run.returncode, 0)
        self.assertIn("scripts/release OUT [SSH_KEY]", run.stdout)
        self.assertIn("scripts/release --tag [SSH_KEY]", run.stdout)
        for arguments in ([], [""], ["a", "b", "c"], ["--tga"]):
            self.assertEqual(self.release(*arguments).returncode, 1)


class SourceCommit(Checkout):
    def source_commit(self, folder: Path) -> str:
        script = f"source {self.root}/scripts/common; source_commit"
        return self.run_in(folder, "bash", "-euc", script).stdout

    def test_a_checkout_has_its_last_commit(self) -> None:
        self.git("tag", "--annotate", "--message", "A tag", "v1.2.3")
        shown = self.source_commit(self.root).strip()
        self.assertRegex(shown, "^[0-9a-f]{12}$")
        self.assertTrue(self.git("rev-parse", "HEAD").startswith(shown))

    def test_changed_files_are_named(self) -> None:
        (self.root / "Cargo.toml").write_text("changed\n")
        self.assertRegex(self.source_commit(self.root), "^[0-9a-f]{12}-dirty\n$")

    def test_a_source_archive_has_none(self) -> None:
        for folder in (self.root.parent / "unpacked", self.root / "inside-another-repository"):
            folder.mkdir()
            self.assertEqual(self.source_commit(folder), "")


if __name__ == "__main__":
    unittest.main()
