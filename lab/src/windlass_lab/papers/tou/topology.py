"""The paper's two PCs and the router between them: two namespaces and `windlass link`."""

from windlass_lab.papers.tou.losses import Losses
from windlass_lab.papers.tou.plan import QUEUE_PACKETS, RATE, Cell, Test, sysctls
from windlass_lab.testbed import link
from windlass_lab.testbed.topology import Experiment, Flow, Node, Topology

CLIENT, SERVER = "client", "server"
ADDRESSES = {CLIENT: "10.77.0.1", SERVER: "10.77.0.2"}


def experiment(test: Test, losses: Losses) -> Experiment:
    """The testbed of a test. Its one flow tells what has to be there; the runner makes its own."""
    settings = sysctls(test.contender)
    delay = f'rate = "{RATE}", delay = "{test.cell.rtt_ms / 2:g}ms"'
    queue = f'queue = {{ kind = "droptail", limit = "{QUEUE_PACKETS} packets" }}'
    ports = [
        _port(CLIENT, f"{delay}{_varied(test.cell)}, {queue}, loss = {losses.to_toml()}"),
        _port(SERVER, f"{delay}, {queue}"),
    ]
    return Experiment(
        name=test.name,
        topology=Topology([Node(CLIENT, settings), Node(SERVER, settings)]),
        flows=[Flow("transfer", CLIENT, SERVER, test.contender.controller, app="command")],
        programs=[link.program(ports, ["--json"])],
        tcp_probe=False,
    )


def _varied(cell: Cell) -> str:
    """Jitter, reordering and duplication on the path of the data, as keys of the link's file."""
    keys = f', jitter = "{cell.jitter_ms}ms"' if cell.jitter_ms else ""
    keys += ", reorder = true" if cell.reorder else ""
    return keys + (f", duplicate = {cell.duplicate:g}" if cell.duplicate else "")


def _port(name: str, up: str) -> link.Port:
    return link.Port(name, f"{ADDRESSES[name]}/24", f"{{ {up} }}")
