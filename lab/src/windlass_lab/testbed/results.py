"""Samples as the files that the simulator writes (docs/reference/simulator-output.md)."""

import csv
import io
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from windlass_lab.testbed.sample import Sample
from windlass_lab.testbed.topology import Experiment, Flow
from windlass_lab.testbed.trace import Probe

SCHEMA = 1
SERIES_SCHEMA = 1
COLUMNS = ("time_s", "cwnd_packets", "ssthresh_packets", "srtt_ms", "slope", "acked_packets")
_SSTHRESH_INFINITE = 0x7FFFFFFF
_OPTION_ECN = 8
_SEQUENCE_SPACE = 1 << 32
_SLOPE_ONE = 1 << 32


class Row(NamedTuple):
    """The state of a flow from a time on, in seconds since the experiment began."""

    time_s: float
    cwnd_packets: float
    ssthresh_packets: float | None
    srtt_ms: float | None
    slope: float | None
    acked_packets: float


def of_flow(samples: Iterable[Sample], port: int) -> list[Sample]:
    """The samples of the connection at a port: where there are two ends in one namespace, or a
    connection before the one that counts, those of the one that had most acknowledged.
    """
    by_cookie: dict[int, list[Sample]] = {}
    for sample in samples:
        if sample.port == port:
            by_cookie.setdefault(sample.cookie, []).append(sample)
    return max(by_cookie.values(), key=lambda found: found[-1].bytes_acked, default=[])


def rows_of_samples(samples: Sequence[Sample], start_ns: int) -> list[Row]:
    """A row for each sample that differs from the one before."""
    mss = packet_bytes(samples)
    return changes(
        Row(
            (sample.time_ns - start_ns) / 1e9,
            sample.cwnd,
            _ssthresh(sample.ssthresh),
            sample.srtt_us / 1e3 or None,
            sample.slope_32 / _SLOPE_ONE or None,
            sample.bytes_acked / mss,
        )
        for sample in samples
    )


def rows_of_probes(probes: Iterable[Probe], mss: int, start_ns: int) -> list[Row]:
    """A row for each event of one connection. Acknowledged is counted from the first event."""
    rows = []
    acked_bytes, before = 0, None
    for probe in probes:
        # Sequence numbers wrap; between two events less than half of their space is acknowledged.
        if before is not None:
            acked_bytes += (probe.snd_una - before) % _SEQUENCE_SPACE
        before = probe.snd_una
        rows.append(
            Row(
                (probe.time_ns - start_ns) / 1e9,
                probe.cwnd,
                _ssthresh(probe.ssthresh),
                probe.srtt_us / 1e3 or None,
                None,
                acked_bytes / mss,
            )
        )
    return changes(rows)


def packet_bytes(samples: Sequence[Sample]) -> int:
    """Payload of a segment of full size: the sender's, after its options, as it was last."""
    return samples[-1].snd_mss if samples and samples[-1].snd_mss else 1448


def _ssthresh(packets: int) -> int | None:
    return None if packets >= _SSTHRESH_INFINITE else packets


def changes(rows: Iterable[Row]) -> list[Row]:
    """The rows that differ from the one before."""
    kept: list[Row] = []
    for row in rows:
        if not kept or row[1:] != kept[-1][1:]:
            kept.append(row)
    return kept


def as_csv(rows: Iterable[Row]) -> str:
    """The time series of a flow."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        table.writerow((f"{row.time_s:.9f}", *("" if cell is None else cell for cell in row[1:])))
    return text.getvalue()


def flow_summary(
    flow: Flow, samples: Sequence[Sample], rows: Sequence[Row], experiment: Experiment
) -> dict:
    """The figures of a flow, under the keys of the simulator; `null` for those that a kernel does
    not report.
    """
    last = samples[-1]
    rtt_min_ms = flow.rtt_min_ms
    if rtt_min_ms is None:
        rtt_min_ms = min((s.min_rtt_us for s in samples if s.min_rtt_us), default=0) / 1e3
    return summary_of_rows(flow.name, rows, experiment) | {
        "controller": last.controller,
        "rtt_min_ms": rtt_min_ms,
        "timeouts": last.total_rto,
        "retransmitted_segments": last.total_retrans,
        "ecn": bool(last.options & _OPTION_ECN),
        "delivered_ce": last.delivered_ce,
        "packet_bytes": packet_bytes(samples),
        "acked_bytes": last.bytes_acked,
        "sample_gap_ms": gaps_ms([sample.time_ns for sample in samples]),
    }


def summary_of_rows(name: str, rows: Sequence[Row], experiment: Experiment) -> dict:
    """The part of a flow's summary that follows from its series; the rest is `null`."""
    end_s, steady_s = experiment.duration_s, experiment.steady_from_s
    return {
        "name": name,
        "controller": None,
        "rtt_min_ms": None,
        "packets_per_s": {
            "whole_run": _acked(rows, end_s) / end_s,
            "steady": (_acked(rows, end_s) - _acked(rows, steady_s)) / (end_s - steady_s),
        },
        "cwnd_packets": {
            "trace_mean": _mean([row.cwnd_packets for row in rows]),
            "time_mean": _time_mean(rows, "cwnd_packets", 0.0, end_s),
            "time_mean_steady": _time_mean(rows, "cwnd_packets", steady_s, end_s),
        },
        "srtt_ms": {
            "trace_mean": _mean([row.srtt_ms for row in rows if row.srtt_ms is not None]),
            "time_mean": _time_mean(rows, "srtt_ms", 0.0, end_s),
            "raw_rtt_mean": None,
        },
        "slope": _slope(rows, end_s),
        "marks": None,
        "drops": None,
        "marks_elsewhere": None,
        "drops_elsewhere": None,
        "lost": None,
        "window_cuts_by_ecn": None,
        "timeouts": None,
        "fast_retransmits": None,
        "retransmitted_segments": None,
        "transfers": None,
        "ecn": None,
        "delivered_ce": None,
        "packet_bytes": None,
        "acked_bytes": None,
        "sample_gap_ms": None,
    }


def summary(
    experiment: Experiment, flows: Sequence[dict], about: dict, queues: Sequence[dict] = ()
) -> dict:
    """The summary of a run; `about` says what is the testbed's own. The first of the queues is the
    bottleneck's.
    """
    bottleneck = queues[0] if queues else {}
    rates = {
        window: [flow["packets_per_s"][window] for flow in flows]
        for window in ("whole_run", "steady")
    }
    return {
        "name": experiment.name,
        "seed": None,
        "schema": SCHEMA,
        "series_schema": SERIES_SCHEMA,
        "duration_s": experiment.duration_s,
        "steady_from_s": experiment.steady_from_s,
        "fairness_index": {window: _jain(each) for window, each in rates.items()},
        "total_packets_per_s": {window: math.fsum(each) for window, each in rates.items()},
        "marks": bottleneck.get("marks"),
        "drops": bottleneck.get("drops"),
        "mean_queue_packets": bottleneck.get("mean_packets"),
        "bottleneck_packets": bottleneck.get("arrived"),
        "delivered_segments": None,
        "events": None,
        "flows": list(flows),
        "udp": [],
        "queues": list(queues),
        "testbed": about,
    }


def _slope(rows: Sequence[Row], end_s: float) -> dict | None:
    mean = _time_mean(rows, "slope", 0.0, end_s)
    # It is looked at more seldom than it changes, so there is no mean of all its values.
    return None if mean is None else {"trace_mean": None, "time_mean": mean}


def gaps_ms(times_ns: Sequence[int]) -> dict | None:
    """How long it took from one sample to the next."""
    gaps = sorted((later - sooner) / 1e6 for sooner, later in itertools.pairwise(times_ns))
    if not gaps:
        return None
    return {"p50": gaps[len(gaps) // 2], "p99": gaps[len(gaps) * 99 // 100], "max": gaps[-1]}


def _jain(rates: Sequence[float]) -> float | None:
    squares = math.fsum(rate * rate for rate in rates)
    return math.fsum(rates) ** 2 / (len(rates) * squares) if squares else None


def _acked(rows: Sequence[Row], at_s: float) -> float:
    return max((row.acked_packets for row in rows if row.time_s <= at_s), default=0.0)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _time_mean(rows: Sequence[Row], column: str, from_s: float, to_s: float) -> float | None:
    """Mean over the time in which there was a value."""
    weighted, time_s = [], []
    ends = [row.time_s for row in rows[1:]] + [to_s]
    for row, end_s in zip(rows, ends, strict=True):
        span_s = min(end_s, to_s) - max(row.time_s, from_s)
        value = getattr(row, column)
        if span_s > 0 and value is not None:
            weighted.append(value * span_s)
            time_s.append(span_s)
    return math.fsum(weighted) / math.fsum(time_s) if time_s else None
