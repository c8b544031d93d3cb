/*
 * The small, the big and the wide case of the bench in ns-3: the scenarios of experiments/bench and of
 * benches/ns2, with ns-3's own TCP. Prints delivered segments and fairness as a JSON object.
 *
 *   dumbbell small|big|wide [SECONDS]
 *
 * ns-3 is at its fastest here: hosts have static routes, since global routing takes longer than the
 * wide run itself; nothing is logged or traced; an application writes a segment at a time.
 */
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{

/** PPP's header in ns-3; the other simulators have none, so segments are that much shorter. */
constexpr uint32_t PPP_BYTES = 2;
constexpr uint32_t TCP_IP_BYTES = 40;
constexpr uint16_t FIRST_PORT = 5000;
constexpr double ROUTERS_DELAY_MS = 1;

/** RED's thresholds and limit, in packets, and its weight. */
struct Red
{
    double min;
    double max;
    double weight;
    uint32_t limit;
};

/** A case of the bench; flow numbers count from 0. */
struct Case
{
    uint32_t flows;
    double duration_s;
    uint64_t bottleneck_bit_per_s;
    uint64_t access_bit_per_s;
    uint32_t wire_bytes;
    uint32_t window_segments;
    Red red;
    std::function<double(uint32_t)> access_delay_ms;
    std::function<double(uint32_t)> start_s;
};

/** `flows` flows with RTTs from 10 to 200 ms, one start each `step_s`. */
Case
Even(uint32_t flows, double duration_s, uint64_t bottleneck, Red red, double step_s)
{
    auto delay = [flows](uint32_t flow) { return 4 + 95.0 * flow / (flows - 1); };
    auto start = [step_s](uint32_t flow) { return step_s * flow; };
    return {flows, duration_s, bottleneck, 1'000'000'000, 1500, 1000, red, delay, start};
}

Case
CaseNamed(const std::string& name)
{
    if (name == "small")
    {
        auto delay = [](uint32_t flow) { return std::vector<double>{94, 34, 14, 1}.at(flow); };
        auto start = [](uint32_t flow) { return 0.5 * flow; };
        return {4, 60, 10'000'000, 10'000'000, 512, 128, {10, 20, 0.002, 500}, delay, start};
    }
    if (name == "big")
        return Even(100, 10, 1'000'000'000, {370, 740, 5e-5, 18'000}, 0.01);
    if (name == "wide")
        return Even(1000, 2, 10'000'000'000, {3700, 7400, 5e-5, 180'000}, 0.001);
    throw std::invalid_argument("no case " + name + ": small, big or wide");
}

/** The sender of profile `ns2-reno`, as near as ns-3 comes: Reno with ECN, an ACK for each segment. */
void
SetTcp(const Case& its, uint32_t mss)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpLinuxReno"));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
    const uint32_t window = its.window_segments * mss;
    Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(2 * window));
}

NetDeviceContainer
Connect(Ptr<Node> a, Ptr<Node> b, uint64_t bit_per_s, double delay_ms, const std::string& device_queue)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(bit_per_s)));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(std::llround(delay_ms * 1000))));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(device_queue));
    return link.Install(a, b);
}

/** RED from left to right: behind it the device holds one packet. */
NetDeviceContainer
ConnectRouters(const Case& its, NodeContainer routers)
{
    auto devices = Connect(routers.Get(0), routers.Get(1), its.bottleneck_bit_per_s, ROUTERS_DELAY_MS, "1p");
    TrafficControlHelper control;
    const Red& red = its.red;
    control.SetRootQueueDisc("ns3::RedQueueDisc",
                             "MinTh", DoubleValue(red.min),
                             "MaxTh", DoubleValue(red.max),
                             "QW", DoubleValue(red.weight),
                             "LInterm", DoubleValue(10),
                             "MaxSize", QueueSizeValue(QueueSize(PACKETS, red.limit)),
                             "MeanPktSize", UintegerValue(500),
                             "LinkBandwidth", DataRateValue(DataRate(its.bottleneck_bit_per_s)),
                             "LinkDelay", TimeValue(MilliSeconds(1)),
                             "Gentle", BooleanValue(false),
                             "Wait", BooleanValue(true),
                             "UseEcn", BooleanValue(true),
                             "UseHardDrop", BooleanValue(true));
    control.Install(devices.Get(0));
    TrafficControlHelper fifo;
    fifo.SetRootQueueDisc("ns3::PfifoFastQueueDisc", "MaxSize", StringValue("100000p"));
    fifo.Install(devices.Get(1));
    return devices;
}

/** Senders on links of their own to the left router, static routes everywhere. */
Ipv4Address
BuildNetwork(const Case& its, NodeContainer routers, NodeContainer senders)
{
    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.Install(routers);
    stack.Install(senders);

    const auto middle = ConnectRouters(its, routers);
    Ipv4AddressHelper addresses("10.255.0.0", "255.255.255.252");
    const auto ends = addresses.Assign(middle);
    const auto far = routers.Get(1)->GetObject<Ipv4>();
    routing.GetStaticRouting(far)->SetDefaultRoute(ends.GetAddress(0), ends.Get(1).second);

    addresses.SetBase("10.0.0.0", "255.255.255.252");
    for (uint32_t flow = 0; flow < its.flows; flow++)
    {
        const auto devices = Connect(senders.Get(flow), routers.Get(0), its.access_bit_per_s,
                                     its.access_delay_ms(flow), "100000p");
        const auto pair = addresses.Assign(devices);
        const auto host = senders.Get(flow)->GetObject<Ipv4>();
        routing.GetStaticRouting(host)->SetDefaultRoute(pair.GetAddress(1), pair.Get(0).second);
        addresses.NewNetwork();
        // The device's own queue never fills: no queueing discipline above it.
        TrafficControlHelper().Uninstall(devices);
    }
    return ends.GetAddress(1);
}

/** A bulk flow from each sender to the right router. */
ApplicationContainer
StartFlows(const Case& its, NodeContainer senders, Ptr<Node> receiver, Ipv4Address address, uint32_t mss)
{
    ApplicationContainer sinks;
    for (uint32_t flow = 0; flow < its.flows; flow++)
    {
        const uint16_t port = FIRST_PORT + flow;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.Add(sink.Install(receiver));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(address, port));
        bulk.SetAttribute("SendSize", UintegerValue(mss));
        bulk.Install(senders.Get(flow)).Start(Seconds(its.start_s(flow)));
    }
    return sinks;
}

void
Print(ApplicationContainer sinks, uint32_t mss)
{
    double sum = 0;
    double squares = 0;
    for (uint32_t flow = 0; flow < sinks.GetN(); flow++)
    {
        const double segments = DynamicCast<PacketSink>(sinks.Get(flow))->GetTotalRx() / mss;
        sum += segments;
        squares += segments * segments;
    }
    std::cout << "{\"delivered_segments\": " << static_cast<uint64_t>(sum)
              << ", \"fairness_index\": " << sum * sum / (sinks.GetN() * squares)
              << ", \"events\": " << Simulator::GetEventCount() << "}" << std::endl;
}

void
RunCase(const Case& its, double duration_s)
{
    const uint32_t mss = its.wire_bytes - TCP_IP_BYTES - PPP_BYTES;
    SetTcp(its, mss);
    NodeContainer routers(2);
    NodeContainer senders(its.flows);
    const auto address = BuildNetwork(its, routers, senders);
    const auto sinks = StartFlows(its, senders, routers.Get(1), address, mss);
    Simulator::Stop(Seconds(duration_s));
    Simulator::Run();
    Print(sinks, mss);
    Simulator::Destroy();
}

} // namespace

int
main(int argc, char* argv[])
{
    try
    {
        if (argc < 2 || argc > 3)
            throw std::invalid_argument("usage: dumbbell small|big|wide [SECONDS]");
        const Case its = CaseNamed(argv[1]);
        RunCase(its, argc == 3 ? std::stod(argv[2]) : its.duration_s);
    }
    catch (const std::exception& error)
    {
        std::cerr << "error: " << error.what() << std::endl;
        return 2;
    }
    return 0;
}
