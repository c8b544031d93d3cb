"""Which cases can fail a run: a claim of a paper that does not hold is a result, and no failure."""

from collections.abc import Iterable, Sequence

from windlass_lab.core.experiments.model import (
    Ascending,
    AtLeast,
    Case,
    Check,
    Effect,
    Experiment,
    KernelCase,
    Near,
    Pairs,
    Statement,
)


def decisive_cases(experiments: Sequence[Experiment]) -> set[str]:
    """The names of the cases on whose figures the exit status of `reproduce` depends."""
    found = {name for e in experiments for check in e.checks for name in _decides(check)}
    named = [case for e in experiments for case in e.named.values()]
    # The case beside a decisive one decides with it.
    found |= {
        case.beside
        for case in named
        if isinstance(case, Case | KernelCase) and case.name in found and case.beside
    }
    return found


def _decides(check: Check) -> Iterable[str]:
    match check:
        case AtLeast() | Pairs():
            return (check.case,)
        case Near():
            return () if check.claim else (check.case,)
        case Statement():
            return (check.case,) if check.by_construction else ()
        case Effect():
            return (check.case, check.beside) if check.must else ()
        case Ascending():
            return () if check.says else check.cases
        case _:
            return ()
