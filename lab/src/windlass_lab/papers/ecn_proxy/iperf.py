"""iperf 2, which the paper used: all connections of a test opened at once by one client.

iperf3 opens one connection more, for what its ends have to say, and the others after one another;
the last SYNs then meet a queue that the first connections have filled.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from windlass_lab.core.errors import RunError

PROGRAM = PACKAGE = "iperf"
_OPENED = re.compile(r"^\[ *(\d+)\] local .* connected with .*\(ct=([\d.]+) ms\)", re.MULTILINE)
# A client that receives has a star before the number.
_SENT = re.compile(r"^\[ *\*?(\d+)\] 0\.0+-([\d.]+) sec +(\d+) Bytes ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Transfer:
    """One connection: how long its handshake took, and how long the other end then took to have
    read all, in seconds.
    """

    opening_s: float
    sending_s: float

    @property
    def seconds(self) -> float:
        """From its SYN to its end."""
        return self.opening_s + self.sending_s


def server(port: int, ipv6: bool) -> list[str]:
    """A server, for any number of connections."""
    return [PROGRAM, "--server", "--port", str(port), *_family(ipv6)]


def client(
    address: str, port: int, connections: int, size_bytes: int, controller: str
) -> list[str]:
    """A client that sends so much by each connection, none waiting for another's handshake.

    Without a `controller` it receives as much instead: iperf cannot ask the other end for one.
    """
    role = ["--tcp-congestion", controller] if controller else ["--reverse"]
    return [
        *(PROGRAM, "--client", address, "--port", str(port), "--parallel", str(connections)),
        *("--num", str(size_bytes), *role, "--no-connect-sync", *_family(":" in address)),
        *("--enhanced", "--format", "B"),
    ]


def _family(ipv6: bool) -> list[str]:
    return ["--ipv6_domain"] if ipv6 else []


def transfers(name: str, report: str, connections: int, size_bytes: int) -> Sequence[Transfer]:
    """Each connection's figures from a client's report. Raises `RunError` for one cut short."""
    opened = {number: float(ms) / 1e3 for number, ms in _OPENED.findall(report)}
    sent = {number: (float(seconds), int(size)) for number, seconds, size in _SENT.findall(report)}
    whole = [number for number, (_, size) in sent.items() if size == size_bytes]
    if len(whole) != connections or set(whole) != set(opened):
        last = report.strip().rpartition("\n")[2]
        raise RunError(
            f"{name}: {len(whole)} of {connections} connections sent their {size_bytes} bytes; "
            f"iperf's last line: {last or 'none'}"
        )
    return [Transfer(opened[number], sent[number][0]) for number in whole]
