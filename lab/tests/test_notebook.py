"""The notebook among the examples runs, and shows what its text says."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("marimo")
pytest.importorskip("windlass_lab._native", reason="build it with scripts/build-native")

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook" / "shared.py"


def test_the_notebook_shows_that_new_ecn_is_fair():
    outputs, names = runpy.run_path(str(NOTEBOOK))["app"].run()
    assert len(outputs) == 6
    assert names["run"].flows["controller"].to_list() == ["new-ecn"] * 2
    fairness = dict(names["fairness"].iter_rows())
    assert fairness["new-ecn"] > 0.9 > fairness["newreno"]
