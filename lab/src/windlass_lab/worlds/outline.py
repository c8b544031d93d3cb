"""A scenario as the native half reads it: its parts, and the place of each key."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass_lab.core.files.text_file import read_text
from windlass_lab.runs.simulate import ScenarioError, load_native


@dataclass(frozen=True, slots=True)
class Link:
    """A link between the nodes `a` and `b`; `key` is that of its table in the document. Delays and
    rates are those of the way from `a` to `b`, and of the way back; a rate is `None` for no limit.
    """

    name: str
    key: str
    a: str
    b: str
    delay_ns: Sequence[int]
    rate_bps: Sequence[int | None]


@dataclass(frozen=True, slots=True)
class Flow:
    """A TCP flow; `key` is that of its table. Options are the sender's but `receiver_ecn`."""

    name: str
    key: str
    source: str
    to: str
    start_s: float
    stop_s: float | None
    is_bulk: bool
    controller: str
    mss: int
    initial_window: int
    ecn: bool
    ecn_fallback: bool
    receiver_ecn: bool
    timestamps: bool
    sack: bool
    window_scaling: bool

    @property
    def packet_bytes(self) -> int:
        """Payload of a segment of full size: timestamps take 12 bytes (RFC 7323)."""
        return self.mss - (12 if self.timestamps else 0)


@dataclass(frozen=True, slots=True)
class Outline:
    """A scenario. `document` holds its keys with overrides and defaults, `places` the place of each
    dotted key, such as `my.toml:12:3`. The bottleneck is a link's name and a direction.
    """

    name: str
    seed: int
    duration_s: float
    steady_from_s: float
    jitter_s: float
    nodes: Sequence[str]
    links: Sequence[Link]
    flows: Sequence[Flow]
    bottleneck: tuple[str, str]
    document: Mapping
    places: Mapping[str, str]

    def at(self, key: str) -> object:
        """The value of a dotted key; `None` where the file has none."""
        found: object = self.document
        for step in key.split("."):
            if isinstance(found, Mapping):
                found = found.get(step)
            elif isinstance(found, list) and step.isdigit() and int(step) < len(found):
                found = found[int(step)]
            else:
                return None
        return found

    def table(self, key: str) -> Mapping:
        """The table of a dotted key, empty where there is none."""
        found = self.at(key)
        return found if isinstance(found, Mapping) else {}

    def settings(self, flow: Flow) -> dict[str, object]:
        """The keys that the file has for a flow, those of the receiver as `receiver.KEY`."""
        given = self.table(flow.key)
        settings = {key: value for key, value in given.items() if key != "receiver"}
        receiver = self.table(f"{flow.key}.receiver")
        return settings | {f"receiver.{key}": value for key, value in receiver.items()}

    def message(self, key: str, text: str) -> str:
        """A message about a key, after its place. A key that the file lacks has that of the
        table it would stand in.
        """
        steps = key.split(".")
        within = (".".join(steps[:count]) for count in range(len(steps), 0, -1))
        place = next((self.places[step] for step in within if step in self.places), self.name)
        return f"{place}: {key}: {text}"

    def bottleneck_link(self) -> Link:
        """The link whose queue is reported."""
        return next(link for link in self.links if link.name == self.bottleneck[0])

    def bottleneck_rate_bps(self) -> int | None:
        """The rate of the bottleneck; `None` for no limit."""
        return self.bottleneck_link().rate_bps[0 if self.bottleneck[1] == "forward" else 1]

    def path(self, flow: Flow) -> Iterator[Link]:
        """The links between a flow's ends, of which there is one way where there is no loop."""
        before: dict[str, tuple[str, Link]] = {}
        queue = [flow.source]
        for node in queue:
            for link in self.links:
                if node in (link.a, link.b):
                    other = link.b if node == link.a else link.a
                    if other != flow.source and other not in before:
                        before[other] = (node, link)
                        queue.append(other)
        node = flow.to
        while node != flow.source:
            node, link = before[node]
            yield link

    def rtt_min_ms(self, flow: Flow) -> float:
        """Propagation delay there and back."""
        return sum(sum(link.delay_ns) for link in self.path(flow)) / 1e6


def read(file: Path, overrides: Sequence[str] = ()) -> Outline:
    """The scenario in a file, with `KEY=VALUE` overrides. Raises `ScenarioError` for its faults."""
    return parse(str(file), read_text(file), overrides)


def parse(origin: str, text: str, overrides: Sequence[str] = ()) -> Outline:
    """The scenario in a text; messages name it `origin`. Raises `ScenarioError`."""
    try:
        found = json.loads(load_native().outline(origin, text, list(overrides)))
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    flows = [
        {("source" if key == "from" else key): v for key, v in f.items()}
        for f in found.pop("flows")
    ]
    return Outline(
        links=[Link(**link) for link in found.pop("links")],
        flows=[Flow(**flow) for flow in flows],
        bottleneck=tuple(found.pop("bottleneck")),
        **found,
    )
