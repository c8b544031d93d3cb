"""Reads the `--out` directories of `windlass sim run` and `windlass-lab testbed run`."""

import json
from pathlib import Path

import polars as pl

from windlass_lab.core.errors import LabError
from windlass_lab.runs.run import Run

SUMMARY = "summary.json"
_KIND = "sim.run"


def read(folder: str | Path) -> Run:
    """The run whose output is in `folder`. Raises `LabError` if it holds none."""
    folder = Path(folder)
    summary = _summary(folder)
    tables = {
        path.stem: _table(path)
        for path in sorted(folder.iterdir())
        if path.suffix in {".csv", ".parquet"}
        and path.stem.startswith(("flow-", "transfers-", "queue-"))
    }
    return Run(summary, tables)


def _summary(folder: Path) -> dict:
    path = folder / SUMMARY
    try:
        summary = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        if any(folder.glob(f"seed-*/{SUMMARY}")):
            raise LabError(
                f"{folder}: holds several runs: name one, such as {_first(folder)}"
            ) from None
        raise LabError(
            f"{path}: cannot read: {error.strerror}; expected an --out directory"
        ) from None
    except ValueError as error:
        raise LabError(f"{path}: not JSON: {error}") from None
    if not isinstance(summary, dict):
        raise LabError(f"{path}: expected an object, the summary of a run")
    kind = summary.get("kind")
    if kind == "sim.replicates":
        raise LabError(f"{folder}: holds several runs: name one, such as {_first(folder)}")
    # A testbed's summary has the simulator's keys, and no kind.
    if kind != _KIND and not (kind is None and "series_schema" in summary):
        raise LabError(f"{path}: kind is {kind!r}: expected {_KIND!r}, the summary of a run")
    return summary


def _first(folder: Path) -> Path:
    return min(
        (path.parent for path in folder.glob(f"seed-*/{SUMMARY}")), default=folder / "seed-1"
    )


def _table(path: Path) -> pl.DataFrame:
    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        # Every column holds numbers: not guessed from the first lines, where all may be whole.
        text = pl.read_csv(path, infer_schema=False)
        return text.select(pl.all().cast(pl.Float64))
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise LabError(f"{path}: not a time series: {reason}") from None
