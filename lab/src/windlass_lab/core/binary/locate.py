"""Where the binary and the scenario files are."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from windlass_lab.core.errors import LabError

# A wheel holds `experiments` and `testbeds` here.
_PACKAGE = Path(__file__).resolve().parents[2]


def find_windlass(given: Path | None) -> Path:
    """The `windlass` binary: `given`, $WINDLASS, target/release/windlass above, $PATH.

    Raises `LabError` when there is none, or when the one asked for cannot be run.
    """
    asked = [("--windlass", given), ("WINDLASS", os.environ.get("WINDLASS"))]
    for origin, path in asked:
        if path:
            return _runnable(Path(path), origin)
    for folder in _folders_above():
        built = folder / "target" / "release" / "windlass"
        if os.access(built, os.X_OK) and built.is_file():
            return built
    # The wheel puts it beside the interpreter, which may not be on the path.
    beside = Path(sys.executable).parent / "windlass"
    if os.access(beside, os.X_OK) and beside.is_file():
        return beside
    on_path = shutil.which("windlass")
    if on_path:
        return Path(on_path)
    raise LabError(
        "cannot find the binary `windlass`: build it (cargo build --release --bin windlass), "
        "or name it with --windlass PATH or the variable WINDLASS"
    )


def _runnable(path: Path, origin: str) -> Path:
    if not path.is_file():
        raise LabError(f"{origin}: there is no file {path}")
    if not os.access(path, os.X_OK):
        raise LabError(f"{origin}: {path} is not executable")
    return path.resolve()


def find_experiments(given: Path | None, paper: str) -> Path:
    """The folder with a paper's scenarios: in `given`, `experiments/` above, or the package."""
    if given is not None:
        folders = [given / paper, given]
        for folder in folders:
            if any(folder.glob("*.toml")):
                return folder
        raise LabError(f"--experiments: no scenario files in {folders[0]}")
    for folder in (*_folders_above(), _PACKAGE):
        if any((folder / "experiments" / paper).glob("*.toml")):
            return folder / "experiments" / paper
    raise LabError(
        f"cannot find experiments/{paper}: run in the repository, or name its folder with "
        "--experiments DIR"
    )


def find_testbeds() -> Path:
    """The folder `lab/testbeds` above, or the package's. Raises `LabError` when there is none."""
    above = (folder / "lab" / "testbeds" for folder in _folders_above())
    for folder in (*above, _PACKAGE / "testbeds"):
        if any(folder.glob("*.toml")):
            return folder
    raise LabError("cannot find lab/testbeds: run in the repository")


def _folders_above() -> Iterator[Path]:
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        yield start
        yield from start.parents
