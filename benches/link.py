#!/usr/bin/env python3
"""Measures the link emulator: its rate, how late its packets are, and how many it can carry.

A sender behind the link (`windlass link -- ...`) stamps each packet with the time before it sends
it; here the kernel stamps it on arrival, by the same clock. From the times of sending follows when
each packet should have arrived: at a FIFO of the link's rate, then after its delay. The difference
is the error, reading and writing of the devices included. Needs what `windlass link` needs, and
iperf3 for the throughput. Only the standard library is used.
"""

import argparse
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PORT = 45_673
HEADERS_BYTES = 28  # IPv4 and UDP
STAMP = struct.Struct("!Qq")  # ordinal, time of sending
SO_RCVBUFFORCE = 33  # Linux, asm-generic/socket.h, as the next
SO_TIMESTAMPNS = 35
TIMESPEC = struct.Struct("@qq")
DELAY_MS = 10
QUEUE_S = 0.5


@dataclass
class Packet:
    """One packet that arrived."""

    ordinal: int
    sent_ns: int
    arrived_ns: int


def send(packets_per_s: float, packet_bytes: int, seconds: float) -> None:
    """The sender's part, behind the link."""
    address = (os.environ["WINDLASS_OUTSIDE"], PORT)
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    padding = bytes(packet_bytes - HEADERS_BYTES - STAMP.size)
    start = time.monotonic()
    for ordinal in range(int(packets_per_s * seconds)):
        wait = start + ordinal / packets_per_s - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        out.sendto(
            STAMP.pack(ordinal, time.clock_gettime_ns(time.CLOCK_REALTIME)) + padding, address
        )


def receiving_socket() -> socket.socket:
    """A socket at `PORT` whose packets the kernel stamps on arrival."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # As root it may be larger than net.core.rmem_max: what is lost here is not the link's fault.
    buffer = socket.SO_RCVBUF if os.geteuid() else SO_RCVBUFFORCE
    sock.setsockopt(socket.SOL_SOCKET, buffer, 16 << 20)
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    sock.bind(("", PORT))
    sock.settimeout(0.5)
    return sock


def receive(sock: socket.socket, sender: subprocess.Popen) -> list[Packet]:
    """The packets that arrive until the sender has ended and nothing has come for a while."""
    packets: list[Packet] = []
    while True:
        try:
            data, ancillary, _, _ = sock.recvmsg(65_536, 256)
        except TimeoutError:
            if sender.poll() is not None:
                return packets
            continue
        seconds, nanoseconds = TIMESPEC.unpack(ancillary[0][2])
        ordinal, sent_ns = STAMP.unpack_from(data)
        packets.append(Packet(ordinal, sent_ns, seconds * 1_000_000_000 + nanoseconds))


def run(
    windlass: str, rate_mbit: float, load: float, packet_bytes: int, seconds: float, spin: str
) -> tuple[list[Packet], dict]:
    """Packets at `load` times the rate, through the link."""
    sock = receiving_socket()
    packets_per_s = load * rate_mbit * 1e6 / 8 / packet_bytes
    link = [windlass, "link", "--rate", f"{rate_mbit:g}M", "--delay", f"{DELAY_MS}ms"]
    # A queue of half a second: a sender that is kept from computing for less leaves no gap.
    limit = max(50, int(rate_mbit * 1e6 * QUEUE_S / 8 / packet_bytes))
    link += ["--spin", spin, "--aqm", f"droptail:limit={limit}", "--json", "--"]
    # The link goes with its command: what is still on its way then would be lost.
    linger = f"; sleep {DELAY_MS / 1000 + QUEUE_S + 0.5}"
    arguments = [str(packets_per_s), str(packet_bytes), str(seconds)]
    command = " ".join([sys.executable, __file__, "--send", *arguments]) + linger
    process = subprocess.Popen([*link, "sh", "-c", command], stderr=subprocess.PIPE, text=True)
    with sock:
        packets = receive(sock, process)
    _, errors = process.communicate()
    if process.returncode != 0 or not packets:
        sys.exit(f"error: windlass link ended with status {process.returncode}: {errors.strip()}")
    return packets, json.loads(errors.splitlines()[-1])


def errors_ms(packets: list[Packet], rate_mbit: float, packet_bytes: int) -> list[float]:
    """How much later than it should each packet arrived."""
    service_ns = packet_bytes * 8 * 1000 / rate_mbit
    free_ns, errors = 0.0, []
    for packet in packets:
        free_ns = max(free_ns, packet.sent_ns) + service_ns
        errors.append((packet.arrived_ns - free_ns) / 1e6 - DELAY_MS)
    return errors


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def load_average() -> str:
    return f"load average {os.getloadavg()[0]:.2f}"


def measure_delay(windlass: str, rate_mbit: float, seconds: float, spin: str) -> None:
    packet_bytes = 1000 if rate_mbit <= 10 else 1500
    load = 0.5 if rate_mbit <= 10 else 0.2
    packets, summary = run(windlass, rate_mbit, load, packet_bytes, seconds, spin)
    errors = errors_ms(packets, rate_mbit, packet_bytes)
    late = summary["late_ms"]
    print(
        f"delay    {rate_mbit:5g} Mbit/s, {load:.0%} load: error p50 {quantile(errors, 0.5):.3f} "
        f"p99 {quantile(errors, 0.99):.3f} max {max(errors):.3f} ms; by its own account p50 "
        f"{late['p50']:.3f} p99 {late['p99']:.3f} ms ({len(packets)} packets, {load_average()})"
    )


def measure_rate(windlass: str, rate_mbit: float, seconds: float, spin: str) -> None:
    packet_bytes = 1500
    packets, _ = run(windlass, rate_mbit, 1.2, packet_bytes, seconds, spin)
    # Not the beginning, when the queue builds, nor the end.
    middle = packets[len(packets) // 4 : -len(packets) // 8]
    span_s = (middle[-1].arrived_ns - middle[0].arrived_ns) / 1e9
    measured = (len(middle) - 1) * packet_bytes * 8 / span_s / 1e6
    print(
        f"rate     {rate_mbit:5g} Mbit/s, 120% load: {measured:.4f} Mbit/s, error "
        f"{measured / rate_mbit - 1:+.3%} ({len(middle)} packets, {load_average()})"
    )


def measure_throughput(windlass: str, seconds: float, spin: str) -> None:
    results = []
    for _ in range(3):
        link = [windlass, "link", "--spin", spin, "--json", "--outside", "iperf3 -s -1 >/dev/null"]
        iperf = f"sleep 0.5; iperf3 -J -t {seconds} -c $WINDLASS_OUTSIDE"
        done = subprocess.run(
            [*link, "--", "sh", "-c", iperf], capture_output=True, text=True, check=True
        )
        results.append(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 1e9)
    print(
        f"TCP      no rate, MTU 1500: {statistics.median(results):.2f} Gbit/s of payload (median "
        f"of {', '.join(f'{r:.2f}' for r in results)}; {load_average()})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windlass", default=str(ROOT / "target/release/windlass"))
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--spin", default="0s", help="as for windlass link")
    parser.add_argument("--send", nargs=3, type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.send:
        packets_per_s, packet_bytes, seconds = args.send
        send(packets_per_s, int(packet_bytes), seconds)
        return
    for rate_mbit in (10, 100):
        measure_delay(args.windlass, rate_mbit, args.seconds, args.spin)
    for rate_mbit in (1, 10, 100):
        measure_rate(args.windlass, rate_mbit, args.seconds, args.spin)
    measure_throughput(args.windlass, args.seconds, args.spin)


if __name__ == "__main__":
    main()
