"""Windows and round trips of slow start that follow from its rules, without a run."""

import math
from collections.abc import Iterator


def window_after(window: int, acks: int, acked: int, mss: int, *, per_ack: bool) -> int:
    """The window in bytes after so many ACKs of `acked` bytes each, below ssthresh: a segment for
    each ACK (RFC 2581 section 3.1), or what it acknowledges (RFC 5681 section 3.1, equation 2).
    """
    return window + acks * (mss if per_ack else min(acked, mss))


def predicted_packets(acks: int, initial_window: int = 3) -> int:
    """Packets that the thesis predicts of a server that counts ACKs: its initial window, and two
    for each ACK (section 4.2.2). Three ACKs free three segments only, whatever their parts.
    """
    return initial_window + 2 * acks


def sent_in_slow_start(mss: int, initial_window: int, ssthresh: int) -> int:
    """Bytes sent until the window, `initial_window` segments at first, is `ssthresh` bytes.

    It grows by what is acknowledged, so that ssthresh - IW are acknowledged then, and a window of
    ssthresh is in flight.
    """
    return 2 * ssthresh - initial_window * mss


def doublings(window: float, initial_window: float) -> int:
    """Round trips in which slow start takes the one window to the other."""
    return math.ceil(math.log2(window / initial_window))


def limited_windows(window: float, max_ssthresh: float, initial_window: float) -> Iterator[float]:
    """The windows of the round trips in which Limited Slow Start is below a window, in segments
    (RFC 3742 section 2).

    Each ACK adds 1/K of a segment with K = int(cwnd / (max_ssthresh / 2)). A round trip has an ACK
    for each segment of its window.
    """
    cwnd = initial_window
    while cwnd < window:
        yield cwnd
        # RFC 3742 section 2: K = int(cwnd / (0.5 max_ssthresh)) above max_ssthresh, 1 up to it.
        part = max(1, int(cwnd / (max_ssthresh / 2))) if cwnd > max_ssthresh else 1
        cwnd += cwnd / part


def limited_round_trips(window: float, max_ssthresh: float, initial_window: float) -> int:
    """Round trips of Limited Slow Start up to a window, in segments."""
    return len(list(limited_windows(window, max_ssthresh, initial_window)))


def limited_segments(window: int, max_ssthresh: float, initial_window: float) -> int:
    """Segments that Limited Slow Start sends until a window of them is in flight."""
    return round(sum(limited_windows(window, max_ssthresh, initial_window))) + window


def flights(segments: int, initial_window: int) -> int:
    """Flights in which slow start sends so many segments: 2^n - 1 initial windows are n flights."""
    # IW (2^n - 1) >= segments.
    return math.ceil(math.log2(segments / initial_window + 1))
