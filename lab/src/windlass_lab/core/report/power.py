"""Tables like the paper's Table 4.6: by which power of the RTT do the slopes go?"""

from collections.abc import Mapping

from windlass_lab.core.experiments.judge import Evidence
from windlass_lab.core.experiments.model import PowerTable
from windlass_lab.core.statistics.derive import pair_names, ratio
from windlass_lab.core.statistics.estimate import Estimate


def power_table(table: PowerTable, evidence: Evidence) -> Mapping:
    """Caption, headings and rows: the published and the measured figure in each cell."""
    pairs = pair_names(evidence.measured[table.case])
    bases = [_mean(ratio(left, right, table.base)) for _, left, right in pairs]
    powers = [_mean(ratio(left, right, table.key)) for _, left, right in pairs]
    rows = []
    for power, *published in table.published:
        measured = [base**power - wanted for base, wanted in zip(bases, powers, strict=True)]
        cells = zip(published, measured, strict=True)
        rows.append((f"{power:.1f}", *(f"{theirs:.2f} | {ours:.2f}" for theirs, ours in cells)))
    headings = ("power", *(f"TCP {name}" for name, *_ in pairs))
    return {"caption": table.caption, "headings": headings, "rows": rows, "open": False}


def _mean(estimate: Estimate | None) -> float:
    return estimate.mean if estimate else float("nan")
