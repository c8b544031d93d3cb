"""From what the probe prints to figures: the median of the runs, and their spread."""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from windlass_lab.core.experiments.servers import SPLITS
from windlass_lab.papers.split_ack.aggregate import aggregate

REACTIONS = (
    "counts-acks",
    "counts-acks-and-more",
    "counts-acks-at-rate",
    "counts-bytes",
    "negative",
    "no-growth",
    "no-congestion-window",
    "undecided",
)
MEASURED = "measured"
Row = Mapping[str, str]


def of_server(outcome: Mapping) -> dict:
    """The summary of a server, from the JSON of `windlass probe`.

    By test, in small letters: `data_packets`, `retransmissions`, `total`, `kilobytes`, `acks`,
    `packet_bytes`, and beside test A: `gain` (data packets over those of A), `gain_bytes`,
    `shrinks_percent`, `resent_points` (retransmissions in percent of the data packets, less those
    of A), `sd_rise` (standard deviation of the data packets, less that of A).
    `retransmissions_rise` and `bytes_fall`: from each split to the next.
    """
    runs = [_run(number, run) for number, run in enumerate(outcome["runs"], start=1)]
    measured = [run for run in runs if run["ending"] == MEASURED]
    tests: dict[str, list[dict]] = {run["test"]: [] for run in measured}
    for run in measured:
        tests[run["test"]].append(run)
    found: dict = {test.lower(): _of_test(of) for test, of in tests.items()}
    if "a" in found:
        for test, figures in found.items():
            figures |= _beside(found["a"], figures) if test != "a" else {}
    splits = [found[test.lower()] for test in SPLITS if test in tests]
    again = [_middle(figures["retransmissions"]) for figures in splits]
    size = [_middle(figures["kilobytes"]) for figures in splits]
    verdict = outcome.get("verdict") or {}
    return {
        "replicates": max(map(len, tests.values()), default=0),
        **found,
        "retransmissions_rise": int(all(x < y for x, y in pairwise(again))),
        "bytes_fall": int(all(x > y for x, y in pairwise(size))),
        **_of_verdict(verdict),
        "notes": verdict.get("notes", []),
        "runs": runs,
    }


def _run(number: int, run: Mapping) -> dict:
    """The figures of a run; a test without a flight has none."""
    seen = run.get("observation") or {}
    kept = {"run": number, "test": seen.get("test", ""), "ending": run["ending"]["kind"]}
    if not seen:
        return kept
    return kept | {
        "rtt_ms": run["rtt_ms"],
        "initial_window": seen["first_flight"]["packets"] + seen["first_flight"]["missing"],
        "acks": seen["acks_sent"],
        "data_packets": seen["data_packets"],
        "retransmissions": seen["retransmissions"],
        "total": seen["data_packets"] + seen["retransmissions"],
        "kilobytes": seen["data_bytes"] / 1000,
        "mss_seen": seen["mss_seen"],
        "packet_bytes": round(seen["data_bytes"] / max(1, seen["data_packets"]), 1),
    }


_FIGURES = ("acks", "data_packets", "retransmissions", "total", "kilobytes", "packet_bytes")


def _of_test(runs: Sequence[Mapping]) -> dict:
    return {key: _spread([run[key] for run in runs]) for key in _FIGURES}


def _spread(values: Sequence[float]) -> object:
    """A plain number where all are the same."""
    if len(set(values)) == 1:
        return values[0]
    return {"median": statistics.median(values), "sd": statistics.stdev(values)}


def _middle(value: Any) -> float:
    return value["median"] if isinstance(value, Mapping) else value


def _sd(value: Any) -> float:
    return value["sd"] if isinstance(value, Mapping) else 0.0


def _beside(baseline: Mapping, figures: Mapping) -> dict:
    def over(key: str) -> float:
        return round(_middle(figures[key]) / max(1e-9, _middle(baseline[key])), 3)

    return {
        "gain": over("data_packets"),
        "gain_bytes": over("kilobytes"),
        "shrinks_percent": round(100 * (1 - over("packet_bytes")), 1),
        "resent_points": round(_resent_percent(figures) - _resent_percent(baseline), 1),
        "sd_rise": round(_sd(figures["data_packets"]) - _sd(baseline["data_packets"]), 2),
    }


def _resent_percent(figures: Mapping) -> float:
    """Retransmissions in percent of the data packets."""
    return 100 * _middle(figures["retransmissions"]) / max(1e-9, _middle(figures["data_packets"]))


def _of_verdict(verdict: Mapping) -> dict:
    reaction = verdict.get("reaction") or {}
    found: dict = {
        "verdict": {name: int(reaction.get("kind") == name) for name in REACTIONS},
        "limit": {name: int(reaction.get("limit") == name) for name in ("one", "two", "none")},
        "confidence": verdict.get("confidence", 0.0),
        "reaction": reaction.get("kind", "not measured"),
        "reaction_limit": reaction.get("limit"),
    }
    if window := verdict.get("initial_window"):
        found["initial_window"] = {
            "packets": window["packets"],
            "segments": window["segments"],
            "bytes": window["bytes"],
            "exact": int(window["exact"]),
        }
    return found


def of_population(servers: Sequence[Row], hosts: Sequence[Row], runs: Sequence[Row]) -> dict:
    """The summary of a survey: the population's file, and the rows that the survey wrote.

    By test, in small letters: over all servers that were measured the mean of `data_packets`,
    `retransmissions` and `total` (of each server the mean of its runs), and in `hosts_by_...` the
    number of servers by that figure, rounded. `all` has what `aggregate` says of them together, and
    `counts-acks` the means and the same of those servers alone.
    """
    by_url = {row["host"]: row for row in hosts}
    of_tests = means(runs)
    rows = [_row(server, by_url.get(_url(server), {}), of_tests) for server in servers]
    answering = [row for row in rows if row["expected"]]
    right = [row for row in answering if row["right"]]
    counting = [row for row in rows if row["expected"] == "counts-acks"]
    return {
        "replicates": max(Counter((r["host"], r["test"]) for r in runs).values(), default=0),
        "hosts": len(rows),
        "answering": len(answering),
        "right": len(right),
        "right_share": len(right) / max(1, len(answering)),
        "tests_made": len(runs),
        **together(rows, counting),
        "rows": rows,
    }


def together(rows: Sequence[Mapping], counting: Sequence[Mapping]) -> dict:
    """Figures of all servers of a survey, and of those that count ACKs: by test in small letters,
    `counts-acks`, and `all`, as `of_population` says. A row has a server's means (`means`), each
    key with its test and an underscore before it, such as `a_total`.
    """
    return {
        **{test: _distribution(rows, test) for test in ("a", "c")},
        "counts-acks": {test: _distribution(counting, test, means_only=True) for test in "ac"}
        | aggregate(counting),
        "all": aggregate(rows),
    }


# The names of the stacks in a population's file, and the reaction that a survey is to report.
EXPECTED = {
    "rfc2581": "counts-acks",
    "rfc3465-1": "counts-bytes",
    "rfc3465-2": "counts-bytes",
    "linux": "counts-bytes",
    "freebsd-7": "negative",
}


def _url(server: Row) -> str:
    address = server["address"]
    return f"http://[{address}]/" if ":" in address else f"http://{address}/"


def means(runs: Iterable[Row]) -> dict[tuple[str, str], dict[str, float]]:
    """By server and test, in small letters: `data_packets`, `retransmissions` and `total`, each the
    mean of its runs. A row is one of `runs.csv`.
    """
    grouped: dict[tuple[str, str], list[Row]] = {}
    for run in runs:
        if run["ending"] == MEASURED:
            grouped.setdefault((run["host"], run["test"].lower()), []).append(run)
    keys = ("data_packets", "retransmissions")
    found = {}
    for place, of in grouped.items():
        figures = {key: statistics.fmean(float(run[key]) for run in of) for key in keys}
        found[place] = figures | {"total": sum(figures.values())}
    return found


def _row(server: Row, host: Row, means: Mapping) -> dict:
    expected = EXPECTED.get(server["stack"], "")
    said = (host.get("reaction", ""), host.get("initial_window_packets", ""))
    row = {
        **{key: server[key] for key in ("address", "stack", "initial_window", "mss", "rtt_ms")},
        "loss": server["loss"],
        "outcome": host.get("outcome", "not asked"),
        "reaction": said[0],
        "initial_window_seen": said[1],
        "expected": expected,
        "right": int(said == (expected, server["initial_window"])),
    }
    for test in ("a", "c"):
        for key, value in means.get((_url(server), test), {}).items():
            row[f"{test}_{key}"] = round(value, 2)
    return row


def _distribution(rows: Sequence[Mapping], test: str, means_only: bool = False) -> dict:
    found: dict = {}
    for key in ("data_packets", "retransmissions", "total"):
        values = [row[f"{test}_{key}"] for row in rows if f"{test}_{key}" in row]
        if not values:
            continue
        found[key] = round(statistics.fmean(values), 2)
        if not means_only and key != "retransmissions":
            counted = sorted(Counter(round(value) for value in values).items())
            found[f"hosts_by_{key}"] = {str(packets): hosts for packets, hosts in counted}
    return found
