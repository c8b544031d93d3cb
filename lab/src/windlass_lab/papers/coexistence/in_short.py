"""The coexistence of controllers in a line."""

from collections.abc import Mapping

from windlass_lab.core.verdicts.verdict import Comparison
from windlass_lab.papers.coexistence.catalogue import JUDGED


def finding(results: Mapping) -> str:
    """How many of the named cells are as documents say."""
    rows = [
        Comparison.from_json(entry)
        for document in results["experiments"]
        if document["id"] == JUDGED
        for entry in document["comparisons"]
    ]
    met = sum(row.verdict == "pass" for row in rows)
    run = sum(row.judged for row in rows)
    return f"{met} of {run} named cells are as documents say" if run else ""
