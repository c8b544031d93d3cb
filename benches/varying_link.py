#!/usr/bin/env python3
"""Measures links that change over time: real packets against trace and simulator.

First a UDP sender saturates `windlass link` on a trace or on steps, and what arrives in each second
is compared with what the trace has room for. Then a flow of TCP over UDP runs through the link and,
with the same rate, queue and delays, in the simulator (experiments/over-time/cellular.toml). Needs
what `windlass link` needs. Only the standard library is used.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import process
from link import load_average, receive, receiving_socket, send

ROOT = Path(__file__).resolve().parent.parent
TRACES = ROOT / "experiments/traces"
SCENARIO = ROOT / "experiments/over-time/cellular.toml"
PACKET_BYTES = 1500
DELAY_S = 0.02
STEPS = [(0.0, 10e6), (3.0, 40e6), (5.0, 20e6)]
STEPS_REPEAT_S = 7.0
STEPS_FLAG = "steps:0s=10M/3s=40M/5s=20M,repeat=7s"
SLOW_STEPS = [("0s", 8), ("3s", 4), ("5s", 12)]
SLOW_STEPS_REPEAT = "7s"


def trace_room(name: str) -> Callable[[float], float]:
    """The bytes that the trace can deliver from its beginning to a time in seconds."""
    times = [int(line) for line in (TRACES / name).read_text().split()]
    in_round: list[int] = [0] * (times[-1] + 1)
    for at_ms in times:
        in_round[at_ms] += 1
    until = [0]
    for count in in_round[1:]:
        until.append(until[-1] + count)

    def room(seconds: float) -> float:
        rounds, ms = divmod(int(seconds * 1000), times[-1])
        return (rounds * until[-1] + until[ms]) * float(PACKET_BYTES)

    return room


def steps_room(seconds: float) -> float:
    """The same for `STEPS`."""
    rounds, into = divmod(seconds, STEPS_REPEAT_S)
    ends = [at for at, _ in STEPS[1:]] + [STEPS_REPEAT_S]

    def within(limit: float) -> float:
        steps = zip(STEPS, ends, strict=True)
        return sum(rate / 8 * max(0.0, min(limit, end) - at) for (at, rate), end in steps)

    return rounds * within(STEPS_REPEAT_S) + within(into)


def measure_rate(
    windlass: str,
    name: str,
    rate: str,
    room: Callable[[float], float],
    load_mbit: float,
    seconds: float,
) -> None:
    """Prints the error of each second of a saturated link."""
    with tempfile.TemporaryDirectory() as folder, receiving_socket() as sock:
        log = Path(folder) / "link.csv"
        command = [windlass, "link", "--rate", f"up:{rate}", "--delay", f"{DELAY_S}s"]
        command += ["--aqm", "droptail:limit=300", "--log", str(log), "--log-interval", "1ms"]
        packets_per_s = load_mbit * 1e6 / 8 / PACKET_BYTES
        arguments = [str(packets_per_s), str(PACKET_BYTES), str(seconds)]
        sender = [sys.executable, __file__, "--send", *arguments]
        link = subprocess.Popen([*command, "--", *sender])
        packets = receive(sock, link)
        if link.wait() != 0 or not packets:
            sys.exit(f"error: windlass link ended with status {link.returncode}")
        with log.open(newline="", encoding="ascii") as file:
            # The link's own time of the first delivery joins its clock to the receiver's.
            rows = csv.DictReader(file)
            first_s = next(float(row["time_s"]) for row in rows if int(row["delivered"]) > 0)
    origin_ns = packets[0].arrived_ns - round(first_s * 1e9)
    arrived_s = [(packet.arrived_ns - origin_ns) / 1e9 - DELAY_S for packet in packets]
    errors = []
    # Not the first second, in which the queue builds, nor the last one.
    for second in range(int(arrived_s[0]) + 2, int(arrived_s[-1]) - 1):
        expected = room(second + 1) - room(second)
        measured = sum(PACKET_BYTES for at in arrived_s if second < at <= second + 1)
        if expected * 8 >= 10e6:
            errors.append(measured / expected - 1)
    print(
        f"{name}: {len(errors)} seconds at 10 Mbit/s and up, error mean "
        f"{statistics.mean(errors):+.2%}, largest {max(errors, key=abs):+.2%} ({load_average()})",
        flush=True,
    )


@dataclass(frozen=True)
class Case:
    """A controller and what it needs, in the words of the simulator and of the link."""

    name: str
    controller: str
    settings: tuple[str, ...] = ()
    aqm: str = "droptail:limit=60"
    client: str = ""
    server: str = ""


CASES = (
    Case("Reno", "reno"),
    Case("CUBIC", "cubic"),
    Case(
        "New-ECN",
        "new-ecn",
        (
            "dumbbell.bottleneck.queue=marking",
            "defaults.ecn=true",
            "defaults.receiver.echo=once-per-ce",
        ),
        "red:min=10,max=20,weight=0.002,p_max=0.1,gentle=false,above_max=mark-ect,limit=500",
        "--ecn",
        "--ecn-echo once-per-ce",
    ),
)


@dataclass(frozen=True)
class Forward:
    """A forward direction, in the words of the simulator and of the link."""

    name: str
    settings: tuple[str, ...]
    rate: str


def traced() -> Forward:
    """The scenario's own trace, which delivers several packets at once."""
    return Forward("trace", (), f"trace:{TRACES / 'cellular.trace'}")


def stepped() -> Forward:
    """Steps, which deliver one packet after the other."""
    steps = ", ".join(f'{{ at = "{at}", rate = "{mbit}Mbit/s" }}' for at, mbit in SLOW_STEPS)
    rate = f'{{ steps = [{steps}], repeat = "{SLOW_STEPS_REPEAT}" }}'
    flag = "/".join(f"{at}={mbit}M" for at, mbit in SLOW_STEPS)
    return Forward(
        "steps",
        (f"dumbbell.bottleneck.rate={rate}",),
        f"steps:{flag},repeat={SLOW_STEPS_REPEAT}",
    )


@dataclass(frozen=True)
class Flow:
    """Means of a flow from the fifth second on."""

    packets_per_s: float
    cwnd_packets: float


def simulate(windlass: str, forward: Forward, case: Case, seconds: float) -> Flow:
    """The scenario's flow."""
    settings = [f"duration={seconds}s", f"flows.0.controller={case.controller}"]
    settings += [*forward.settings, *case.settings]
    sets = [word for setting in settings for word in ("--set", setting)]
    _, output = process.run([windlass, "sim", "run", str(SCENARIO), "--json", *sets])
    flow = json.loads(output)["flows"][0]
    return Flow(flow["packets_per_s"]["steady"], flow["cwnd_packets"]["time_mean_steady"])


def through_link(windlass: str, forward: Forward, case: Case, seconds: float) -> Flow:
    """The same path and flow with real packets."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.csv"
        link = [windlass, "link", "--delay", f"{DELAY_S}s", "--aggregation", "down:lte"]
        link += ["--rate", f"up:{forward.rate}"]
        link += ["--rate", f"down:trace:{TRACES / 'cellular-up.trace'}", "--aqm", f"up:{case.aqm}"]
        link += ["--outside", f"exec {windlass} tou perf server {case.server} >&2"]
        client = f"sleep 0.3; exec {windlass} tou perf client $WINDLASS_OUTSIDE --time {seconds}"
        client += f" --cc {case.controller} --json --trace {trace} {case.client}"
        _, output = process.run([*link, "--", "sh", "-c", client])
        mss = json.loads(output)["sender"]["streams"][0]["mss"]
        with trace.open(newline="", encoding="ascii") as file:
            rows = [row for row in csv.DictReader(file) if float(row["time_s"]) >= 5]
    acked = int(rows[-1]["acked_bytes"]) - int(rows[0]["acked_bytes"])
    elapsed_s = float(rows[-1]["time_s"]) - float(rows[0]["time_s"])
    cwnd = statistics.mean(int(row["cwnd_bytes"]) for row in rows) / mss
    return Flow(acked / mss / elapsed_s, cwnd)


def compare(windlass: str, forward: Forward, case: Case, seconds: float) -> None:
    """Prints both and their ratios."""
    simulated = simulate(windlass, forward, case, seconds)
    real = through_link(windlass, forward, case, seconds)
    print(
        f"{forward.name} {case.name:8} simulator {simulated.packets_per_s:6.1f} packets/s, cwnd "
        f"{simulated.cwnd_packets:5.1f}; link {real.packets_per_s:6.1f}, {real.cwnd_packets:5.1f}; "
        f"ratio {real.packets_per_s / simulated.packets_per_s:.3f}, "
        f"{real.cwnd_packets / simulated.cwnd_packets:.3f} ({load_average()})",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windlass", default=str(ROOT / "target/release/windlass"))
    parser.add_argument("--seconds", type=float, default=60.0, help="of each flow")
    parser.add_argument("--send", nargs=3, type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.send:
        packets_per_s, packet_bytes, seconds = args.send
        send(packets_per_s, int(packet_bytes), seconds)
        return
    for name, load_mbit in (("cellular.trace", 40), ("wifi.trace", 40)):
        rate = f"trace:{TRACES / name}"
        measure_rate(args.windlass, name, rate, trace_room(name), load_mbit, 35)
    measure_rate(args.windlass, STEPS_FLAG, STEPS_FLAG, steps_room, 60, 30)
    for forward in (traced(), stepped()):
        for case in CASES:
            compare(args.windlass, forward, case, args.seconds)


if __name__ == "__main__":
    main()
