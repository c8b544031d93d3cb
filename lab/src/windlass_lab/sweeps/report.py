"""Progress on a terminal."""

import sys
import time

_EVERY_S = 0.5


class Report:
    """Tells a terminal how many of the `things` are done."""

    def __init__(self, things: str) -> None:
        self._things = things
        self._began = self._printed_s = time.monotonic()
        self._at_first: float | None = None

    def __call__(self, done: float, of: int) -> None:
        """Called after new ones; `done` counts those that are under way by their part."""
        now = time.monotonic()
        if self._at_first is None:
            self._at_first, self._began = done, now
        if not sys.stderr.isatty() or (now - self._printed_s < _EVERY_S and done < of):
            return
        self._printed_s = now
        left = ""
        if (new := done - self._at_first) > 0 and done < of:
            left = f", {done / of:.0%}, {(now - self._began) / new * (of - done):.0f} s left"
        end = "\n" if done == of else ""
        line = f"\r{int(done):,} of {of:,} {self._things}{left}    "
        print(line, end=end, file=sys.stderr, flush=True)
