"""The document of a result, results.json, and those of its experiments."""

import time
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from windlass_lab.core import provenance
from windlass_lab.core.binary.windlass import Windlass
from windlass_lab.core.experiments.model import Paper
from windlass_lab.core.files.output import RESULT_KIND, envelope
from windlass_lab.core.verdicts.criterion import Basis
from windlass_lab.core.verdicts.verdict import Comparison, failures
from windlass_lab.core.version import VERSION


class Origin:
    """Where a result is made, by which programs, and since when."""

    def __init__(self, windlass: Windlass) -> None:
        """Begins now: a commit while experiments run is not theirs."""
        self._begin = time.monotonic()
        self._programs = {"windlass_version": windlass.version(), "lab_version": VERSION}
        self._made = provenance.provenance()

    def keys(self) -> dict[str, Any]:
        """The keys of a result that is complete now."""
        return {
            **self._programs,
            **self._made,
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "elapsed_s": round(time.monotonic() - self._begin, 1),
        }


def result_document(
    paper: Paper,
    how: Mapping[str, object],
    origin: Origin,
    commands: Sequence[str],
    published: Mapping[str, Mapping],
    summaries: Mapping[str, Mapping],
) -> dict[str, Any]:
    """The document of a result without its experiments; `how` are the options of the runs."""
    return {
        **envelope(RESULT_KIND),
        "paper": paper.id,
        **how,
        **origin.keys(),
        "commands": commands,
        "published": published,
        "summaries": summaries,
    }


def experiment_document(
    id_: str, first_result: date, comparisons: Sequence[Comparison]
) -> dict[str, object]:
    """The document of an experiment. Raises `ValueError` for a row that is judged by no criterion,
    or by one that says that it was set before the result and was not.
    """
    for comparison in comparisons:
        criterion = comparison.criterion
        if comparison.judged and criterion is None:
            raise ValueError(f"{id_}: {comparison.quantity}: judged without a criterion")
        if criterion and criterion.basis == Basis.BEFORE and criterion.set_on > first_result:
            raise ValueError(
                f"{id_}: {comparison.quantity}: the criterion of {criterion.set_on} is newer than "
                f"the result of {first_result}"
            )
    return {
        "id": id_,
        "passed": not failures(comparisons),
        "first_result": first_result.isoformat(),
        "comparisons": [comparison.to_json() for comparison in comparisons],
    }
