"""The programs of the bench of ToU, and the two hosts between which they run."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hosts import End, Link, Testbed, Topology, host
from process import BenchError

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "target/release/examples"
PEERS = ROOT / "benches/tou-peers"
RUST_PEERS = PEERS / "target/release/windlass-tou-peers"
C_PEER = PEERS / "target/usrsctp"

SENDER, RECEIVER = "10.9.0.1", "10.9.0.2"
UDP_PORT = 7000
OFFLOADS = ("tso", "gso", "tx-udp-segmentation", "gro")
# The most that TCP's buffers grow to, in bytes.
TCP_BUFFER = 64 << 20
# Of a connection of ToU; the socket's own buffer has 4 MiB, headers and gaps included.
TOU_BUFFER_KIB = 2048
# A program that runs this much longer than its arguments ask for hangs.
PATIENCE_S = 60


@dataclass(frozen=True)
class Program:
    """A transport: its receiver, and its sender, which gets the seconds after `send`."""

    name: str
    receive: tuple[str, ...]
    send: tuple[str, ...]
    send_last: tuple[str, ...] = ()
    """Arguments after the number of seconds."""


def _rust_peer(name: str, word: str) -> Program:
    own, address = (str(RUST_PEERS), word), f"{RECEIVER}:{UDP_PORT}"
    return Program(name, (*own, "receive", address), (*own, "send", address))


def tou_programs(bulk: Path, suffix: str = "") -> list[Program]:
    """A build of `crates/tou/examples/bulk.rs`: without encryption, and with it."""
    address, buffer = f"{RECEIVER}:{UDP_PORT}", str(TOU_BUFFER_KIB)
    receive = (str(bulk), "receive", address, buffer)
    send = (str(bulk), "send", address, buffer)
    return [
        Program(f"tou{suffix}", receive, send),
        Program(f"tou-tls{suffix}", (*receive, "--secure"), send, ("--secure",)),
    ]


def _known() -> list[Program]:
    sctp = (str(C_PEER), RECEIVER, str(UDP_PORT))
    return [
        *tou_programs(EXAMPLES / "bulk"),
        _rust_peer("udp", "udp"),
        _rust_peer("tcp-reno", "tcp:reno"),
        _rust_peer("tcp-cubic", "tcp:cubic"),
        _rust_peer("tls-aws-lc", "tls:aws-lc"),
        _rust_peer("tls-ring", "tls:ring"),
        _rust_peer("quinn", "quinn"),
        Program("usrsctp", (sctp[0], "receive", *sctp[1:]), (sctp[0], "send", *sctp[1:])),
    ]


PROGRAMS = {program.name: program for program in _known()}


def build(names: list[str]) -> list[str]:
    """Builds what these programs need, and returns the names of those that are there."""
    cargo = ["cargo", "build", "--quiet", "--locked", "--release"]
    examples = ["--example", "bulk", "--example", "many"]
    subprocess.run(
        [*cargo, "-p", "windlass-tou", "--features", "secure", *examples], check=True, cwd=ROOT
    )
    if any(PROGRAMS[name].receive[0] == str(RUST_PEERS) for name in names):
        subprocess.run(cargo, check=True, cwd=PEERS)
    if "usrsctp" in names and not _build_usrsctp():
        print("usrsctp is missing (scripts/setup-bench): without it", file=sys.stderr)
        return [name for name in names if name != "usrsctp"]
    return names


def _build_usrsctp() -> bool:
    C_PEER.parent.mkdir(exist_ok=True)
    source = str(PEERS / "usrsctp/usrsctp.c")
    has_header = subprocess.run(
        ["cc", "-E", "-xc", "-"], input="#include <usrsctp.h>", text=True, capture_output=True
    )
    if has_header.returncode != 0:
        return False
    subprocess.run(["cc", "-O2", "-o", str(C_PEER), source, "-lusrsctp"], check=True)
    return True


@dataclass(frozen=True)
class Hosts:
    """Two network namespaces and a veth between them."""

    sender: str
    receiver: str

    def counter(self, host: str, protocol: str, name: str) -> int:
        """One of the counters of /proc/net/snmp."""
        command = ["ip", "netns", "exec", host, "cat", "/proc/net/snmp"]
        done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE)
        return snmp(done.stdout, protocol, name)


def snmp(text: str, protocol: str, name: str) -> int:
    """A counter out of /proc/net/snmp: a line of names, a line of numbers."""
    names, numbers = re.findall(rf"^{protocol}: (.*)$", text, re.M)
    return int(dict(zip(names.split(), numbers.split(), strict=True))[name])


@contextmanager
def hosts(offloads: bool) -> Iterator[Hosts]:
    """The two hosts, MTU 1500."""
    switched = {} if offloads else dict.fromkeys(OFFLOADS, False)
    sizes = f"4096 131072 {TCP_BUFFER}"
    topology = Topology(
        [host(name, tcp_rmem=sizes, tcp_wmem=sizes) for name in ("sender", "receiver")],
        [
            Link(
                End("sender", [f"{SENDER}/24"], "veth0", offloads=switched),
                End("receiver", [f"{RECEIVER}/24"], "veth0", offloads=switched),
            )
        ],
    )
    with Testbed(topology) as bed:
        yield Hosts(bed.namespace("sender"), bed.namespace("receiver"))


@dataclass(frozen=True)
class Ended:
    """A program that has ended: what it printed last, as JSON, and its user and system time."""

    figures: dict
    cpu_s: float


class Running:
    """A program on a host and on one core."""

    def __init__(self, host: str, core: int, command: list[str], limit_s: float) -> None:
        inside = ["ip", "netns", "exec", host, "taskset", "-c", str(core), *command]
        self.command = command
        self.child = subprocess.Popen(inside, stdout=subprocess.PIPE, text=True)
        self.timer = threading.Timer(limit_s, self.child.kill)
        self.timer.start()

    def line(self) -> str:
        """The next line that it prints."""
        assert self.child.stdout
        return self.child.stdout.readline()

    def wait_ready(self) -> None:
        """Waits until it can be reached."""
        if self.line() != "ready\n":
            self.kill()
            raise BenchError(f"{' '.join(self.command)} did not get ready")

    def end(self) -> Ended:
        """Waits for its end."""
        assert self.child.stdout
        lines = self.child.stdout.read().splitlines()
        # Only wait4 tells the use of this one child.
        _, status, usage = os.wait4(self.child.pid, 0)
        self.timer.cancel()
        self.child.returncode = os.waitstatus_to_exitcode(status)
        self.child.stdout.close()
        if self.child.returncode != 0 or not lines:
            status = self.child.returncode
            raise BenchError(f"{' '.join(self.command)} ended with status {status}")
        return Ended(json.loads(lines[-1]), usage.ru_utime + usage.ru_stime)

    def kill(self) -> None:
        """Ends it, if it runs."""
        self.timer.cancel()
        if self.child.returncode is None:
            self.child.kill()
            self.child.wait()


def run_pair(pair: Hosts, receive: list[str], send: list[str], seconds: float) -> tuple:
    """A receiver on core 1, a sender on core 0: how both ended."""
    limit_s = seconds + PATIENCE_S
    receiver = Running(pair.receiver, 1, receive, limit_s)
    try:
        receiver.wait_ready()
        sender = Running(pair.sender, 0, send, limit_s)
        try:
            sent = sender.end()
        finally:
            sender.kill()
        return sent, receiver.end()
    finally:
        receiver.kill()


def require_machine() -> str | None:
    """Why nothing can be measured here; None if it can."""
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    if len(os.sched_getaffinity(0) & {0, 1}) < 2:
        return "needs the cores 0 and 1"
    missing = [tool for tool in ("ip", "taskset") if not shutil.which(tool)]
    return f"needs {', '.join(missing)}" if missing else None
