"""The options of `windlass tou perf` for a scenario's flow."""

from collections.abc import Mapping

# The controllers that it has, which are the simulator's.
CONTROLLERS = ("cubic", "newreno", "reno", "vegas", "new-ecn", "bbr", "bbr3", "tahoe")
_SENDER = {
    "profile": "--profile",
    "min_rto": "--min-rto",
    "rto_rule": "--rto-rule",
    "max_retries": "--retries",
    "max_syn_retries": "--connect-retries",
    "send_buffer": "--send-buffer",
}
_RECEIVER = {
    "profile": "--profile",
    "receiver.echo": "--ecn-echo",
    "receiver.buffer": "--receive-buffer",
}
_PACING = "pacing"
# The settings of a flow that it follows.
KEYS = frozenset({*_SENDER, *_RECEIVER, _PACING})


def sender_options(settings: Mapping[str, object], ecn: bool) -> list[str]:
    """The flags of the client, which sends."""
    options = _flags(_SENDER, settings)
    if ecn:
        options.append("--ecn")
    if _PACING in settings:
        options.append("--pacing" if settings[_PACING] else "--no-pacing")
    return options


def receiver_options(settings: Mapping[str, object]) -> list[str]:
    """The flags of the server."""
    return _flags(_RECEIVER, settings)


def _flags(names: Mapping[str, str], settings: Mapping[str, object]) -> list[str]:
    return [
        word
        for key, flag in names.items()
        if key in settings
        for word in (flag, f"{settings[key]}")
    ]
