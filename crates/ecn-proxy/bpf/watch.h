/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * Runs the state machine for the packets of connections in the tables. handle() of ecn_proxy.bpf.c calls
 * watch() for each TCP packet at a hook and then applies the edit; flows and handshakes are the tables of
 * tables.h.
 */
#ifndef WINDLASS_WATCH_H
#define WINDLASS_WATCH_H

#include "connections.h"
#include "parse.h"

/* A SYN on a served connection: a new connection, or a forgery. */
static __always_inline int reopen(struct run *run, struct flow *flow, const int from_host,
				  __u8 fails)
{
	struct work *work = run->work;
	int kept;

	bpf_spin_lock(&flow->lock);
	if (log_decisions)
		work->before = flow->machine;
	kept = ecn_proxy_opens(&flow->machine, &run->settings->policy, &work->packet, from_host,
			       fails, &work->edit);
	if (log_decisions)
		work->after.machine = flow->machine;
	bpf_spin_unlock(&flow->lock);
	log_decision(run, &work->before, &work->after.machine, from_host, fails, kept, 0);
	return 1;
}

static __always_inline int open_from(struct run *run, const int from_host)
{
	struct work *work = run->work;
	struct handshake *known = 0;
	struct flow *flow;
	__u8 fails = from_host && destination_fails(run);
	int kept;

	flow = bpf_map_lookup_elem(&flows, &work->key);
	if (flow)
		return reopen(run, flow, from_host, fails);
	known = bpf_map_lookup_elem(&handshakes, &work->key);
	/* A new connection from the ports of one that was reset. */
	if (ECN_RARELY(known && is_reset(&known->machine))) {
		bpf_map_delete_elem(&handshakes, &work->key);
		known = 0;
	}
	if (known) {
		work->handshake = *known;
	} else {
		if (!is_listed(run->settings, work, from_host)) {
			count(run, COUNT_LISTED);
			return 0;
		}
		if (!is_room(run)) {
			count(run, COUNT_NO_ROOM);
			return 0;
		}
		__builtin_memset(&work->handshake, 0, sizeof(work->handshake));
	}
	work->before = work->handshake.machine;
	kept = ecn_proxy_opens(&work->handshake.machine, &run->settings->policy, &work->packet,
			       from_host, fails, &work->edit);
	log_decision(run, &work->before, &work->handshake.machine, from_host, fails, kept, 0);
	if (!kept)
		return 1;
	work->handshake.seen_ns = work->packet.now_ns;
	if (work->edit.events & ECN_EVENT_UPGRADED)
		work->handshake.asked = work->packet.now_ns >> FAILURE_SHIFT;
	/* Which of the hosts behind a router it is; an answer does not show it. */
	if (from_host)
		work->handshake.mac = work->mac;
	work->handshake.by_host = work->handshake.machine.phase == ECN_PHASE_HOST_OPENS;
	bpf_map_update_elem(&handshakes, &work->key, &work->handshake, BPF_ANY);
	return 1;
}

/* A SYN without ACK. Returns 1 if the state machine ran. */
SPLIT int open_by_host(void)
{
	struct run run;

	return begin(&run) ? open_from(&run, 1) : 0;
}

SPLIT int open_by_far_host(void)
{
	struct run run;

	return begin(&run) ? open_from(&run, 0) : 0;
}

static __always_inline void run_machine(struct run *run, struct ecn_flow *machine,
					const int from_host)
{
	struct work *work = run->work;

	if (from_host)
		ecn_proxy_from_host(machine, &run->settings->policy, &work->packet, &work->edit);
	else
		ecn_proxy_to_host(machine, &run->settings->policy, &work->packet, &work->edit);
}

static __always_inline int serve(struct run *run, struct flow *flow, const int from_host)
{
	struct work *work = run->work;
	__u32 order;
	__u8 phase;

	/* The two directions of a connection may run on two CPUs. */
	bpf_spin_lock(&flow->lock);
	if (log_decisions)
		work->before = flow->machine;
	run_machine(run, &flow->machine, from_host);
	flow->seen_ns = work->packet.now_ns;
	flow->bytes += work->packet.payload_bytes;
	if (from_host)
		flow->packets_from_host++;
	else
		flow->packets_to_host++;
	note_events(flow, work->edit.events);
	phase = flow->machine.phase;
	order = flow->packets_from_host + flow->packets_to_host;
	if (log_decisions || ECN_RARELY(phase == ECN_PHASE_CLOSED))
		work->after.machine = flow->machine;
	bpf_spin_unlock(&flow->lock);
	log_decision(run, &work->before, &work->after.machine, 2 + from_host, 0, 1, order);
	run->counters->values[COUNT_BYTES_SERVED] += work->packet.payload_bytes;
	if (ECN_RARELY(work->edit.events & ECN_EVENTS_REDUCTION))
		note_reduction();
	if (ECN_RARELY(work->edit.events & ECN_EVENT_ECT_WITHDRAWN))
		note_unresponsive();
	/* Data of the far host may still be under way, with codepoints to hide. */
	if (ECN_RARELY(phase == ECN_PHASE_CLOSED) && work->packet.flags & ECN_RST)
		remember_reset();
	if (ECN_RARELY(!needs_tracking(phase)))
		remove_flow(run, flow, &work->key);
	return 1;
}

static __always_inline int advance_handshake(struct run *run, struct handshake *handshake,
					     const int from_host)
{
	struct work *work = run->work;
	/* In memory, so that the verifier does not follow the state machine for each of its values. */
	volatile __u8 *has_outcome = &work->has_outcome;

	*has_outcome = handshake->machine.phase == ECN_PHASE_PROXIED;
	if (log_decisions)
		work->before = handshake->machine;
	run_machine(run, &handshake->machine, from_host);
	handshake->seen_ns = work->packet.now_ns;
	if (!from_host)
		work->mac = handshake->mac;
	if (!*has_outcome)
		count_connection();
	log_decision(run, &work->before, &handshake->machine, 2 + from_host, 0, 1, 0);
	if (handshake->by_host && !from_host)
		remember_answer(run, handshake);
	if (is_over(&handshake->machine, from_host))
		bpf_map_delete_elem(&handshakes, &work->key);
	return 1;
}

/* A packet of a handshake. Returns 1 if the state machine ran, 2 if the connection is now in flows. */
static __always_inline int handle_handshake(const int from_host)
{
	struct run run;
	struct handshake *handshake;

	if (!begin(&run))
		return 0;
	handshake = bpf_map_lookup_elem(&handshakes, &run.work->key);
	if (!handshake)
		return 0;
	if (!is_proven(handshake, &run.work->packet, from_host))
		return advance_handshake(&run, handshake, from_host);
	promote(&run, handshake);
	return 2;
}

SPLIT int handle_handshake_from_host(void)
{
	return handle_handshake(1);
}

SPLIT int handle_handshake_to_host(void)
{
	return handle_handshake(0);
}

static __always_inline int is_lease_over(struct run *run)
{
	__u64 until = run->settings->lease_until_ns;

	run->work->packet.now_ns = coarse_ns(run->work);
	if (!until || run->work->packet.now_ns <= until)
		return 0;
	count(run, COUNT_LEASE_OVER);
	return 1;
}

/* Runs the state machine for a SYN without ACK; 0 if the proxy ignores it. */
static __always_inline int watch_syn(struct __sk_buff *skb, struct run *run, const int from_host)
{
	int ran;

	if (is_lease_over(run))
		return 0;
	clear_edit(&run->work->edit);
	read_segment(skb, run->work);
	if (from_host)
		read_mac(skb, run->work);
	ran = from_host ? open_by_host() : open_by_far_host();
	count_events(run);
	if (from_host)
		count_connection();
	return ran;
}

/*
 * promote() on another CPU may have moved the connection between the looks at the two tables. The
 * served host must see no codepoint of it; any other packet may pass as one of an unknown connection.
 */
static __always_inline struct flow *look_again(struct work *work, const int from_host)
{
	return !from_host && has_ecn(&work->view) ? bpf_map_lookup_elem(&flows, &work->key) : 0;
}

/* The same for any other packet. Packets of unknown connections are not read further. */
static __always_inline int watch_other(struct __sk_buff *skb, struct run *run, const int from_host)
{
	struct flow *flow = bpf_map_lookup_elem(&flows, &run->work->key);
	int ran = 1;

	if (ECN_RARELY(!flow) && !bpf_map_lookup_elem(&handshakes, &run->work->key)) {
		flow = look_again(run->work, from_host);
		if (!flow) {
			if (payload_of(&run->work->view) || run->work->packet.flags & ECN_SYN)
				note_unserved(skb, from_host);
			return 0;
		}
	}
	if (is_lease_over(run))
		return 0;
	clear_edit(&run->work->edit);
	read_segment(skb, run->work);
	if (ECN_RARELY(!flow)) {
		if (from_host)
			read_mac(skb, run->work);
		ran = from_host ? handle_handshake_from_host() : handle_handshake_to_host();
		/* Now in flows, by this packet or by one on another CPU. */
		if (ran != 1)
			flow = bpf_map_lookup_elem(&flows, &run->work->key);
	}
	if (flow)
		ran = serve(run, flow, from_host);
	count_events(run);
	return ran;
}

static __always_inline int watch(struct __sk_buff *skb, struct run *run, const int from_host)
{
	if (ECN_RARELY((run->work->packet.flags & (ECN_SYN | ECN_ACK | ECN_RST)) == ECN_SYN))
		return watch_syn(skb, run, from_host);
	return watch_other(skb, run, from_host);
}

#endif
