"""CUBIC beside Reno: 10 Mbit/s, a round trip of 40 ms, a queue of 50 packets, a minute."""

from ns import ns

BUFFER = ns.UintegerValue(4 << 20)
ns.Config.SetDefault("ns3::TcpSocket::SegmentSize", ns.UintegerValue(1448))
ns.Config.SetDefault("ns3::TcpSocket::SndBufSize", BUFFER)
ns.Config.SetDefault("ns3::TcpSocket::RcvBufSize", BUFFER)
nodes = ns.NodeContainer()
nodes.Create(4)
left, right = nodes.Get(0), nodes.Get(1)
ns.InternetStackHelper().Install(nodes)

bottleneck = ns.PointToPointHelper()
bottleneck.SetDeviceAttribute("DataRate", ns.StringValue("10Mbps"))
bottleneck.SetChannelAttribute("Delay", ns.StringValue("19ms"))
bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", ns.StringValue("1p"))
middle = bottleneck.Install(left, right)
queue = ns.TrafficControlHelper()
queue.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", ns.StringValue("50p"))
queue.Install(middle)
addresses = ns.Ipv4AddressHelper()
addresses.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.0"))
far = addresses.Assign(middle).GetAddress(1)

access = ns.PointToPointHelper()
access.SetDeviceAttribute("DataRate", ns.StringValue("1Gbps"))
access.SetChannelAttribute("Delay", ns.StringValue("1ms"))
sinks = []
for flow, controller in enumerate(("ns3::TcpCubic", "ns3::TcpLinuxReno")):
    host, port = nodes.Get(2 + flow), 5000 + flow
    addresses.NewNetwork()
    addresses.Assign(access.Install(host, left))
    ns.Config.Set(
        f"/NodeList/{2 + flow}/$ns3::TcpL4Protocol/SocketType",
        ns.TypeIdValue(ns.TypeId.LookupByName(controller)),
    )
    anywhere = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), port).ConvertTo()
    sinks.append(ns.PacketSinkHelper("ns3::TcpSocketFactory", anywhere).Install(right))
    receiver = ns.InetSocketAddress(far, port).ConvertTo()
    ns.BulkSendHelper("ns3::TcpSocketFactory", receiver).Install(host)
ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
ns.Simulator.Stop(ns.Seconds(60))
ns.Simulator.Run()
for controller, sink in zip(("cubic", "reno"), sinks, strict=True):
    received = sink.Get(0).GetObject[ns.PacketSink]().GetTotalRx()
    print(controller, received * 8 / 60e6, "Mbit/s")
ns.Simulator.Destroy()
