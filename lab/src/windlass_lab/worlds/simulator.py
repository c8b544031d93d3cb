"""The simulator as one of the worlds: runs a scenario, and writes the files of a run."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.output import write_atomically
from windlass_lab.core.files.text_file import read_text
from windlass_lab.runs.run import Run
from windlass_lab.runs.simulate import ScenarioError, load_native
from windlass_lab.runs.stored import SUMMARY


def run(file: Path, overrides: Sequence[str], seed: int, out: Path) -> Run:
    """Simulates the scenario in a file, and writes the summary and the series to `out`. Raises
    `LabError`.
    """
    try:
        summary, tables = load_native().simulate(
            str(file), read_text(file), list(overrides), seed, None, "all", None
        )
    except ValueError as error:
        raise ScenarioError(str(error)) from None
    found = Run(json.loads(summary), {table.name: pl.DataFrame(table) for table in tables})
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, table in found.tables.items():
            table.write_csv(out / f"{name}.csv")
    except OSError as error:
        raise LabError(f"cannot write to {out}: {error.strerror}") from error
    write_atomically(out / SUMMARY, json.dumps(found.summary, indent=2) + "\n")
    return found
