"""The paths on which controllers are traced, drawn from a seed."""

import random
from dataclasses import dataclass

# An IP packet of the 256 bytes that the probe announces as its MSS, with its headers.
_PACKET_BYTES = 306


@dataclass(frozen=True)
class Path:
    """A path: the rate in Mbit/s, the round-trip time in ms, the queue in packets."""

    name: str
    rate_mbit: float
    rtt_ms: float
    queue_packets: int

    @property
    def limit_packets(self) -> int:
        """The limit of netem, which counts the packets on the way and those in the queue."""
        on_the_way = self.rate_mbit * 1e3 * self.rtt_ms / 8 / _PACKET_BYTES
        return int(on_the_way) + self.queue_packets


# Decimal logarithms of round-trip times in ms: for scripts of 160 ms, and for those of 320 ms.
_NEAR = (0.3, 2.1)
_FAR = (2.2, 2.47)


def draw(seed: int, count: int, *, far: bool = False) -> list[Path]:
    """The first paths of a seed: 8 to 100 Mbit/s, 2 to 126 ms, or far 158 to 295 ms, and queues of
    50 to 400 packets.

    The rates and times are even on a logarithmic scale.
    """
    stream = random.Random(seed)
    name, times = (f"far{seed}", _FAR) if far else (f"{seed}", _NEAR)
    return [_draw(stream, f"{name}.{number}", times) for number in range(count)]


def _draw(stream: random.Random, name: str, times: tuple[float, float]) -> Path:
    rate_mbit = round(10 ** stream.uniform(0.9, 2), 1)
    rtt_ms = round(10 ** stream.uniform(*times), 1)
    return Path(name, rate_mbit, rtt_ms, stream.choice([50, 100, 200, 400]))
