"""Judges a controller, and shows the verdicts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from windlass_lab.clauses.controller import Controller
from windlass_lab.core.errors import LabError
from windlass_lab.runs.simulate import load_native


@dataclass(frozen=True)
class Verdict:
    """The verdict of a case on a controller."""

    suite: str
    case: str
    document: str
    section: str
    level: str
    """`MUST`, `SHOULD`, `MAY` or `rule`."""
    demanded: str
    outcome: Literal["passed", "failed", "not observable"]
    reason: str | None
    """Why it did not pass."""


def judge(
    controller: type[Controller], *, suites: Sequence[str] = (), concerns: str | None = None
) -> list[Verdict]:
    """The verdicts of clauses on a class of controllers, in virtual time: the same each time.

    `concerns` is the name of the controller whose clauses hold for this one, such as "reno" or
    "cubic"; without it only those of every TCP sender do. With `suites` all cases of these are
    judged. An exception of the controller ends it. Raises `LabError` for an unknown suite.
    """
    name = controller.__name__
    native = load_native()
    try:
        text = native.judge(controller, name, concerns or name, list(suites))
    except ValueError as error:
        raise LabError(str(error)) from error
    return [Verdict(**verdict) for verdict in json.loads(text)]


def table(verdicts: Sequence[Verdict]) -> str:
    """The verdicts as text: a line for each that did not pass, and how many did."""
    lines = [
        f"{verdict.outcome:14}  {verdict.document} section {verdict.section}, {verdict.level}: "
        f"{verdict.suite}/{verdict.case}\n                demanded: {verdict.demanded}\n"
        f"                {verdict.reason}"
        for verdict in verdicts
        if verdict.outcome != "passed"
    ]
    passed = sum(verdict.outcome == "passed" for verdict in verdicts)
    failed = sum(verdict.outcome == "failed" for verdict in verdicts)
    hidden = len(verdicts) - passed - failed
    lines.append(f"{passed} passed, {failed} failed, {hidden} not observable")
    return "\n".join(lines)
