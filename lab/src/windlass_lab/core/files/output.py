"""The output directory: only the lab's own is overwritten, and no file is ever half-written."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from windlass_lab.core.errors import LabError

RESULTS = "results.json"
SERIES = "series.json"
REPORT = "report.html"
SUMMARY = "summary.txt"
# The cells of the coexistence of controllers, to browse.
MATRIX = "matrix.html"
# The plot that the report begins with, for the front page of all papers.
MAIN_PLOT = "main-plot.json"
DATA = "data"
# The output of each run on a kernel: RUNS/CASE/run-N.
RUNS = "runs"
# The runs of the ECN proxy's tests, a line each, from which a broken-off result goes on.
RUN_LINES = "runs.jsonl"
FILES = frozenset({RESULTS, SERIES, REPORT, SUMMARY, MATRIX, MAIN_PLOT, RUN_LINES})
# The kinds of JSON documents that the lab writes; each begins with `schema` and `kind`.
RESULT_KIND = "lab.result"
SERIES_KIND = "lab.series"
SCHEMA = 4
# How results named their kind up to schema 2: the lab may overwrite them, and cannot read them.
_OLD_FORMAT = "windlass-lab result"


class OutputDirectory:
    """A directory for a result, checked before anything runs.

    As a context manager it takes away the directory it made when nothing was written.
    """

    def __init__(self, path: Path, kind: str = RESULT_KIND) -> None:
        """Makes or checks the directory. Raises `LabError` for one that does not hold a result of
        the `kind`.
        """
        self.path = path
        self._made = make_folder(path)
        _refuse_foreign(path, kind)
        _refuse_unwritable(path)

    def __enter__(self) -> "OutputDirectory":
        """The directory itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Removes what was made for nothing."""
        remove_empty(self._made)

    def write(self, name: str, text: str) -> None:
        """Writes a file whole, or leaves the one that was there."""
        write_atomically(self.path / name, text)

    def write_all(self, files: Mapping[str, str]) -> None:
        """Writes what is made from a result, as `write_all` does."""
        write_all(self.path, files)


def make_folder(path: Path) -> list[Path]:
    """Makes a folder and those above it. Returns those that were not there, the innermost first.
    Raises `LabError`.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"cannot make the directory {path}: {error.strerror}") from error
    return missing


def remove_empty(folders: Sequence[Path]) -> None:
    """Removes folders, the innermost first, up to the first that holds something."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def _refuse_foreign(path: Path, kind: str) -> None:
    names = sorted(entry.name for entry in _listed(path))
    if RUNS in names and _is_runs(path / RUNS):
        names.remove(RUNS)
    if not names:
        return
    foreign = [name for name in names if name not in FILES and not _is_leftover(name)]
    if DATA in foreign and all(entry.suffix == ".csv" for entry in _listed(path / DATA)):
        foreign.remove(DATA)
    if foreign:
        raise LabError(
            f"{path} is not empty and holds what the lab did not write ({foreign[0]}): "
            "name another directory"
        )
    goes_on = kind == RESULT_KIND and RUN_LINES in names
    if not is_result(path, kind) and not goes_on:
        raise LabError(f"{path} holds no result of the lab: name another directory")


def _is_runs(folder: Path) -> bool:
    inner = [entry for case in _listed(folder) for entry in _listed(case)]
    return all(entry.name.startswith("run-") and entry.is_dir() for entry in inner)


def _is_leftover(name: str) -> bool:
    """A temporary file of a run that was killed."""
    return any(name.startswith(f".{file}-") for file in FILES)


def _listed(path: Path) -> list[Path]:
    try:
        return list(path.iterdir())
    except OSError as error:
        raise LabError(f"cannot read the directory {path}: {error.strerror}") from error


def _refuse_unwritable(path: Path) -> None:
    try:
        with tempfile.NamedTemporaryFile(dir=path, prefix=".writable-"):
            pass
    except OSError as error:
        raise LabError(f"cannot write to {path}: {error.strerror}") from error


def is_result(path: Path, kind: str = RESULT_KIND) -> bool:
    """Whether a directory holds a result of the lab, of a kind."""
    try:
        data = json.loads((path / RESULTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if not isinstance(data, dict):
        return False
    return data.get("kind") == kind or (kind == RESULT_KIND and data.get("format") == _OLD_FORMAT)


def envelope(kind: str) -> dict[str, int | str]:
    """The keys with which a JSON document of the lab begins."""
    return {"schema": SCHEMA, "kind": kind}


def load(path: Path, name: str, expected: str) -> dict:
    """A JSON file of a result. Raises `LabError` unless it is of the kind that is `expected`."""
    file = path / name
    if not file.is_file():
        raise LabError(_no_result(path, name))
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        raise LabError(f"{file} is not JSON: {error}") from error
    if isinstance(data, dict) and data.get("format") == _OLD_FORMAT:
        raise LabError(f"{file} is of an older lab; this lab reads schema {SCHEMA}: run it again")
    if not isinstance(data, dict) or data.get("kind") != expected:
        raise LabError(f"{file} is not a document of the kind {expected}")
    if data.get("schema") != SCHEMA:
        raise LabError(f"{file} has schema {data.get('schema')}; this lab reads {SCHEMA}")
    return data


def _no_result(path: Path, name: str) -> str:
    if not path.is_dir():
        return f"there is no directory {path}"
    if (path / "summary.json").is_file():
        return (
            f"{path} holds a run of `windlass sim run` or `windlass-lab testbed run`, "
            "not an experiment's result\n"
            "  hint: `windlass-lab report` takes a directory that `windlass-lab reproduce` wrote"
        )
    return f"{path} holds no result of `windlass-lab reproduce`: it has no {name}"


def write_all(folder: Path, files: Mapping[str, str]) -> None:
    """Writes files by their paths in a directory, each whole, and takes away data of figures that
    a former result had and this one has not.
    """
    data = folder / DATA
    make_folder(data)
    for name, text in files.items():
        write_atomically(folder / name, text)
    for stale in set(data.glob("*.csv")) - {folder / name for name in files}:
        stale.unlink()


def write_atomically(path: Path, content: str | bytes) -> None:
    """Writes to a temporary file beside `path` and renames it. Raises `LabError`."""
    data = content.encode() if isinstance(content, str) else content
    try:
        file, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        temporary = Path(name)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise LabError(f"{path}: cannot write: {error.strerror or error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
