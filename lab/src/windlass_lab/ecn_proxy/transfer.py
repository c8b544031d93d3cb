"""One run of a test on real kernels, in a process of its own: an order on standard input, the run
on standard output.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from windlass_lab import child
from windlass_lab.ecn_proxy import topology
from windlass_lab.ecn_proxy.plan import Test
from windlass_lab.ecn_proxy.runs import Run, jain
from windlass_lab.errors import RunError
from windlass_lab.testbed.bed import Testbed, wait_until

_UDP_PORT, _TCP_PORT = 5301, 5201
_UDP_PAYLOAD = 1470
_UDP_RATE = "10M"
# Longer than any test.
_UDP_S = 86_400
# The kernel's verifier takes seconds for the proxy's programs, and a minute beside builds.
_LOADED_S = 300.0
# A connection may wait for the others' end before it gets through; iperf3's server would give up
# after two minutes.
_PATIENCE_MS = 3_600_000
# Until the cross traffic has filled the queue.
_SETTLE_S = 1.0
_TICK_S = 0.02


def measure(test: Test, scale: float, windlass: Path) -> Run:
    """Builds the network, transfers, removes it. Raises `RunError` where that fails."""
    found = topology.experiment(test)
    with (
        tempfile.TemporaryDirectory(prefix="windlass-lab-") as out,
        Testbed(found.topology, found.programs, Path(out), windlass) as bed,
    ):
        proxies = [Proxy(windlass, topology.socket(out, node)) for node in topology.proxies(test)]
        for proxy in proxies:
            wait_until(lambda p=proxy: _serves(bed, p), f"{test.name}: no ECN proxy", _LOADED_S)
        if test.cross:
            _cross_traffic(bed)
        time.sleep(_SETTLE_S)
        run = _transfer(bed, test, scale)
        return replace(run, proxies=[proxy.ask("stats")["counters"] for proxy in proxies])


@dataclass(frozen=True, slots=True)
class Proxy:
    """A daemon that can be asked."""

    windlass: Path
    socket: str

    def ask(self, what: str) -> dict:
        """What `ecn-proxy status` or `stats` tells. Raises `RunError` where nothing answers."""
        command = [str(self.windlass), "ecn-proxy", what, "--json", "--socket", self.socket]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        if told.returncode != 0:
            raise RunError(f"the ECN proxy does not answer: {told.stderr.strip()}")
        return json.loads(told.stdout)


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


def _cross_traffic(bed: Testbed) -> None:
    ways = (("udpl", "udpr", topology.UDP_RIGHT), ("udpr", "udpl", topology.UDP_LEFT))
    for source, to, address in ways:
        _serve(bed, f"udp-server-{to}", to, _UDP_PORT)
        command = [
            *("iperf3", "--client", address, "--port", str(_UDP_PORT), "--udp"),
            *("--bitrate", _UDP_RATE, "--length", str(_UDP_PAYLOAD), "--time", str(_UDP_S)),
        ]
        _start(bed, f"udp-{source}", source, command)


def _serve(bed: Testbed, name: str, node: str, port: int) -> None:
    command = ["iperf3", "--server", "--port", str(port), "--rcv-timeout", str(_PATIENCE_MS)]
    process = _start(bed, name, node, command)
    wait_until(
        lambda: process.poll() is not None or "listening" in bed.log(name).read_text(),
        f"{name}: does not listen",
    )
    if process.poll() is not None:
        raise RunError(f"{name}: {bed.complaint(name)}")


def _start(bed: Testbed, name: str, node: str, command: Sequence[str]) -> subprocess.Popen:
    if command[0] == "iperf3":
        command = [*command, "--forceflush"]
    with bed.log(name).open("w") as log:
        return bed.start(name, node, command, stdout=log, stderr=subprocess.STDOUT)


def _transfer(bed: Testbed, test: Test, scale: float) -> Run:
    source, to = "server", ("client", topology.CLIENT)
    if test.direction == "upload":
        source, to = "client", ("server", topology.SERVER)
    ports = range(_TCP_PORT, _TCP_PORT + test.connections)
    for port in ports:
        _serve(bed, f"tcp-server-{port}", to[0], port)
    size = round(test.megabytes(scale) * 1e6)
    rounds = [
        list(_round(bed, f"{number}", source, to[1], ports, size))
        for number in range(test.transfers(scale))
    ]
    # Connections of a round go at a time, rounds one after the other.
    return Run(
        seconds=sum(span(transfers) for transfers in rounds),
        fairness=min(jain([1 / each.lasted_s for each in transfers]) for transfers in rounds),
    )


@dataclass(frozen=True, slots=True)
class Transfer:
    """One connection: when its client ended, and how long the data took by that client's report."""

    ended_s: float
    lasted_s: float


def span(transfers: Sequence[Transfer]) -> float:
    """From the first one's first byte to the last one's last, in seconds.

    A connection whose SYN was lost begins later than the others. What a client and its server tell
    each other at the end takes all of them as long, but for what is lost of it.
    """
    began = min(each.ended_s - each.lasted_s for each in transfers)
    return max(each.ended_s for each in transfers) - began


def _round(
    bed: Testbed, name: str, source: str, address: str, ports: Sequence[int], size: int
) -> Iterator[Transfer]:
    """Each of the connections, opened together."""
    clients = {}
    for port in ports:
        command = [
            *("iperf3", "--client", address, "--port", str(port), "--json"),
            *("--bytes", str(size), "--congestion", topology.CONTROLLER),
        ]
        clients[f"tcp-{name}-{port}"] = (source, command)
    started = {key: _start(bed, key, *where) for key, where in clients.items()}
    ended_s: dict[str, float] = {}
    while len(ended_s) < len(started):
        bed.check_alive()
        time.sleep(_TICK_S)
        now_s = time.monotonic()
        ended = (key for key, process in started.items() if process.poll() is not None)
        ended_s |= {key: now_s for key in ended if key not in ended_s}
    for key in started:
        yield Transfer(ended_s[key], _seconds(key, bed.log(key).read_text()))


def _seconds(name: str, report: str) -> float:
    """From the first byte written to the last, as the client has it."""
    try:
        told = json.loads(report)
        if "error" in told:
            raise RunError(f"{name}: iperf3: {told['error']}")
        return float(told["end"]["sum_sent"]["seconds"])
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{name}: iperf3's report cannot be read: {error!r}") from error


def _obey(order: Mapping) -> Run:
    return measure(Test(**order["test"]), order["scale"], Path(order["windlass"]))


if __name__ == "__main__":
    sys.exit(child.obey(_obey))
