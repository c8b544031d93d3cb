"""Refuses a study before its first run."""

from collections.abc import Sequence
from itertools import islice

from windlass_lab.core.errors import LabError
from windlass_lab.sweeps.keep import MISSING, find
from windlass_lab.sweeps.rows import Runner
from windlass_lab.sweeps.study import Study

# Combinations that are checked at most, in their order: those of a second or so.
_CHECKS_MAX = 5000


def check(study: Study, runner: Runner) -> None:
    """Builds the network of each combination of values. Raises `LabError` for the first one that
    the scenario refuses, and for a key of `keep` that no combination has.
    """
    missing: Sequence[str] = study.keep or ()
    for point in islice(study.points(), 0, _CHECKS_MAX * len(study.seeds), len(study.seeds)):
        summary = runner.check(point)
        missing = [key for key in missing if find(summary, key) is MISSING]
    if missing:
        raise LabError(f"{study.path}: keep: the summary has no {missing[0]}")
