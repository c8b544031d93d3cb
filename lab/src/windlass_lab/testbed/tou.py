"""Converts the report of a `windlass tou perf` client to the simulator's files."""

import csv
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from windlass_lab.core.errors import RunError
from windlass_lab.testbed import results
from windlass_lab.testbed.flows import Plan, trace_of
from windlass_lab.testbed.results import Row
from windlass_lab.testbed.topology import Experiment


def read(plan: Plan, report: str, start_ns: int, experiment: Experiment) -> tuple[list[Row], dict]:
    """The series and the summary of a flow, from the client's report (--json) and its trace.
    `start_ns` is when the experiment began, of CLOCK_MONOTONIC. Raises `RunError`.
    """
    trace = trace_of(plan.folder)
    try:
        printed = json.loads(report)
        sender, receiver = (printed[end]["streams"][0] for end in ("sender", "receiver"))
        lines = _lines(trace)
        began_s = (_written_ns(trace) - start_ns) / 1e9 - float(lines[-1]["time_s"])
        rows = [_row(line, began_s, sender["mss"]) for line in lines]
        changed = results.changes(rows)
        known = _known(plan, printed, sender, receiver)
        gaps = results.gaps_ms([round(row.time_s * 1e9) for row in rows])
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise RunError(f"flow {plan.flow.name}: no report of ToU: {error!r}") from error
    summary = results.summary_of_rows(plan.flow.name, changed, experiment)
    return changed, summary | known | {"sample_gap_ms": gaps}


def _lines(trace: Path) -> Sequence[Mapping[str, str]]:
    with trace.open(newline="", encoding="ascii") as file:
        return list(csv.DictReader(file))


def _written_ns(trace: Path) -> int:
    """When the last sample was written, which is right after it was taken; of CLOCK_MONOTONIC."""
    return trace.stat().st_mtime_ns - (time.time_ns() - time.monotonic_ns())


def _row(line: Mapping[str, str], began_s: float, mss: int) -> Row:
    ssthresh, srtt = line["ssthresh_bytes"], line["srtt_ms"]
    return Row(
        began_s + float(line["time_s"]),
        int(line["cwnd_bytes"]) / mss,
        int(ssthresh) / mss if ssthresh else None,
        float(srtt) if srtt else None,
        None,
        int(line["acked_bytes"]) / mss,
    )


def _known(plan: Plan, printed: Mapping, sender: Mapping, receiver: Mapping) -> dict:
    return {
        "controller": printed["test"]["controller"],
        "rtt_min_ms": plan.flow.rtt_min_ms,
        # Those that arrived with CE; the queue's marks are more by what was lost behind it.
        "marks": receiver["ce_received"],
        "window_cuts_by_ecn": sender["ecn_cuts"],
        "timeouts": sender["timeouts"],
        "fast_retransmits": sender["fast_retransmits"],
        "retransmitted_segments": sender["retransmitted_segments"],
        "ecn": sender["ecn"],
        "packet_bytes": sender["mss"],
        "acked_bytes": sender["bytes"],
    }
