"""Short connections against nginx, with the ECN proxy on the way and without it, by CPU time.

The clock says nothing on a busy machine. The two programs' CPU time says what a request costs: the
kernel forwards, and runs the proxy's programs, in the context of whoever sends.
"""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Protocol

from windlass_lab.testbed import nginx

PORT = 8080
# A file of that many bytes, ten requests at once, a connection for each.
BYTES = 700
AT_ONCE = 10
# The requests before those that count: the programs' data, and the page cache, are warm.
WARM_UP = 500


class Hook(Protocol):
    """Puts the proxy on the way, for as long as the context lasts."""

    def __call__(self) -> AbstractContextManager[object]:
        """The context."""


@contextmanager
def server(namespace: str, command: list[str]) -> Iterator[int]:
    """The program in a namespace; yields its process."""
    command = ["ip", "netns", "exec", namespace, "taskset", "-c", "0", *command]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


def cpu_seconds_of(pid: int) -> float:
    """The CPU time that a process with one thread has taken."""
    nanoseconds = Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]
    return int(nanoseconds) / 1e9


def ask(namespace: str, url: str, requests: int) -> float:
    """Sends the requests; returns the client's CPU seconds."""
    command = f"ip netns exec {namespace} taskset -c 0 ab -q -n {requests} -c {AT_ONCE} {url}"
    with tempfile.TemporaryFile("w+") as printed:
        with subprocess.Popen(command.split(), stdout=printed, stderr=subprocess.STDOUT) as client:
            _, status, used = os.wait4(client.pid, 0)
            client.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        text = printed.read()
    if client.returncode or f"Complete requests:      {requests}\n" not in text:
        raise RuntimeError(f"ab: {text}")
    if "Failed requests:        0\n" not in text or "Non-2xx" in text:
        raise RuntimeError(f"ab: not every request succeeded:\n{text}")
    return used.ru_utime + used.ru_stime


def wait_for(namespace: str, url: str) -> None:
    """Waits until the server answers."""
    end = time.monotonic() + 30
    while True:
        try:
            ask(namespace, url, AT_ONCE)
        except RuntimeError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return


def measure(
    names: Mapping[str, str], address: str, proxy: Hook, rounds: int, requests: int
) -> dict[str, list[float]]:
    """CPU seconds of client and server for a request, `with` the proxy and `without` it, in turns;
    who begins changes from round to round. `names` are the namespaces of `host` and `far`.
    """
    hooks: dict[str, Hook] = {"with": proxy, "without": nullcontext}
    runs: dict[str, list[float]] = {"with": [], "without": []}
    url = f"http://{address}:{PORT}/file"
    with tempfile.TemporaryDirectory() as folder:
        command = nginx.prepare(Path(folder) / "nginx", PORT, "file", BYTES)
        with server(names["far"], command) as pid:
            wait_for(names["host"], url)
            for at in range(rounds):
                for name in sorted(runs, reverse=at % 2 == 0):
                    with hooks[name]():
                        ask(names["host"], url, WARM_UP)
                        before = cpu_seconds_of(pid)
                        client = ask(names["host"], url, requests)
                        runs[name].append((client + cpu_seconds_of(pid) - before) / requests)
    return runs


def describe(runs: dict[str, list[float]]) -> str:
    """Medians in microseconds, and what the proxy adds by the rounds' own ratios."""
    ratios = sorted(ours / plain for ours, plain in zip(runs["with"], runs["without"], strict=True))
    ours, plain = (statistics.median(runs[name]) * 1e6 for name in ("with", "without"))
    return (
        f"a short connection to nginx: {ours:.1f} us of CPU time with the proxy, "
        f"{plain:.1f} without; median of the rounds' ratios {statistics.median(ratios):.3f}"
        f" ({ratios[0]:.3f} to {ratios[-1]:.3f})"
    )
