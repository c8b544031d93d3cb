#!/usr/bin/env python3
"""The cost of the programs of `windlass split-ack`: ns a packet of the command or of others.

Needs root, iproute2 and iperf3; builds two hosts with the lab's testbed, hence `.venv/bin/python`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hosts import End, Link, Testbed, Topology, host

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "target/release/windlass"
STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
# The namespaces of the hosts, while they stand.
NAMES: dict[str, str] = {}
SERVER = "10.9.0.2"


@contextmanager
def namespaces() -> Iterator[None]:
    """A client and a server, offloads on."""
    client = End("client", ["10.9.0.1/24"], device="veth0")
    served = End("server", [f"{SERVER}/24"], device="veth0")
    topology = Topology([host("client"), host("server")], [Link(client, served)])
    with Testbed(topology) as bed:
        NAMES.update({part: bed.namespace(part) for part in ("client", "server")})
        yield


@contextmanager
def server() -> Iterator[None]:
    """iperf3 on two ports: one for the command, one for somebody else."""
    enter = ["ip", "netns", "exec", NAMES["server"], "taskset", "-c", "0", "iperf3", "-s", "-p"]
    both = [
        subprocess.Popen([*enter, port], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for port in ("1", "2")
    ]
    time.sleep(1)
    try:
        yield
    finally:
        for process in both:
            process.terminate()
            process.wait()


def iperf(port: int, seconds: float) -> list[str]:
    """The server sends, the client acknowledges, both on one core."""
    return f"taskset -c 0 iperf3 -J -R -c {SERVER} -p {port} -t {seconds}".split()


def taken(pid: int) -> dict[str, tuple[int, int]]:
    """Nanoseconds and packets of each program that a process holds, by its type: tc or cgroup."""
    found: dict[str, tuple[int, int]] = {}
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(re.findall(r"^(\w+):\s+(\d+)$", path.read_text(), re.M))
        if "run_time_ns" in fields:
            kind = {3: "out", 8: "in"}[int(fields["prog_type"])]
            ns, count = found.get(kind, (0, 0))
            found[kind] = (ns + int(fields["run_time_ns"]), count + int(fields["run_cnt"]))
    return found


def measure(name: str, options: list[str], seconds: float, foreign: bool) -> None:
    """Prints what a packet took: of the command's transfer, or of one by somebody else."""
    inside = ["nsenter", f"--net=/run/netns/{NAMES['client']}"]
    windlass = [*inside, str(BINARY), "split-ack", "--json", *options, "--"]
    own = ["sleep", str(seconds + 1)] if foreign else iperf(1, seconds)
    with subprocess.Popen(
        [*windlass, *own], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(0.5)
        if foreign:
            subprocess.run([*inside, *iperf(2, seconds - 1)], check=True, stdout=subprocess.DEVNULL)
        else:
            time.sleep(seconds - 1)
        costs = taken(process.pid)
        report = json.loads(process.communicate()[1].splitlines()[-1])
    split = sum(connection["acks_split"] for connection in report["connections"])
    for kind, (ns, count) in sorted(costs.items()):
        if count:
            print(f"{name}, {kind}: {ns / count:.0f} ns a packet ({count} packets)", flush=True)
    print(f"{name}: {split} ACKs split")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4, help="of each run (default: 4)")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("error: needs root")
    subprocess.run(["cargo", "build", "-q", "--release", "-p", "windlass"], check=True, cwd=ROOT)
    before = STATISTICS.read_text()
    with namespaces(), server():
        try:
            STATISTICS.write_text("1")
            measure("another program's", [], options.seconds, foreign=True)
            measure("the command's, after its first 3 ACKs", [], options.seconds, foreign=False)
            kept = ["--rounds"]
            measure("the command's, with its rounds", kept, options.seconds, foreign=False)
            every = ["--acks", "1000000"]
            measure("the command's, each ACK in 4", every, options.seconds, foreign=False)
        finally:
            STATISTICS.write_text(before)
    print(f"load: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
