"""Texts that users wrote, in whatever editor."""

import codecs
from pathlib import Path

from windlass_lab.core.errors import LabError


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, without the byte order mark that some editors put before it.
    Raises `LabError`, also for UTF-16.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LabError(f"{path}: cannot read: {error.strerror}") from None
    # UTF-32 in the same order begins with the same two bytes. Without a mark every other byte of
    # English is zero.
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:4]:
        raise LabError(f"{path}: cannot read: a text in UTF-16, or none; expected UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LabError(f"{path}: cannot read: line {line}: not a text in UTF-8") from None
    return text.replace("\r\n", "\n")
