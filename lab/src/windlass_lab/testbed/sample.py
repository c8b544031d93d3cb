"""Samples the kernel's state of TCP sockets by INET_DIAG, in the namespace that it is run in.

A process of its own and a parser of its own: it runs beside what is measured, on the same cores.
Writes a line for each socket and sample, columns `COLUMNS`, until SIGTERM.
"""

import argparse
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST, _NLM_F_DUMP = 0x1, 0x300
_NLMSG_DONE, _NLMSG_ERROR = 3, 2
_INFO, _CONGESTION = 2, 4
# All but LISTEN (10), TIME_WAIT (6) and NEW_SYN_RECV (12), which have no window.
_STATES = 0xFFF & ~(1 << 10 | 1 << 6 | 1 << 12)
_HEADER = struct.Struct("=IHHII")
# Family, state, timer, retransmits; ports; addresses; device; cookie; expiry, queues, uid, inode.
_SOCKET = struct.Struct("!4xHH32x4x8s20x")
_ATTRIBUTE = struct.Struct("=HH")
_RECEIVED_BYTES_MAX = 1 << 18

# Of the kernel's struct tcp_info (include/uapi/linux/tcp.h): field, offset, type.
_FIELDS = (
    ("options", 5, "B"),
    ("snd_mss", 16, "I"),
    ("srtt_us", 68, "I"),
    ("ssthresh", 76, "I"),
    ("cwnd", 80, "I"),
    ("total_retrans", 100, "I"),
    ("bytes_acked", 120, "Q"),
    ("min_rtt_us", 148, "I"),
    ("delivered", 192, "I"),
    ("delivered_ce", 196, "I"),
    ("total_rto", 240, "H"),
)
_TYPES = {"B": 1, "H": 2, "I": 4, "Q": 8}


class Sample(NamedTuple):
    """The state of a socket at a time of CLOCK_MONOTONIC. Windows in packets."""

    time_ns: int
    port: int
    cookie: int
    controller: str
    options: int
    snd_mss: int
    srtt_us: int
    ssthresh: int
    cwnd: int
    total_retrans: int
    bytes_acked: int
    min_rtt_us: int
    delivered: int
    delivered_ce: int
    total_rto: int


def parse_line(line: str) -> Sample:
    """A sample from the line that it was written as. Raises `ValueError`."""
    cells = line.split()
    time_ns, port, cookie, controller = cells[:4]
    return Sample(int(time_ns), int(port), int(cookie), controller, *map(int, cells[4:]))


def dump(diag: socket.socket, ports: frozenset[int]) -> Iterator[Sample]:
    """One sample of each socket that has one of the ports at either end."""
    for family in (socket.AF_INET, socket.AF_INET6):
        extensions = 1 << (_INFO - 1) | 1 << (_CONGESTION - 1)
        request = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, extensions, _STATES)
        flags = _NLM_F_REQUEST | _NLM_F_DUMP
        length = _HEADER.size + len(request)
        diag.send(_HEADER.pack(length, _SOCK_DIAG_BY_FAMILY, flags, 0, 0) + request)
        for message in _messages(diag):
            yield from _sample(message, ports)


def _messages(diag: socket.socket) -> Iterator[bytes]:
    """The bodies of a dump's messages."""
    while True:
        received = diag.recv(_RECEIVED_BYTES_MAX)
        at = 0
        while at + _HEADER.size <= len(received):
            length, kind, *_ = _HEADER.unpack_from(received, at)
            if kind == _NLMSG_DONE:
                return
            if kind == _NLMSG_ERROR or length < _HEADER.size:
                raise OSError("the kernel refuses INET_DIAG for TCP (CONFIG_INET_DIAG)")
            yield received[at + _HEADER.size : at + length]
            at += (length + 3) & ~3


def _sample(body: bytes, ports: frozenset[int]) -> Iterator[Sample]:
    source, destination, cookie = _SOCKET.unpack_from(body)
    port = source if source in ports else destination
    if port not in ports:
        return
    attributes = dict(_attributes(body))
    info = attributes.get(_INFO)
    if info is None:
        return
    controller = attributes.get(_CONGESTION, b"").rstrip(b"\0").decode("ascii", "replace")
    # Two halves of 32 bits, the lower one first.
    low, high = struct.unpack("=II", cookie)
    values = (_value(info, offset, kind) for _, offset, kind in _FIELDS)
    yield Sample(time.monotonic_ns(), port, high << 32 | low, controller or "-", *values)


def _attributes(body: bytes) -> Iterator[tuple[int, bytes]]:
    at = _SOCKET.size
    while at + _ATTRIBUTE.size <= len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, at)
        if length < _ATTRIBUTE.size:
            return
        yield kind, body[at + _ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3


def _value(info: bytes, offset: int, kind: str) -> int:
    """A field; 0 where the kernel is older than the field."""
    if offset + _TYPES[kind] > len(info):
        return 0
    return struct.unpack_from(f"={kind}", info, offset)[0]


def main(arguments: list[str] | None = None) -> int:
    """Samples until it is told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interval", type=float, required=True, help="seconds")
    parser.add_argument("--ports", required=True, help="P,P,...")
    options = parser.parse_args(arguments)
    ports = frozenset(int(port) for port in options.ports.split(","))
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    diag = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
    due = time.monotonic()
    while not stopped:
        for sample in dump(diag, ports):
            sys.stdout.write(f"{' '.join(map(str, sample))}\n")
        sys.stdout.flush()
        # After a delay it goes on from now: samples in a burst would say nothing.
        due = max(due + options.interval, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
