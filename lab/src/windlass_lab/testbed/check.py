"""The requirements of testbeds that this machine lacks, one line each."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.testbed import flows, sample
from windlass_lab.testbed.topology import Experiment

# Without these nothing runs: program, Debian package.
_NEEDED = dict.fromkeys(("chrt", "nsenter", "setpriv", "unshare"), "util-linux")
_USEFUL = {"iperf3": "iperf3", "iperf": "iperf", "nginx": "nginx-light", "curl": "curl"}
_CONTROLLERS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# The consequence if `has_real_time` is false.
LATE_LINKS = (
    "packets of a link wait for other programs, as this process may not use SCHED_FIFO "
    "(inside a cgroup of the cpu controller, for example)"
)
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21


def missing() -> Iterator[tuple[bool, str]]:
    """Each missing requirement: whether every run needs it, and a line that names it."""
    if not is_root():
        yield True, "root (CAP_NET_ADMIN and CAP_SYS_ADMIN): makes namespaces and devices"
    for program, package in _NEEDED.items():
        if not shutil.which(program):
            yield True, f"{program}: starts programs in namespaces (apt-get install {package})"
    if not Path("/proc/self/ns/net").exists():
        yield True, "network namespaces (CONFIG_NET_NS)"
    if not Path("/dev/net/tun").exists():
        yield False, "/dev/net/tun: windlass link and TUN devices need it (modprobe tun)"
    for program, package in _USEFUL.items():
        if not shutil.which(program):
            yield False, f"{program}: its flows cannot run (apt-get install {package})"
    if why := _no_samples():
        yield True, f"INET_DIAG: {why}"
    if is_root():
        yield from _less_exact()


def _less_exact() -> Iterator[tuple[bool, str]]:
    if why := _no_trace():
        yield False, f"tcp_probe: {why}; the other series are written"
    if not has_real_time():
        yield False, f"real-time scheduling: {LATE_LINKS}"


def controllers() -> list[str]:
    """The congestion controllers that this kernel has loaded."""
    try:
        return _CONTROLLERS.read_text(encoding="ascii").split()
    except OSError:
        return []


def require(experiment: Experiment) -> None:
    """Raises `LabError`, in one line, for the first thing that this experiment lacks here."""
    require_programs(experiment)
    there = controllers()
    for flow in experiment.flows:
        # ToU brings its own.
        if flow.app != "tou" and flow.controller not in there:
            raise LabError(
                f"testbed: flow {flow.name}: this kernel has no congestion controller "
                f"{flow.controller}; it has {', '.join(there)}"
            )


def require_programs(experiment: Experiment) -> None:
    """The same for all but the controllers, which can be loaded yet."""
    if not is_root():
        raise LabError("testbed: needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN)")
    needed = {**_NEEDED, **flows.needed(experiment.flows)}
    for program, package in needed.items():
        if not shutil.which(program):
            raise LabError(f"testbed: {program} is missing (apt-get install {package})")


def is_root() -> bool:
    """Whether this process may make namespaces and devices."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return os.geteuid() == 0
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    bits = int(effective.split()[1], 16)
    return bool(bits >> _CAP_NET_ADMIN & 1 and bits >> _CAP_SYS_ADMIN & 1)


def has_real_time() -> bool:
    """Whether programs that this process starts may be scheduled before all others."""
    if not shutil.which("chrt"):
        return False
    tried = subprocess.run(["chrt", "--fifo", "1", "true"], capture_output=True, check=False)
    return tried.returncode == 0


def _no_samples() -> str:
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, sample.NETLINK_SOCK_DIAG) as diag:
            # The port belongs to no socket.
            list(sample.Sampler(diag, frozenset([0])).sample())
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _no_trace() -> str:
    if not shutil.which("unshare"):
        return "unshare is missing"
    command = ["unshare", "--mount", sys.executable, "-P", "-m", "windlass_lab.testbed.trace"]
    printed = subprocess.run(command, capture_output=True, text=True, check=False)
    return printed.stderr.strip().split("\n")[-1] if printed.returncode else ""
