#!/usr/bin/env python3
"""Shows how a program reaches a server while both are behind NATs: two homes, each with a gateway
that hides it and admits answers only, a rendezvous on the Internet between them, a round trip of
40 ms. Prints when what happened. As root; the networks are namespaces that end with the script.

Exit status: 0 shown; 1 something failed; 2 not root, or a program is missing.
"""

import argparse
import contextlib
import datetime
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

DELAY = "20ms"
SIZE = 1_000_000
PATIENCE_S = 30.0
FIRST_BYTE = "curl has the first byte of the file"
RENDEZVOUS = "203.0.113.10"
VIA = f"--via {RENDEZVOUS} --config {os.devnull}"
# Of each home: the gateway's public address, and the network that the Internet's router is in.
PUBLIC = ("198.51.100", "192.0.2")
NAT = """
table inet nat {
  chain postrouting {
    type nat hook postrouting priority srcnat
    oifname "uplink" masquerade
  }
}
table inet filter {
  chain input {
    type filter hook input priority filter
    iifname "uplink" ct state established,related accept
    iifname "uplink" drop
  }
  chain forward {
    type filter hook forward priority filter
    ct state established,related accept
    iifname "uplink" drop
  }
}
"""


class DemoError(Exception):
    """A step of the demonstration failed; the message is one line."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened, in seconds since the start of `forward`."""

    time_s: float
    what: str


def run(command: str, stdin: str | None = None) -> str:
    """Runs a command of words without spaces."""
    done = subprocess.run(command.split(), input=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DemoError(f"{command}: {done.stderr.strip()}")
    return done.stdout


class Crossing:
    """The namespaces, and the programs in them."""

    def __init__(self, windlass: Path, folder: Path) -> None:
        self.windlass = windlass
        self.folder = folder
        self.prefix = f"demo{os.getpid()}"
        self.made: list[str] = []
        self.programs: list[subprocess.Popen] = []

    def name(self, role: str) -> str:
        return f"{self.prefix}{role}"

    def close(self) -> None:
        for program in reversed(self.programs):
            program.kill()
            program.wait()
        for name in self.made:
            subprocess.run(["ip", "netns", "delete", name], check=False)

    def namespace(self, role: str, forwards: bool = False) -> None:
        name = self.name(role)
        run(f"ip netns add {name}")
        self.made.append(name)
        run(f"ip -n {name} link set lo up")
        if forwards:
            # A minimal system has no sysctl.
            for key, value in (
                ("ip_forward", 1),
                ("conf/all/rp_filter", 0),
                ("conf/default/rp_filter", 0),
            ):
                self.inside(role, f"tee /proc/sys/net/ipv4/{key}", str(value))

    def inside(self, role: str, command: str, stdin: str | None = None) -> str:
        return run(f"ip netns exec {self.name(role)} {command}", stdin)

    def join(self, upper: tuple[str, str, str], lower: tuple[str, str, str]) -> None:
        """Joins two namespaces, each with a device and an address; the lower one's way out."""
        (role, device, address), (under, below, _) = upper, lower
        run(
            f"ip -n {self.name(role)} link add {device} type veth "
            f"peer name {below} netns {self.name(under)}"
        )
        for at, link, ip in (upper, lower):
            run(f"ip -n {self.name(at)} address add {ip}/24 dev {link}")
            run(f"ip -n {self.name(at)} link set {link} up")
        run(f"ip -n {self.name(under)} route add default via {address}")

    def start(self, role: str, command: list[str], **how: object) -> subprocess.Popen:
        words = ["ip", "netns", "exec", self.name(role), *command]
        program = subprocess.Popen(words, **how)  # type: ignore[call-overload]
        self.programs.append(program)
        return program

    def tou(self, role: str, command: str, **how: object) -> subprocess.Popen:
        """Starts `windlass tou`; the host's key has its role's name."""
        self.key(role)
        words = [str(self.windlass), "tou", *command.split(), "--key", str(self.folder / role)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return self.start(role, words, **{**quiet, **how})

    def key(self, role: str) -> str:
        command = f"{self.windlass} tou key --file {self.folder / role}"
        return next(word for word in run(command).split() if len(word) == 52)

    def build(self) -> None:
        """Two homes, each with a gateway, and the Internet with its delay."""
        self.namespace("internet", forwards=True)
        self.namespace("rendezvous")
        self.join(("internet", "net", "203.0.113.1"), ("rendezvous", "net", RENDEZVOUS))
        for index, home in enumerate("ab"):
            gateway = f"gateway{home}"
            self.namespace(gateway, forwards=True)
            self.namespace(home)
            public = PUBLIC[index]
            self.join(
                ("internet", f"site{home}", f"{public}.1"),
                (gateway, "uplink", f"{public}.2"),
            )
            private = ("192.168.1.1", f"192.168.1.{2 + index}")
            self.join((gateway, "lan", private[0]), (home, "net", private[1]))
            self.inside(gateway, "nft -f -", NAT)
        ports = [f"--port={device}@{self.name('internet')}" for device in ("entry", "exit")]
        words = [str(self.windlass), "link", "--delay", DELAY, *ports]
        self.programs.append(subprocess.Popen(words, stdout=subprocess.DEVNULL))
        route = f"ip -n {self.name('internet')} route add default dev entry table 100"
        wait(
            "the link",
            lambda: subprocess.run(route.split(), capture_output=True, check=False).returncode == 0,
        )
        for device in ("net", "sitea", "siteb"):
            run(f"ip -n {self.name('internet')} rule add iif {device} lookup 100")


def wait(what: str, done: Callable[[], bool]) -> None:
    """Polls a condition until it is true."""
    end = time.monotonic() + PATIENCE_S
    while not done():
        if time.monotonic() > end:
            raise DemoError(f"not within {PATIENCE_S:.0f} s: {what}")
        time.sleep(0.002)


def answers(crossing: Crossing, role: str, port: int) -> bool:
    command = [
        "ip",
        "netns",
        "exec",
        crossing.name(role),
        "bash",
        "-c",
        f"</dev/tcp/127.0.0.1/{port}",
    ]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def seconds(timestamp: str) -> float:
    return datetime.datetime.fromisoformat(timestamp).timestamp()


def of_log(path: Path, start: float) -> Iterator[Moment]:
    """The moments that `forward` logs."""
    for line in path.read_text().splitlines():
        record = json.loads(line)
        fields = record.get("fields", record)
        message = fields.get("message", "")
        at = seconds(record["timestamp"]) - start
        if message.startswith("forwarding"):
            yield Moment(at, "forward listens at its local port")
        elif message == "registered":
            yield Moment(at, f"the rendezvous sees this host at {fields['seen_as']}")
        elif message.endswith("path"):
            yield Moment(at, f"{message}: {fields['local']} to {fields['remote']}")
        elif message == "connection":
            yield Moment(at, "curl connects to that port, and waits")


def of_qlog(folder: Path, start: float) -> Iterator[Moment]:
    """The moments of the connection over ToU."""
    for path in folder.glob("*.sqlog"):
        header, *events = (json.loads(text) for text in path.read_text().split("\x1e")[1:])
        clock = header["trace"]["common_fields"]["reference_time"]["wall_clock_time"]
        for event in events:
            at = seconds(clock) + event["time"] / 1e3 - start
            if event["name"] != "tcp:state_updated":
                continue
            new = event["data"]["new"]
            if new == "syn_sent":
                yield Moment(at, "a ToU connection begins: SYN")
            elif new == "established":
                yield Moment(at, "established; the TLS handshake begins")


def serve(crossing: Crossing, content: bytes) -> None:
    """Starts the rendezvous, and a web server that home b exposes to home a."""
    web = crossing.folder / "web"
    web.mkdir()
    (web / "file").write_bytes(content)
    crossing.tou(
        "rendezvous", f"rendezvous --listen {RENDEZVOUS}:3478 --relay-address {RENDEZVOUS}"
    )
    server = f"{sys.executable} -m http.server 8080 --bind 127.0.0.1 --directory {web}"
    crossing.start("b", server.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log = crossing.folder / "expose.log"
    allowed = crossing.key("a")
    with log.open("w") as file:
        crossing.tou("b", f"expose web=127.0.0.1:8080 --allow {allowed} {VIA}", stderr=file)
    wait("the server", lambda: answers(crossing, "b", 8080))
    wait("the registration", lambda: "registered" in log.read_text())


def show(windlass: Path, folder: Path) -> list[Moment]:
    """Runs the crossing. Returns its moments, sorted."""
    crossing = Crossing(windlass, folder)
    log, qlog = folder / "forward.log", folder / "qlog"
    content = os.urandom(SIZE)
    try:
        crossing.build()
        serve(crossing, content)
        service = f"8080=web@{crossing.key('b')}"
        start = time.time()
        with log.open("w") as file:
            options = f"--verbose --json --qlog {qlog} {VIA}"
            crossing.tou("a", f"forward {service} {options}", stderr=file)
        wait("forward", lambda: "forwarding" in log.read_text())
        fetch = "curl -sSf --max-time 30 http://127.0.0.1:8080/file"
        curl = crossing.start("a", fetch.split(), stdout=subprocess.PIPE)
        assert curl.stdout is not None
        first = curl.stdout.read(1)
        first_at = time.time() - start
        received = first + curl.stdout.read()
        end_at = time.time() - start
    finally:
        crossing.close()
    if hashlib.sha256(received).digest() != hashlib.sha256(content).digest():
        raise DemoError(f"curl got {len(received)} of {SIZE} bytes")
    moments = [
        Moment(0.0, "forward starts"),
        *of_log(log, start),
        *of_qlog(qlog, start),
        Moment(first_at, FIRST_BYTE),
        Moment(end_at, f"curl has all {SIZE} bytes, and their SHA-256 is right"),
    ]
    return sorted(moments, key=lambda moment: moment.time_s)


def in_short(moments: list[Moment]) -> str:
    """The whole in a line."""
    first_s = next(moment.time_s for moment in moments if moment.what == FIRST_BYTE)
    first_ms, all_ms = first_s * 1e3, moments[-1].time_s * 1e3
    return (
        "curl behind one NAT has a file from behind another: "
        f"first byte after {first_ms:.0f} ms, all {SIZE / 1e6:g} MB after {all_ms:.0f} ms"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Crosses two NATs, and prints when what happened.",
        epilog="example: sudo scripts/demo_crossing.py",
    )
    root = Path(__file__).resolve().parent.parent
    parser.add_argument(
        "--windlass",
        type=Path,
        default=root / "target/release/windlass",
        help="the binary",
    )
    arguments = parser.parse_args()
    missing = [name for name in ("ip", "nft", "curl") if shutil.which(name) is None]
    if os.geteuid() != 0 or missing or not arguments.windlass.exists():
        needs = ", ".join(missing) or ("root" if os.geteuid() != 0 else str(arguments.windlass))
        print(f"error: the crossing of two NATs needs {needs}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with tempfile.TemporaryDirectory(prefix="windlass-crossing") as folder:
            moments = show(arguments.windlass.resolve(), Path(folder))
    except (DemoError, OSError, subprocess.TimeoutExpired) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(
        "A program behind one NAT fetches a file from a server behind another (round trip 40 ms):\n"
    )
    for moment in moments:
        print(f"{moment.time_s * 1e3:8.0f} ms  {moment.what}")
    print(f"\n{in_short(moments)}")
    return 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
    sys.exit(130)
