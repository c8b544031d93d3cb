"""A congestion controller in Python."""

import math
from typing import Literal, Protocol


class Params(Protocol):
    """The parameters of a connection; windows are in bytes."""

    mss: int
    """Payload bytes of a full segment."""
    initial_window: int
    initial_ssthresh: float
    """Infinite for none."""
    least_window: int
    """The smallest window after a loss or an ECN echo."""
    abe: bool
    """An ECN echo reduces less than a loss (RFC 8511)."""


class Ack(Protocol):
    """An acknowledgment of new data; times are in seconds, volumes in bytes."""

    now: float
    bytes_acked: int
    credit: int
    """Bytes that count for the growth of the window (RFC 3465)."""
    rtt: float | None
    """The RTT sample of this ACK, if it has one."""
    smoothed_rtt: float
    """0 before the first sample."""
    min_rtt: float | None
    in_flight: int
    """Bytes in flight before this ACK."""
    acked_total: int
    """Bytes of the stream acknowledged so far."""
    sent_total: int
    """Bytes sent so far: once `acked_total` reaches it, a round trip has passed."""


class Congestion(Protocol):
    """A signal of congestion."""

    now: float
    cause: Literal["loss", "timeout", "ecn"]
    window: float
    """The bytes from which the reduction starts."""
    hold_ssthresh: bool
    """ssthresh stays the same, since it was lowered for the same data before."""
    smoothed_rtt: float


class Controller:
    """The base of a controller. Its methods set `cwnd` and `ssthresh`, in bytes, and `pacing_rate`,
    in bytes per second; the engine reads them after each.

    The engine decides what is retransmitted, and when. A controller reads no clock and draws no
    random numbers. It may have a class attribute `paces = True`: its connections are paced. After a
    reduction that proves needless the engine restores a copy (`copy.deepcopy`).
    """

    paces = False

    def __init__(self, params: Params) -> None:
        self.mss = params.mss
        self.cwnd = float(params.initial_window)
        self.ssthresh = params.initial_ssthresh
        self.pacing_rate: float | None = None

    def on_ack(self, ack: Ack) -> None:
        """New data is acknowledged."""
        raise NotImplementedError

    def on_congestion(self, congestion: Congestion) -> None:
        """The network is congested: at most once in a window of data, and at each timeout."""
        raise NotImplementedError

    def on_idle_restart(self, restart: int) -> None:
        """The connection was idle for an RTO, and begins again with at most `restart` bytes."""
        self.cwnd = min(self.cwnd, restart)

    def on_mss_change(self, mss: int) -> None:
        """A full segment has `mss` bytes from now on."""
        self.mss = mss

    def limit_growth(self, max_flight: int) -> None:
        """Lowers the window to what the ACKs of a flight of `max_flight` bytes give it
        (draft-ietf-ccwg-ratelimited-increase), where a case asks for it.
        """
        in_slow_start = math.isinf(self.ssthresh) or self.cwnd < self.ssthresh
        limit = 2 * max_flight if in_slow_start else max_flight + self.mss
        self.cwnd = min(self.cwnd, limit)
