#!/usr/bin/env python3
"""One bulk stream of ToU beside other transports, between two namespaces with a core each.

Needs root, iproute2 and ethtool. CPU seconds are user and system time of the whole process, its
start included. Within each round every program runs once in both settings of the offloads, so that
what else the machine does meets all alike. Only the standard library is used. More, and what
`--connections` measures: benches/README.md.
"""

import argparse
import json
import os
import statistics
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError

import table
import tou_many
from process import BenchError
from summary import spread
from tou_programs import (
    PROGRAMS,
    Hosts,
    Program,
    build,
    hosts,
    require_machine,
    run_pair,
    tou_programs,
)

SETTINGS = {"on": True, "off": False}
# With more than that at the start, others use the cores too.
QUIET_LOAD = 0.5
FIGURES = (
    "offloads", "program", "Gbit/s median [min..max]", "CPU s/GB sender", "receiver", "sent again",
    "RcvbufErrors", "ToU's goodput over it", "ToU's CPU s/GB over it",
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """The least that ToU's goodput over a peer's is to be."""

    setting: str
    peer: str
    at_least: float
    peer_setting: str | None = None
    """The peer's setting, where it is another."""
    program: str = "tou"
    """`tou`, or `tou-tls`, which encrypts."""


TARGETS = (
    Target("on", "quinn", 2),
    Target("on", "tcp-reno", 1.2, "off"),
    Target("on", "tcp-cubic", 1.2, "off"),
    Target("on", "tcp-reno", 0.55),
    Target("on", "tcp-cubic", 0.55),
    Target("on", "udp", 0.6),
    Target("on", "quinn", 1.5, program="tou-tls"),
    Target("on", "tls-aws-lc", 0.7, program="tou-tls"),
    Target("on", "tls-ring", 0.7, program="tou-tls"),
    Target("off", "quinn", 1.6),
    Target("off", "udp", 0.75),
    Target("on", "usrsctp", 10),
    Target("off", "usrsctp", 10),
)


@dataclass(frozen=True)
class Transfer:
    """One run of a program."""

    gbit_per_s: float
    sender_s_per_gb: float
    receiver_s_per_gb: float
    sent_again: int | None
    """Segments that the sender sent again; None where it does not say."""
    rcvbuf_errors: int
    """Datagrams that found the receiver's socket full."""


def run_once(pair: Hosts, program: Program, seconds: float) -> Transfer:
    """One transfer; goodput and GB are of the data that arrived."""

    def counters() -> tuple[int, int]:
        retransmitted = pair.counter(pair.sender, "Tcp", "RetransSegs")
        return retransmitted, pair.counter(pair.receiver, "Udp", "RcvbufErrors")

    before = counters()
    send = [*program.send, str(seconds), *program.send_last]
    sent, received = run_pair(pair, list(program.receive), send, seconds)
    segments, errors = (now - then for now, then in zip(counters(), before, strict=True))
    gigabytes = received.figures["bytes"] / 1e9
    if gigabytes <= 0 or received.figures["seconds"] <= 0:
        raise BenchError(f"{program.name} carried nothing")
    return Transfer(
        gigabytes * 8 / received.figures["seconds"],
        sent.cpu_s / gigabytes,
        received.cpu_s / gigabytes,
        segments if program.name.startswith("tcp-") else sent.figures["retransmitted"],
        errors,
    )


def run_all(names: list[str], rounds: int, seconds: float) -> dict[tuple[str, str], list[Transfer]]:
    """All transfers, by setting and program."""
    runs: dict[tuple[str, str], list[Transfer]] = {}
    with ExitStack() as stack:
        pairs = {key: stack.enter_context(hosts(on)) for key, on in SETTINGS.items()}
        for number in range(1, rounds + 1):
            for setting, pair in pairs.items():
                for name in names:
                    done = run_once(pair, PROGRAMS[name], seconds)
                    runs.setdefault((setting, name), []).append(done)
                    progress = f"round {number} of {rounds}: offloads {setting}, {name}"
                    print(f"{progress}: {done.gbit_per_s:.2f} Gbit/s", file=sys.stderr, flush=True)
    return runs


def row(setting: str, name: str, runs: list[Transfer]) -> dict:
    """One row of the table: medians."""

    def column(field: str) -> list[float]:
        return [getattr(run, field) for run in runs]

    again = column("sent_again")
    return {
        "offloads": setting,
        "program": name,
        "runs": len(runs),
        "gbit_per_s": spread(column("gbit_per_s")),
        "sender_cpu_s_per_gb": statistics.median(column("sender_s_per_gb")),
        "receiver_cpu_s_per_gb": statistics.median(column("receiver_s_per_gb")),
        "sent_again": None if None in again else sum(again),
        "rcvbuf_errors": sum(column("rcvbuf_errors")),
    }


def find(rows: list[dict], setting: str, name: str) -> dict | None:
    """The row of a program in a setting."""
    matches = (row for row in rows if (row["offloads"], row["program"]) == (setting, name))
    return next(matches, None)


def cpu(row: dict) -> float:
    """CPU seconds for a GB at both ends."""
    return row["sender_cpu_s_per_gb"] + row["receiver_cpu_s_per_gb"]


def own_program(peer: str) -> str:
    """The program of ToU that a peer is compared with: with encryption for TLS."""
    return "tou-tls" if peer.startswith(("tls-", "tou-tls")) else "tou"


def add_ratios(rows: list[dict]) -> None:
    """ToU's medians over those of each row in the same setting."""
    for one in rows:
        own = "tou" if one["program"] == "tou-tls" else own_program(one["program"])
        tou = find(rows, one["offloads"], own)
        if tou is not None and tou is not one:
            one["goodput_ratio"] = tou["gbit_per_s"]["median"] / one["gbit_per_s"]["median"]
            one["cpu_ratio"] = cpu(tou) / cpu(one)


def checks(rows: list[dict]) -> list[dict]:
    """The targets beside what was measured."""
    done = []
    for target in TARGETS:
        peer_setting = target.peer_setting or target.setting
        tou = find(rows, target.setting, target.program)
        peer = find(rows, peer_setting, target.peer)
        if tou is None or peer is None:
            continue
        value = tou["gbit_per_s"]["median"] / peer["gbit_per_s"]["median"]
        done.append(
            {
                "offloads": target.setting,
                "program": target.program,
                "peer": target.peer,
                "peer_offloads": peer_setting,
                "at_least": target.at_least,
                "value": value,
                "met": value >= target.at_least,
            }
        )
    return done


def cells(row: dict) -> tuple[str, ...]:
    goodput = row["gbit_per_s"]
    again = row["sent_again"]
    return (
        row["offloads"],
        row["program"],
        f"{goodput['median']:.2f} [{goodput['min']:.2f}..{goodput['max']:.2f}]",
        f"{row['sender_cpu_s_per_gb']:.3f}",
        f"{row['receiver_cpu_s_per_gb']:.3f}",
        "-" if again is None else str(again),
        str(row["rcvbuf_errors"]),
        f"{row['goodput_ratio']:.2f}" if "goodput_ratio" in row else "-",
        f"{row['cpu_ratio']:.2f}" if "cpu_ratio" in row else "-",
    )


def check_cells(check: dict) -> tuple[str, ...]:
    peer = check["peer"]
    if check["peer_offloads"] != check["offloads"]:
        peer += f" with them {check['peer_offloads']}"
    bound = f"at least {check['at_least']:g} times {peer}"
    met = "yes" if check["met"] else "NO"
    return check["offloads"], check["program"], bound, f"{check['value']:.3g}", met


def losses(rows: list[dict]) -> list[str]:
    """A line for each row of ToU with losses; the path itself loses nothing."""
    return [
        f"ToU lost segments, offloads {row['offloads']}: {row['sent_again']} sent again, "
        f"{row['rcvbuf_errors']} found the receiver's socket full"
        for row in rows
        if row["program"].startswith("tou") and (row["sent_again"] or row["rcvbuf_errors"])
    ]


def report(rows: list[dict], targets: list[dict]) -> str:
    parts = [table.aligned(FIGURES, [cells(row) for row in rows], words=2), *losses(rows)]
    if targets:
        head = ("offloads", "program", "goodput", "measured", "met")
        parts.append(table.aligned(head, [check_cells(check) for check in targets], words=3))
    return "\n\n".join(parts)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="runs of each (5)")
    parser.add_argument("--seconds", type=float, default=4, help="of each run (4)")
    parser.add_argument("--only", metavar="PROGRAM,...", help=f"of {','.join(PROGRAMS)}")
    parser.add_argument(
        "--beside",
        type=Path,
        metavar="BULK",
        help="another build of the example bulk, as tou-beside and tou-tls-beside",
    )
    parser.add_argument("--connections", action="store_true", help="measure many, not one")
    parser.add_argument("--json", action="store_true", help="print one JSON object, not a table")
    chosen = parser.parse_args()
    if chosen.beside:
        beside = tou_programs(chosen.beside.resolve(), "-beside")
        PROGRAMS.update({program.name: program for program in beside})
    chosen.only = chosen.only.split(",") if chosen.only else list(PROGRAMS)
    unknown = [name for name in chosen.only if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program {', '.join(unknown)}: expected some of {', '.join(PROGRAMS)}")
    if chosen.rounds < 1 or chosen.seconds <= 0:
        parser.error("--rounds and --seconds must be more than 0")
    return chosen


def measure_bulk(chosen: argparse.Namespace) -> tuple[dict, str]:
    runs = run_all(build(chosen.only), chosen.rounds, chosen.seconds)
    rows = [row(setting, name, done) for (setting, name), done in runs.items()]
    add_ratios(rows)
    targets = checks(rows)
    return {"rows": rows, "targets": targets}, report(rows, targets)


def main() -> int:
    chosen = arguments()
    missing = require_machine()
    if missing:
        print(f"skipped, nothing measured: {missing}", file=sys.stderr)
        return 0
    load = {"cores": os.cpu_count(), "start": os.getloadavg()[0]}
    try:
        if chosen.connections:
            build(["tou"])
            figures, text = tou_many.measure(chosen.rounds, chosen.seconds)
        else:
            figures, text = measure_bulk(chosen)
    except (BenchError, CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    load["end"] = os.getloadavg()[0]
    if chosen.json:
        print(json.dumps({"version": 1, "load_average": load, **figures}, indent=2))
    else:
        print(f"{text}\n\n{describe_load(load)}")
    return 0


def describe_load(load: dict) -> str:
    """The load, and what it does to the figures."""
    text = (
        f"load average of a minute {load['start']:.2f} at the start, {load['end']:.2f} at the end"
    )
    if load["start"] > QUIET_LOAD:
        text += (
            "\nThis machine was busy: who sleeps between packets gets more of a shared core than"
            "\nwho does not, so the goodputs say little. CPU seconds say more, and grow with load."
        )
    return text


if __name__ == "__main__":
    sys.exit(main())
