"""One run of a study as a row, and the file of rows."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from windlass_lab.core.errors import LabError
from windlass_lab.core.files.line_file import LineFile
from windlass_lab.core.files.output import make_folder, remove_empty
from windlass_lab.runs.portable import portable_text
from windlass_lab.runs.simulate import ScenarioError, load_native, override
from windlass_lab.sweeps.keep import kept
from windlass_lab.sweeps.results import KIND
from windlass_lab.sweeps.study import Point, Study

SCHEMA = 1


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

    def run(
        self,
        point: Point,
        stop: object | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> dict:
        """The row: `run`, `seed`, the values of the axes, and what is kept. `progress` is called
        with the fraction that is simulated. Raises `ScenarioError` that names the run, and
        `Stopped` once `stop` is set.
        """
        overrides = [override(key, value) for key, value in point.set.items()]
        try:
            summary, _ = load_native().simulate(
                self.origin, self.text, overrides, point.seed, self.jitter, "none", stop, progress
            )
        except ValueError as error:
            raise self._refused(point, error) from None
        row = {"run": point.run, "seed": point.seed, **point.set}
        # The value of an axis stands before a figure of the same name.
        return row | kept(json.loads(summary), self.keep) | row

    def check(self, point: Point) -> Mapping:
        """The summary of a run that ends before it begins. Raises `ScenarioError` that names the
        run.
        """
        overrides = [override(key, value) for key, value in point.set.items()]
        try:
            return json.loads(load_native().check(self.origin, self.text, overrides, self.jitter))
        except ValueError as error:
            raise self._refused(point, error) from None

    def _refused(self, point: Point, error: ValueError) -> ScenarioError:
        return ScenarioError(f"run {point.run} {dict(point.set)}: {error}")


@lru_cache(maxsize=1)
def program() -> str:
    """A hash of the simulator that runs."""
    native = Path(load_native().__file__ or "")
    return hashlib.sha256(native.read_bytes()).hexdigest()


class RowFile:
    """Rows in a file, a line each, appended as they come. The first line identifies the study, so
    that a sweep goes on where it ended. A file without rows is taken away in the end.
    """

    def __init__(self, path: Path, study: Study, resume: bool) -> None:
        """Opens the file. Raises `LabError` if it has rows and `resume` is false, or rows of
        another study, or cannot be written.
        """
        self.path = path
        self.rows: list[dict] = []
        self._made: Sequence[Path] = ()
        head = {
            "schema": SCHEMA,
            "kind": KIND,
            "study": study.identity(program()),
            "runs": len(study),
            "axes": list(study.axes),
        }
        if path.exists():
            if not resume:
                raise LabError(f"{path}: holds rows already: go on with --resume, or remove it")
            self._load(head)
            self._file = LineFile(path)
        else:
            self._begin(head)

    def _begin(self, head: Mapping) -> None:
        self._made = make_folder(self.path.parent)
        try:
            self._file = LineFile(self.path)
            self._file.append(json.dumps(head) + "\n")
        except LabError:
            self._remove()
            raise

    def _load(self, head: Mapping) -> None:
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise LabError(f"{self.path}: cannot read: {error.strerror}") from None
        # A killed writer may have left the beginning of a line.
        whole = data[: data.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.decode().splitlines()]
        except ValueError:
            raise LabError(f"{self.path}: not the rows of a sweep") from None
        if lines[:1] != [head]:
            raise LabError(
                f"{self.path}: the rows are of another study, scenario or simulator; "
                "remove the file to begin anew"
            )
        self.rows = lines[1:]
        if len(whole) < len(data):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))

    def append(self, rows: Sequence[dict]) -> None:
        """Adds rows; they are in the file when this returns. Raises `LabError`."""
        self._file.append("".join(json.dumps(row) + "\n" for row in rows))
        self.rows += rows

    def close(self) -> None:
        """Closes the file. Raises `LabError`."""
        if self.rows:
            self._file.close()
        else:
            self._remove()

    def _remove(self) -> None:
        self.path.unlink(missing_ok=True)
        remove_empty(self._made)
