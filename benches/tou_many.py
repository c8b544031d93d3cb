"""Many connections of ToU: what an idle one takes, how evenly active ones share, how fast they
open and close beside the kernel's TCP."""

import statistics
import sys

import table
from tou_programs import EXAMPLES, RECEIVER, UDP_PORT, hosts, run_pair

CONNECTIONS = 10_000
ACTIVE = 1000
OPENED = 10_000
TRANSPORTS = ("tou", "tcp")
MANY = str(EXAMPLES / "many")
IDLE_BYTES_MAX = 4096
FAIRNESS_INDEX_MIN = 0.9


def measure_opening(transport: str) -> dict:
    """Connections opened and closed, in namespaces that have seen none."""
    words = [f"{RECEIVER}:{UDP_PORT}", transport, str(OPENED)]
    accept, begin = ([MANY, role, *words] for role in ("accept", "open"))
    with hosts(True) as pair:
        sent, received = run_pair(pair, accept, begin, 60)
    return {
        "per_s": sent.figures["connections"] / sent.figures["seconds"],
        "client_cpu_us": sent.cpu_s / OPENED * 1e6,
        "server_cpu_us": received.cpu_s / OPENED * 1e6,
    }


def measure_holding(seconds: float) -> dict:
    """Many connections on one socket, some of them active."""
    words = [f"{RECEIVER}:{UDP_PORT}", str(CONNECTIONS), str(ACTIVE), str(seconds)]
    hold, fill = ([MANY, role, *words] for role in ("hold", "fill"))
    with hosts(True) as pair:
        sent, received = run_pair(pair, hold, fill, 60 + seconds)
        errors = pair.counter(pair.receiver, "Udp", "RcvbufErrors")
    figures = received.figures
    return {
        "idle_bytes": figures["idle_bytes"],
        "used_bytes": figures["used_bytes"],
        "active": figures["active"],
        "fairness_index": figures["fairness_index"],
        "gbit_per_s": figures["bytes"] * 8e-9 / seconds,
        "sent_again": sent.figures["retransmitted"],
        "rcvbuf_errors": errors,
    }


def medians(runs: list[dict]) -> dict:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def measure(rounds: int, seconds: float) -> tuple[dict, str]:
    """Medians, as figures and as text."""
    opening: dict[str, list[dict]] = {transport: [] for transport in TRANSPORTS}
    holding = []
    for number in range(1, rounds + 1):
        for transport, runs in opening.items():
            runs.append(measure_opening(transport))
            progress = f"round {number} of {rounds}: {transport}"
            print(f"{progress}: {runs[-1]['per_s']:.0f} a second", file=sys.stderr, flush=True)
        holding.append(measure_holding(seconds))
    figures = {
        "opening": {transport: medians(runs) for transport, runs in opening.items()},
        "holding": medians(holding),
    }
    return figures, report(figures)


def report(figures: dict) -> str:
    head = ("opened and closed", "a second", "client CPU us", "server CPU us", "a second over TCP")
    tcp = figures["opening"]["tcp"]["per_s"]
    lines = [
        (
            transport,
            f"{one['per_s']:.0f}",
            f"{one['client_cpu_us']:.1f}",
            f"{one['server_cpu_us']:.1f}",
            f"{one['per_s'] / tcp:.2f}",
        )
        for transport, one in figures["opening"].items()
    ]
    return "\n\n".join([table.aligned(head, lines, words=1), held(figures["holding"])])


def held(one: dict) -> str:
    """The figures of many connections at once, and their targets."""
    idle_met = "met" if one["idle_bytes"] <= IDLE_BYTES_MAX else "NOT MET"
    fair_met = "met" if one["fairness_index"] >= FAIRNESS_INDEX_MIN else "NOT MET"
    return (
        f"{CONNECTIONS} connections on one socket: {one['idle_bytes']:.0f} bytes each, nothing sent"
        f" or received (at most {IDLE_BYTES_MAX}: {idle_met}); {one['used_bytes']:.0f} with the\n"
        f"buffer of a byte sent\n"
        f"{ACTIVE} of them active: {one['active']:.0f} got something, fairness index"
        f" {one['fairness_index']:.3f} (at least {FAIRNESS_INDEX_MIN}: {fair_met}),"
        f" {one['gbit_per_s']:.2f} Gbit/s; {one['sent_again']:.0f}\n"
        f"segments sent again, {one['rcvbuf_errors']:.0f} found the socket full"
    )
