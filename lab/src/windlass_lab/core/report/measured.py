"""The measured figures of a result, for sentences and bars about it."""

from collections.abc import Mapping
from statistics import median


def figures(results: Mapping) -> dict[tuple[str, str], float]:
    """The measured mean of each compared quantity that is no flow's alone, by case and key."""
    return {
        (entry["case"], entry["key"]): entry["measured"]["mean"]
        for document in results["experiments"]
        for entry in document["comparisons"]
        if entry["measured"] and not entry["flow"]
    }


def seconds(results: Mapping, test: str) -> float | None:
    """The median time of a test that a campaign has run, in seconds; None without a run."""
    runs = results["summaries"].get(test, {}).get("runs", ())
    # By number, or in a row.
    found = [run["seconds"] for run in (runs.values() if isinstance(runs, Mapping) else runs)]
    return median(found) if found else None
