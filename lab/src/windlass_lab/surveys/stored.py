"""Reads the directory of `windlass probe survey --out`, also of one that runs or was killed."""

import csv
import io
import ipaddress
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from windlass_lab.core.errors import LabError
from windlass_lab.papers.split_ack.summary import MEASURED

MANIFEST, HOSTS, RUNS = "survey.json", "hosts.csv", "runs.csv"
KIND, SCHEMA = "probe.survey-arguments", 1
UNDECIDED, NOT_MEASURED = "undecided", "not-measured"
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Host:
    """A row of `hosts.csv`, whose columns docs/reference/probe.md describes."""

    name: str
    outcome: str
    why: str
    server: str
    address: Address | None
    ttl: int | None
    hops: int | None
    rtt_ms: float | None
    reaction: str
    window: int | None
    window_min: int | None
    window_max: int | None
    window_exact: bool
    ecn: str

    @property
    def verdict(self) -> str:
        """The reaction or the congestion controller, `undecided` or `not-measured`."""
        return self.reaction or NOT_MEASURED

    @property
    def is_decided(self) -> bool:
        """Whether the host has a reaction."""
        return self.verdict not in (UNDECIDED, NOT_MEASURED)


@dataclass(frozen=True, slots=True)
class Survey:
    """A survey as far as it got.

    `listed` is the number of hosts that it was to measure, `torn` whether a table ended in a row
    that is not whole. `runs` has the rows of the runs of `hosts`.
    """

    label: str
    folder: Path
    begun_unix_s: int
    windlass: str
    arguments: Mapping[str, Any]
    listed: int
    hosts: Sequence[Host]
    runs: Sequence[Mapping[str, str]]
    torn: bool


def read(folder: Path, label: str) -> Survey:
    """The survey in `folder`. Raises `LabError` where there is none, or none of this format."""
    manifest = _manifest(folder)
    # In this order: a survey that runs writes a host's runs before its row.
    host_rows, hosts_torn = _table(folder / HOSTS, _HOST_COLUMNS)
    run_rows, runs_torn = _table(folder / RUNS, _RUN_COLUMNS)
    hosts = [_host(folder / HOSTS, line, row) for line, row in host_rows]
    done: set[str] = set()
    for (line, _), host in zip(host_rows, hosts, strict=True):
        if host.name in done:
            raise LabError(f"{folder / HOSTS}: line {line}: a second row of {host.name}")
        done.add(host.name)
    for line, row in run_rows:
        # A trial of a controller is no run of a test.
        if row["ending"] == MEASURED and row["test"]:
            for column in ("data_packets", "retransmissions"):
                _value(folder / RUNS, line, row, column, int)
    return Survey(
        label=label,
        folder=folder,
        begun_unix_s=manifest["begun_unix_s"],
        windlass=manifest["windlass"],
        arguments=manifest["arguments"],
        listed=manifest["hosts"],
        hosts=hosts,
        runs=[row for _, row in run_rows if row["host"] in done and row["test"]],
        torn=hosts_torn or runs_torn,
    )


def _manifest(folder: Path) -> dict:
    path = folder / MANIFEST
    if not folder.is_dir():
        raise LabError(f"there is no directory {folder}")
    if not path.is_file():
        raise LabError(
            f"{folder} holds no survey: it has no {MANIFEST}\n"
            "  hint: name a directory that `windlass probe survey --out` wrote"
        )
    try:
        manifest = json.loads(_bytes(path))
    except ValueError as error:
        raise LabError(f"{path}: not JSON: {error}") from None
    # The first surveys had no kind, and another name of the schema.
    known = isinstance(manifest, dict) and manifest.get("kind", KIND) == KIND
    if not known or not {"schema", "schema_version"} & manifest.keys():
        raise LabError(f"{path}: not a document of the kind {KIND}")
    schema = manifest.get("schema", manifest.get("schema_version"))
    if schema != SCHEMA:
        raise LabError(f"{path} has schema {schema}; this lab reads {SCHEMA}")
    expected = {"begun_unix_s": int, "windlass": str, "hosts": int, "arguments": dict}
    for key, kind in expected.items():
        if not isinstance(manifest.get(key), kind):
            raise LabError(f"{path}: {key} is missing or of another type")
    return manifest


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LabError(f"{path}: cannot read: {error.strerror}") from None


_HOST_COLUMNS = (
    *("host", "outcome", "why", "address", "server", "ttl", "hops", "rtt_ms", "reaction"),
    *("initial_window_packets", "initial_window_packets_min", "initial_window_packets_max"),
    "initial_window_exact",
)
_RUN_COLUMNS = ("host", "test", "ending", "data_packets", "retransmissions")
Lines = list[tuple[int, dict[str, str]]]


def _table(path: Path, columns: Sequence[str]) -> tuple[Lines, bool]:
    """The rows with their line numbers, and whether the last one is torn: each row ends with its
    line feed, and is written at once.
    """
    content = _bytes(path)
    whole = content[: content.rfind(b"\n") + 1]
    try:
        lines = list(_parsed(whole.decode("utf-8")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise LabError(f"{path}: not a table of a survey: {error}") from None
    torn = len(whole) < len(content)
    if not lines:
        return [], torn
    (_, header), *rows = lines
    missing = [column for column in columns if column not in header]
    if missing:
        raise LabError(f"{path}: no column {missing[0]}: not a table of a survey")
    for number, row in rows:
        if len(row) != len(header):
            raise LabError(f"{path}: line {number}: {len(row)} values in {len(header)} columns")
    return [(number, dict(zip(header, row, strict=True))) for number, row in rows], torn


def _parsed(text: str) -> Iterator[tuple[int, list[str]]]:
    # Not splitlines(), which parts a field at any line separator of Unicode.
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    for row in reader:
        yield reader.line_num, row


def _host(path: Path, line: int, row: Mapping[str, str]) -> Host:
    def value(column: str, kind: Callable[[str], T]) -> T | None:
        return _value(path, line, row, column, kind) if row[column] else None

    return Host(
        name=row["host"],
        outcome=row["outcome"],
        why=row["why"],
        server=row["server"],
        address=_address(row),
        ttl=value("ttl", int),
        hops=value("hops", int),
        rtt_ms=value("rtt_ms", float),
        reaction=row["reaction"] or _controller(row),
        window=value("initial_window_packets", int),
        window_min=value("initial_window_packets_min", int),
        window_max=value("initial_window_packets_max", int),
        window_exact=row["initial_window_exact"] == "true",
        # Surveys without --ecn have nothing in it, and older ones no such column.
        ecn=row.get("ecn", ""),
    )


def _controller(row: Mapping[str, str]) -> str:
    """The controller, which a survey with --cca has in place of a reaction."""
    found = row.get("controller", "")
    return UNDECIDED if found == "unknown" else found


def _value(
    path: Path, line: int, row: Mapping[str, str], column: str, kind: Callable[[str], T]
) -> T:
    try:
        return kind(row[column])
    except ValueError:
        raise LabError(
            f"{path}: line {line}: {column} is {row[column]!r}: expected a number"
        ) from None


def unmapped(address: Address) -> Address:
    """The IPv4 address in an IPv4-mapped one (RFC 4291 section 2.5.5.2), or the address itself."""
    return getattr(address, "ipv4_mapped", None) or address


def _address(row: Mapping[str, str]) -> Address | None:
    """Where a host was measured; of one without an answer the address that the list has for it."""
    for text in (row["address"], row["host"]):
        try:
            parts = urlsplit(text if "://" in text else f"//{text}")
            return unmapped(ipaddress.ip_address(parts.hostname or ""))
        except ValueError:
            continue
    return None
