/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * Each served host's connections and their use of ECN, by the host's address.
 *
 * The address is the key because it is there on every interface and behind further routers. The MAC
 * address is not, but where it is known it shows that another device has taken the address over:
 * then the entry is reset.
 *
 * A handshake, an answered mark and the end of a connection update the entry. Bytes of served
 * connections are summed in struct flow, so a packet of one needs no further look-up.
 */
#ifndef WINDLASS_SERVED_HOSTS_H
#define WINDLASS_SERVED_HOSTS_H

#include "lists.h"

#define ETH_SOURCE_AT 6
#define ETH_ADDRESS_BYTES 6

/* The address from which a packet of the served host comes. */
static __always_inline void read_mac(struct __sk_buff *skb, struct work *work)
{
	work->mac = 0;
	if (work->view.l3)
		bpf_skb_load_bytes(skb, ETH_SOURCE_AT, &work->mac, ETH_ADDRESS_BYTES);
}

/* The host's entry as new, with the number of devices that had the address before. */
static __always_inline struct served_host *begin_host(struct work *work, __u32 takeovers)
{
	struct served_host *fresh = &work->served_host;

	__builtin_memset(fresh, 0, sizeof(*fresh));
	fresh->since_ns = work->packet.now_ns;
	fresh->mac = work->mac;
	fresh->takeovers = takeovers;
	bpf_map_update_elem(&served_hosts, work->key.host, fresh, BPF_ANY);
	return bpf_map_lookup_elem(&served_hosts, work->key.host);
}

static __always_inline struct served_host *find_host(struct work *work)
{
	struct served_host *host = bpf_map_lookup_elem(&served_hosts, work->key.host);

	if (!host)
		host = begin_host(work, 0);
	else if (host->mac && work->mac && host->mac != work->mac)
		host = begin_host(work, host->takeovers + 1);
	else if (!host->mac)
		host->mac = work->mac;
	if (host)
		host->seen_ns = work->packet.now_ns;
	return host;
}

#define ECN_EVENTS_OUTCOME                                                                         \
	(ECN_EVENT_BOTH | ECN_EVENT_CLIENT_ONLY | ECN_EVENT_NEITHER | ECN_EVENT_PROXIED |          \
	 ECN_EVENT_BYPASS)

/* Counts the outcome of a handshake; work.mac is the host's address. */
SPLIT int count_connection(void)
{
	struct work *work = workspace();
	struct served_host *host;
	__u32 events;

	if (!work)
		return 0;
	events = work->edit.events;
	if (!(events & ECN_EVENTS_OUTCOME))
		return 0;
	host = find_host(work);
	if (!host)
		return 0;
	if (events & ECN_EVENT_PROXIED)
		__sync_fetch_and_add(&host->served, 1);
	else if (events & ECN_EVENT_BOTH)
		__sync_fetch_and_add(&host->own, 1);
	else if (events & ECN_EVENT_CLIENT_ONLY)
		__sync_fetch_and_add(&host->own_refused, 1);
	else if (events & ECN_EVENT_NEITHER)
		__sync_fetch_and_add(&host->refused, 1);
	else
		__sync_fetch_and_add(&host->other, 1);
	return 1;
}

/*
 * The SYN-ACK of the served host on a connection without a state: the far host has asked without
 * ECN, or the proxy takes on no connections. It is counted here since SYNs may be forged.
 */
static __always_inline void count_unserved(struct __sk_buff *skb, const struct settings *settings,
					   struct work *work)
{
	struct served_host *host;

	if (settings->policy.off || settings->policy.draining || !is_listed(settings, work, 0))
		return;
	read_mac(skb, work);
	host = find_host(work);
	if (!host)
		return;
	/* RFC 3168 section 6.1.1: a SYN-ACK with ECE accepts ECN. */
	if (work->packet.flags & ECN_ECE)
		__sync_fetch_and_add(&host->own, 1);
	else
		__sync_fetch_and_add(&host->refused, 1);
}

static __always_inline __u32 payload_of(const struct view *view)
{
	return view->end - view->l4 - view->header_bytes;
}

static __always_inline int has_ecn(const struct view *view)
{
	return view->ipv6 ? view->ip[1] & 0x30 : view->ip[1] & 3;
}

/* A packet of a connection that the proxy does not serve, by its codepoint. */
SPLIT int note_unserved(struct __sk_buff *skb, __u32 from_host)
{
	const __u8 syn_ack = ECN_SYN | ECN_ACK;
	struct work *work = workspace();
	struct counters *counted;
	struct settings *in_force;
	struct served_host *host;
	__u32 zero = 0;
	__u32 bytes;
	int own;

	counted = bpf_map_lookup_elem(&counters, &zero);
	in_force = bpf_map_lookup_elem(&settings, &zero);
	if (!work || !counted || !in_force)
		return 0;
	work->packet.now_ns = coarse_ns(work);
	if (from_host && (work->packet.flags & syn_ack) == syn_ack)
		count_unserved(skb, in_force, work);
	bytes = payload_of(&work->view);
	if (!bytes)
		return 0;
	own = has_ecn(&work->view);
	counted->values[own ? COUNT_BYTES_OWN : COUNT_BYTES_WITHOUT] += bytes;
	host = bpf_map_lookup_elem(&served_hosts, work->key.host);
	if (!host)
		return 0;
	host->seen_ns = work->packet.now_ns;
	__sync_fetch_and_add(own ? &host->bytes_own : &host->bytes_without, bytes);
	return 0;
}

#define ECN_EVENTS_REDUCTION                                                                       \
	(ECN_EVENT_ANSWERED_VIRTUAL_LOSS | ECN_EVENT_ANSWERED_LOSS | ECN_EVENT_ANSWERED_DROP)

SPLIT int note_reduction(void)
{
	struct work *work = workspace();
	struct served_host *host;

	if (!work)
		return 0;
	host = bpf_map_lookup_elem(&served_hosts, work->key.host);
	if (host)
		__sync_fetch_and_add(&host->reductions, 1);
	return 0;
}

/*
 * So many connections that do not slow down, one after another, and the host's next ones get no ECT
 * either. One may be chance, or a program with a controller of its own.
 */
#define UNRESPONSIVE_MAX 3

/* ECT ends on a connection, if it does because the sender does not slow down: see response.h. */
SPLIT int note_unresponsive(void)
{
	struct work *work = workspace();
	struct settings *in_force;
	struct served_host *host;
	__u32 zero = 0;
	__u64 now_ns;

	in_force = bpf_map_lookup_elem(&settings, &zero);
	if (!work || !in_force || work->edit.reason != ECN_REASON_NO_RESPONSE)
		return 0;
	host = bpf_map_lookup_elem(&served_hosts, work->key.host);
	if (!host)
		return 0;
	now_ns = work->packet.now_ns;
	/* The host may have another kernel or program by now: the run begins anew. */
	if (elapsed_ns(now_ns, host->unresponsive_ns) >= in_force->fallback_ns)
		host->unresponsive_run = 0;
	host->unresponsive_ns = now_ns;
	__sync_fetch_and_add(&host->unresponsive_run, 1);
	__sync_fetch_and_add(&host->unresponsive, 1);
	return 0;
}

/* Whether the host's connections do not slow down, as far as its latest ones have shown. */
static __always_inline int is_unresponsive(struct work *work, const struct settings *in_force)
{
	struct served_host *host = bpf_map_lookup_elem(&served_hosts, work->key.host);

	return host && host->unresponsive_run >= UNRESPONSIVE_MAX &&
	       elapsed_ns(work->packet.now_ns, host->unresponsive_ns) < in_force->fallback_ns;
}

/* The sums of struct flow for its host. */
struct flow_sums {
	__u64 opened_ns;
	__u64 seen_ns;
	__u64 bytes;
	__u32 marks;
};

static __always_inline struct flow_sums sums_of(const struct flow *flow)
{
	struct flow_sums sums = {
		.opened_ns = flow->opened_ns,
		.seen_ns = flow->seen_ns,
		.bytes = flow->bytes,
		.marks = flow->marks,
	};

	return sums;
}

/* Adds them when the connection leaves the table, unless another device has the address since. */
static __always_inline void note_removed(const struct flow_key *key, const struct flow_sums *sums)
{
	struct served_host *host = bpf_map_lookup_elem(&served_hosts, key->host);

	if (!host || sums->opened_ns < host->since_ns)
		return;
	if (host->seen_ns < sums->seen_ns)
		host->seen_ns = sums->seen_ns;
	__sync_fetch_and_add(&host->bytes_served, sums->bytes);
	__sync_fetch_and_add(&host->marks, sums->marks);
}

#endif
