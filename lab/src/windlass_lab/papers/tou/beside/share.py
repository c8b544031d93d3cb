"""One run of a test in namespaces, in a process of its own: an order on standard input, the run on
standard output.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass_lab.core.errors import RunError
from windlass_lab.core.pipeline import child
from windlass_lab.papers.tou.beside import topology
from windlass_lab.papers.tou.beside.plan import (
    LASTS_S,
    LEAD_S,
    OMIT_S,
    Cell,
    Side,
    Test,
    neighbours,
)
from windlass_lab.testbed import link
from windlass_lab.testbed.bed import FIRST, Testbed, wait_until
from windlass_lab.testbed.run import listens

_PORTS = {topology.OURS: 5201, topology.THEIRS: 5202}
_TICK_S = 0.05
# More than the seconds of a run, which a lost SYN makes longer.
_ENDED_S = OMIT_S + LASTS_S + 30.0
_READY_S = 30.0
_FLOOD = (sys.executable, "-P", "-m", "windlass_lab.papers.tou.beside.flood")


@dataclass(frozen=True, slots=True)
class Run:
    """One run: what arrived of each side in Mbit/s of payload, after the first seconds.

    `dropped` packets are the narrow queue's, of the whole run. `late_ms` is what the link was late
    by at most for 99 of 100 packets, `load` the machine's load average at the end.
    """

    ours: float
    theirs: float
    dropped: int
    late_ms: float
    load: float

    @property
    def share(self) -> float:
        """The rate of our side over that of the neighbours."""
        return self.ours / self.theirs


def measure(test: Test, number: int, windlass: Path) -> Run:
    """Builds the network, fills it, removes it. Raises `RunError` where that fails."""
    experiment = topology.experiment(test.cell)
    sides = {topology.OURS: test.side, topology.THEIRS: neighbours(test.cell)}
    order = [topology.OURS, topology.THEIRS]
    if number % 2 == 0:
        order.reverse()
    streams = test.cell.flows // 2
    with (
        tempfile.TemporaryDirectory(prefix="windlass-lab-") as out,
        Testbed(experiment.topology, experiment.programs, Path(out), windlass) as bed,
    ):
        for name, side in sides.items():
            _serve(bed, name, side, streams)
        clients = []
        for name in order:
            clients.append(_start(bed, name, sides[name], streams))
            time.sleep(LEAD_S)
        _wait(bed, clients)
        rates = {name: _rate(bed, name, side) for name, side in sides.items()}
        found = link.report(bed)
    narrow = link.path(found, topology.RECEIVER, "down")
    return Run(
        ours=rates[topology.OURS],
        theirs=rates[topology.THEIRS],
        dropped=sum(narrow["dropped"].values()),
        late_ms=found["late_ms"]["p99"],
        load=os.getloadavg()[0],
    )


def _serve(bed: Testbed, name: str, side: Side, streams: int) -> None:
    host, port = topology.ADDRESSES[topology.RECEIVER], _PORTS[name]
    server = f"server-{name}"
    command = [*_FLOOD, "receive", host, str(port), "--parallel", str(streams)]
    if side.is_tou:
        command = ["{windlass}", "tou", "perf", "server", "--one-off", "--port", str(port)]
    process = bed.start_logged(server, topology.RECEIVER, bed.filled([*FIRST, *command]))
    protocol = "udp" if side.is_tou else "tcp"
    wait_until(
        lambda: listens(bed, process, server, port, protocol),
        f"{server}: does not listen",
        _READY_S,
    )


def _start(bed: Testbed, name: str, side: Side, streams: int) -> tuple[str, subprocess.Popen]:
    host, port = topology.ADDRESSES[topology.RECEIVER], str(_PORTS[name])
    how = ["--parallel", str(streams), "--omit", str(OMIT_S), "--time", str(LASTS_S)]
    if side.is_tou:
        perf = ["{windlass}", "tou", "perf", "client", f"{host}:{port}", "--json"]
        command = [*perf, *how, *(["--pacing"] if side.pace else [])]
    else:
        command = [*_FLOOD, "send", host, port, *how, *(["--paced"] if side.pace else [])]
    return name, bed.start_client(name, name, bed.filled([*FIRST, *command]))


def _wait(bed: Testbed, clients: Sequence[tuple[str, subprocess.Popen]]) -> None:
    until = time.monotonic() + _ENDED_S
    while any(process.poll() is None for _, process in clients):
        bed.check_alive()
        if time.monotonic() > until:
            raise RunError("a client has not ended")
        time.sleep(_TICK_S)
    for name, process in clients:
        if process.returncode != 0:
            printed = bed.report(name).read_text(errors="replace")[-200:]
            raise RunError(f"{name}: status {process.returncode}: {bed.complaint(name)} {printed}")


def _rate(bed: Testbed, name: str, side: Side) -> float:
    """The rate of acknowledged data, in Mbit/s."""
    try:
        printed = json.loads(bed.report(name).read_text())
        if side.is_tou:
            return printed["sender"]["bit_per_s"] / 1e6
        if printed["controllers"] != ["cubic"]:
            raise RunError(f"{name}: the connections had {printed['controllers']}")
        return sum(printed["bytes"]) * 8 / printed["seconds"] / 1e6
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{name}: the report cannot be read: {error!r}") from error


def _obey(order: Mapping) -> Run:
    test = Test(Cell(**order["cell"]), Side(**order["side"]))
    return measure(test, order["number"], Path(order["windlass"]))


if __name__ == "__main__":
    sys.exit(child.obey(_obey))
