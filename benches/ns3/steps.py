#!/usr/bin/env python3
"""The steps of benches/environments.py in ns-3: a dumbbell, 10 ms a step, a figure after each.

Prints one JSON object: CPU time of a reset and of a step. The first episode, in which the bindings
compile, is left out.
"""

import json
import sys
import time
from typing import Any

from ns import ns

DURATION_S = 5
STEP_MS = 10
STEPS = DURATION_S * 1000 // STEP_MS


def link(nodes: Any, ends: tuple[int, int], rate: str, delay: str) -> Any:
    """A point-to-point link, with the addresses of its number."""
    helper = ns.PointToPointHelper()
    helper.SetDeviceAttribute("DataRate", ns.StringValue(rate))
    helper.SetChannelAttribute("Delay", ns.StringValue(delay))
    pair = ns.NodeContainer()
    for end in ends:
        pair.Add(nodes.Get(end))
    addresses = ns.Ipv4AddressHelper()
    network = ns.Ipv4Address(f"10.1.{ends[0] + 1}.0")
    addresses.SetBase(network, ns.Ipv4Mask("255.255.255.0"))
    return addresses.Assign(helper.Install(pair))


def build() -> Any:
    """Two TCP flows over one bottleneck; the second begins at 1 s. Returns the first one's sink."""
    nodes = ns.NodeContainer()
    nodes.Create(4)
    ns.InternetStackHelper().Install(nodes)
    link(nodes, (0, 2), "1Gbps", "1ms")
    link(nodes, (1, 2), "1Gbps", "1ms")
    far = link(nodes, (2, 3), "10Mbps", "10ms").GetAddress(1)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    sinks = []
    for sender, start in ((0, 0), (1, 1)):
        port, tcp = 5000 + sender, "ns3::TcpSocketFactory"
        local = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), port).ConvertTo()
        sink = ns.PacketSinkHelper(tcp, local).Install(nodes.Get(3))
        bulk = ns.BulkSendHelper(tcp, ns.InetSocketAddress(far, port).ConvertTo())
        bulk.SetAttribute("MaxBytes", ns.UintegerValue(0))
        source = bulk.Install(nodes.Get(sender))
        source.Start(ns.Seconds(start))
        for apps in (sink, source):
            apps.Stop(ns.Seconds(DURATION_S))
        sinks.append(sink)
    return sinks[0].Get(0).GetObject[ns.PacketSink]()


def main() -> None:
    """Runs episodes, and prints what they cost."""
    episodes = int(sys.argv[1])
    ns.Config.SetDefault("ns3::TcpSocket::SegmentSize", ns.UintegerValue(1448))
    for buffer in ("SndBufSize", "RcvBufSize"):
        ns.Config.SetDefault(f"ns3::TcpSocket::{buffer}", ns.UintegerValue(1 << 20))
    reset_s = step_s = 0.0
    received = 0
    for episode in range(episodes + 1):
        began = time.process_time()
        sink = build()
        built = time.process_time()
        for _ in range(STEPS):
            ns.Simulator.Stop(ns.MilliSeconds(STEP_MS))
            ns.Simulator.Run()
            received = sink.GetTotalRx()
        ran = time.process_time()
        ns.Simulator.Destroy()
        if episode:
            reset_s += built - began + time.process_time() - ran
            step_s += ran - built
    print(
        json.dumps(
            {
                "reset_us": reset_s / episodes * 1e6,
                "steps_per_s": episodes * STEPS / step_s,
                "received_bytes": int(received),
            }
        )
    )


if __name__ == "__main__":
    main()
