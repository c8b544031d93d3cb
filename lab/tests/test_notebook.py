"""The notebooks among the examples run, and show what their texts say."""

import ast
import json
import runpy
from pathlib import Path

import pytest

pytest.importorskip("windlass_lab._native", reason="build it with scripts/build-native")

FOLDER = Path(__file__).parents[2] / "examples" / "notebook"


def test_the_notebook_of_marimo_shows_that_new_ecn_is_fair():
    pytest.importorskip("marimo")
    outputs, names = runpy.run_path(str(FOLDER / "shared.py"))["app"].run()
    assert len(outputs) == 6
    assert names["run"].flows["controller"].to_list() == ["new-ecn"] * 2
    fairness = dict(names["fairness"].iter_rows())
    assert fairness["new-ecn"] > 0.9 > fairness["newreno"]


def run_cells(name: str) -> tuple[dict[str, object], dict]:
    """Runs the cells of a Jupyter notebook one after the other, as its kernel does. Returns the
    value that each cell ends with, by the cell's id, and the names at the end.
    """
    notebook = json.loads((FOLDER / name).read_text())
    assert notebook["nbformat"] == 4
    names: dict = {"__name__": "__main__"}
    values = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "notebooks are kept without outputs"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{name}:{cell['id']}", "exec"), names)
        if last is not None:
            expression = ast.Expression(last.value)
            values[cell["id"]] = eval(compile(expression, f"{name}:{cell['id']}", "eval"), names)
            values[f"{cell['id']} as HTML"] = html_of(values[cell["id"]])
    return values, names


def html_of(value: object) -> str:
    """The HTML form of a value at that moment; empty if it has none."""
    form = getattr(value, "_repr_html_", None)
    return form() if form else ""


def test_the_notebook_of_two_controllers_shows_a_run_and_compares(monkeypatch):
    monkeypatch.chdir(FOLDER)
    values, _ = run_cells("compare.ipynb")
    shown = values["run as HTML"]
    assert "<table>" in shown and "<svg " in shown
    assert "short" in shown and "fairness index" in shown
    assert values["compare"]._repr_png_().startswith(b"\x89PNG")
    fairness = values["fairness"]
    assert fairness["new-ecn"] > 0.9 > fairness["newreno"]


def test_the_notebook_of_a_study_shows_it_before_and_after_it_ran(monkeypatch):
    monkeypatch.chdir(FOLDER)
    values, names = run_cells("study.ipynb")
    before, after = values["study as HTML"], values["results as HTML"]
    assert "18 runs" in before and "<svg " not in before
    assert "fairness index, steady" in after and "<svg " in after
    rates = names["frame"]["dumbbell.bottleneck.rate_mbit_per_s"]
    assert rates.unique().sort().to_list() == [4, 8, 16]
    kinds = [values[cell].kind for cell in ("lines", "box", "heat")]
    assert kinds == ["lines", "box", "heat"]
    assert "12 trials" in values["trials as HTML"]
    assert "12 trials" in values["front as HTML"] and "<svg " in values["front as HTML"]
