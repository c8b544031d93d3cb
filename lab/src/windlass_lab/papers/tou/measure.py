"""The requirements of the tests, and which of them run at the same time."""

from collections.abc import Sequence

from windlass_lab.papers.tou import topology
from windlass_lab.papers.tou.losses import Losses
from windlass_lab.papers.tou.plan import Test
from windlass_lab.testbed import check

# Of a test's cost: above it, it is one of the fast ones.
_FAST = 0.2
Wanted = tuple[Test, int]


def require(tests: Sequence[Test]) -> None:
    """Raises `LabError`, in one line, where this machine lacks what the tests need."""
    for test in tests:
        found = topology.experiment(test, Losses((), ()))
        if test.contender.is_tou:
            check.require_programs(found)
        else:
            check.require(found)


def to_start(waiting: Sequence[Wanted], running: Sequence[Wanted], jobs: int) -> list[Wanted]:
    """Those to start now. The fast and the slow ones have a budget each, so that neither waits
    for the other.
    """
    chosen = []
    for fast in (True, False):
        used = sum(test.cost for test, _ in running if (test.cost > _FAST) == fast)
        for each in (e for e in waiting if (e[0].cost > _FAST) == fast):
            if used and used + each[0].cost > jobs:
                break
            used += each[0].cost
            chosen.append(each)
    return chosen
