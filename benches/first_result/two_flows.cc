/* CUBIC beside Reno: 10 Mbit/s, a round trip of 40 ms, a queue of 50 packets, a minute. */
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

int
main()
{
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    NodeContainer routers(2);
    NodeContainer hosts(2);
    InternetStackHelper stack;
    stack.Install(routers);
    stack.Install(hosts);

    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    bottleneck.SetChannelAttribute("Delay", StringValue("19ms"));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    NetDeviceContainer middle = bottleneck.Install(routers);
    TrafficControlHelper control;
    control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("50p"));
    control.Install(middle);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer ends = addresses.Assign(middle);

    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    access.SetChannelAttribute("Delay", StringValue("1ms"));
    const char* controllers[] = {"ns3::TcpCubic", "ns3::TcpLinuxReno"};
    ApplicationContainer sinks;
    for (uint32_t flow = 0; flow < 2; flow++)
    {
        addresses.NewNetwork();
        addresses.Assign(access.Install(hosts.Get(flow), routers.Get(0)));
        hosts.Get(flow)->GetObject<TcpL4Protocol>()->SetAttribute(
            "SocketType", TypeIdValue(TypeId::LookupByName(controllers[flow])));
        uint16_t port = 5000 + flow;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.Add(sink.Install(routers.Get(1)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(ends.GetAddress(1), port));
        bulk.Install(hosts.Get(flow));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Stop(Seconds(60));
    Simulator::Run();
    for (uint32_t flow = 0; flow < 2; flow++)
    {
        double bytes = DynamicCast<PacketSink>(sinks.Get(flow))->GetTotalRx();
        std::cout << controllers[flow] << " " << bytes * 8 / 60e6 << " Mbit/s" << std::endl;
    }
    Simulator::Destroy();
}
