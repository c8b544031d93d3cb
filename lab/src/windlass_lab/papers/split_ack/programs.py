"""Servers of other people's TCP stacks: built from the repository before they are measured."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from windlass_lab.core.errors import LabError, RunError

_LWIP = "crates/probe/tests/lwip/server.c"
_SMOLTCP = "crates/probe/examples/smoltcp_server.rs"


def lwip_source() -> Path:
    """Its server's source. Raises `LabError` outside of the repository."""
    return _in_repository(_LWIP)


def smoltcp_source() -> Path:
    """Its server's source. Raises `LabError` outside of the repository."""
    return _in_repository(_SMOLTCP)


def _in_repository(name: str) -> Path:
    for above in Path(__file__).resolve().parents:
        if (above / name).is_file():
            return above / name
    raise LabError(f"cannot find {name}: run in the repository")


def compiler(source: Path, program: Path) -> list[str]:
    """The command that compiles lwIP's server."""
    return ["cc", "-I/usr/include/lwip", str(source), "-llwip", "-o", str(program)]


def compile_lwip(program: Path) -> None:
    """Makes lwIP's server. Raises `LabError` where that fails."""
    do(compiler(lwip_source(), program), "lwIP's server")


def build_smoltcp() -> Path:
    """Makes smoltcp's server, and says where it is. Raises `LabError` where that fails."""
    source = smoltcp_source()
    # Without optimization: it sends some packets, and the tests have built the same already.
    command = [
        *("cargo", "build", "--quiet", "--manifest-path", str(source.parents[1] / "Cargo.toml")),
        *("--example", source.stem, "--message-format", "json"),
    ]
    for line in do(command, "smoltcp's server").splitlines():
        made = json.loads(line)
        if made.get("executable") and made["target"]["name"] == source.stem:
            return Path(made["executable"])
    raise RunError("cannot make smoltcp's server: cargo does not say where it is")


def do(command: Sequence[str], what: str) -> str:
    """The standard output of a command. Raises `RunError` if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise RunError(f"cannot make {what}: {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise RunError(f"cannot make {what}: {lines[-1] if lines else command[0]}")
    return done.stdout
