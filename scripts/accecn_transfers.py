"""Transfers between Linux and the engine over the TUN device `engine`: compares the counters of
AccECN (RFC 9768) at the sender with the packets marked on their way. Run by scripts/verify-accecn,
in its machine, as

    accecn_transfers.py COUNT JUDGE             uploads, marked where they leave by `engine`
    accecn_transfers.py COUNT JUDGE FILE        downloads, marked where they leave by `ifb0`

The file has the output of `windlass probe serve --json`.
"""

import builtins
import json
import socket
import struct
import sys
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

SERVER = ("10.98.0.2", 80)
REQUEST = b"GET / HTTP/1.1\r\nHost: engine\r\n"
BYTES = 60_000
"""The bytes of an upload: the server's requests have at most 64 KiB."""
PROBES = 100
"""Bytes sent one by one after an upload, at most."""
RECEIVE_BUFFER = 1 << 20
PATIENCE_S = 100
SEQUENCE = 1 << 32
"""Sequence numbers count modulo this."""
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
PACKET_OUTGOING = 4
CE = 3
TCP_INFO = 11
TCP_INFO_FORMAT = "<8B24I4Q6IQ3Q2I2Q6I2H9I"
"""struct tcp_info of Linux 7.3, include/uapi/linux/tcp.h."""
UNACKED, RETRANSMITTED, NOTSENT, DELIVERED_CE, DELIVERED_CE_BYTES, ECN_MODE = 12, 31, 38, 47, -5, -1
"""Places in it. ECN_MODE is the lowest two bits of its field."""
ACCURATE = 2
ACE = 8
"""The field ACE counts modulo this."""


@dataclass
class Marks:
    """CE packets of a connection and their payload bytes."""

    packets: int = 0
    bytes: int = 0
    end: int | None = field(default=None, compare=False, repr=False)
    """The sequence number after the data that has passed."""

    def pass_by(self, tcp: builtins.bytes, payload: int, marked: bool) -> None:
        """Counts a packet with this TCP header. One that repeats data is not acceptable at the
        receiver, whose counters leave it out (section 3.2)."""
        end = (int.from_bytes(tcp[4:8]) + payload) % SEQUENCE
        if payload and self.end is not None and (end - self.end - 1) % SEQUENCE >= SEQUENCE // 2:
            return
        self.end = end if payload else self.end
        self.packets += marked
        self.bytes += payload * marked


def is_exact(seen: Marks, known: Marks) -> bool:
    """Packets and bytes are equal."""
    return seen == known


def has_exact_bytes(seen: Marks, known: Marks) -> bool:
    """Bytes are equal, and packets as far as ACE says: it may have wrapped once more or less."""
    return seen.bytes == known.bytes and (known.packets - seen.packets) % ACE == 0


def is_safe(seen: Marks, known: Marks) -> bool:
    """Without the option: the sender assumes that ACE has wrapped where it may have. No bytes are
    reported."""
    over = known.packets - seen.packets
    return over >= 0 and over % ACE == 0 and known.bytes == 0


JUDGES = {"exact": is_exact, "bytes": has_exact_bytes, "safe": is_safe}


def watch(device: str, marks: dict[int, Marks]) -> None:
    """Counts the marked packets that leave by a device, by the port of the client."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    tap.bind((device, ETH_P_ALL))
    threading.Thread(target=count, args=(tap, marks), daemon=True).start()


def count(tap: socket.socket, marks: dict[int, Marks]) -> None:
    """Counts until the process ends."""
    while True:
        packet, address = tap.recvfrom(2048)
        if address[2] != PACKET_OUTGOING or packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
            continue
        header = (packet[0] & 15) * 4
        (length,) = struct.unpack_from("!H", packet, 2)
        tcp = packet[header:length]
        ports = struct.unpack_from("!HH", tcp)
        client = ports[1] if ports[0] == SERVER[1] else ports[0]
        marks[client].pass_by(tcp, len(tcp) - (tcp[12] >> 4) * 4, packet[1] & 3 == CE)


def tcp_info(connection: socket.socket) -> tuple[int, ...]:
    """The kernel's state of a connection."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 512)
    return struct.unpack_from(TCP_INFO_FORMAT, raw.ljust(struct.calcsize(TCP_INFO_FORMAT), b"\0"))


def delivered(connection: socket.socket) -> tuple[int, ...]:
    """The state once everything is acknowledged."""
    end = time.monotonic() + PATIENCE_S
    info = tcp_info(connection)
    while info[UNACKED] or info[NOTSENT]:
        if time.monotonic() > end:
            sys.exit(f"no ACK for {PATIENCE_S} s")
        time.sleep(0.02)
        info = tcp_info(connection)
    return info


def last_option(connection: socket.socket) -> tuple[int, ...]:
    """Sends bytes until one needed no retransmission. The ACK of a byte that was sent once has the
    option with all counters; that of repeated data, which changes no counter, may have none."""
    info = delivered(connection)
    for _ in range(PROBES):
        before = info[RETRANSMITTED]
        connection.sendall(b"a")
        info = delivered(connection)
        if info[RETRANSMITTED] == before:
            return info
    sys.exit(f"{PROBES} ACKs were lost")


def upload(marks: dict[int, Marks]) -> tuple[Marks, Marks]:
    """One connection: the marks on its packets, and those that Linux knows."""
    with socket.create_connection(SERVER, timeout=PATIENCE_S) as connection:
        connection.sendall(REQUEST + b"X: " + b"a" * BYTES)
        info = last_option(connection)
        if info[ECN_MODE] & 3 != ACCURATE:
            sys.exit("the connection has no AccECN")
        # The last packet may be on the device and not yet counted here.
        time.sleep(0.1)
        seen = replace(marks[connection.getsockname()[1]])
        return seen, Marks(info[DELIVERED_CE], info[DELIVERED_CE_BYTES])


def download() -> int:
    """One connection that reads the page to its end; its port."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
    connection.settimeout(PATIENCE_S)
    with connection:
        connection.connect(SERVER)
        connection.sendall(REQUEST + b"\r\n")
        while connection.recv(1 << 16):
            pass
        return connection.getsockname()[1]


def connections(file: Path, ports: list[int]) -> dict[int, Marks]:
    """The marks that the engine knows, by port, once it has printed all connections."""
    end = time.monotonic() + PATIENCE_S
    while len(lines := file.read_text().splitlines()) < len(ports):
        if time.monotonic() > end:
            sys.exit(f"the engine has ended {len(lines)} of {len(ports)} connections")
        time.sleep(0.1)
    known = {}
    for ended in map(json.loads, lines):
        if ended["accecn"] is None:
            sys.exit("a connection has no AccECN")
        reported = ended["accecn"]["reported"]
        port = int(ended["client"].rsplit(":", 1)[1])
        known[port] = Marks(reported["ce_packets"], reported["ce_bytes"])
    return known


def transfer(times: int, file: Path | None) -> list[tuple[Marks, Marks]]:
    """Marks on the packets and marks known at the sender, of each connection."""
    marks: dict[int, Marks] = defaultdict(Marks)
    watch("ifb0" if file else "engine", marks)
    if file is None:
        return [upload(marks) for _ in range(times)]
    ports = [download() for _ in range(times)]
    known = connections(file, ports)
    time.sleep(0.1)
    return [(marks[port], known[port]) for port in ports]


def main() -> None:
    """Prints how many connections pass the judge; exits with 1 if not all do."""
    times, judge, *file = sys.argv[1:]
    pairs = transfer(int(times), Path(file[0]) if file else None)
    passed = [JUDGES[judge](seen, known) for seen, known in pairs]
    for (seen, known), good in zip(pairs, passed, strict=True):
        if not good:
            print(f"  marked {seen}, known {known}")
    marked = sum(seen.packets for seen, _ in pairs)
    over = Counter(known.packets - seen.packets for seen, known in pairs)
    bytes_over = [known.bytes - seen.bytes for seen, known in pairs]
    print(f"  {sum(passed)} of {len(pairs)} connections are {judge}; {marked} marked packets")
    print(f"  packets known beyond those marked, connections: {dict(sorted(over.items()))}")
    print(f"  bytes known beyond those marked: {min(bytes_over)} to {max(bytes_over)}")
    sys.exit(not all(passed) or marked == 0)


if __name__ == "__main__":
    main()
