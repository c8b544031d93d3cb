"""Samples the kernel's state of TCP sockets by INET_DIAG, in the namespace that it is run in.

A process and a parser of its own: it runs beside what is measured, on the same cores.
Writes an empty line when it begins, then one for each socket and sample, the fields of `Sample`,
until SIGTERM.
"""

import argparse
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from windlass_lab.testbed.slope import Slopes

NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST, _NLM_F_DUMP = 0x1, 0x300
_NLMSG_DONE, _NLMSG_ERROR = 3, 2
_INFO, _CONGESTION = 2, 4
# All but LISTEN (10), TIME_WAIT (6) and NEW_SYN_RECV (12), which have no window.
_STATES = 0xFFF & ~(1 << 10 | 1 << 6 | 1 << 12)
_HEADER = struct.Struct("=IHHII")
# Family, state, timer, retransmits; ports; addresses; device; cookie; expiry, queues, uid, inode.
# The identity is what a socket is asked for by: all from its ports to its cookie.
_IDENTITY_BYTES = 48
_SOCKET_ID = struct.Struct(f"=4x{_IDENTITY_BYTES}s")
_SOCKET = struct.Struct("!4xHH32x4x8s20x")
_ATTRIBUTE = struct.Struct("=HH")
# The kernel packs no more of a dump than this into one message.
_RECEIVED_BYTES_MAX = 1 << 15

# Of the kernel's struct tcp_info (include/uapi/linux/tcp.h) the fields that `Sample` has from
# `options` (byte 5) to `total_rto` (byte 240), in its order.
_TCP_INFO = struct.Struct("=5xB10xI48xI4xII16xI16xQ20xI40xII40xH")
# TCP_CA_NAME_MAX.
_NAME_BYTES = 16


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
    # New-ECN's, in 2^-32 segments per round trip; 0 for none.
    slope_32: int = 0


def parse_line(line: str) -> Sample:
    """A sample from the line that it was written as. Raises `ValueError`."""
    cells = line.split()
    time_ns, port, cookie, controller = cells[:4]
    return Sample(int(time_ns), int(port), int(cookie), controller, *map(int, cells[4:]))


def of_socket(connection: socket.socket) -> Sample:
    """A sample of a socket of one's own, which needs no INET_DIAG. Raises `OSError`."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
    name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _NAME_BYTES)
    values = _TCP_INFO.unpack_from(info.ljust(_TCP_INFO.size, b"\0"))
    port = connection.getsockname()[1]
    return Sample(time.monotonic_ns(), port, 0, name.rstrip(b"\0").decode("ascii"), *values)


class Sampler:
    """Samples the sockets that have one of some ports at either end.

    A dump makes the kernel walk through all of its hash table, so it is done only as long as there
    is a port without a socket; a socket that is known is asked for by its addresses.
    """

    def __init__(self, diag: socket.socket, ports: frozenset[int]) -> None:
        self._diag = diag
        self._ports = ports
        self._known: dict[bytes, int] = {}

    def sample(self) -> Iterator[Sample]:
        """A sample of each."""
        if self._ports - set(self._known.values()):
            yield from self._all()
            return
        for identity in list(self._known):
            message = self._one(identity)
            found = message and _sample(message, self._ports)
            if found:
                yield found
            else:
                del self._known[identity]

    def _all(self) -> Iterator[Sample]:
        self._known.clear()
        for family in (socket.AF_INET, socket.AF_INET6):
            self._ask(bytes([family]) + bytes(_IDENTITY_BYTES), _NLM_F_DUMP)
            for message in self._dumped():
                if found := _sample(message, self._ports):
                    self._known[message[:1] + _SOCKET_ID.unpack_from(message)[0]] = found.port
                    yield found

    def _one(self, identity: bytes) -> bytes | None:
        """The message about a socket, if it is there still."""
        self._ask(identity, 0)
        received = self._diag.recv(_RECEIVED_BYTES_MAX)
        length, kind, *_ = _HEADER.unpack_from(received)
        return None if kind == _NLMSG_ERROR else received[_HEADER.size : length]

    def _ask(self, identity: bytes, flags: int) -> None:
        extensions = 1 << (_INFO - 1) | 1 << (_CONGESTION - 1)
        request = struct.pack("=BBBxI", identity[0], socket.IPPROTO_TCP, extensions, _STATES)
        request += identity[1:]
        length = _HEADER.size + len(request)
        header = _HEADER.pack(length, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST | flags, 0, 0)
        self._diag.send(header + request)

    def _dumped(self) -> Iterator[bytes]:
        """The bodies of a dump's messages."""
        while True:
            received = self._diag.recv(_RECEIVED_BYTES_MAX)
            at = 0
            while at + _HEADER.size <= len(received):
                length, kind, *_ = _HEADER.unpack_from(received, at)
                if kind == _NLMSG_DONE:
                    return
                if kind == _NLMSG_ERROR or length < _HEADER.size:
                    raise OSError("the kernel refuses INET_DIAG for TCP (CONFIG_INET_DIAG)")
                yield received[at + _HEADER.size : at + length]
                at += (length + 3) & ~3


def _sample(body: bytes, ports: frozenset[int]) -> Sample | None:
    source, destination, cookie = _SOCKET.unpack_from(body)
    port = source if source in ports else destination
    info = None
    if port in ports:
        attributes = dict(_attributes(body))
        info = attributes.get(_INFO)
    if info is None:
        return None
    controller = attributes.get(_CONGESTION, b"").rstrip(b"\0").decode("ascii", "replace")
    # Two halves of 32 bits, the lower one first.
    low, high = struct.unpack("=II", cookie)
    # An older kernel's is shorter: 0 for what it does not know.
    values = _TCP_INFO.unpack_from(info.ljust(_TCP_INFO.size, b"\0"))
    return Sample(time.monotonic_ns(), port, high << 32 | low, controller or "-", *values)


def _attributes(body: bytes) -> Iterator[tuple[int, bytes]]:
    at = _SOCKET.size
    while at + _ATTRIBUTE.size <= len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, at)
        if length < _ATTRIBUTE.size:
            return
        yield kind, body[at + _ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3


def main(arguments: list[str] | None = None) -> int:
    """Samples until a signal stops it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interval", type=float, required=True, help="seconds")
    parser.add_argument("--ports", required=True, help="P,P,...")
    options = parser.parse_args(arguments)
    ports = frozenset(int(port) for port in options.ports.split(","))
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    diag = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
    sampler = Sampler(diag, ports)
    slopes = Slopes()
    print(flush=True)
    due = time.monotonic()
    while not stopped:
        for sample in sampler.sample():
            known = sample._replace(slope_32=slopes.at(sample.port))
            sys.stdout.write(f"{' '.join(map(str, known))}\n")
        sys.stdout.flush()
        # After a delay it goes on from now: samples in a burst would say nothing.
        due = max(due + options.interval, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
