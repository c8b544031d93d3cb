#!/usr/bin/env python3
"""Write PAPER.json beside this script from results of a paper, for docs/results/tables.py.

From the root of the repository, after `windlass-lab reproduce PAPER`:

    .venv/bin/python docs/results/data/compact.py FOLDER...    # each holds a results.json

An experiment that several folders have is taken from the newest; one that none has stays as the
file has it. A row is a line. A field that it leaves out is null, false, "figure" (kind) or
"informative" (verdict, paper). The rows under "summaries" are figures that no comparison has.
"""

import argparse
import json
import re
import statistics
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from windlass_lab.core.statistics.interval import of_median

DATA = Path(__file__).resolve().parent
SCHEMA = 1
# As many significant digits as a table can show.
DIGITS = 6
SUMMARIES = "summaries"
Row = dict[str, Any]

# Of the summaries of a paper: the cases and the key of figures that a table shows.
WANTED = {
    "new-ecn": (
        ("single_5M_*", "cwnd_sd_steady"),
        ("s?_*@linux*", "fairness_index.steady"),
        ("many16_*@linux*", "fairness_index.steady"),
        ("s?_*_ecn@p*", "fairness_index.steady"),
    ),
    "split-ack": (
        ("*", "initial_window.packets"),
        *(("*", f"{test}.data_packets") for test in "abcdes"),
    ),
}
# In the reason of a row: the interval of a figure that is only shown, and the rise that would show.
INTERVAL = re.compile(r"95 % interval (\S+) to ([\d.]+)")
RISE = re.compile(r"a rise of (\S+) % would show")
USUAL = {"verdict": "informative", "paper": "informative", "kind": "figure"}


def short(value: Any) -> Any:
    """A number with the digits that a table can show; anything else as it is. One that would end in
    5 keeps more of them, or a table would round 0.99349987 up.
    """
    if not isinstance(value, float):
        return value
    rounded = value
    for digits in range(DIGITS, 17):
        rounded = float(f"{value:.{digits}g}")
        if rounded == value or not repr(rounded).partition("e")[0].endswith("5"):
            break
    return int(rounded) if rounded.is_integer() else rounded


def packed(row: Row) -> Row:
    """The row without what is usual."""
    return {
        name: short(value)
        for name, value in row.items()
        if value is not None and value is not False and value not in ("", USUAL.get(name))
    }


def is_shown(comparison: dict) -> bool:
    """Whether a table may show it: figures of single flows only where they are judged."""
    judged = any(comparison[name] != USUAL[name] for name in ("verdict", "paper"))
    return judged or comparison["flow"] is None


def compared(comparison: dict) -> Row:
    """The row of a comparison."""
    names = ("case", "key", "flow", "quantity", "published")
    reference, measured = comparison["reference"] or {}, comparison["measured"] or {}
    interval, rise = INTERVAL.search(comparison["why"]), RISE.search(comparison["why"])
    low, high = comparison["interval"] or (
        map(float, interval.groups()) if interval else (None, None)
    )
    return packed(
        {name: comparison[name] for name in names}
        | {"reference": reference.get("mean"), "measured": measured.get("mean")}
        | {"reference_sd": reference.get("sd") or None}
        | {"sd": measured.get("sd") or None, "count": measured.get("count")}
        | {"low": low, "high": high, "would_show": float(rise[1]) if rise else None}
        | {name: comparison[name] for name in ("allowed", *USUAL, "by_construction")}
    )


def of_summary(case: str, summary: dict, key: str) -> Row:
    """The row of a figure of a summary; empty where it has none of that key."""
    value: Any = summary
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    figure = value if isinstance(value, dict) else {"mean": value}
    measured = figure.get("mean", figure.get("median"))
    if measured is None:
        return {}
    return packed({"case": case, "key": key, "measured": measured, "sd": figure.get("sd")})


def times(summaries: dict) -> Iterator[Row]:
    """Median times in seconds: of the tests of the ECN proxy's tables with cross traffic; and of
    the cells kept aside, through the proxy, with native ECN as the reference.
    """
    for case, summary in summaries.items():
        median = statistics.median(run["seconds"] for run in summary["runs"])
        if re.fullmatch(r"C\.\d+-\w+_cross", case):
            yield packed({"case": case, "key": "seconds", "measured": median})
        elif case.startswith("aside-") and case.endswith("-proxy"):
            native = summaries[case.removesuffix("-proxy") + "-native"]
            reference = statistics.median(run["seconds"] for run in native["runs"])
            row = {"case": case.removesuffix("-proxy"), "key": "cell"}
            yield packed(row | {"reference": reference, "measured": median})


def medians(case: str, key: str, values: list[float]) -> Row:
    """The row of a median with its 95 % interval."""
    span = of_median(values)
    measured = statistics.median(values)
    row = {"case": case, "key": key, "measured": measured, "count": len(values)}
    return packed(row | {"low": span.low, "high": span.high})


def transfers(summaries: dict) -> Iterator[Row]:
    """Of each test of ToU: its rate, its counts, and its time, of which `low` and `high` are the
    shortest and the longest.
    """
    for case, summary in summaries.items():
        runs = list(summary["runs"].values())
        seconds = [run["seconds"] for run in runs]
        rates = [8 * run["megabytes"] / run["seconds"] for run in runs]
        needless = [run["retransmitted"] - run["lost"] for run in runs]
        yield medians(case, "mbit_per_s", rates)
        ends = {"low": short(min(seconds)), "high": short(max(seconds))}
        yield medians(case, "seconds", seconds) | ends
        yield medians(case, "needless", needless)
        yield medians(case, "load", [run["load"] for run in runs])
        for key in ("cwnd", "timeouts"):
            yield medians(case, key, [run[key] for run in runs])
        if all(run["course"]["limit_s"] for run in runs):
            yield medians(case, "limit_s", [run["course"]["limit_s"] for run in runs])


def pairs(result: dict) -> Iterator[Row]:
    """Of each pair of ToU's contenders in a cell: the median ratio of the runs with equal seeds."""
    figures = {"time": "seconds", "mean cwnd": "cwnd"}
    for comparison in (each for e in result["experiments"] for each in e["comparisons"]):
        what, *names = (comparison["key"] or "").split(".")
        if what in figures and len(names) == 2:
            runs = [result["summaries"][f"{comparison['case']}-{name}"]["runs"] for name in names]
            seeds = sorted(runs[0].keys() & runs[1].keys(), key=int)
            ratios = [runs[0][seed][figures[what]] / runs[1][seed][figures[what]] for seed in seeds]
            key = ".".join((what, *names))
            yield medians(comparison["case"], key, ratios)


def experiments(result: dict) -> dict[str, list[Row]]:
    """The rows of each experiment, and those of the summaries."""
    found = {
        each["id"]: [compared(c) for c in each["comparisons"] if is_shown(c)]
        for each in result["experiments"]
    }
    summaries = result["summaries"]
    extra = [
        of_summary(case, summary, key)
        for cases, key in WANTED.get(result["paper"], ())
        for case, summary in summaries.items()
        if fnmatchcase(case, cases)
    ]
    if result["paper"] == "ecn-proxy":
        extra += times(summaries)
    if result["paper"] == "tou":
        extra += [*transfers(summaries), *pairs(result)]
    return found | {SUMMARIES: [row for row in extra if row]}


def provenance(result: dict, arguments: argparse.Namespace) -> dict[str, Any]:
    """How, when and where a result was made, without paths and names of the machine."""
    ids = [each["id"] for each in result["experiments"]]
    command = f"windlass-lab reproduce {result['paper']}" + (f"/{ids[0]}" if len(ids) == 1 else "")
    if method := result.get("method"):
        command += " --real" if method == "real" else " --sim"
        command += f" --scale {result['scale']:g}"
    version = re.match(r"\d+\.\d+", result["machine"]["kernel"])
    machine = result["machine"] | {"kernel": version[0] if version else None}
    return {
        "command": command,
        "date": result["finished"][:10],
        "commit": arguments.commit or result["commit"],
        "windlass_version": result["windlass_version"].removeprefix("windlass "),
        "machine": machine,
        "replicates": result["replicates"],
        "seed": result["seed"],
        "note": arguments.note,
        "experiments": ids,
    }


def document(
    results: list[dict], arguments: argparse.Namespace, old: dict[str, Any]
) -> dict[str, Any]:
    """Results of one paper as one, on top of an old one: of each experiment the newest."""
    newest: dict[str, list[Row]] = old.get("experiments", {})
    runs: list[dict[str, Any]] = old.get("runs", [])
    for result in sorted(results, key=lambda each: each["finished"]):
        found = experiments(result)
        for run in runs:
            run["experiments"] = [id_ for id_ in run["experiments"] if id_ not in found]
        runs.append(provenance(result, arguments))
        older = newest.get(SUMMARIES, [])
        newest |= found
        newest[SUMMARIES] = list(
            {(r["case"], r["key"]): r for r in older + found[SUMMARIES]}.values()
        )
    return {
        "schema": SCHEMA,
        "kind": "docs.result",
        "paper": results[0]["paper"],
        "runs": [run for run in runs if run["experiments"]],
        "experiments": newest,
    }


def order(row: Row) -> list[str]:
    """Rows of one case and key stand together."""
    return [
        str(row.get(name, "")) for name in ("case", "key", "flow", "quantity", "kind", "verdict")
    ]


def text(found: dict[str, Any]) -> str:
    """The document with one row a line."""
    head = {name: value for name, value in found.items() if name != "experiments"}
    parts = []
    for id_, rows in found["experiments"].items():
        lines = [json.dumps(row, ensure_ascii=False) for row in sorted(rows, key=order)]
        parts.append(f"  {json.dumps(id_)}: [\n   " + ",\n   ".join(lines) + "\n  ]")
    start = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    return f'{start},\n "experiments": {{\n' + ",\n".join(parts) + "\n }\n}\n"


def main() -> int:
    """Write the file of a paper."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, help="results of one paper")
    parser.add_argument("--commit", help="of the binary, where it is not that of the results")
    parser.add_argument("--note", help="a sentence on the runs")
    arguments = parser.parse_args()
    results = [json.loads((folder / "results.json").read_text()) for folder in arguments.folders]
    papers = sorted({result["paper"] for result in results})
    if len(papers) > 1:
        print(f"results of {len(papers)} papers, one is wanted: {', '.join(papers)}")
        return 1
    file = DATA / f"{papers[0]}.json"
    old = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(text(document(results, arguments, old)))
    print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
