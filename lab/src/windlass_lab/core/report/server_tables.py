"""The paper's tables anew, and the runs as CSV."""

import csv
import io
from collections.abc import Mapping, Sequence

from windlass_lab.core.experiments.judge import Evidence
from windlass_lab.core.experiments.model import ServersTable
from windlass_lab.core.experiments.reference import Published
from windlass_lab.core.text import numbers

_FIGURES = {
    "data_packets": "data packets",
    "retransmissions": "retransmits",
    "total": "total",
    "kilobytes": "size, kB",
}


def published_beside_measured(table: ServersTable, cases: Mapping, evidence: Evidence) -> Mapping:
    """Caption, headings and rows: the published and the measured figure in each cell."""
    rows = []
    for name in table.cases:
        measured = evidence.measured.get(name)
        published = evidence.published.get(name, Published({}))
        if not measured:
            continue
        for test in table.tests:
            keys = [f"{test.lower()}.{key}" for key in _FIGURES]
            theirs = [numbers.published(published.figure(key)) for key in keys]
            ours = [numbers.estimate(measured.values.get(key)) for key in keys]
            pairs = (f"{t} | {o}" for t, o in zip(theirs, ours, strict=True))
            rows.append((cases[name].label, test, *pairs))
    headings = ("published | measured", "test", *_FIGURES.values())
    return {"caption": table.caption, "headings": headings, "rows": rows, "open": True}


def as_csv(summaries: Mapping[str, Mapping]) -> dict[str, str]:
    """By name: all runs of all servers, and the servers of each population."""
    files = {}
    runs = [
        {"server": name} | run
        for name, summary in summaries.items()
        if "reaction" in summary
        for run in summary["runs"]
    ]
    if runs:
        files["servers"] = _csv(runs)
    for name, summary in summaries.items():
        if "right_share" in summary:
            files[name] = _csv(summary["rows"])
    return files


def _csv(rows: Sequence[Mapping]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
