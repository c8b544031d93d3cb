"""A file that grows by whole lines."""

import os
from pathlib import Path

from windlass_lab.core.errors import LabError


class LineFile:
    """Lines that are in the file once they are appended, or not at all: a full disk leaves no part
    of one.
    """

    def __init__(self, path: Path) -> None:
        """Opens a file, and makes it if it is not there. Raises `LabError`."""
        self.path = path
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._failure(error) from None

    def append(self, text: str) -> None:
        """Adds lines. Raises `LabError`, with the file as it was."""
        before = os.fstat(self._file).st_size
        data = memoryview(text.encode())
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except BaseException as error:
            os.ftruncate(self._file, before)
            if isinstance(error, OSError):
                raise self._failure(error) from None
            raise

    def close(self) -> None:
        """Sees to it that all is on the disk. Raises `LabError`."""
        if self._file < 0:
            return
        file, self._file = self._file, -1
        try:
            os.fsync(file)
        except OSError as error:
            raise self._failure(error) from None
        finally:
            os.close(file)

    def _failure(self, error: OSError) -> LabError:
        return LabError(f"{self.path}: cannot write: {error.strerror}")
