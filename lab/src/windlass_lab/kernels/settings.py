"""The settings of a kernel's TCP, and which other values of them are worth a try.

`python -m windlass_lab.kernels.settings` prints those of its network namespace, a JSON object.
"""

import json
from pathlib import Path

FOLDER = Path("/proc/sys/net/ipv4")
# Lists of names, keys, or read only.
_NOT_VALUES = ("available", "allowed", "congestion_control", "fastopen_key")
# A number above this is an amount and not a choice between few ways.
_CHOICE_MAX = 8


def settings_of(folder: Path) -> dict[str, str]:
    """The settings of TCP in a folder such as /proc/sys/net/ipv4, and their values."""
    found = {}
    for file in sorted(folder.glob("tcp_*")):
        if any(part in file.name for part in _NOT_VALUES):
            continue
        value = " ".join(file.read_text().split())
        if value:
            found[file.name] = value
    return found


def values_to_try(value: str) -> list[str]:
    """Other values of a setting: the neighbours of a choice, a quarter and four times an amount.

    None where a value is no number.
    """
    numbers = value.split()
    if not all(number.removeprefix("-").isdigit() for number in numbers):
        return []
    if len(numbers) == 1 and 0 <= int(value) <= _CHOICE_MAX:
        return [str(other) for other in range(4) if other != int(value)]
    tried = [" ".join(str(int(int(number) / 4)) for number in numbers)]
    tried.append(" ".join(str(min(int(number) * 4, 2**31 - 1)) for number in numbers))
    return [text for text in tried if text != value]


if __name__ == "__main__":
    print(json.dumps(settings_of(FOLDER)))
