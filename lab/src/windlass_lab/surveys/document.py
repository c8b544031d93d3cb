"""The result of `windlass-lab survey`: one JSON document, of which page and text are made."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from windlass_lab.core.version import VERSION
from windlass_lab.papers.split_ack.summary import MEASURED, means, together
from windlass_lab.surveys.contrast import of_ip_versions, of_surveys
from windlass_lab.surveys.groups import Networks, grouped, initial_ttl, product
from windlass_lab.surveys.stored import UNDECIDED, Host, Survey

KIND, SCHEMA = "lab.survey", 1


def document(
    surveys: Sequence[Survey], networks: Networks, same: Sequence[tuple[str, str]] = ()
) -> dict:
    """The result. Each survey is compared with the first; `same` names hosts that are one server.

    docs/reference/probe.md describes the keys.
    """
    first, *others = surveys
    return {
        "schema": SCHEMA,
        "kind": KIND,
        "lab_version": VERSION,
        "surveys": [_survey(survey, networks) for survey in surveys],
        "comparisons": [of_surveys(first, other) for other in others],
        "ip_versions": of_ip_versions(surveys, same),
    }


def _survey(survey: Survey, networks: Networks) -> dict:
    hosts = survey.hosts
    labels: dict[str, Callable[[Host], str]] = {
        "server": product,
        "initial_ttl": initial_ttl,
        "network": networks.of,
    }
    begun = datetime.fromtimestamp(survey.begun_unix_s, UTC)
    return {
        "label": survey.label,
        "folder": str(survey.folder),
        "begun": begun.isoformat(timespec="seconds"),
        "windlass_version": survey.windlass,
        "arguments": dict(survey.arguments),
        "listed": survey.listed,
        "done": len(hosts),
        "torn_row": survey.torn,
        "outcomes": _outcomes(hosts),
        "verdicts": dict(Counter(h.verdict for h in hosts if _was_seen(h)).most_common()),
        "initial_windows": _windows(hosts, exact=True),
        "initial_windows_at_least": _windows(hosts, exact=False),
        "ecn": dict(Counter(host.ecn for host in hosts if host.ecn).most_common()),
        "figures": _figures(survey),
        "groups": {by: grouped(hosts, label_of) for by, label_of in labels.items()},
    }


def _was_seen(host: Host) -> bool:
    return host.outcome in (MEASURED, UNDECIDED)


def _outcomes(hosts: Sequence[Host]) -> list[dict]:
    """By outcome the number of hosts, and the reason that most of them have."""
    found = []
    for outcome, count in Counter(host.outcome for host in hosts).most_common():
        reasons = Counter(host.why for host in hosts if host.outcome == outcome and host.why)
        why = reasons.most_common(1)[0][0] if reasons else ""
        found.append({"outcome": outcome, "hosts": count, "why": why})
    return found


def _windows(hosts: Sequence[Host], exact: bool) -> dict[str, int]:
    """Hosts by initial window in packets: of those whose window is exact, or a lower bound."""
    windows = (h.window for h in hosts if h.window is not None and h.window_exact == exact)
    return {str(packets): count for packets, count in sorted(Counter(windows).items())}


def _figures(survey: Survey) -> dict:
    """The data of the thesis's figures 4.14 to 4.17, for this survey."""
    of_tests = means(survey.runs)
    rows = []
    for host in survey.hosts:
        row: dict[str, float | str] = {"reaction": host.reaction}
        for test in ("a", "c"):
            found = of_tests.get((host.name, test), {})
            row |= {f"{test}_{key}": value for key, value in found.items()}
        rows.append(row)
    return together(rows, [row for row in rows if row["reaction"] == "counts-acks"])
