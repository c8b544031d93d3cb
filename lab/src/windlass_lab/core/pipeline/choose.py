"""Tests chosen by their names."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from windlass_lab.core.errors import LabError
from windlass_lab.core.pipeline.run_lines import Named

T = TypeVar("T", bound=Named)


def select(tests: Sequence[T], globs: Sequence[str]) -> list[T]:
    """Those whose name one of the globs has; all where there is none.

    Raises `LabError` where a glob has no test.
    """
    for glob in globs:
        if not any(fnmatchcase(test.name, glob) for test in tests):
            raise LabError(f"--tests {glob}: no test has such a name, as {tests[0].name} is one")
    return [test for test in tests if not globs or any(fnmatchcase(test.name, g) for g in globs)]
