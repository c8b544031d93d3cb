"""The hosts of a survey by what labels them: Server header, initial TTL, network."""

import csv
import ipaddress
import re
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.text_file import read_text
from windlass_lab.papers.split_ack.summary import MEASURED
from windlass_lab.surveys.stored import NOT_MEASURED, Address, Host, unmapped

NO_HEADER, NO_ANSWER = "no Server header", "not measured"
NO_SYN_ACK, NO_ADDRESS = "no SYN-ACK known", "no address known"
_NAME_MAX = 40
# The networks that hosts stand for where no name of them is given.
_PREFIX_OF_VERSION = {4: 16, 6: 32}
# The bits before the IPv4 address in an IPv4-mapped one.
_MAPPED_BITS = 96
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def printable(text: str) -> str:
    """Text from the network without what a terminal or a page would not show as it is."""
    return "".join(c if c.isprintable() else "�" for c in text)


def product(host: Host) -> str:
    """The first product of the Server header (RFC 9110, section 10.2.4), without its version."""
    if not host.server.strip():
        return NO_ANSWER if host.verdict == NOT_MEASURED else NO_HEADER
    text = host.server.strip()
    name = re.split(r"[/\s(]", text, maxsplit=1)[0] or text
    name = printable(name)
    return name if len(name) <= _NAME_MAX else name[: _NAME_MAX - 1] + "…"


def initial_ttl(host: Host) -> str:
    """The TTL with which the host probably sends: the survey's guess."""
    if host.ttl is None or host.hops is None:
        return NO_SYN_ACK
    return str(host.ttl + host.hops)


@dataclass(frozen=True, slots=True)
class Networks:
    """Names of networks. An address has the name of the smallest network that holds it."""

    names: Mapping[Network, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Networks":
        """From a file with a network (CIDR) and its name in each line. Raises `LabError`."""
        names: dict[Network, str] = {}
        for line, (network, name) in read_pairs(path, "a network and its name"):
            try:
                names[_read_network(network)] = name
            except ValueError as error:
                raise LabError(f"{path}: line {line}: {error}") from None
        return cls(names)

    def of(self, host: Host) -> str:
        """The name of the host's network, or the network of 16 bits (IPv6: 32)."""
        if host.address is None:
            return NO_ADDRESS
        named = self._name(host.address)
        return named or str(_network(host.address, _PREFIX_OF_VERSION[host.address.version]))

    def _name(self, address: Address) -> str | None:
        if not self.names:
            return None
        around = (_network(address, bits) for bits in range(address.max_prefixlen, -1, -1))
        return next((self.names[network] for network in around if network in self.names), None)


def _read_network(text: str) -> Network:
    """A network in the form of IPv4-mapped IPv6 is the IPv4 network. Raises `ValueError`."""
    network = ipaddress.ip_network(text)
    address = unmapped(network.network_address)
    if address.version == network.version:
        return network
    return ipaddress.ip_network((address, network.prefixlen - _MAPPED_BITS))


def _network(address: Address, bits: int) -> Network:
    return ipaddress.ip_network((address, bits), strict=False)


def read_pairs(path: Path, what: str) -> list[tuple[int, tuple[str, str]]]:
    """The lines of a CSV file of two columns, with their numbers; empty lines and those that begin
    with # are left out. Raises `LabError` for other lines, which are to be `what`.
    """
    found = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        if len(cells) != len(("first", "second")) or not all(cells):
            raise LabError(f"{path}: line {number}: expected {what}, with a comma between them")
        found.append((number, (cells[0], cells[1])))
    return found


def grouped(hosts: Sequence[Host], label_of: Callable[[Host], str]) -> list[dict]:
    """The groups by size: `name`, `hosts`, `measured`, `verdicts` (hosts by verdict),
    `initial_window` (packets, of exact ones), medians of `rtt_ms` and `hops`.

    Names that differ in upper and lower case are one, spelt as most hosts do.
    """
    members: dict[str, list[Host]] = {}
    spellings: dict[str, Counter[str]] = {}
    for host in hosts:
        label = label_of(host)
        members.setdefault(label.casefold(), []).append(host)
        spellings.setdefault(label.casefold(), Counter())[label] += 1
    groups = [_group(spellings[key].most_common(1)[0][0], of) for key, of in members.items()]
    return sorted(groups, key=lambda group: (-group["hosts"], group["name"]))


def _group(name: str, hosts: Sequence[Host]) -> dict:
    windows = [host.window for host in hosts if host.window_exact and host.window is not None]
    return {
        "name": name,
        "hosts": len(hosts),
        "measured": sum(host.outcome == MEASURED for host in hosts),
        "verdicts": dict(Counter(host.verdict for host in hosts).most_common()),
        "initial_window": {
            "median": statistics.median(windows),
            "min": min(windows),
            "max": max(windows),
        }
        if windows
        else None,
        "rtt_ms": _median([host.rtt_ms for host in hosts if host.rtt_ms is not None]),
        "hops": _median([host.hops for host in hosts if host.hops is not None]),
    }


def _median(values: Sequence[float]) -> float | None:
    return round(statistics.median(values), 2) if values else None
