#!/usr/bin/env python3
"""What the programs of `windlass split-ack` cost: ns a packet, by whose packet it is.

Needs root, iproute2 and iperf3; makes two network namespaces of its own.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "target/release/windlass"
STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
NAMES = {part: f"wsplit{os.getpid()}{part}" for part in ("client", "server")}
SERVER = "10.9.0.2"


def run(command: str, **options) -> str:
    """Runs a command and returns what it prints."""
    done = subprocess.run(command.split(), check=True, text=True, stdout=subprocess.PIPE, **options)
    return done.stdout


@contextmanager
def namespaces():
    """A client and a server, offloads on."""
    try:
        for name in NAMES.values():
            run(f"ip netns add {name}")
        client, server = NAMES["client"], NAMES["server"]
        run(f"ip -n {client} link add veth0 type veth peer veth0 netns {server}")
        for last, name in enumerate(NAMES.values(), 1):
            run(f"ip -n {name} address add 10.9.0.{last}/24 dev veth0")
            run(f"ip -n {name} link set veth0 up")
        yield
    finally:
        for name in NAMES.values():
            subprocess.run(["ip", "netns", "delete", name], check=False)


@contextmanager
def server():
    """iperf3 on two ports: one for the command, one for somebody else."""
    enter = ["ip", "netns", "exec", NAMES["server"], "taskset", "-c", "0", "iperf3", "-s", "-p"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    both = [subprocess.Popen([*enter, port], **quiet) for port in ("1", "2")]
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
    found = {}
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
    windlass = [*inside, BINARY, "split-ack", "--json", *options, "--"]
    own = ["sleep", str(seconds + 1)] if foreign else iperf(1, seconds)
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*windlass, *own], **pipes) as process:
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
        sys.exit("split_ack.py: needs root")
    run("cargo build -q --release -p windlass", cwd=ROOT)
    before = STATISTICS.read_text()
    with namespaces(), server():
        try:
            STATISTICS.write_text("1")
            measure("another program's", [], options.seconds, foreign=True)
            measure("the command's, after its first 3 ACKs", [], options.seconds, foreign=False)
            every = ["--acks", "1000000"]
            measure("the command's, each ACK in 4", every, options.seconds, foreign=False)
        finally:
            STATISTICS.write_text(before)
    print(f"load: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
