#!/usr/bin/env python3
"""Encrypted ToU beside other tunnels: the same TCP connections through each of them.

Two namespaces. One connection at full speed goes over a veth with its offloads. Fifty at once
go over `windlass link`: a round trip of 20 ms, 0.5 % of the packets lost in each direction. iperf3
sends and receives. Within each round every tunnel runs once. Needs root, iperf3, and what
scripts/setup-bench installs.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError

import table
from hosts import End, Link, Testbed, Topology, host
from process import BenchError
from summary import spread
from tunnels import SERVICE_PORT, TUNNELS, WINDLASS, Tunnel, TwoHosts, listens, wait_until

TCP_BUFFER = 64 << 20
DELAY = "10ms"
LOSS = 0.005
VETH = ("10.9.0.1", "10.9.0.2")
LINK = ("10.8.0.1", "10.8.0.2")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# iperf3 that runs this much longer than it should hangs.
PATIENCE_S = 30


@dataclass(frozen=True)
class Case:
    """The connections through a tunnel, and whether the path loses packets."""

    name: str
    connections: int
    lossy: bool


CASES = (Case("one connection", 1, False), Case("fifty, 0.5 % lost", 50, True))
FIGURES = (
    "case", "tunnel", "Mbit/s median [min..max]", "CPU s/GB tunnel", "with iperf3",
    "fairness", "ToU's goodput over it",
)  # fmt: skip


@dataclass(frozen=True)
class Transfer:
    """One run of iperf3 through a tunnel."""

    mbit_per_s: float
    tunnel_s_per_gb: float
    """CPU time of the tunnel's programs at both ends."""
    all_s_per_gb: float
    """The same with both iperf3."""
    fairness_index: float
    """Jain's index of the connections' goodputs."""


@contextmanager
def two_hosts(lossy: bool) -> Iterator[TwoHosts]:
    """Two namespaces, the far one with iperf3's server."""
    sizes = f"4096 131072 {TCP_BUFFER}"
    # Reno is allowed in a namespace whatever this machine's default is.
    nodes = [
        host(name, tcp_congestion_control="reno", tcp_rmem=sizes, tcp_wmem=sizes)
        for name in ("near", "far")
    ]
    veth = Link(End("near", [f"{VETH[0]}/24"], "veth0"), End("far", [f"{VETH[1]}/24"], "veth0"))
    with Testbed(Topology(nodes, [] if lossy else [veth])) as bed:
        if lossy:
            _start_link(bed)
        serve = ["iperf3", "-s", "-p", str(SERVICE_PORT)]
        null = subprocess.DEVNULL
        bed.start("iperf3", "far", serve, stdout=null, stderr=null)
        wait_until("iperf3", lambda: listens(bed, "far", SERVICE_PORT))
        yield TwoHosts(bed, *(LINK if lossy else VETH))


def _start_link(bed: Testbed) -> None:
    ends = zip(("near", "far"), LINK, strict=True)
    ports = [f"{end[0]}0@{bed.namespace(end)}={address}/24" for end, address in ends]
    command = [str(WINDLASS), "link", "--delay", DELAY, "--loss", str(LOSS)]
    command += ["--aqm", "droptail:limit=10000"]
    command += [word for port in ports for word in ("--port", port)]
    bed.start("link", "", command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def is_up() -> bool:
        show = ["ip", "-n", bed.namespace("far"), "-brief", "address"]
        return LINK[1] in subprocess.run(show, capture_output=True, text=True, check=True).stdout

    wait_until("link", is_up)


def cpu_s(hosts: TwoHosts) -> dict[str, float]:
    """User and system time of all processes of both hosts: of the tunnel's, and of iperf3's."""
    total = {"tunnel": 0.0, "iperf3": 0.0}
    for node in ("near", "far"):
        command = ["ip", "netns", "pids", hosts.bed.namespace(node)]
        pids = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for pid in pids.split():
            try:
                stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            except OSError:
                continue
            name, _, fields = stat.partition(")")
            kind = "iperf3" if name.endswith("(iperf3") else "tunnel"
            user, system = fields.split()[11:13]
            total[kind] += (int(user) + int(system)) / TICKS_PER_S
    return total


def run_once(case: Case, tunnel: Tunnel, seconds: float) -> Transfer:
    """One transfer in hosts and through a tunnel of its own."""
    with two_hosts(case.lossy) as hosts:
        address, port = tunnel.start(hosts)
        before = cpu_s(hosts)
        command = ["ip", "netns", "exec", hosts.bed.namespace("near"), "iperf3", "--json"]
        command += ["-c", address, "-p", str(port), "-P", str(case.connections)]
        command += ["-t", f"{seconds:g}", "-l", "128K"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=seconds + PATIENCE_S
            )
        except subprocess.TimeoutExpired:
            raise BenchError(f"{case.name}: iperf3 through {tunnel.name} hangs") from None
        printed = json.loads(done.stdout or "{}")
        if done.returncode != 0:
            said = printed.get("error") or done.stderr.strip()
            raise BenchError(f"{case.name}: iperf3 through {tunnel.name}: {said}")
        after = cpu_s(hosts)
        end = printed["end"]
        gigabytes = end["sum_received"]["bytes"] / 1e9
        if gigabytes <= 0:
            raise BenchError(f"{case.name}: {tunnel.name} carried nothing")
        tunnel_s = after["tunnel"] - before["tunnel"]
        # The client of iperf3 has ended: it says its share itself.
        share = end["cpu_utilization_percent"]["host_total"] / 100
        client_s = share * end["sum_sent"]["seconds"]
        iperf_s = after["iperf3"] - before["iperf3"] + client_s
        rates = [one["receiver"]["bits_per_second"] for one in end["streams"]]
        return Transfer(
            end["sum_received"]["bits_per_second"] / 1e6,
            tunnel_s / gigabytes,
            (tunnel_s + iperf_s) / gigabytes,
            fairness_index(rates),
        )


def fairness_index(rates: list[float]) -> float:
    """Jain's index."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 0.0


def run_all(tunnels: list[Tunnel], rounds: int, seconds: float) -> dict[tuple, list[Transfer]]:
    """All transfers, by case and tunnel."""
    runs: dict[tuple, list[Transfer]] = {}
    for number in range(1, rounds + 1):
        for case in CASES:
            for tunnel in tunnels:
                done = run_once(case, tunnel, seconds)
                runs.setdefault((case.name, tunnel.name), []).append(done)
                progress = f"round {number} of {rounds}: {case.name}, {tunnel.name}"
                print(f"{progress}: {done.mbit_per_s:.0f} Mbit/s", file=sys.stderr, flush=True)
    return runs


def row(case: str, tunnel: str, runs: list[Transfer]) -> dict:
    """One row of the table: medians."""

    def median(field: str) -> float:
        return statistics.median(getattr(run, field) for run in runs)

    return {
        "case": case,
        "tunnel": tunnel,
        "runs": len(runs),
        "mbit_per_s": spread([run.mbit_per_s for run in runs]),
        "tunnel_cpu_s_per_gb": median("tunnel_s_per_gb"),
        "all_cpu_s_per_gb": median("all_s_per_gb"),
        "fairness_index": median("fairness_index"),
    }


def add_ratios(rows: list[dict]) -> None:
    """ToU's goodput over that of each other tunnel in the same case."""
    own = {one["case"]: one["mbit_per_s"]["median"] for one in rows if one["tunnel"] == "tou"}
    for one in rows:
        if one["tunnel"] != "tou" and one["case"] in own:
            one["goodput_ratio"] = own[one["case"]] / one["mbit_per_s"]["median"]


def cells(row: dict) -> tuple[str, ...]:
    rate = row["mbit_per_s"]
    return (
        row["case"],
        row["tunnel"],
        f"{rate['median']:.0f} [{rate['min']:.0f}..{rate['max']:.0f}]",
        f"{row['tunnel_cpu_s_per_gb']:.2f}",
        f"{row['all_cpu_s_per_gb']:.2f}",
        f"{row['fairness_index']:.3f}",
        f"{row['goodput_ratio']:.2f}" if "goodput_ratio" in row else "-",
    )


def available(names: list[str]) -> list[Tunnel]:
    """The tunnels whose programs are there; says which are not."""
    tunnels = []
    for name in names:
        tunnel = TUNNELS[name]
        missing = [str(one) for one in tunnel.needs if not shutil.which(one)]
        if missing:
            print(f"without {name}: {', '.join(missing)} (scripts/setup-bench)", file=sys.stderr)
        else:
            tunnels.append(tunnel)
    return tunnels


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each (5)")
    parser.add_argument("--seconds", type=float, default=4, help="of each run (4)")
    parser.add_argument("--only", metavar="TUNNEL,...", help=f"of {','.join(TUNNELS)}")
    parser.add_argument("--json", action="store_true", help="print one JSON object, not a table")
    chosen = parser.parse_args()
    chosen.only = chosen.only.split(",") if chosen.only else list(TUNNELS)
    unknown = [name for name in chosen.only if name not in TUNNELS]
    if unknown:
        parser.error(f"no tunnel {', '.join(unknown)}: expected some of {', '.join(TUNNELS)}")
    if chosen.rounds < 1 or chosen.seconds < 1:
        parser.error("--rounds and --seconds must be at least 1")
    return chosen


def main() -> int:
    chosen = arguments()
    if os.geteuid() != 0 or not shutil.which("iperf3"):
        print("skipped, nothing measured: needs root and iperf3", file=sys.stderr)
        return 0
    load = {"cores": os.cpu_count(), "start": os.getloadavg()[0]}
    try:
        runs = run_all(available(chosen.only), chosen.rounds, chosen.seconds)
    except (BenchError, CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    rows = [row(case, tunnel, done) for (case, tunnel), done in sorted(runs.items())]
    add_ratios(rows)
    if chosen.json:
        print(json.dumps({"version": 1, "load_average": load, "rows": rows}, indent=2))
    else:
        print(table.aligned(FIGURES, [cells(one) for one in rows], words=2))
        print(f"\nload average of a minute {load['start']:.2f} at the start")
    return 0


if __name__ == "__main__":
    sys.exit(main())
