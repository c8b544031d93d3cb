#!/usr/bin/env python3
"""Served senders beside senders with ECN of their own, on the kernel, through `windlass link`.

Uploads of a host behind `windlass ecn-proxy` and of a host with ECN share a bottleneck. A run
prints one line: the rates, the served sender's least RTT, what the proxy counted; the last line is
how late the link's packets were. `--summary` reads such lines and prints the figures of
docs/results/ecn-proxy-beyond.md.
Needs root, iproute2 and ethtool; builds its hosts with the lab's testbed, hence
`.venv/bin/python`.
"""

import argparse
import functools
import json
import re
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hosts import End, Link, Route, Testbed, Topology, host

ROOT = Path(__file__).resolve().parent.parent
QUEUES = ("codel", "red:min=10,max=20", "pie")
CONTROLLERS = ("cubic", "reno", "bbr")
RATE_MBIT = 20
ONE_WAY_MS = 20
LAN = "10.7.1.1/24"
SERVER = "10.78.0.2"
NATIVE = "10.7.3.2"
TCP_CONGESTION = 13
SERVED_PORT, NATIVE_PORT = 5201, 5202
STARTED_S = 600.0
# One for each run, of a /24.
ADDRESSES = 240
COUNTERS = ("ect", "episodes", "answered_virtual_loss", "flight_fell", "flight_kept")


# Asks the proxy: a command of `windlass ecn-proxy`; returns what it prints.
Ask = Callable[[str], str]


@dataclass
class Cell:
    """One kind of run: the served host's controller, connections of each host, how it is served."""

    controller: str
    flows: int
    mode: str
    address: str = ""


def topology() -> Topology:
    """The served host behind its router, the native one beside; the link joins router, server."""
    nodes = [
        host("client", tcp_ecn=0),
        host("proxy", ip_forward=1),
        host("router", ip_forward=1),
        host("native", tcp_ecn=1, tcp_ecn_fallback=0),
        host("server", tcp_ecn=1),
    ]
    links = [
        Link(End("client", ["10.7.1.2/24"], device="up"), End("proxy", [LAN], device="lan")),
        Link(
            End("proxy", ["10.7.2.1/24"], device="up"), End("router", ["10.7.2.2/24"], device="a")
        ),
        Link(
            End("native", [f"{NATIVE}/24"], device="up"), End("router", ["10.7.3.1/24"], device="b")
        ),
    ]
    routes = [
        Route("client", via="10.7.1.1"),
        Route("proxy", via="10.7.2.2"),
        Route("native", via="10.7.3.1"),
    ]
    return Topology(nodes, links, routes=routes)


def inside(bed: Testbed, node: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", bed.namespace(node), *command]


def run(command: list[str]) -> str:
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


def wait_until(what: str, holds: "Iterator[bool]") -> None:
    """Asks until it holds; an error says what did not come."""
    end = time.monotonic() + STARTED_S
    for held in holds:
        if held:
            return
        if time.monotonic() > end:
            sys.exit(f"error: {what} did not come within {STARTED_S:g} s")
        time.sleep(0.1)


@contextmanager
def link(bed: Testbed, windlass: str, queue: str, account: dict) -> Iterator[None]:
    """The bottleneck; `account` has what it says of itself once it has ended."""
    command = [windlass, "link", "--rate", f"{RATE_MBIT}M", "--delay", f"{ONE_WAY_MS}ms"]
    command += ["--aqm", f"up:{queue}", "--json"]
    command += ["--port", f"ra@{bed.namespace('router')}=10.78.0.1/24"]
    command += ["--port", f"sb@{bed.namespace('server')}={SERVER}/24"]
    # A line a second, too much for a pipe that is read at the end.
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        ) as process,
    ):
        devices = inside(bed, "server", "ip", "-o", "addr", "show", "dev", "sb")

        def there() -> Iterator[bool]:
            while True:
                shown = subprocess.run(devices, text=True, capture_output=True, check=False)
                yield SERVER in shown.stdout

        try:
            wait_until("the link", there())
            run(inside(bed, "proxy", "ip", "route", "replace", "default", "via", "10.7.2.2"))
            run(inside(bed, "router", "ip", "route", "add", "10.7.1.0/24", "via", "10.7.2.1"))
            run(inside(bed, "server", "ip", "route", "add", "default", "via", "10.78.0.1"))
            yield
        finally:
            process.terminate()
            process.wait()
            log.seek(0)
            lines = [line for line in log if line.startswith("{")]
            account.update(json.loads(lines[-1]) if lines else {})


@contextmanager
def proxy(bed: Testbed, windlass: str, folder: str) -> Iterator[Ask]:
    """Yields a function that asks it. Loading the programs takes seconds of CPU time,
    so all runs of a process share one proxy.
    """
    path = f"{folder}/proxy.sock"
    command = [windlass, "ecn-proxy", "run", "--client-side", "lan", "--no-fallback"]
    command = inside(bed, "proxy", *command, "--socket", path)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        asked = [windlass, "ecn-proxy", "status", "--socket", path]

        def runs() -> Iterator[bool]:
            while True:
                yield subprocess.run(asked, capture_output=True, check=False).returncode == 0

        try:
            wait_until("the proxy", runs())
            yield lambda what: run([windlass, "ecn-proxy", *what.split(), "--socket", path])
        finally:
            process.terminate()


def counted(ask: Ask) -> Counter[str]:
    """The counters of interest, and the connections whose sender did not slow down."""
    printed = json.loads(ask("stats --json"))
    values = Counter({name: printed["counters"][name] for name in COUNTERS})
    values["no_response"] = printed["reasons"]["ect_withdrawn"].get("no-response", 0)
    return values


def send(address: str, port: int, controller: str, connections: int, seconds: float) -> None:
    """The sender's part, in a host's namespace: connections from one address."""
    sockets = []
    for _ in range(connections):
        sock = socket.socket()
        sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, controller.encode())
        sock.bind((address, 0))
        sock.connect((SERVER, port))
        sockets.append(sock)
    end = time.monotonic() + seconds
    block = bytes(16_384)

    def fill(sock: socket.socket) -> None:
        # The receiver may end first.
        with suppress(OSError):
            while time.monotonic() < end:
                sock.sendall(block)
        # Data still queued would take the link from the next run.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()

    in_threads([functools.partial(fill, sock) for sock in sockets])


def receive(port: int, connections: int, seconds: float) -> None:
    """The server's part: prints the rate of all connections, without the first quarter."""
    with socket.create_server((SERVER, port)) as listener:
        print("ready", flush=True)
        sockets = [listener.accept()[0] for _ in range(connections)]
    begin = time.monotonic() + seconds / 4
    end = begin + seconds * 3 / 4 - 0.2
    counts = [0] * connections

    def take(at: int) -> None:
        # The sender's reset may be lost, and is not sent again.
        sockets[at].settimeout(1)
        with suppress(OSError):
            while time.monotonic() < end + 1 and (data := sockets[at].recv(1 << 16)):
                if begin <= time.monotonic() < end:
                    counts[at] += len(data)

    in_threads([functools.partial(take, at) for at in range(connections)])
    print(sum(counts) * 8e-6 / (end - begin))


def in_threads(works: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def part(bed: Testbed, node: str, *arguments: object) -> Iterator[subprocess.Popen]:
    """This program's part in a namespace."""
    command = inside(bed, node, sys.executable, __file__, *map(str, arguments))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def native_controller(served: str) -> str:
    """BBR version 1 does not answer marks: beside it stands CUBIC."""
    return "cubic" if served == "bbr" else served


def least_rtt_ms(bed: Testbed) -> float:
    shown = run(inside(bed, "client", "ss", "-tinH", "state", "established"))
    return min((float(text) for text in re.findall(r"minrtt:([0-9.]+)", shown)), default=0.0)


def measure(bed: Testbed, ask: Ask, cell: Cell, seconds: int) -> dict:
    """One run."""
    ask("off" if cell.mode == "plain" else "on")
    run(inside(bed, "client", "sysctl", "-qw", f"net.ipv4.tcp_ecn={int(cell.mode == 'native')}"))
    # A host of its own for each run: the proxy remembers hosts whose senders do not slow down.
    run(inside(bed, "client", "ip", "addr", "add", f"{cell.address}/24", "dev", "up"))
    before = counted(ask)
    size = (cell.flows, seconds)
    controllers = (cell.controller, native_controller(cell.controller))
    with (
        part(bed, "server", "--receive", SERVED_PORT, *size) as for_served,
        part(bed, "server", "--receive", NATIVE_PORT, *size) as for_native,
    ):
        receivers = (for_served, for_native)
        for receiver in receivers:
            if not receiver.stdout or receiver.stdout.readline() != "ready\n":
                sys.exit("error: a receiver did not start")
        with (
            part(bed, "client", "--send", cell.address, SERVED_PORT, controllers[0], *size),
            part(bed, "native", "--send", NATIVE, NATIVE_PORT, controllers[1], *size),
        ):
            time.sleep(seconds * 0.7)
            least = least_rtt_ms(bed)
            printed = [
                receiver.communicate(timeout=seconds + STARTED_S)[0] for receiver in receivers
            ]
    own, native = (float(text) for text in printed)
    after = counted(ask)
    return {
        "controller": cell.controller,
        "flows": cell.flows,
        "mode": cell.mode,
        "served_mbit": round(own, 2),
        "native_mbit": round(native, 2),
        "least_rtt_ms": least,
        **{name: after[name] - before[name] for name in (*COUNTERS, "no_response")},
    }


def without_offloads(bed: Testbed) -> None:
    """Packets as they are on the wire."""
    devices = [("client", "up"), ("proxy", "lan"), ("proxy", "up"), ("router", "a")]
    for node, device in [*devices, ("native", "up"), ("router", "b")]:
        off = [word for feature in ("gro", "gso", "tso") for word in (feature, "off")]
        run(inside(bed, node, "ethtool", "-K", device, *off))


def measure_all(args: argparse.Namespace, cells: list[Cell]) -> None:
    """A line for each run, and one for the link when all have ended."""
    queue = args.queue.partition(":")[0]
    with tempfile.TemporaryDirectory() as folder, Testbed(topology()) as bed:
        without_offloads(bed)
        account: dict = {}
        try:
            with (
                link(bed, args.windlass, args.queue, account),
                proxy(bed, args.windlass, folder) as ask,
            ):
                for number in range(args.runs):
                    for at, cell in enumerate(cells):
                        cell.address = f"10.7.1.{10 + number * len(cells) + at}"
                        one = measure(bed, ask, cell, args.seconds)
                        print(json.dumps({"queue": queue, **one}), flush=True)
        finally:
            print(json.dumps({"queue": queue, "late_ms": account.get("late_ms")}), flush=True)


def summary(paths: list[str]) -> None:
    """A row for each cell, with the least, the median and the greatest ratio of its runs."""
    cells: dict[tuple, list[dict]] = defaultdict(list)
    for path in paths:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            if "late_ms" in one:
                print(f"<!-- link, {one['queue']}: late {one['late_ms']} ms -->")
                continue
            cells[one["queue"], one["controller"], one["flows"], one["mode"]].append(one)
    for (queue, controller, flows, mode), runs in sorted(cells.items()):
        ratios = sorted(one["served_mbit"] / max(one["native_mbit"], 0.01) for one in runs)
        both = [
            statistics.median(one[f"{end}_mbit"] for one in runs) for end in ("served", "native")
        ]
        # 0: a connection had ended before it was read.
        least = min((one["least_rtt_ms"] for one in runs if one["least_rtt_ms"]), default=0.0)
        cells_of_row = [
            *(queue, controller, f"{flows} + {flows}", mode, str(len(runs))),
            *(f"{rate:.1f}" for rate in both),
            f"{statistics.median(ratios):.2f}",
            f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
            f"{least:.1f}",
            *(str(sum(one[name] for one in runs)) for name in ("flight_fell", "flight_kept")),
            str(sum(one["no_response"] for one in runs)),
        ]
        print("| " + " | ".join(cells_of_row) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--windlass", default=str(ROOT / "target/release/windlass"))
    parser.add_argument("--queue", default="codel", help="as for windlass link --aqm")
    parser.add_argument("--controller", choices=CONTROLLERS, action="append", help="of the served")
    parser.add_argument("--flows", type=int, action="append", help="of each host")
    mode = "served by the proxy; with ECN of its own; bbr: with no ECN"
    parser.add_argument("--mode", choices=("proxy", "native", "plain"), action="append", help=mode)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--send", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--receive", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--summary", nargs="+", help="files of lines of earlier runs")
    args = parser.parse_args()
    if args.send:
        address, port, controller, connections, seconds = args.send
        send(address, int(port), controller, int(connections), float(seconds))
        return
    if args.receive:
        port, connections, seconds = args.receive
        receive(int(port), int(connections), float(seconds))
        return
    if args.summary:
        summary(args.summary)
        return
    cells = [
        Cell(controller, flows, mode)
        for controller in args.controller or CONTROLLERS
        for flows in args.flows or (1, 4)
        for mode in args.mode or ("proxy", "native", "plain")
        if mode == "proxy" or (mode == "plain") == (controller == "bbr")
    ]
    if args.runs * len(cells) > ADDRESSES:
        parser.error(f"--runs: at most {ADDRESSES // len(cells)} of these cells")
    measure_all(args, cells)


if __name__ == "__main__":
    main()
