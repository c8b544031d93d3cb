"""Uploads to the engine over the TUN device `engine`, and compares Linux's counters of AccECN
(RFC 9768) with the packets on the device. Run by scripts/verify-accecn, in its machine.
"""

import socket
import struct
import sys
import threading
import time
from collections import defaultdict
from dataclasses import dataclass

SERVER = ("10.98.0.2", 80)
BYTES = 60_000
"""The bytes of a connection: the server's requests have at most 64 KiB."""
PATIENCE_S = 60
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
PACKET_OUTGOING = 4
CE = 3
TCP_INFO = 11
TCP_INFO_FORMAT = "<8B24I4Q6IQ3Q2I2Q6I2H9I"
"""struct tcp_info of Linux 7.3, include/uapi/linux/tcp.h."""
UNACKED, NOTSENT, DELIVERED_CE, DELIVERED_CE_BYTES, ECN_MODE = 12, 38, 47, -5, -1
"""Places in it. ECN_MODE is the lowest two bits of its field."""
ACCURATE = 2


@dataclass
class Marks:
    """CE packets of a connection and their payload bytes."""

    packets: int = 0
    bytes: int = 0


def watch(marks: dict[int, Marks], tap: socket.socket) -> None:
    """Counts the marked packets that leave by the device, by the port of their connection."""
    while True:
        packet, address = tap.recvfrom(2048)
        if address[2] != PACKET_OUTGOING or packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
            continue
        if packet[1] & 3 == CE:
            header = (packet[0] & 15) * 4
            (length,) = struct.unpack_from("!H", packet, 2)
            (port,) = struct.unpack_from("!H", packet, header)
            marks[port].packets += 1
            marks[port].bytes += length - header - (packet[header + 12] >> 4) * 4


def tcp_info(connection: socket.socket) -> tuple[int, ...]:
    """The kernel's state of a connection."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 512)
    return struct.unpack_from(TCP_INFO_FORMAT, raw.ljust(struct.calcsize(TCP_INFO_FORMAT), b"\0"))


def upload(marks: dict[int, Marks]) -> bool:
    """One connection; true if both ends agree."""
    with socket.create_connection(SERVER, timeout=PATIENCE_S) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: engine\r\nX: " + b"a" * BYTES)
        end = time.monotonic() + PATIENCE_S
        info = tcp_info(connection)
        while info[UNACKED] or info[NOTSENT]:
            if time.monotonic() > end:
                sys.exit(f"no ACK for {PATIENCE_S} s")
            time.sleep(0.02)
            info = tcp_info(connection)
        if info[ECN_MODE] & 3 != ACCURATE:
            sys.exit("the connection has no AccECN")
        # The last packet may be on the device and not yet counted here.
        time.sleep(0.1)
        seen = marks[connection.getsockname()[1]]
        known = Marks(info[DELIVERED_CE], info[DELIVERED_CE_BYTES])
        if seen != known:
            print(f"marked {seen}, Linux knows {known}")
        return seen == known


def main() -> None:
    """Prints how many connections agree; exits with 1 if not all do."""
    count = int(sys.argv[1])
    marks: dict[int, Marks] = defaultdict(Marks)
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    tap.bind(("engine", ETH_P_ALL))
    threading.Thread(target=watch, args=(marks, tap), daemon=True).start()
    equal = sum(upload(marks) for _ in range(count))
    packets = sum(connection.packets for connection in marks.values())
    print(f"{equal} of {count} connections: Linux's counts of CE packets and bytes equal the marks")
    print(f"{packets} marked packets on the device")
    sys.exit(equal < count or packets == 0)


if __name__ == "__main__":
    main()
