"""The dumbbell of Hamann 1999, section 4.2.1: senders at different distances, one bottleneck."""

from collections.abc import Sequence

from windlass_lab.testbed import link
from windlass_lab.testbed.topology import End, Experiment, Flow, Link, Node, Route, Shaper, Topology

# The flows of experiments/new-ecn/s1_10M_*.toml, the far ones first, as they start.
RTTS_MS = (190.0, 70.0, 30.0, 4.0)
# Above its upper threshold it marks, as Linux's RED does.
RED = (
    '{ kind = "red", min = "10 packets", max = "20 packets", weight = 0.002, p_max = 0.1, '
    'gentle = false, above_max = "mark-ect", limit = "500 packets", mean_packet_bytes = 500 }'
)
# 512 bytes on the wire, 40 of them headers: for that, TCP's options must be few.
MSS = 472
_STAGGER_S = 0.5
_BOTTLENECK_MS = 1.0
_RECEIVER = "r"


def dumbbell(
    controller: str,
    flows: int = 4,
    rate_bps: float = 10e6,
    limit_bytes: int = 50 * 1514,
    ecn: bool = False,
    duration_s: float = 10.0,
) -> Experiment:
    """Senders, a router, a receiver, joined by veth; a token bucket is the bottleneck.

    All flows have the RTT that the bucket gives them, since veth has no delay.
    """
    senders = [f"s{number}" for number in range(1, flows + 1)]
    router = Node("router", {"net.ipv4.ip_forward": 1})
    links = [
        Link(End(name, [f"10.0.{n}.1/24"]), End("router", [f"10.0.{n}.2/24"]))
        for n, name in enumerate(senders, 1)
    ]
    bottleneck = Shaper(rate_bps, limit_bytes)
    links.append(
        Link(
            End("router", ["10.1.0.1/24"], shaper=bottleneck),
            End(_RECEIVER, ["10.1.0.2/24"]),
        )
    )
    routes = [Route(name, via=f"10.0.{n}.2") for n, name in enumerate(senders, 1)]
    routes.append(Route(_RECEIVER, via="10.1.0.1"))
    nodes = [*_hosts([*senders, _RECEIVER], ecn), router]
    return Experiment(
        name=f"dumbbell_{controller}",
        topology=Topology(nodes, links, routes=routes),
        flows=[Flow(f"{controller}-{name}", name, _RECEIVER, controller) for name in senders],
        duration_s=duration_s,
    )


def emulated_dumbbell(
    controller: str,
    ecn: bool,
    rtts_ms: Sequence[float] = RTTS_MS,
    rate: str = "10Mbit/s",
    queue: str = RED,
    duration_s: float = 60.0,
) -> Experiment:
    """The same with `windlass link` in the middle, which gives each sender its RTT; TUN devices
    instead of veth. `queue` is what the link's file takes for a queue.
    """
    senders = [f"s{number}" for number in range(1, len(rtts_ms) + 1)]
    delays = [f'delay = "{rtt_ms / 2 - _BOTTLENECK_MS:g}ms"' for rtt_ms in rtts_ms]
    ports = [
        _port(name, number, delay)
        for number, (name, delay) in enumerate(zip(senders, delays, strict=True), 1)
    ]
    delay = f'delay = "{_BOTTLENECK_MS:g}ms"'
    ports.append(_port(_RECEIVER, 100, delay, f'{delay}, rate = "{rate}", queue = {queue}'))
    logged = ["--log", "{out}/link.csv"]
    program = link.program(ports, logged, queues=[f"{_RECEIVER}/down"])
    return Experiment(
        name=f"emulated_dumbbell_{controller}",
        topology=Topology(_hosts([*senders, _RECEIVER], ecn)),
        flows=[
            Flow(
                name=f"{controller}-{rtt_ms:g}ms",
                source=name,
                to=_RECEIVER,
                controller=controller,
                address="10.0.0.100",
                start_s=number * _STAGGER_S,
                mss=MSS,
                rtt_min_ms=rtt_ms,
            )
            for number, (name, rtt_ms) in enumerate(zip(senders, rtts_ms, strict=True))
        ],
        programs=[program],
        duration_s=duration_s,
        steady_from_s=min(10.0, duration_s / 4),
    )


def _hosts(names: Sequence[str], ecn: bool) -> list[Node]:
    # Without timestamps the MSS is the payload, as in the simulator's profiles of the paper.
    sysctls = {"net.ipv4.tcp_ecn": int(ecn), "net.ipv4.tcp_timestamps": 0}
    # A flow whose SYN is lost goes on asking, or it would be another experiment.
    sysctls["net.ipv4.tcp_ecn_fallback"] = 0
    # Flows do not inherit metrics from earlier connections.
    sysctls["net.ipv4.tcp_no_metrics_save"] = 1
    return [Node(name, sysctls) for name in names]


def _port(name: str, host: int, up: str, down: str = "") -> link.Port:
    return link.Port(name, f"10.0.0.{host}/24", f"{{ {up} }}", f"{{ {down or up} }}")
