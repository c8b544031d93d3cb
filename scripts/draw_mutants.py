#!/usr/bin/env python3
"""Draws mutants by a seed and writes them as a list for scripts/mutants.py.

    scripts/draw_mutants.py --seed 20261128 --count 130 >target/mutants/drawn.toml
    scripts/mutants.py --list target/mutants/drawn.toml

The mutants of Rust are those that cargo-mutants makes of the controllers, the receiver, the queues,
the link model and the NAT; the mutants of C are made here, of the ECN proxy's state machine: a
comparison, a logical operator or a sign is turned round, a returned 0 or 1 too, or an assignment is
left out. All have the same chance. The same seed and the same code give the same list.

Some do not compile and prove nothing, so draw more than are wanted.
"""

import argparse
import dataclasses
import json
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Files to mutate, with the command whose tests must fail.
RUST = {
    "crates/tcp/src/cc/**": "cargo test -p windlass-tcp --lib",
    "crates/tcp/src/receiver/**": "cargo test -p windlass-tcp --lib",
    "crates/aqm/src/**": "cargo test -p windlass-aqm",
    "crates/link-model/src/**": "cargo test -p windlass-link-model",
    "crates/traffic/src/**": "cargo test -p windlass-traffic",
    "crates/nat/src/**": "cargo test -p windlass-nat",
}
C_FILES = "crates/ecn-proxy-core/c/*.h"
C_TEST = "cargo test -p windlass-ecn-proxy-core"
C_SWAPS = [
    (r" == ", " != "),
    (r" != ", " == "),
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r"(?<=\()!(?=\w)", ""),
    (r"\breturn 0;", "return 1;"),
    (r"\breturn 1;", "return 0;"),
    (r"(?m)(?<=^)\t+[\w>.\[\]-]+ [|&+-]?= [^;\n]*;$", "\t(void)0;"),
    (r"\w+(?:->\w+)?\+\+;", "(void)0;"),
]


@dataclasses.dataclass(frozen=True, order=True)
class Place:
    """`replacement` for the characters from `begin` to `end` of a file."""

    file: str
    begin: int
    end: int
    replacement: str
    test: str

    def as_toml(self, number: int) -> str:
        text = (ROOT / self.file).read_text()
        begin, end = unique_context(text, self.begin, self.end)
        replace = text[begin : self.begin] + self.replacement + text[self.end : end]
        line = text.count("\n", 0, self.begin) + 1
        return (
            f"# {self.file}:{line}\n[[mutant]]\n"
            f'name = "drawn-{number}"\nfile = {json.dumps(self.file)}\n'
            f"search = {json.dumps(text[begin:end])}\nreplace = {json.dumps(replace)}\n"
            f"test = {json.dumps(self.test)}\n"
        )


def unique_context(text: str, begin: int, end: int) -> tuple[int, int]:
    """The lines around a place, as many as occur once in the text."""
    begin = text.rfind("\n", 0, begin) + 1
    end = text.find("\n", end)
    while occurrences(text, text[begin:end]) > 1:
        begin = text.rfind("\n", 0, max(begin - 1, 0)) + 1
        end = text.find("\n", end + 1)
    return begin, end


def occurrences(text: str, part: str) -> int:
    return len(re.findall(r"\s+".join(re.escape(word) for word in part.split()), text))


def offset(text: str, place: dict[str, int]) -> int:
    """The index of a line and column, both counted from 1."""
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: place["line"] - 1]) + place["column"] - 1


def rust_places(pattern: str, test: str) -> list[Place]:
    command = ["cargo", "mutants", "--list", "--json", "--workspace", "--file", pattern]
    command += ["--exclude", "crates/*/src/**/tests/**", "--exclude", "crates/*/src/**/tests.rs"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    places = []
    for mutant in json.loads(listed.stdout):
        text = (ROOT / mutant["file"]).read_text()
        span = mutant["span"]
        begin, end = offset(text, span["start"]), offset(text, span["end"])
        places.append(Place(mutant["file"], begin, end, mutant["replacement"], test))
    return places


def c_places() -> list[Place]:
    places = []
    for path in sorted(ROOT.glob(C_FILES)):
        text = path.read_text()
        code = without_comments(text)
        for pattern, replacement in C_SWAPS:
            for match in re.finditer(pattern, code):
                name = str(path.relative_to(ROOT))
                places.append(Place(name, match.start(), match.end(), replacement, C_TEST))
    return places


def without_comments(text: str) -> str:
    """The text with comments and lines of the preprocessor as blanks, so that places stay."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    return re.sub(r"/\*.*?\*/|^#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.DOTALL | re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=130)
    arguments = parser.parse_args()
    places = [place for pattern, test in RUST.items() for place in rust_places(pattern, test)]
    places = sorted({*places, *c_places()})
    if len(places) < arguments.count:
        parser.error(f"--count {arguments.count}: there are {len(places)} mutants")
    drawn = random.Random(arguments.seed).sample(places, arguments.count)
    print(f"# {arguments.count} of {len(places)} mutants, drawn with seed {arguments.seed}.\n")
    print("\n".join(place.as_toml(number) for number, place in enumerate(drawn, 1)), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
