"""Verdicts on the same hosts compared: in another survey, or over the other version of IP."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from windlass_lab.surveys.stored import Host, Survey


class Pair(NamedTuple):
    """A host as it was seen twice."""

    name: str
    first: Host
    second: Host


def contrast(pairs: Sequence[Pair]) -> dict:
    """Of hosts seen twice: `hosts`, their number. `verdicts`: how many have the `same`, another one
    (`changed`), or none in one of the two (`not_comparable`), and `moves`, the hosts by both.
    `initial_windows`: the same, where a lower bound is not comparable. `changed_verdicts` and
    `changed_initial_windows`: which hosts.
    """
    decided = [pair for pair in pairs if pair.first.is_decided and pair.second.is_decided]
    other = [pair for pair in decided if pair.first.verdict != pair.second.verdict]
    exact = [pair for pair in pairs if _exact(pair.first) and _exact(pair.second)]
    moved = [pair for pair in exact if pair.first.window != pair.second.window]
    moves = Counter((pair.first.verdict, pair.second.verdict) for pair in pairs)
    return {
        "hosts": len(pairs),
        "verdicts": _tally(pairs, decided, other)
        | {"moves": [{"first": a, "second": b, "hosts": n} for (a, b), n in moves.most_common()]},
        "initial_windows": _tally(pairs, exact, moved),
        "changed_verdicts": [
            {"host": name, "first": first.verdict, "second": second.verdict}
            for name, first, second in other
        ],
        "changed_initial_windows": [
            {"host": name, "first": _window(first), "second": _window(second)}
            for name, first, second in moved
        ],
    }


def _exact(host: Host) -> bool:
    return host.window is not None and host.window_exact


def _tally(pairs: Sequence[Pair], comparable: Sequence[Pair], changed: Sequence[Pair]) -> dict:
    return {
        "same": len(comparable) - len(changed),
        "changed": len(changed),
        "not_comparable": len(pairs) - len(comparable),
    }


def _window(host: Host) -> dict:
    return {"packets": host.window, "min": host.window_min, "max": host.window_max}


def of_surveys(first: Survey, second: Survey) -> dict:
    """Two surveys of the same hosts. Hosts that were reached over another version of IP are only
    counted: the comparison of the versions has them.
    """
    later = {host.name: host for host in second.hosts}
    both = [Pair(h.name, h, later[h.name]) for h in first.hosts if h.name in later]
    pairs = [pair for pair in both if not _on_other_versions(pair)]
    differing = sorted(
        key
        for key in first.arguments.keys() | second.arguments.keys()
        if first.arguments.get(key) != second.arguments.get(key)
    )
    return {
        "first": first.label,
        "second": second.label,
        "in_both": len(both),
        "only_in_first": len(first.hosts) - len(both),
        "only_in_second": len(second.hosts) - len(both),
        "other_ip_version": len(both) - len(pairs),
        "differing_arguments": differing,
        **contrast(pairs),
    }


def _on_other_versions(pair: Pair) -> bool:
    first, second = pair.first.address, pair.second.address
    return first is not None and second is not None and first.version != second.version


def of_ip_versions(surveys: Sequence[Survey], same: Iterable[tuple[str, str]]) -> dict:
    """Hosts with a row of each version of IP, in one survey or two, and those that `same` says to
    be one server. `first` is IPv4, `second` IPv6. Of several rows of one version the first that has
    a verdict counts.
    """
    by_version: dict[int, dict[str, Host]] = {4: {}, 6: {}}
    for host in chain.from_iterable(survey.hosts for survey in surveys):
        if host.address is None:
            continue
        known = by_version[host.address.version]
        if host.name not in known or (host.is_decided and not known[host.name].is_decided):
            known[host.name] = host
    ipv4, ipv6 = by_version[4], by_version[6]
    pairs = [Pair(name, host, ipv6[name]) for name, host in ipv4.items() if name in ipv6]
    missing = 0
    for one, other in same:
        a, b = (one, other) if one in ipv4 else (other, one)
        if a in ipv4 and b in ipv6:
            pairs.append(Pair(f"{a} {b}", ipv4[a], ipv6[b]))
        else:
            missing += 1
    return {"ipv4": len(ipv4), "ipv6": len(ipv6), "pairs_missing": missing, **contrast(pairs)}
