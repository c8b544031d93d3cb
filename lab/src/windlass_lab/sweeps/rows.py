"""One run of a study as a row, and the file of rows."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.runs.portable import portable_text
from windlass_lab.runs.simulate import ScenarioError, load_native, override
from windlass_lab.sweeps.study import Point, Study

KIND = "lab.sweep"
SCHEMA = 1
# Not measurements: versions of formats.
_NO_FIGURES = ("schema", "series_schema", "seed")


@dataclass(frozen=True)
class Runner:
    """Simulates the runs of a study."""

    origin: str
    text: str
    jitter: str | None
    keep: Sequence[str] | None

    @staticmethod
    def of(study: Study) -> "Runner":
        """The runner of a study."""
        text = portable_text(study.scenario)
        return Runner(str(study.scenario), text, study.jitter, study.keep)

    def run(self, point: Point) -> dict:
        """The row: `run`, `seed`, the values of the axes, and what is kept. Raises
        `ScenarioError` that names the run.
        """
        overrides = [override(key, value) for key, value in point.set.items()]
        try:
            summary, _ = load_native().simulate(
                self.origin, self.text, overrides, point.seed, self.jitter, "none"
            )
        except ValueError as error:
            raise ScenarioError(f"run {point.run} {dict(point.set)}: {error}") from None
        return {"run": point.run, "seed": point.seed, **point.set} | kept(
            json.loads(summary), self.keep
        )


def kept(summary: Mapping, keys: Sequence[str] | None) -> dict:
    """The figures of a summary under these dotted keys; without keys, all numbers that are in no
    list. Raises `LabError` for a key that the summary lacks.
    """
    if keys is None:
        return _numbers(summary, "")
    return {key: _value(summary, key) for key in keys}


def _numbers(keys: Mapping, prefix: str) -> dict:
    found: dict = {}
    for key, value in keys.items():
        if isinstance(value, Mapping):
            found |= _numbers(value, f"{prefix}{key}.")
        elif _is_number(value) and key not in _NO_FIGURES:
            # One type in a column.
            found[prefix + key] = float(value)
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(summary: Mapping, dotted: str) -> object:
    value: object = summary
    for part in dotted.split("."):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError, ValueError):
            raise LabError(f"keep: the summary has no {dotted}") from None
    if value is not None and not _is_number(value) and not isinstance(value, str):
        raise LabError(f"keep: {dotted} is neither a number nor a text")
    return float(value) if _is_number(value) else value  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def program() -> str:
    """A hash of the simulator that runs."""
    native = Path(load_native().__file__ or "")
    return hashlib.sha256(native.read_bytes()).hexdigest()


class RowFile:
    """Rows in a file, a line each, appended as they come. The first line says of what study they
    are, so that a sweep goes on where it ended.
    """

    def __init__(self, path: Path, study: Study, resume: bool) -> None:
        """Opens the file. Raises `LabError` if it has rows and `resume` is false, or rows of
        another study.
        """
        self.path = path
        self.rows: list[dict] = []
        head = {
            "schema": SCHEMA,
            "kind": KIND,
            "study": study.identity(program()),
            "runs": len(study),
        }
        if path.exists():
            if not resume:
                raise LabError(f"{path}: holds rows already: go on with --resume, or remove it")
            self._load(head)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(head) + "\n", encoding="utf-8")
        self._file = path.open("a", encoding="utf-8")

    def _load(self, head: dict) -> None:
        data = self.path.read_bytes()
        # A killed writer may have left the beginning of a line.
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.decode().splitlines()
        try:
            found = json.loads(lines[0]) if lines else None
            self.rows = [json.loads(line) for line in lines[1:]]
        except ValueError:
            raise LabError(f"{self.path}: not the rows of a sweep") from None
        if found != head:
            raise LabError(
                f"{self.path}: the rows are of another study, scenario or simulator; "
                "remove the file to begin anew"
            )
        if len(whole) < len(data):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))

    def append(self, rows: Sequence[dict]) -> None:
        """Adds rows; they are in the file when this returns."""
        self.rows += rows
        self._file.write("".join(json.dumps(row) + "\n" for row in rows))
        self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
