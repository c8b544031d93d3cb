"""Records the tracepoint tcp:tcp_probe: a line for each segment that a connection receives.

A process with a mount namespace of its own (`unshare --mount`): where tracefs is not mounted it
mounts it for itself alone. Its trace instance is its own, too, named after the run.
"""

import argparse
import contextlib
import ctypes
import os
import re
import select
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from windlass_lab.testbed import names

TRACEFS = Path("/sys/kernel/tracing")
READY = "ready"
_BUFFER_KIB = 4096
_READ_BYTES = 1 << 16
_POLL_MS = 100
_LINE = re.compile(
    r"\s(?P<time>\d+\.\d+): tcp_probe: .*?src=\S+:(?P<source>\d+) dest=\S+:(?P<destination>\d+) "
    r".*?snd_una=0x(?P<snd_una>[0-9a-f]+) snd_cwnd=(?P<cwnd>\d+) ssthresh=(?P<ssthresh>\d+) "
    r".*?srtt=(?P<srtt>\d+) .*?sock_cookie=(?P<cookie>[0-9a-f]+)"
)


class Probe(NamedTuple):
    """The state of a connection when a segment arrives, before it processes the segment."""

    time_ns: int
    cookie: int
    snd_una: int
    cwnd: int
    ssthresh: int
    srtt_us: int


def parse_line(line: str) -> Probe | None:
    """The event of a line of the trace, if it is one."""
    match = _LINE.search(line)
    if not match:
        return None
    seconds, _, fraction = match["time"].partition(".")
    return Probe(
        int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9]),
        int(match["cookie"], 16),
        int(match["snd_una"], 16),
        int(match["cwnd"]),
        int(match["ssthresh"]),
        int(match["srtt"]),
    )


class UnavailableError(Exception):
    """Why there is no trace to be had, in one line."""


def mount() -> Path:
    """Where tracefs is, mounted if it was not; to be called in a mount namespace of one's own."""
    if not (TRACEFS / "instances").is_dir():
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"tracefs", os.fsencode(TRACEFS), b"tracefs", 0, None) != 0:
            raise UnavailableError(f"tracefs cannot be mounted: {os.strerror(ctypes.get_errno())}")
    if not (TRACEFS / "events/tcp/tcp_probe").is_dir():
        raise UnavailableError("the kernel has no tracepoint tcp:tcp_probe (CONFIG_TRACING)")
    return TRACEFS / "instances"


def sweep(instances: Path) -> None:
    """Removes the trace instances of runs whose process is gone."""
    for instance in instances.iterdir():
        if names.is_stale(instance.name):
            with contextlib.suppress(OSError):
                _remove(instance)


@contextlib.contextmanager
def recording(instance: Path, ports: list[int]) -> Iterator[int]:
    """A trace instance that records the connections with one of the ports; its pipe."""
    instance.mkdir()
    try:
        # The clock of the samples.
        _write(instance / "trace_clock", "mono")
        _write(instance / "buffer_size_kb", str(_BUFFER_KIB))
        event = instance / "events/tcp/tcp_probe"
        either = [f"{end} == {port}" for port in ports for end in ("sport", "dport")]
        _write(event / "filter", " || ".join(either))
        _write(event / "enable", "1")
        pipe = os.open(instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        try:
            yield pipe
        finally:
            os.close(pipe)
    finally:
        _remove(instance)


def _remove(instance: Path) -> None:
    _write(instance / "events/tcp/tcp_probe/enable", "0")
    instance.rmdir()


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="ascii")


def _copy(pipe: int, instance: Path, out: int) -> None:
    """Copies the trace until SIGTERM, and what is left of it then."""
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while not stopped:
        poll.poll(_POLL_MS)
        _drain(pipe, out)
    _write(instance / "events/tcp/tcp_probe/enable", "0")
    _drain(pipe, out)


def _drain(pipe: int, out: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while chunk := os.read(pipe, _READ_BYTES):
            os.write(out, chunk)


def main(arguments: list[str] | None = None) -> int:
    """Records until a signal stops it; without `--run` it only says whether it could."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run")
    parser.add_argument("--ports", default="")
    parser.add_argument("--out")
    options = parser.parse_args(arguments)
    try:
        instances = mount()
        sweep(instances)
        if options.run:
            instance = instances / options.run
            ports = [int(port) for port in options.ports.split(",")]
            out = os.open(options.out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with recording(instance, ports) as pipe:
                print(READY, flush=True)
                _copy(pipe, instance, out)
    except (UnavailableError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
