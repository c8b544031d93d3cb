// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * ACK division for the connections of one cgroup. When a pure ACK leaves the machine, the egress
 * program sends clones with ascending ACK numbers before it. The cgroup program counts the packets
 * that reach the sockets.
 */
#include "rounds.h"

/* The kernel gives some of its helpers to programs whose licence is compatible with its own. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline struct flow *find_flow(const struct flow_key *key)
{
	struct flow *flow = bpf_map_lookup_elem(&flows, key);
	struct flow fresh = {.connections = 1};

	if (flow)
		return flow;
	bpf_map_update_elem(&flows, key, &fresh, BPF_ANY);
	flow = bpf_map_lookup_elem(&flows, key);
	if (!flow)
		__sync_fetch_and_add(&missed, 1);
	return flow;
}

/* A SYN of this host begins a connection, or is a retransmission. */
static __always_inline void note_syn(struct flow *flow, struct transfer *transfer,
				     const struct segment *segment)
{
	if (flow->flags & FLOW_SYN) {
		if (flow->syn == segment->seq)
			return;
		flow->connections++;
		if (transfer)
			__builtin_memset(transfer, 0, sizeof(*transfer));
	}
	flow->flags = FLOW_SYN;
	flow->syn = segment->seq;
	flow->splits = 0;
}

/* The bytes of data that this segment newly acknowledges. */
static __always_inline __u32 note_ack(struct flow *flow, const struct segment *segment)
{
	__u32 bytes = segment->ack - flow->acked;

	if (!(flow->flags & FLOW_ACKED)) {
		/* The ACK of the peer's SYN. */
		flow->flags |= FLOW_ACKED;
		flow->acked = segment->ack;
		return 0;
	}
	if ((__s32)bytes <= 0)
		return 0;
	/* A FIN takes a sequence number, but is no data. */
	if (flow->flags & FLOW_FIN && segment->ack == flow->fin_ack)
		bytes--;
	flow->acked = segment->ack;
	flow->acked_bytes += bytes;
	return bytes;
}

struct division {
	struct __sk_buff *skb;
	/* Offset of the TCP header. */
	__u32 at;
	__u32 parts;
	/* The previous ACK number, and the bytes newly acknowledged. */
	__u32 base;
	__u32 bytes;
	/* The ACK number in the header. */
	__u32 ack;
	__u32 sent;
};

static __always_inline int set_ack(struct division *division, __u32 ack)
{
	__be32 before = bpf_htonl(division->ack);
	__be32 after = bpf_htonl(ack);

	if (bpf_l4_csum_replace(division->skb, division->at + TCP_CHECK_AT, before, after, 4) < 0 ||
	    bpf_skb_store_bytes(division->skb, division->at + TCP_ACK_AT, &after, 4, 0) < 0)
		return -1;
	division->ack = ack;
	return 0;
}

/* A clone has no socket, so this program does not split it again. */
static long send_part(__u32 i, struct division *division)
{
	__u64 bytes = (__u64)division->bytes * (i + 1) / division->parts;

	if (set_ack(division, division->base + (__u32)bytes) < 0)
		return 1;
	if (bpf_clone_redirect(division->skb, division->skb->ifindex, 0) == 0)
		division->sent++;
	return 0;
}

/* Sends all parts but the last, which is the packet itself. Returns how many were sent before it. */
static __always_inline __u32 divide(struct __sk_buff *skb, struct flow *flow,
				   const struct segment *segment, __u32 bytes, __u32 fin)
{
	struct division division = {
		.skb = skb,
		.at = segment->at,
		.parts = settings.split < bytes ? settings.split : bytes,
		.base = segment->ack - fin - bytes,
		.bytes = bytes,
		.ack = segment->ack,
		.sent = 1,
	};

	bpf_loop(division.parts - 1, send_part, &division, 0);
	if (division.ack != segment->ack)
		set_ack(&division, segment->ack);
	flow->splits++;
	flow->acks_split++;
	flow->acks_sent += division.sent;
	flow->acks_lost += division.parts - division.sent;
	return division.sent - 1;
}

static __always_inline int handle_out(struct __sk_buff *skb, __u32 ip_at)
{
	struct segment segment;
	struct transfer *transfer;
	struct round *round = 0;
	struct flow *flow;
	__u32 bytes, fin, more = 0;
	__u64 now;

	if (bpf_skb_under_cgroup(skb, &cgroups, 0) != 1 || !parse(skb, ip_at, 1, &segment) ||
	    segment.flags & TCP_RST)
		return TC_ACT_UNSPEC;
	flow = find_flow(&segment.key);
	if (!flow)
		return TC_ACT_UNSPEC;
	transfer = find_transfer(&segment.key);
	now = transfer ? bpf_ktime_get_ns() : 0;
	bpf_spin_lock(&flow->lock);
	if (segment.flags & TCP_SYN)
		note_syn(flow, transfer, &segment);
	if (transfer)
		round = note_leaving(transfer, &segment, now);
	bytes = segment.flags & TCP_ACK ? note_ack(flow, &segment) : 0;
	fin = flow->flags & FLOW_FIN && segment.ack == flow->fin_ack;
	bpf_spin_unlock(&flow->lock);
	if (!bytes)
		return TC_ACT_UNSPEC;
	/* The socket's lock is held: no other CPU changes what only the host's segments change. */
	if (round)
		round->acks++;
	if (flow->splits >= settings.acks)
		return TC_ACT_UNSPEC;
	if (segment.payload_bytes || segment.flags & (TCP_SYN | TCP_FIN | TCP_URG))
		flow->acks_with_data++;
	else if (has_sack(skb, &segment))
		flow->acks_with_sack++;
	else
		more = divide(skb, flow, &segment, bytes, fin);
	if (round)
		round->acks += more;
	return TC_ACT_UNSPEC;
}

SEC("tcx/egress")
int split_ethernet(struct __sk_buff *skb)
{
	__u32 ip_at = find_ip(skb);

	return ip_at ? handle_out(skb, ip_at) : TC_ACT_UNSPEC;
}

SEC("tcx/egress")
int split_l3(struct __sk_buff *skb)
{
	return handle_out(skb, 0);
}

/* Counts the data of a packet, in which GRO or the sender's GSO may have merged segments. Returns by how
 * many bytes it extends the data received. */
static __always_inline __u32 note_data(struct flow *flow, const struct segment *segment,
				      __u32 segments, __u32 segment_bytes)
{
	__u32 end = segment->seq + segment->payload_bytes;
	__u32 extent = end - flow->highest;

	flow->data_segments += segments;
	flow->bytes += segment->payload_bytes;
	if (segment_bytes > flow->mss)
		flow->mss = segment_bytes;
	if (!(flow->flags & FLOW_HIGHEST)) {
		flow->flags |= FLOW_HIGHEST;
		flow->highest = end;
		return segment->payload_bytes;
	}
	if ((__s32)(segment->seq - flow->highest) < 0)
		flow->late_segments += segments;
	if ((__s32)extent <= 0)
		return 0;
	flow->highest = end;
	return extent;
}

/* Runs before the sockets of the cgroup, for packets of every interface. 1 passes the packet. */
SEC("cgroup_skb/ingress")
int count_in(struct __sk_buff *skb)
{
	struct segment segment;
	struct transfer *transfer;
	struct flow *flow;
	__u32 segments = skb->gso_segs ? skb->gso_segs : 1;
	__u32 gso_size = skb->gso_size;
	__u32 extent = 0;
	__u64 now;

	if (!parse(skb, 0, 0, &segment))
		return 1;
	flow = find_flow(&segment.key);
	if (!flow)
		return 1;
	transfer = find_transfer(&segment.key);
	now = transfer ? bpf_ktime_get_ns() : 0;
	bpf_spin_lock(&flow->lock);
	flow->packets++;
	flow->segments += segments;
	if (segment.payload_bytes)
		extent = note_data(flow, &segment, segments,
				   gso_size ? gso_size : segment.payload_bytes);
	if (transfer)
		note_arriving(transfer, &segment, segments, extent, now);
	if (segment.flags & TCP_FIN) {
		flow->flags |= FLOW_FIN;
		flow->fin_ack = segment.seq + segment.payload_bytes + 1;
	}
	bpf_spin_unlock(&flow->lock);
	return 1;
}
