"""One run of a test on real kernels, in a process of its own: an order on standard input, the run
on standard output.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from windlass_lab.core.errors import RunError
from windlass_lab.core.pipeline import child
from windlass_lab.papers.ecn_proxy import iperf, topology
from windlass_lab.papers.ecn_proxy.aside import Udp
from windlass_lab.papers.ecn_proxy.aside_kernel import KernelCell
from windlass_lab.papers.ecn_proxy.plan import CLIENT_OPENS, IPV6, Test
from windlass_lab.papers.ecn_proxy.runs import Run, jain
from windlass_lab.testbed.bed import Testbed, wait_until

_UDP_PORT, _TCP_PORT = 5301, 5201
_UDP_PAYLOAD = 1470
_IPV6_MORE = 20
# Of IPv4 and UDP.
_UDP_HEADERS = 28
_AGREED_ROUND_TRIPS = 8
# Of IPv4's payload, in bit/s.
_UDP_RATE = 10_000_000
# Longer than any test.
_UDP_S = 86_400
# The kernel's verifier takes seconds for the proxy's programs, and a minute beside builds.
_LOADED_S = 300.0
_UDP_OPTIONS = ("--port", str(_UDP_PORT), "--forceflush")
# Until the cross traffic has filled the queue.
_SETTLE_S = 1.0
_TICK_S = 0.02


def measure(test: topology.OnKernels, scale: float, windlass: Path) -> Run:
    """Builds the network, transfers, removes it. Raises `RunError` where that fails."""
    found = topology.experiment(test)
    with (
        tempfile.TemporaryDirectory(prefix="windlass-lab-") as out,
        Testbed(found.topology, found.programs, Path(out), windlass) as bed,
    ):
        proxies = [Proxy(windlass, topology.socket(out, node)) for node in topology.proxies(test)]
        for proxy in proxies:
            wait_until(partial(_serves, bed, proxy), f"{test.name}: no ECN proxy", _LOADED_S)
        _cross_traffic(bed, test)
        time.sleep(_SETTLE_S)
        run = _transfer(bed, test, scale)
        return replace(run, proxies=[proxy.ask("stats")["counters"] for proxy in proxies])


@dataclass(frozen=True, slots=True)
class Proxy:
    """A daemon that can be asked."""

    windlass: Path
    socket: str

    def ask(self, what: str) -> dict:
        """The output of `ecn-proxy status` or `stats`. Raises `RunError` without an answer."""
        command = [str(self.windlass), "ecn-proxy", what, "--json", "--socket", self.socket]
        printed = subprocess.run(command, capture_output=True, text=True, check=False)
        if printed.returncode != 0:
            raise RunError(f"the ECN proxy does not answer: {printed.stderr.strip()}")
        return json.loads(printed.stdout)


def _serves(bed: Testbed, proxy: Proxy) -> bool:
    bed.check_alive()
    # Asking a proxy that is not there yet costs a process.
    if not Path(proxy.socket).exists():
        return False
    try:
        proxy.ask("status")
    except RunError:
        return False
    return True


def _cross_traffic(bed: Testbed, test: topology.OnKernels) -> None:
    if isinstance(test, KernelCell):
        if test.udp:
            _cross_traffic_of_cell(bed, test, test.udp)
    elif test.cross:
        # As many bytes on the wire of either family, in packets of the same size.
        payload = _UDP_PAYLOAD - (_IPV6_MORE if test.mode == IPV6 else 0)
        rate = str(_UDP_RATE * payload // _UDP_PAYLOAD)
        for source, to in (("udpl", "udpr"), ("udpr", "udpl")):
            _stream(bed, test, source, to, rate, payload)


def _cross_traffic_of_cell(bed: Testbed, test: KernelCell, udp: Udp) -> None:
    # iperf3's rate is that of the payload.
    payload = udp.packet_bytes - _UDP_HEADERS
    rate = round(udp.rate_mbit * 1e6 * payload / udp.packet_bytes)
    _stream(bed, test, f"udp{udp.here[0]}", f"udp{udp.there[0]}", str(rate), payload)
    # iperf3's ends agree on the stream over the same path before the first datagram.
    time.sleep(_AGREED_ROUND_TRIPS * test.rtt_ms / 1000)


def _stream(
    bed: Testbed, test: topology.OnKernels, source: str, to: str, rate: str, payload: int
) -> None:
    _serve(bed, f"udp-server-{to}", to, ["iperf3", "--server", *_UDP_OPTIONS])
    command = [
        *("iperf3", "--client", topology.address(test, to), "--udp", "--bitrate", rate),
        *("--length", str(payload), "--time", str(_UDP_S), *_UDP_OPTIONS),
    ]
    bed.start_logged(f"udp-{source}", source, command)


def _serve(bed: Testbed, name: str, node: str, command: Sequence[str]) -> None:
    process = bed.start_logged(name, node, command)
    wait_until(
        lambda: process.poll() is not None or "listening" in bed.log(name).read_text(),
        f"{name}: does not listen",
    )
    if process.poll() is not None:
        raise RunError(f"{name}: {bed.complaint(name)}")


def _transfer(bed: Testbed, test: topology.OnKernels, scale: float) -> Run:
    source, to = ("client", "server") if test.direction == "upload" else ("server", "client")
    controller = topology.CONTROLLER
    if test.mode == CLIENT_OPENS:
        # The client receives what the server sends.
        source, to, controller = to, source, ""
    _serve(bed, "tcp-server", to, iperf.server(_TCP_PORT, test.mode == IPV6))
    size = round(test.megabytes(scale) * 1e6)
    address = topology.address(test, to)
    command = iperf.client(address, _TCP_PORT, test.connections, size, controller)
    rounds = []
    for number in range(test.transfers(scale)):
        name = f"tcp-{number}"
        client = bed.start_logged(name, source, command)
        while client.poll() is None:
            bed.check_alive()
            time.sleep(_TICK_S)
        report = bed.log(name).read_text()
        rounds.append(iperf.transfers(name, report, test.connections, size))
    return result(rounds)


def result(rounds: Sequence[Sequence[iperf.Transfer]]) -> Run:
    """Of rounds that go one after the other, the connections of each opened at once."""
    return Run(
        seconds=sum(max(each.seconds for each in transfers) for transfers in rounds),
        fairness=min(jain([1 / each.seconds for each in transfers]) for transfers in rounds),
    )


def _obey(order: Mapping) -> Run:
    ordered = order["test"]
    test = KernelCell(**ordered) if "rtt_ms" in ordered else Test(**ordered)
    return measure(test, order["scale"], Path(order["windlass"]))


if __name__ == "__main__":
    sys.exit(child.obey(_obey))
