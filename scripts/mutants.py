#!/usr/bin/env python3
"""Runs hand-made mutants: each breaks one place of the code, and a test must fail.

    scripts/mutants.py --list tests/mutants/engine.toml [--only 'GLOB'] [--jobs 1] [--json FILE]
                       [--check]

A list is a TOML file:

    # The command for mutants without one.
    test = "cargo test -p windlass-tcp --lib"

    [[mutant]]
    name = "plain-ack-ignores-ece"
    file = "crates/tcp/src/conn/acknowledge.rs"
    search = '''Flags::SYN | Flags::ECE'''
    replace = '''Flags::SYN'''
    test = "cargo test -p windlass-tcp --lib tests::fast_paths"
    caught_by = "an_echo_is_not_a_plain_ack"

Keys of a mutant:

    name       unique within the list; short words joined by hyphens
    file       path of the file to break, relative to the repository
    search     text that occurs exactly once in the file. White space in it matches any white
               space, so formatting the code does not break the list
    replace    the text that takes its place; may be empty
    test       shell command, run in the copy of the repository, that must fail
    build      shell command that must succeed before `test` runs. Default for `cargo test`: the
               same with --no-run. A mutant that does not compile proves nothing
    caught_by  name of the test written for this mutant, without its path. It must be among the
               tests that fail
    survives   the reason why no test can fail. The mutant is run all the same and must survive

The mutants never touch your checkout. They run in target/mutants/N/tree, a copy of all files that
git knows or would add, and build in target/mutants/N/build. Both stay, so that the next run builds
only what changed. Before the first mutant, every test command must pass on the unbroken copy.

One line per mutant says `caught`, `survived` or what else went wrong. A test that runs longer than
--timeout counts as caught. Exit status: 0 if every mutant did as its list says, 1 if one survived
without a reason, was caught by another test or despite its `survives`, 2 if the lists or the
unbroken code are at fault (also a `search` that does not match, or a mutant that does not compile).

--json writes an object: `tests`, the tests that pass on the unbroken copy, and `mutants`, each with
its `name`, its `status` and the tests that `failed`, all of them.
"""

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "mutants"
KEYS = {"name", "file", "search", "replace", "test", "build", "caught_by", "survives"}
# A function, or a line of `suite!`, which makes a test of each case of the judge.
TEST_NAME = re.compile(r"(?:\b(?:fn|def) |^ +)(\w+)(?:\(|: [\w:]+,$)", re.MULTILINE)
FAILED_TEST = re.compile(r"^test (\S+) \.\.\. FAILED$", re.MULTILINE)
PASSED_TEST = re.compile(r"^test (\S+) \.\.\. ok$", re.MULTILINE)
# With --quiet, and for the suites of Python.
FAILED_NAME = re.compile(r"^(?:---- (\S+) stdout ----|(?:FAIL|ERROR): (\S+))", re.MULTILINE)
OUTPUT_LINES_SHOWN = 30


class ListError(Exception):
    """A list of mutants, or the unbroken code, is at fault."""


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    search: str
    replace: str
    test: str
    build: str | None = None
    caught_by: str | None = None
    survives: str | None = None

    def apply(self, text: str) -> str:
        """The text of `file` with the one match of `search` replaced."""
        pattern = r"\s+".join(re.escape(word) for word in self.search.split())
        matches = list(re.finditer(pattern, text))
        if not pattern or len(matches) != 1:
            raise ListError(f"{self.name}: `search` occurs {len(matches)} times in {self.file}")
        match = matches[0]
        broken = text[: match.start()] + self.replace.strip() + text[match.end() :]
        if broken == text:
            raise ListError(f"{self.name}: `replace` changes nothing")
        return broken


@dataclasses.dataclass(frozen=True)
class Outcome:
    status: str
    ok: bool
    detail: str = ""
    failed: tuple[str, ...] = ()


def build_of(test: str) -> str | None:
    """The command that compiles what `cargo test` runs."""
    words = test.split()
    if words[:2] != ["cargo", "test"] or any(word in ";|&" for word in words):
        return None
    return test.replace("cargo test", "cargo test --no-run", 1).split(" -- ")[0]


def read_list(path: pathlib.Path) -> list[Mutant]:
    try:
        document = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ListError(f"{path}: {error}") from error
    mutants: list[Mutant] = []
    for entry in document.get("mutant", []):
        name = entry.get("name", f"number {len(mutants) + 1}")
        if unknown := entry.keys() - KEYS:
            raise ListError(f"{path}: {name}: unknown key `{min(unknown)}`")
        fields = {"test": document.get("test"), **entry}
        fields.setdefault("replace", "")
        for key in ("name", "file", "search", "test"):
            if not fields.get(key):
                raise ListError(f"{path}: {name}: `{key}` is missing")
        fields.setdefault("build", build_of(fields["test"]))
        mutants.append(Mutant(**fields))
    names = [mutant.name for mutant in mutants]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ListError(f"{path}: two mutants are named {min(twice)}")
    if not mutants:
        raise ListError(f"{path}: no mutants")
    return mutants


def git_files() -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.split("\0") if name]


class Copy:
    """A copy of the repository to break, with its own build directory."""

    def __init__(self, number: int, timeout: float):
        self.tree = WORK / str(number) / "tree"
        self.build = WORK / str(number) / "build"
        self.timeout = timeout

    def synchronize(self) -> None:
        """Copies what differs, and removes what the repository no longer has."""
        names = [name for name in git_files() if (ROOT / name).is_file()]
        for name in names:
            source, target = ROOT / name, self.tree / name
            if target.is_file() and target.read_bytes() == source.read_bytes():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            # Not copy2(): cargo compiles again what has a new time of modification.
            shutil.copyfile(source, target)
            shutil.copymode(source, target)
        wanted = {self.tree / name for name in names}
        for found in self.tree.rglob("*"):
            inside = found.relative_to(self.tree).parts
            if found.is_file() and found not in wanted and "target" not in inside:
                found.unlink()

    def run(self, command: str) -> tuple[int | None, str]:
        """Exit status (`None` after a timeout) and output of a shell command."""
        environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(self.build),
            "CARGO_TERM_COLOR": "never",
            "PROPTEST_FAILURE_PERSISTENCE": "off",
        }
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.tree,
            env=environment,
            text=True,
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return None, output
        return process.returncode, output

    def try_mutant(self, mutant: Mutant) -> Outcome:
        path = self.tree / mutant.file
        text = path.read_text()
        path.write_text(mutant.apply(text))
        try:
            if mutant.build is not None:
                status, output = self.run(mutant.build)
                if status != 0:
                    return Outcome("does not build", False, last_lines(output))
            return judge(mutant, *self.run(mutant.test))
        finally:
            path.write_text(text)


def judge(mutant: Mutant, status: int | None, output: str) -> Outcome:
    if status == 0:
        ok = mutant.survives is not None
        return Outcome("survived", ok, f"as expected: {mutant.survives}" if ok else "")
    failed = failed_tests(output)
    tests = tuple(failed)
    names = "timeout" if status is None else ", ".join(failed[:3])
    if len(failed) > 3:
        names += f" and {len(failed) - 3} more"
    if mutant.survives is not None:
        return Outcome("caught, against its `survives`", False, names, tests)
    if mutant.caught_by is not None and not names_test(mutant.caught_by, failed):
        return Outcome(f"caught, but not by {mutant.caught_by}", False, names, tests)
    return Outcome("caught", True, names, tests)


def names_test(name: str, failed: list[str]) -> bool:
    return any(path.rsplit("::", 1)[-1] == name for path in failed)


def failed_tests(output: str) -> list[str]:
    names = FAILED_TEST.findall(output)
    names += ["".join(groups) for groups in FAILED_NAME.findall(output)]
    return sorted(set(names))


def last_lines(output: str) -> str:
    return "\n    ".join(["", *output.splitlines()[-OUTPUT_LINES_SHOWN:]])


def check_matches(mutants: list[Mutant]) -> None:
    sources = {name for name in git_files() if name.endswith((".rs", ".py"))}
    functions = {
        function
        for name in sources
        if (ROOT / name).is_file()
        for function in TEST_NAME.findall((ROOT / name).read_text())
    }
    for mutant in mutants:
        try:
            mutant.apply((ROOT / mutant.file).read_text())
        except OSError as error:
            raise ListError(f"{mutant.name}: {error}") from error
        test = mutant.caught_by
        if test and test not in functions:
            raise ListError(f"{mutant.name}: no test is named {test}")


def check_unbroken(copy: Copy, mutants: list[Mutant]) -> list[str]:
    """The names of the tests that pass on the unbroken code."""
    commands = dict.fromkeys(mutant.test for mutant in mutants)
    passed: set[str] = set()
    for command in commands:
        print(f"unbroken: {command}", flush=True)
        status, output = copy.run(command)
        if status != 0:
            raise ListError(f"fails on the unbroken code: {command}{last_lines(output)}")
        if "running 0 tests" in output and not re.search(r"running [1-9]\d* tests?", output):
            raise ListError(f"runs no test: {command}")
        passed.update(PASSED_TEST.findall(output))
    return sorted(passed)


def run_all(mutants: list[Mutant], jobs: int, timeout: float, report: pathlib.Path | None) -> int:
    """Prints a line per mutant and writes the report; returns the exit status."""
    free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    copies = [Copy(number, timeout) for number in range(jobs)]
    for copy in copies:
        copy.synchronize()
        free.put(copy)
    tests = check_unbroken(copies[0], mutants)

    def one(mutant: Mutant) -> Outcome:
        copy = free.get()
        try:
            return copy.try_mutant(mutant)
        finally:
            free.put(copy)

    caught = bad = 0
    fault = False
    entries = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for mutant, outcome in zip(mutants, pool.map(one, mutants), strict=True):
            print(f"{outcome.status}: {mutant.name}  {outcome.detail}".rstrip(), flush=True)
            entry = {"name": mutant.name, "status": outcome.status, "failed": outcome.failed}
            entries.append(entry)
            caught += outcome.status == "caught"
            bad += not outcome.ok
            fault |= outcome.status == "does not build"
    if report is not None:
        report.write_text(json.dumps({"tests": tests, "mutants": entries}, indent=1) + "\n")
    equivalent = sum(mutant.survives is not None for mutant in mutants)
    print(f"mutants: {caught} of {len(mutants) - equivalent} caught, {equivalent} change nothing")
    return 2 if fault else int(bad > 0)


def main() -> int:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--list",
        action="append",
        required=True,
        type=pathlib.Path,
        metavar="FILE",
        help="a list of mutants; may be given several times",
    )
    parser.add_argument("--only", metavar="GLOB", help="only mutants with such a name")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="copies that run at once")
    parser.add_argument(
        "--timeout", type=float, default=600, metavar="SECONDS", help="of one command (default 600)"
    )
    parser.add_argument(
        "--json", type=pathlib.Path, metavar="FILE", help="write each mutant's failing tests here"
    )
    parser.add_argument(
        "--check", action="store_true", help="only check the lists and that each `search` matches"
    )
    options = parser.parse_args()
    try:
        mutants = [mutant for path in options.list for mutant in read_list(path)]
        if options.only:
            mutants = [m for m in mutants if fnmatch.fnmatch(m.name, options.only)]
        if not mutants:
            raise ListError(f"no mutant is named {options.only}")
        check_matches(mutants)
        if options.check:
            print(f"mutants: {len(mutants)} match the code")
            return 0
        return run_all(mutants, max(options.jobs, 1), options.timeout, options.json)
    except ListError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
