"""`windlass link` between the nodes of a testbed: its file, its program, and its figures."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windlass_lab.core.errors import RunError
from windlass_lab.testbed.bed import Testbed
from windlass_lab.testbed.topology import Program

LINK = "link"


@dataclass(frozen=True, slots=True)
class Port:
    """A port in the node of its name, or in `node`, with `address` and its length of prefix.

    `up` is the path of packets from the node, `down` that of packets to it, each an inline table of
    the link's file; `routes` are the networks behind the link, and `networks` those behind the port
    (default: its address).
    """

    name: str
    address: str
    up: str
    down: str = ""
    routes: Sequence[str] = ()
    networks: Sequence[str] = ()
    node: str = ""

    def to_toml(self) -> str:
        """As the link's file has it."""
        lines = [
            "[[ports]]",
            f'name = "{self.name}"',
            f'namespace = "{{node:{self.node or self.name}}}"',
            *_list("addresses", [self.address] if self.address else []),
            *_list("routes", self.routes),
            *_list("networks", self.networks),
            f"up = {self.up}",
            *([f"down = {self.down}"] if self.down else []),
        ]
        return "\n" + "\n".join(lines) + "\n"


def _list(key: str, items: Sequence[str]) -> list[str]:
    quoted = ", ".join(f'"{item}"' for item in items)
    return [f"{key} = [{quoted}]"] if items else []


def program(
    ports: Sequence[Port],
    options: Sequence[str] = (),
    name: str = LINK,
    queues: Sequence[str] = (),
    head: str = "",
) -> Program:
    """The link between these ports, with options of `windlass link run`. `head` are further keys of
    the whole link, lines of its file.
    """
    return Program(
        name,
        ["{windlass}", "link", "run", "{file:link.toml}", *options],
        files={"link.toml": "schema = 1\n" + head + "".join(port.to_toml() for port in ports)},
        ready=[f"{port.node or port.name}/{port.name}" for port in ports],
        queues=queues,
    )


def report(bed: Testbed) -> Mapping:
    """The figures of a link that was started with --json, and ends for them. Raises `RunError`."""
    bed.end(LINK)
    last = bed.log(LINK).read_text().splitlines()[-1:]
    try:
        return json.loads(last[0])
    except (ValueError, IndexError) as error:
        raise _unreadable(error) from error


def path(found: Mapping, port: str, direction: str) -> Mapping:
    """The counters of a path in a link's figures. Raises `RunError`."""
    try:
        return next(p for p in found["paths"] if (p["port"], p["direction"]) == (port, direction))
    except (KeyError, StopIteration, TypeError) as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> RunError:
    return RunError(f"the link's figures cannot be read: {error!r}")
