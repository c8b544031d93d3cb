"""The testbed of the soak: two namespaces, a link between them that can be taken away, and the
programs in them."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hosts import Testbed, Topology, host
from process import BenchError
from soak_plan import ENDS, Blackout
from soak_plan import Path as LinkPath

ADDRESSES = {"connect": "10.9.0.1", "listen": "10.9.0.2"}
# Longer than the device of a link takes to come up on a busy machine.
READY_S = 20.0
DAMAGES = ("lost", "dropped", "duplicated", "corrupted", "delivered")


class Bed:
    """A lane's two hosts and the link between them."""

    def __init__(self, windlass: Path, hosts: dict[str, str], folder: Path) -> None:
        self.windlass = windlass
        self.hosts = hosts
        self.folder = folder
        self.damage = dict.fromkeys(DAMAGES, 0)
        self._link: subprocess.Popen | None = None
        self._path: LinkPath | None = None
        self._figures = folder / "link"

    def plug(self, path: LinkPath, seed: int) -> None:
        """A link of this kind, instead of the one there is."""
        self.unplug()
        self._path = path
        ports = [f"{end[0]}0@{host}={ADDRESSES[end]}/24" for end, host in self.hosts.items()]
        command = [str(self.windlass), "link", "--json", "--seed", str(seed)]
        command += [word for port in ports for word in ("--port", port)] + path.arguments()
        with self._figures.open("wb") as figures:
            self._link = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=figures)
        deadline = time.monotonic() + READY_S
        while not all(self._is_up(end) for end in ENDS):
            if self._link.poll() is not None or time.monotonic() > deadline:
                raise BenchError(f"no link: {' '.join(command)}")
            time.sleep(0.02)

    def _is_up(self, end: str) -> bool:
        command = ["ip", "-n", self.hosts[end], "-brief", "address", "show", "dev", f"{end[0]}0"]
        shown = subprocess.run(command, capture_output=True, text=True, check=False)
        return ADDRESSES[end] in shown.stdout

    def unplug(self) -> None:
        """The devices go, as with a cable that is pulled."""
        if not self._link:
            return
        self._link.send_signal(signal.SIGCONT)
        self._link.terminate()
        self._link.wait()
        self._link = None
        for line in self._figures.read_text().splitlines():
            printed = json.loads(line)
            if printed["kind"] == "link.summary":
                self._count(printed)

    def _count(self, printed: dict) -> None:
        for path in printed["paths"]:
            for name in DAMAGES:
                value = path[name]
                self.damage[name] += sum(value.values()) if isinstance(value, dict) else value

    def black_out(self, blackout: Blackout, seed: int) -> None:
        """Does it, and comes back when the link works again."""
        assert self._path and self._link, "a blackout is of a link"
        if blackout.path:
            self.plug(blackout.path, seed)
            return
        if blackout.how == "unplug":
            self.unplug()
            time.sleep(blackout.seconds)
            self.plug(self._path, seed)
            return
        # Packets that arrive meanwhile wait in the devices, and then arrive at once.
        self._link.send_signal(signal.SIGSTOP)
        time.sleep(blackout.seconds)
        self._link.send_signal(signal.SIGCONT)

    def start(self, end: str, arguments: list[str], name: str) -> subprocess.Popen:
        """`windlass tou` on that host, with NAME.in as input; it writes NAME.out and NAME.err."""
        # `ip netns exec` becomes the program: the process is the program's own.
        host = ["ip", "netns", "exec", self.hosts[end]]
        files = [self.folder / f"{name}.{kind}" for kind in ("in", "out", "err")]
        with files[0].open("rb") as fed, files[1].open("wb") as out, files[2].open("wb") as err:
            command = [*host, str(self.windlass), "tou", *arguments]
            return subprocess.Popen(command, stdin=fed, stdout=out, stderr=err)

    def checksum_errors(self) -> int:
        """Datagrams that the kernels of both hosts have dropped as damaged."""
        return sum(_counter(host, "Udp", "InCsumErrors") for host in self.hosts.values())


def _counter(host: str, protocol: str, name: str) -> int:
    command = ["ip", "netns", "exec", host, "cat", "/proc/net/snmp"]
    done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(f"{protocol}:")]
    return int(dict(zip(*lines, strict=True))[name])


@contextmanager
def hosts(lanes: int) -> Iterator[list[dict[str, str]]]:
    """The namespaces of each lane's two hosts, by end. The main thread must enter this context."""
    nodes = [{end: f"{end}{lane}" for end in ENDS} for lane in range(lanes)]
    topology = Topology([host(name) for lane in nodes for name in lane.values()])
    with Testbed(topology) as testbed:
        yield [{end: testbed.namespace(name) for end, name in lane.items()} for lane in nodes]
