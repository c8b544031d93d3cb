"""The runs of the tests: what is kept of each, and the file from which one goes on."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from windlass_lab.ecn_proxy.plan import Test
from windlass_lab.errors import LabError, RunError


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a test.

    `seconds` is from the first connection's opening until the last one's end; `fairness` is Jain's
    index of the rates of connections that go at the same time; `proxies` holds what each proxy
    counted, where that is told.
    """

    seconds: float
    fairness: float = 1.0
    simulated_s: float = 0.0
    proxies: Sequence[Mapping] = field(default_factory=list)


Key = tuple[str, int]


class Store:
    """A file with a line a run, which belong to one way of making them (`made_by`)."""

    def __init__(self, path: Path, made_by: object, resume: bool) -> None:
        """Begins a file, or goes on with one. Raises `LabError` where it cannot be written."""
        self._digest = hashlib.sha256(json.dumps(made_by, sort_keys=True).encode()).hexdigest()
        self.runs: dict[Key, Run] = dict(self._known(path)) if resume else {}
        try:
            # What was cut off in the middle of a line goes.
            path.write_text("".join(map(self._line, self.runs.items())), encoding="utf-8")
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise LabError(f"cannot write {path}: {error.strerror}") from error

    def add(self, test: Test, number: int, run: Run) -> None:
        """Keeps a run, at once."""
        self.runs[test.name, number] = run
        self._file.write(self._line(((test.name, number), run)))
        self._file.flush()

    def close(self) -> None:
        """Sees to it that all is on the disk."""
        os.fsync(self._file.fileno())
        self._file.close()

    def of(self, test: Test) -> list[Run]:
        """The runs of a test, in order."""
        found = sorted(key for key in self.runs if key[0] == test.name)
        return [self.runs[key] for key in found]

    def _line(self, item: tuple[Key, Run]) -> str:
        (name, number), run = item
        entry = {"made_by": self._digest, "test": name, "number": number, "run": asdict(run)}
        return json.dumps(entry) + "\n"

    def _known(self, path: Path) -> Iterable[tuple[Key, Run]]:
        if not path.is_file():
            return
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                if entry["made_by"] == self._digest:
                    yield (entry["test"], entry["number"]), Run(**entry["run"])
            except (ValueError, KeyError, TypeError):
                continue


def jain(rates: Sequence[float]) -> float:
    """Jain's fairness index. Raises `RunError` without rates."""
    squares = sum(rate * rate for rate in rates)
    if not squares:
        raise RunError("there are no rates to compare")
    return sum(rates) ** 2 / (len(rates) * squares)
