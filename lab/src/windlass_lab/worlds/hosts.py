"""The settings of hosts, which a kernel has for all of a host's flows."""

from collections.abc import Iterator, Mapping

from windlass_lab.core.errors import LabError
from windlass_lab.worlds.outline import Flow, Outline

_OPTIONS = {
    "timestamps": "net.ipv4.tcp_timestamps",
    "sack": "net.ipv4.tcp_sack",
    "window_scaling": "net.ipv4.tcp_window_scaling",
}
_ECN = "net.ipv4.tcp_ecn"
_ECN_FALLBACK = "net.ipv4.tcp_ecn_fallback"
_ASKS, _ANSWERS, _NO_ECN = 1, 2, 0
# A flow begins without what earlier connections have learnt.
_ALWAYS = {"net.ipv4.tcp_no_metrics_save": 1}


def sysctls(outline: Outline) -> Mapping[str, Mapping[str, int]]:
    """The settings of each host that flows need. Raises `LabError`, a line for each flow that wants
    another than an earlier flow of its host.
    """
    problems: list[str] = []
    senders: dict[str, dict[str, tuple[int, Flow]]] = {}
    for flow in outline.flows:
        own = senders.setdefault(flow.source, {})
        for key, name, value in _of_sender(flow):
            before, other = own.setdefault(name, (value, flow))
            if before != value:
                text = f"a kernel has it for a host: {flow.source}'s flow {other.name} has another"
                problems.append(outline.message(f"{flow.key}.{key}", text))
    problems += _refused_echoes(outline)
    if problems:
        raise LabError("\n".join(problems))
    found = {
        host: {name: value for name, (value, _) in own.items()} for host, own in senders.items()
    }
    for flow in outline.flows:
        _serve(found.setdefault(flow.to, {}), flow)
    return {host: {**settings, **_ALWAYS} for host, settings in found.items()}


def _of_sender(flow: Flow) -> Iterator[tuple[str, str, int]]:
    yield "ecn", _ECN, _ASKS if flow.ecn else _NO_ECN
    yield "ecn_fallback", _ECN_FALLBACK, int(flow.ecn_fallback)
    for key, name in _OPTIONS.items():
        yield key, name, int(getattr(flow, key))


def _serve(settings: dict[str, int], flow: Flow) -> None:
    """A receiver takes what any of its flows offers."""
    for key, name in _OPTIONS.items():
        settings[name] = max(settings.get(name, 0), int(getattr(flow, key)))
    answers = flow.receiver_ecn and flow.ecn
    if answers and settings.get(_ECN) != _ASKS:
        settings[_ECN] = _ANSWERS
    settings.setdefault(_ECN, _NO_ECN)


def _refused_echoes(outline: Outline) -> Iterator[str]:
    """Flows whose receiver has no ECN at a host that has it for another."""
    with_ecn = {flow.to for flow in outline.flows if flow.receiver_ecn and flow.ecn}
    with_ecn |= {flow.source for flow in outline.flows if flow.ecn}
    for flow in outline.flows:
        if flow.ecn and not flow.receiver_ecn and flow.to in with_ecn:
            text = f"a kernel has it for a host: another flow of {flow.to} has ECN"
            yield outline.message(f"{flow.key}.receiver.ecn", text)
