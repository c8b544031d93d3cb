"""A machine of its own for commands of a page: namespaces for network, mounts and processes."""

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import examples

PATIENCE_S = 900
# /run and the BPF file system are empty, so that names do not meet those of the real machine. All
# processes end with the first one.
PRELUDE = """
mount -t tmpfs tmpfs /run && mkdir /run/netns
mount -t bpf bpf /sys/fs/bpf
ip link set lo up
"""
APART = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
# Folders and files of the repository that commands of the pages name.
BORROWED = ("experiments", "examples", "lab", "packaging", "studies", "docs")
MARK = "=== command"
# A namespace has no way to the crates, so cargo takes those that the workspace has fetched.
TARGET = examples.REPOSITORY / "target/new-crate"
ENVIRONMENT = {"NO_COLOR": "1", "CARGO_NET_OFFLINE": "true", "CARGO_TARGET_DIR": str(TARGET)}


def is_possible() -> bool:
    """Whether this process may make namespaces."""
    done = subprocess.run([*APART, "true"], capture_output=True, check=False)
    return done.returncode == 0


def borrow(folder: Path) -> None:
    """Make the repository's folders visible in a folder."""
    for name in BORROWED:
        (folder / name).symlink_to(examples.REPOSITORY / name)


def replaced(text: str, replace: dict[str, str]) -> str:
    """A command with what stands for its placeholders."""
    for old, new in replace.items():
        text = text.replace(old, new)
    return text


def run(commands: list[str], folder: Path) -> list[tuple[int, list[str]]]:
    """Run commands in one shell. Returns the exit status and the lines of each that was begun; the
    shell ends at the first that fails.
    """
    script = folder / ".session"
    lines = [PRELUDE]
    for number, command in enumerate(commands):
        lines += [f"echo '{MARK}' {number}", command, f"status=$?; echo '{MARK} status' $status"]
        lines.append("[ $status = 0 ] || exit 1")
    script.write_text("\n".join(lines) + "\n")
    log = folder / ".log"
    with log.open("wb") as out:
        subprocess.run(
            [*APART, "bash", str(script)],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            timeout=PATIENCE_S, check=False,
            env={**ENVIRONMENT, **os.environ},
        )  # fmt: skip
    return parsed(log.read_text(errors="replace"))


def parsed(log: str) -> list[tuple[int, list[str]]]:
    """The parts of a log between marks."""
    found = []
    for part in re.split(rf"^{MARK} \d+$", log, flags=re.MULTILINE)[1:]:
        said, _, rest = part.partition(f"{MARK} status ")
        status = int(rest.split()[0]) if rest.split() else -1
        found.append((status, said.splitlines()))
    return found
