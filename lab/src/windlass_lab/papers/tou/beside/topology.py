"""Two senders, a receiver and `windlass link` between them; the link to the receiver is narrow."""

from math import ceil

from windlass_lab.papers.tou.beside.plan import (
    CODEL,
    FIFOS,
    PACKET_BYTES,
    RED_MAX_S,
    RED_MIN_S,
    Cell,
)
from windlass_lab.testbed import link
from windlass_lab.testbed.topology import Experiment, Flow, Node, Topology

OURS, THEIRS, RECEIVER = "ours", "theirs", "receiver"
ADDRESSES = {OURS: "10.78.0.1", THEIRS: "10.78.0.2", RECEIVER: "10.78.0.100"}
# Of the round trip, at the receiver's port each way.
_NARROW_MS = 1.0
# A connection does not take over what an earlier one has learnt.
_SYSCTLS = {"net.ipv4.tcp_no_metrics_save": 1}


def experiment(cell: Cell) -> Experiment:
    """The testbed of a cell. Its flow tells what has to be there; the runner makes its own."""
    delay = f'delay = "{cell.rtt_ms / 2 - _NARROW_MS:g}ms"'
    narrow = f'delay = "{_NARROW_MS:g}ms"'
    down = f'{narrow}, rate = "{cell.rate_mbit}Mbit/s", queue = {queue(cell)}'
    ports = [
        _port(OURS, delay, delay),
        _port(THEIRS, delay, delay),
        _port(RECEIVER, narrow, down),
    ]
    return Experiment(
        name=cell.name,
        topology=Topology([Node(name, _SYSCTLS) for name in ADDRESSES]),
        flows=[Flow("share", THEIRS, RECEIVER, "cubic", address=ADDRESSES[RECEIVER])],
        programs=[link.program(ports, ["--json"])],
        tcp_probe=False,
    )


def queue(cell: Cell) -> str:
    """The narrow link's queue, as the link's file has it. RED is as Linux has it."""
    if cell.queue in FIFOS:
        packets = round(FIFOS[cell.queue] * cell.bdp_packets)
        return f'{{ kind = "droptail", limit = "{packets} packets" }}'
    if cell.queue == CODEL:
        return '{ kind = "codel" }'
    bytes_per_s = cell.rate_mbit * 1e6 / 8
    low, high = round(RED_MIN_S * bytes_per_s), round(RED_MAX_S * bytes_per_s)
    burst = ceil((2 * low + high) / (3 * PACKET_BYTES))
    return (
        f'{{ kind = "tc-red", limit = "1500kB", min = "{low}B", max = "{high}B", '
        f"avpkt_bytes = {PACKET_BYTES}, burst = {burst}, probability = 0.1, "
        f'bandwidth = "{cell.rate_mbit}Mbit/s" }}'
    )


def _port(name: str, up: str, down: str) -> link.Port:
    return link.Port(name, f"{ADDRESSES[name]}/24", f"{{ {up} }}", f"{{ {down} }}")
