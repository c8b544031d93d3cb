"""New-ECN's window slopes, which INET_DIAG does not have, as `windlass cc` shows them."""

import csv
import time
from pathlib import Path

FLOWS = Path("/sys/fs/bpf/windlass/cc/new_ecn/flows")
_NAMESPACE = Path("/proc/self/ns/net")
# A slope changes once in a round trip, and each look is one at all connections.
_INTERVAL_S = 0.05


class Slopes:
    """The slopes of the connections of the namespace that it is used in, by their ports."""

    def __init__(self, flows: Path = FLOWS) -> None:
        self._flows = flows
        self._netns = str(_NAMESPACE.stat().st_ino)
        self._due_s = 0.0
        self._known: dict[int, int] = {}

    def at(self, port: int) -> int:
        """The slope of the connection with this port at either end, in 2^-32; 0 for none."""
        now_s = time.monotonic()
        if now_s >= self._due_s:
            self._due_s = now_s + _INTERVAL_S
            self._known = self._read()
        return self._known.get(port, 0)

    def _read(self) -> dict[int, int]:
        try:
            lines = self._flows.read_text(encoding="ascii").splitlines()
        except OSError:
            return {}
        mine = [row for row in csv.DictReader(lines) if row["netns"] == self._netns]
        ends = ("local_port", "peer_port")
        return {int(row[end]): int(row["slope_32"]) for row in mine for end in ends}
