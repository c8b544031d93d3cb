"""One run of a test in namespaces, in a process of its own: an order on standard input, the run on
standard output.
"""

import csv
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import NamedTuple

from windlass_lab.core.errors import RunError
from windlass_lab.core.pipeline import child
from windlass_lab.core.statistics.thin import thin
from windlass_lab.papers.tou import losses, topology
from windlass_lab.papers.tou.plan import (
    PAPER_MIN_RTO,
    PAPER_PROFILE,
    PAPER_RTO_RULE,
    TOU_NONE,
    WINDOW_BYTES,
    Cell,
    Contender,
    Test,
)
from windlass_lab.papers.tou.runs import Curve, Run
from windlass_lab.papers.tou.window import Row, window_figures
from windlass_lab.testbed import link
from windlass_lab.testbed.bed import FIRST, Testbed, wait_until
from windlass_lab.testbed.sockets import LISTENING

_PORT = 7000
# The send buffer of ToU: larger than the receiver's window, so that it is no limit.
_SEND_BUFFER_BYTES = 2 * WINDOW_BYTES
_READY_S = 60.0
_TICK_S = 0.05
_CURVE_POINTS = 800
# Programs that a test starts: of these the log's last line tells why one failed.
_RECEIVER, _SENDER = "receiver", "sender"
# How Linux reports that there is no threshold yet.
_NO_SSTHRESH = 0x7FFFFFFF


class Transfer(NamedTuple):
    """A sender's figures: its duration, segment size, timeouts, and its window over time."""

    seconds: float
    mss: int
    rows: Sequence[Row]
    timeouts: int


def measure(test: Test, seed: int, scale: float, windlass: Path, traced: bool = False) -> Run:
    """Builds the network, transfers, removes it. `traced` keeps the window over time.

    Raises `RunError` where that fails.
    """
    listed = losses.draw(test.cell, seed, scale)
    found = topology.experiment(test, listed)
    size = round(test.cell.megabytes * scale * 1e6)
    with (
        tempfile.TemporaryDirectory(prefix="windlass-lab-") as out,
        Testbed(found.topology, found.programs, Path(out), windlass) as bed,
    ):
        transfer = _by_tou if test.contender.is_tou else _by_kernel
        made = transfer(bed, test, size, windlass, Path(out))
        path = link.path(link.report(bed), topology.CLIENT, "up")
    rows, no_control = made.rows, test.contender == TOU_NONE
    return Run(
        seconds=made.seconds,
        megabytes=size / 1e6,
        cwnd=mean_window(rows, WINDOW_BYTES / made.mss),
        cwnd_told=mean_window(rows),
        retransmitted=int(rows[-1][4]),
        timeouts=made.timeouts,
        lost=path["lost"],
        dropped=sum(path["dropped"].values()),
        load=os.getloadavg()[0],
        mss=made.mss,
        course=window_figures(rows),
        curve=_curve(rows, WINDOW_BYTES / made.mss if no_control else inf) if traced else None,
    )


def mean_window(rows: Sequence[Row], limit: float = inf) -> float:
    """The window's mean over time, each sample counting until the next; not more than `limit`."""
    spans = [(min(row[1], limit), later[0] - row[0]) for row, later in pairwise(rows)]
    whole = sum(span for _, span in spans)
    return sum(cwnd * span for cwnd, span in spans) / whole if whole else rows[0][1]


def _by_kernel(bed: Testbed, test: Test, size: int, _windlass: Path, _out: Path) -> Transfer:
    program = [sys.executable, "-P", "-m", "windlass_lab.papers.tou.stream"]
    where = [topology.ADDRESSES[topology.SERVER], str(_PORT)]
    _serve(bed, [*program, "receive", *where], LISTENING)
    sample_s = test.cell.sample_ms / 1000
    how = ["--bytes", str(size), "--controller", test.contender.controller]
    if test.contender.paced:
        how.append("--paced")
    printed = _send(bed, [*program, "send", *where, *how, "--sample", f"{sample_s:g}"])
    if printed["controller"] != test.contender.controller:
        raise RunError(f"{test.name}: the connection had {printed['controller']}")
    rows = [
        [time_s, cwnd, inf if ssthresh == _NO_SSTHRESH else ssthresh, *rest]
        for time_s, cwnd, ssthresh, *rest in printed["samples"]
    ]
    return Transfer(printed["seconds"], printed["mss"], rows, int(rows[-1][5]))


def _by_tou(bed: Testbed, test: Test, size: int, windlass: Path, out: Path) -> Transfer:
    address = topology.ADDRESSES[topology.SERVER]
    perf, how = [str(windlass), "tou", "perf"], ["--profile", test.contender.profile]
    if test.contender.paced:
        how.append("--pacing")
    if test.contender.profile == PAPER_PROFILE:
        # Without SACK a connection cannot probe the path, and would keep segments of 1184 bytes.
        how.append("--no-path-probes")
    if test.contender.paper_rto:
        how += ["--rto-rule", PAPER_RTO_RULE, "--min-rto", PAPER_MIN_RTO]
    window = ["--receive-buffer", str(WINDOW_BYTES)]
    server = [*perf, "server", "--bind", address, "--port", str(_PORT), *how, *window]
    _serve(bed, server, "listen")
    trace = out / "trace.csv"
    printed = _send(
        bed,
        [
            *(*perf, "client", f"{address}:{_PORT}", "--json", "--bytes", str(size)),
            *("--cc", test.contender.controller, "--interval", "10s"),
            *("--trace", str(trace), "--trace-interval", f"{test.cell.sample_ms}ms"),
            *(*how, "--send-buffer", str(_SEND_BUFFER_BYTES)),
        ],
    )
    sender = printed["sender"]
    [stream] = sender["streams"]
    rows = _trace(trace, stream["mss"])
    return Transfer(sender["duration_s"], stream["mss"], rows, stream["timeouts"])


def _serve(bed: Testbed, command: Sequence[str], listens: str) -> None:
    process = bed.start_logged(_RECEIVER, topology.SERVER, [*FIRST, *command])
    wait_until(
        lambda: process.poll() is not None or listens in bed.log(_RECEIVER).read_text(),
        "the receiver does not listen",
        _READY_S,
    )
    if process.poll() is not None:
        raise RunError(f"the receiver: {bed.complaint(_RECEIVER)}")


def _send(bed: Testbed, command: Sequence[str]) -> dict:
    process = bed.start_client(_SENDER, topology.CLIENT, [*FIRST, *command])
    while process.poll() is None:
        bed.check_alive()
        time.sleep(_TICK_S)
    if process.returncode != 0:
        raise RunError(f"the sender: status {process.returncode}: {bed.complaint(_SENDER)}")
    try:
        return json.loads(bed.report(_SENDER).read_text())
    except ValueError as error:
        raise RunError(f"the sender's report cannot be read: {error}") from error


def _trace(file: Path, mss: int) -> list[Row]:
    with file.open(encoding="ascii") as lines:
        rows = list(csv.DictReader(lines))
    if "inflation_bytes" not in rows[0]:
        raise RunError("the binary windlass is older than the lab: its trace lacks a column")
    return [
        [
            float(row["time_s"]),
            # As RFC 2581 section 3.2 counts it: what fast recovery adds is part of cwnd.
            (int(row["cwnd_bytes"]) + int(row["inflation_bytes"])) / mss,
            int(row["ssthresh_bytes"]) / mss if row["ssthresh_bytes"] else inf,
            int(row["acked_bytes"]),
            int(row["retransmitted_segments"]),
        ]
        for row in rows
    ]


def _curve(rows: Sequence[Row], limit: float) -> Curve:
    windows = [min(row[1], limit) for row in rows]
    times, windows = thin([row[0] for row in rows], windows, _CURVE_POINTS)
    acked = {row[0]: row[3] for row in rows}
    return Curve(
        time_s=[round(t, 3) for t in times],
        cwnd=[round(w, 1) for w in windows],
        megabytes=[round(acked[t] / 1e6, 4) for t in times],
    )


def _obey(order: Mapping) -> Run:
    test = Test(Cell(**order["cell"]), Contender(**order["contender"]))
    return measure(test, order["seed"], order["scale"], Path(order["windlass"]), order["traced"])


if __name__ == "__main__":
    sys.exit(child.obey(_obey))
