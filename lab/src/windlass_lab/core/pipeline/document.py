"""The document of an experiment in results.json."""

from collections.abc import Sequence
from datetime import date

from windlass_lab.core.verdicts.criterion import Basis
from windlass_lab.core.verdicts.verdict import Comparison, failures


def experiment_document(
    id_: str, first_result: date, comparisons: Sequence[Comparison]
) -> dict[str, object]:
    """The document. Raises `ValueError` for a row that is judged by no criterion, or by one that
    says that it was set before the result and was not.
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
