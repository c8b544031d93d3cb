"""Paths on which New-ECN's parameters are judged: no search and no earlier result is of them.

They were committed before the first run on them, and are not to be changed after it.
"""

_BOTTLENECK = "dumbbell.bottleneck"
Changes = dict[str, object]


def _delays(*one_way_ms: int) -> Changes:
    return {f"dumbbell.access.{place}.delay": f"{ms}ms" for place, ms in enumerate(one_way_ms)}


# By name: what it is, and what is changed in `experiments/new-ecn/four_flows.toml`.
PATHS: dict[str, tuple[str, Changes]] = {
    "3M": ("3 Mbit/s", {f"{_BOTTLENECK}.rate": "3Mbit/s", "queues.marking.p_max": 0.2}),
    "15M": ("15 Mbit/s", {f"{_BOTTLENECK}.rate": "15Mbit/s"}),
    "50M": ("50 Mbit/s", {f"{_BOTTLENECK}.rate": "50Mbit/s"}),
    "near": ("8 to 80 ms", _delays(3, 9, 19, 39)),
    "far": ("40 to 300 ms", _delays(19, 49, 99, 149)),
    "twelve": ("12 flows", {f"flows.{n}.count": 3 for n in range(4)}),
    "low": (
        "5 to 15",
        {"queues.marking.min": "5 packets", "queues.marking.max": "15 packets"},
    ),
    "pie": ("PIE", {f"{_BOTTLENECK}.queue": {"kind": "pie"}}),
    "large": ("1500 bytes", {"defaults.mss": 1460, "queues.marking.mean_packet_bytes": 1500}),
}
