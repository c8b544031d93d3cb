"""The requirements for measuring servers that this machine lacks."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.core.experiments.servers import (
    KernelServer,
    LwipServer,
    ServerCase,
    SmoltcpServer,
)
from windlass_lab.papers.split_ack.programs import compiler, lwip_source, smoltcp_source
from windlass_lab.testbed import check


def missing_requirement(cases: Sequence[ServerCase]) -> str:
    """The first thing that is missing for these servers, in one line; empty for nothing."""
    return next(_missing(cases), "")


def _missing(cases: Sequence[ServerCase]) -> Iterator[str]:
    if not check.is_root():
        yield "needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN)"
    kernels = [case.server for case in cases if isinstance(case.server, KernelServer)]
    needed = {"nsenter": "util-linux", "setpriv": "util-linux"}
    if kernels:
        needed["nginx"] = "nginx-light"
    if any(server.tls for server in kernels):
        needed["openssl"] = "openssl"
    for program, package in needed.items():
        if not shutil.which(program):
            yield f"{program} is missing (apt-get install {package})"
    if len(kernels) < len(cases) and not Path("/dev/net/tun").exists():
        yield "/dev/net/tun is missing (modprobe tun)"
    there = check.controllers()
    for server in kernels:
        if server.controller not in there:
            yield f"this kernel has no congestion controller {server.controller}"
    yield from _unbuilt({type(case.server) for case in cases})


def _unbuilt(kinds: set[type]) -> Iterator[str]:
    if LwipServer in kinds and not _has_lwip():
        yield "lwIP's server cannot be compiled (apt-get install build-essential liblwip-dev)"
    if SmoltcpServer in kinds and not _has_smoltcp():
        yield "smoltcp's server cannot be built (it takes cargo and the repository)"


def _has_smoltcp() -> bool:
    try:
        return smoltcp_source().is_file() and shutil.which("cargo") is not None
    except LabError:
        return False


def _has_lwip() -> bool:
    try:
        source = lwip_source()
        with tempfile.TemporaryDirectory() as folder:
            command = compiler(source, Path(folder) / "server")
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except (LabError, OSError):
        return False
