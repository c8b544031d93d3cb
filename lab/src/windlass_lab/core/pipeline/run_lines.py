"""A file with a line a run, from which a result that was broken off goes on."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

from windlass_lab.core.files.line_file import LineFile
from windlass_lab.core.files.output import write_atomically

R = TypeVar("R", bound="DataclassInstance")
Key = tuple[str, int]
_SCHEMA = 1


class Named(Protocol):
    """A test, known by its name."""

    @property
    def name(self) -> str:
        """Its name in results."""


class RunLines(Generic[R]):
    """The runs of one way of making them (`made_by`): dataclasses, which `read` makes of the
    fields that a line has.
    """

    def __init__(self, path: Path, made_by: object, resume: bool, read: Callable[..., R]) -> None:
        """Begins a file, or goes on with one. Raises `LabError` where it cannot be written, as the
        other methods do.
        """
        self._digest = hashlib.sha256(json.dumps(made_by, sort_keys=True).encode()).hexdigest()
        self._read = read
        self.runs: dict[Key, R] = dict(self._known(path)) if resume else {}
        # Drops a line that an interruption cut short.
        write_atomically(path, "".join(map(self._line, self.runs.items())))
        self._file = LineFile(path)

    def add(self, test: Named, number: int, run: R) -> None:
        """Keeps a run, at once."""
        self.runs[test.name, number] = run
        self._file.append(self._line(((test.name, number), run)))

    def close(self) -> None:
        """Sees to it that all is on the disk. Raises `LabError`."""
        self._file.close()

    def of(self, test: Named) -> list[R]:
        """The runs of a test, in order."""
        found = sorted(key for key in self.runs if key[0] == test.name)
        return [self.runs[key] for key in found]

    def by_test(self) -> dict[str, list[R]]:
        """The runs of every test that has some, in order."""
        found: dict[str, list[R]] = {}
        for name, number in sorted(self.runs):
            found.setdefault(name, []).append(self.runs[name, number])
        return found

    def _line(self, item: tuple[Key, R]) -> str:
        (name, number), run = item
        made = {"schema": _SCHEMA, "kind": "lab.run"}
        entry = made | {"made_by": self._digest, "test": name, "number": number, "run": asdict(run)}
        return json.dumps(entry) + "\n"

    def _known(self, path: Path) -> Iterable[tuple[Key, R]]:
        if not path.is_file():
            return
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                if entry["made_by"] == self._digest:
                    yield (entry["test"], entry["number"]), self._read(**entry["run"])
            except (ValueError, KeyError, TypeError):
                continue
