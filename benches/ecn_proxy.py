#!/usr/bin/env python3
"""The cost of the packet path of `windlass ecn-proxy`: ns a packet, throughput, a full table.

Needs root, iproute2, iperf3, nftables (which marks packets), clang and bpftool (for a program that
does nothing), ab and nginx (short connections); builds three hosts with the lab's testbed, hence
`.venv/bin/python`.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import short_connections
from hosts import End, Link, Route, Testbed, Topology, host

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "target/release/examples"
STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
# The namespaces of the hosts, while they stand.
NAMES: dict[str, str] = {}
TOOLS = ("ip", "iperf3", "nft", "clang", "bpftool", "ab", "nginx")
FAR = "10.9.2.2"
# Bits a second, bits a second of CPU time, ACKs a packet.
Transfer = tuple[float, float, float]


def run(command: str, cwd: Path | None = None, given: str | None = None) -> str:
    """Runs a command and returns what it prints."""
    done = subprocess.run(
        command.split(), check=True, text=True, stdout=subprocess.PIPE, cwd=cwd, input=given
    )
    return done.stdout


def inside(part: str, command: str) -> str:
    """The same in a namespace."""
    return run(f"ip netns exec {NAMES[part]} {command}")


@contextmanager
def namespaces() -> Iterator[None]:
    """The served host, the router and the far host, offloads on; the far host has ECN."""
    topology = Topology(
        [host("host"), host("router", ip_forward=1), host("far", tcp_ecn=1)],
        [
            Link(
                End("router", [f"10.9.{subnet}.1/24"], device=own),
                End(part, [f"10.9.{subnet}.2/24"], device="router"),
            )
            for subnet, part, own in ((1, "host", "near"), (2, "far", "far"))
        ],
        routes=[Route("host", via="10.9.1.1"), Route("far", via="10.9.2.1")],
    )
    with Testbed(topology) as bed:
        NAMES.update({part: bed.namespace(part) for part in ("host", "router", "far")})
        yield


@contextmanager
def server() -> Iterator[None]:
    """iperf3 on the far host."""
    command = ["ip", "netns", "exec", NAMES["far"], "taskset", "-c", "0", "iperf3", "-s"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        time.sleep(0.5)
        try:
            yield
        finally:
            process.terminate()


@contextmanager
def proxy() -> Iterator[int]:
    """The programs at the router's interface; yields the process that has them."""
    command = ["ip", "netns", "exec", NAMES["router"], str(EXAMPLES / "attach"), "near"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.communicate()


@contextmanager
def marks(per_second: int) -> Iterator[None]:
    """So many packets a second from the served host get CE on their way from the router."""
    rule = f"ip ecn ect0 limit rate {per_second}/second burst 1 packets ip ecn set ce"
    hook = "{ type filter hook forward priority 0 ; }"
    for command in ("add table ip marks", f"add chain ip marks onward {hook}"):
        inside("router", f"nft {command}")
    inside("router", f"nft add rule ip marks onward oifname far {rule}")
    try:
        yield
    finally:
        inside("router", "nft delete table ip marks")


def iperf(seconds: float, options: str = "") -> tuple[float, float]:
    """Bits from the served host to the far one, all on one core: a second, and a second of the two
    processes' CPU time, in which the kernel forwards too. The latter is the same on a busy machine.
    """
    printed = json.loads(inside("host", f"taskset -c 0 iperf3 -J -c {FAR} -t {seconds} {options}"))
    rate = printed["end"]["sum_received"]["bits_per_second"]
    cpu = printed["end"]["cpu_utilization_percent"]
    return rate, rate / (cpu["host_total"] + cpu["remote_total"]) * 100


def packets() -> tuple[int, int]:
    """Packets from the served host to the router, and back: data, and ACKs."""
    [device] = json.loads(inside("router", "ip -s -j link show dev near"))
    return device["stats64"]["rx"]["packets"], device["stats64"]["tx"]["packets"]


def transfer(seconds: float) -> Transfer:
    """One run. The number of ACKs varies from run to run, with the proxy and without, and changes
    the throughput more than the proxy does.
    """
    data, acks = packets()
    rates = iperf(seconds)
    data_after, acks_after = packets()
    return *rates, (acks_after - acks) / max(data_after - data, 1)


def taken(pid: int) -> tuple[int, int]:
    """Nanoseconds that the programs of a process took, and packets."""
    sums = {"run_time_ns": 0, "run_cnt": 0}
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        for name, value in re.findall(r"^(run_time_ns|run_cnt):\t(\d+)$", path.read_text(), re.M):
            sums[name] += int(value)
    return sums["run_time_ns"], sums["run_cnt"]


def ns_per_packet(pid: int, traffic: Callable[[], object]) -> float:
    """The time of the program for one packet, in nanoseconds, as a mean over some traffic."""
    before = taken(pid)
    traffic()
    after = taken(pid)
    return (after[0] - before[0]) / max(after[1] - before[1], 1)


@contextmanager
def nothing() -> Iterator[None]:
    """A program that does nothing, at the router's interface."""
    with tempfile.TemporaryDirectory() as folder:
        built = f"{folder}/nothing.o"
        text = 'int nothing(void *skb) __attribute__((section("tc")));\n'
        text += "int nothing(void *skb) { return -1; }\n"
        run(f"clang -target bpf -O2 -xc -c -o {built} -", given=text)
        inside("router", "tc qdisc add dev near clsact")
        program = f"bpf direct-action object-file {built} section tc"
        inside("router", f"tc filter add dev near ingress {program}")
        try:
            yield
        finally:
            inside("router", "tc qdisc delete dev near clsact")


def measure_nothing(seconds: float) -> float:
    """Nanoseconds that the kernel's statistics say of a program that does nothing."""
    with server(), nothing():
        iperf(seconds)
        printed = json.loads(run("bpftool -j prog show name nothing"))
    program = max(printed if isinstance(printed, list) else [printed], key=lambda one: one["id"])
    return program["run_time_ns"] / max(program["run_cnt"], 1)


def measure_paths(seconds: float) -> dict[str, float]:
    """Nanoseconds a packet by what the packet is, both programs of the interface together."""
    costs = {"a program that does nothing": measure_nothing(seconds)}
    with server():
        with proxy() as pid:
            costs["not TCP"] = ns_per_packet(pid, lambda: iperf(seconds, "-u -b 500M"))
            costs["simulated and idle"] = ns_per_packet(pid, lambda: iperf(seconds))
            inside("host", "sysctl -qw net.ipv4.tcp_ecn=1")
            costs["both ends have ECN"] = ns_per_packet(pid, lambda: iperf(seconds))
            inside("host", "sysctl -qw net.ipv4.tcp_ecn=0")
        with proxy() as pid, marks(2000):
            costs["a hole open nearly always"] = ns_per_packet(pid, lambda: iperf(seconds))
        # Loading the programs takes seconds, and the transfer must outlast that.
        command = f"ip netns exec {NAMES['host']} taskset -c 0 iperf3 -c {FAR} -t {seconds + 30}"
        with subprocess.Popen(command.split(), stdout=subprocess.DEVNULL) as older:
            time.sleep(1)
            with proxy() as pid:
                costs["older than the proxy"] = ns_per_packet(pid, lambda: time.sleep(seconds))
            older.terminate()
    return costs


def measure_throughput(rounds: int, seconds: float) -> dict[str, list[Transfer]]:
    """Transfers with the proxy and without, in turns; who begins changes from round to round."""
    runs: dict[str, list[Transfer]] = {"with": [], "without": []}
    hooks: dict[str, Callable[[], AbstractContextManager]] = {
        "with": proxy,
        "without": nullcontext,
    }
    with server():
        for at in range(rounds):
            for name in sorted(runs, reverse=at % 2 == 0):
                with hooks[name]():
                    runs[name].append(transfer(seconds))
    return runs


def print_throughput(runs: dict[str, list[Transfer]]) -> None:
    """Medians, and their ratios."""
    medians = {}
    for name, transfers in runs.items():
        rate, cpu, acks = (statistics.median(column) for column in zip(*transfers, strict=True))
        medians[name] = rate, cpu
        printed = f"{rate / 1e9:.2f} Gbit/s, {cpu / 1e9:.2f} Gbit a second of CPU time"
        print(f"{name} the proxy: {printed}, {acks:.2f} ACKs a packet")
    pairs = list(zip(runs["with"], runs["without"], strict=True))
    for at, what in enumerate(("throughput", "throughput by CPU time")):
        ratio = medians["with"][at] / medians["without"][at]
        paired = statistics.median(ours[at] / theirs[at] for ours, theirs in pairs)
        print(f"{what}, with over without: {ratio:.3f}; median of rounds: {paired:.3f}", flush=True)


def measure_table(flows: int) -> dict[str, int]:
    """Nanoseconds per packet, and memory, with `flows` connections in the table."""
    return json.loads(run(f"{EXAMPLES}/table {flows}"))


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="of throughput (default: 5)")
    parser.add_argument("--seconds", type=float, default=3, help="of each run (default: 3)")
    parser.add_argument(
        "--requests", type=int, default=10_000, help="short connections a round (default: 10000)"
    )
    parser.add_argument(
        "--only-short", action="store_true", help="measure the short connections and nothing else"
    )
    parser.add_argument("--flows", type=int, nargs="*", default=[1000, 1_000_000])
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("error: needs root")
    # scripts/setup unpacks nginx beside the interpreter.
    os.environ["PATH"] += f"{os.pathsep}{Path(sys.executable).parent}"
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        sys.exit(f"error: needs {', '.join(missing)}")
    run("cargo build -q --release -p windlass-ecn-proxy --examples", cwd=ROOT)
    before = STATISTICS.read_text()
    with namespaces():
        requests, rounds = options.requests, options.rounds
        short = short_connections.measure(NAMES, FAR, proxy, rounds, requests)
        print(short_connections.describe(short), flush=True)
        if options.only_short:
            print(f"load: {os.getloadavg()[0]:.1f}")
            return
        print_throughput(measure_throughput(options.rounds, options.seconds))
        try:
            STATISTICS.write_text("1")
            paths = measure_paths(options.seconds)
            tables = [measure_table(flows) for flows in options.flows]
        finally:
            STATISTICS.write_text(before)
    for name, cost in paths.items():
        print(f"{name}: {cost:.0f} ns a packet")
    for table in tables:
        size = table["memory_bytes"] / 1e6
        print(f"{table['flows']} flows: {table['ns_per_packet']} ns a packet, {size:.0f} MB")
    print(f"load: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
