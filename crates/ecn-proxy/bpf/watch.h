/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* Keeps the tables of connections and runs the state machine for their packets. */
#ifndef WINDLASS_WATCH_H
#define WINDLASS_WATCH_H

#include "parse.h"
#include "served_hosts.h"

struct run {
	const struct settings *settings;
	struct counters *counters;
	struct work *work;
};

static __always_inline int begin(struct run *run)
{
	__u32 zero = 0;

	run->settings = bpf_map_lookup_elem(&settings, &zero);
	run->counters = bpf_map_lookup_elem(&counters, &zero);
	run->work = workspace();
	return run->settings && run->counters && run->work;
}

static __always_inline void count(struct run *run, enum counter which)
{
	run->counters->values[which]++;
}

static __always_inline void count_reason(struct run *run, __u32 base)
{
	__u32 reason = run->work->edit.reason;

	hide(reason);
	if (reason < ECN_REASON_COUNT)
		run->counters->values[base + reason]++;
}

#define EVENTS 31
/* Of Linux: the entry exists. */
#define EEXIST 17

SPLIT int count_all_events(void)
{
	struct run run;
	__u32 events;

	if (!begin(&run))
		return 0;
	events = run.work->edit.events;
	for (int i = 0; i < EVENTS; i++) {
		if (events >> i & 1)
			count(&run, COUNT_EVENTS + i);
	}
	if (events & ECN_EVENT_BYPASS)
		count_reason(&run, COUNT_BYPASS);
	if (events & ECN_EVENT_PASSED_OVER)
		count_reason(&run, COUNT_PASSED_OVER);
	if (events & ECN_EVENT_ECT_WITHDRAWN)
		count_reason(&run, COUNT_WITHDRAWN);
	return 0;
}

/* The bit of ECN_EVENT_ECT. */
#define EVENT_ECT 11
_Static_assert(ECN_EVENT_ECT == 1 << EVENT_ECT, "ECN_EVENT_ECT");

static __always_inline void count_events(struct run *run)
{
	__u32 events = run->work->edit.events;

	/* The common case: a data packet of a served host. */
	if (events == ECN_EVENT_ECT)
		count(run, COUNT_EVENTS + EVENT_ECT);
	else if (events)
		count_all_events();
}

static __always_inline void note_events(struct flow *flow, __u32 events)
{
	if (!events)
		return;
	flow->marks += !!(events & ECN_EVENT_CE);
	flow->echoes += !!(events & ECN_EVENT_ECHO);
	flow->ect += !!(events & ECN_EVENT_ECT);
	flow->episodes += !!(events & ECN_EVENT_EPISODE);
	flow->virtual_losses += !!(events & ECN_EVENT_VIRTUAL_LOSS);
}

static __always_inline void log_decision(struct run *run, const struct ecn_flow *before,
					 const struct ecn_flow *after, __u8 call, __u8 fails,
					 __u8 kept, __u32 order)
{
	struct work *work = run->work;
	struct decision *decision;

	if (!log_decisions)
		return;
	decision = bpf_ringbuf_reserve(&decisions, sizeof(*decision), 0);
	if (!decision)
		return;
	decision->before = *before;
	decision->after = *after;
	decision->packet = work->packet;
	decision->edit = work->edit;
	decision->policy = run->settings->policy;
	decision->call = call;
	decision->destination_fails = fails;
	decision->kept = kept;
	decision->order = order;
	bpf_ringbuf_submit(decision, 0);
}

/*
 * Errors of tables are read as int: Linux before 6.4 calls its functions directly, which return an int and
 * leave the upper half of the register zero, so that as a long no error is negative.
 */

/* Returns 1 if the connection was in the table. */
static __always_inline int remove_flow(struct run *run, const struct flow *flow,
				       const struct flow_key *key)
{
	/* Before the kernel may use the entry again. */
	struct flow_sums sums = sums_of(flow);
	__u32 zero = 0;
	__u64 *held;
	int error = bpf_map_delete_elem(&flows, key);

	if (error < 0)
		return 0;
	held = bpf_map_lookup_elem(&flow_count, &zero);
	if (held)
		__sync_fetch_and_sub(held, 1);
	note_removed(key, &sums);
	count(run, COUNT_FLOWS_REMOVED);
	return 1;
}

/* Reserves room for connections whose handshake is in progress. */
static __always_inline int is_room(struct run *run)
{
	__u32 zero = 0;
	__u64 *held = bpf_map_lookup_elem(&flow_count, &zero);
	__u32 limit = run->settings->flows_max;

	return held && *held < limit - limit / 16;
}

/* Queues drop SYNs too, so fewer failures in a row prove nothing. */
#define FAILURES_MAX 3

/* The entry of the far host, a new one if there is none; 0 if the kernel refuses. */
static __always_inline struct host *far_host(struct run *run)
{
	struct work *work = run->work;
	struct host *known = bpf_map_lookup_elem(&hosts, work->key.far);

	if (known)
		return known;
	__builtin_memset(&work->host, 0, sizeof(work->host));
	work->host.seen_ns = work->packet.now_ns;
	bpf_map_update_elem(&hosts, work->key.far, &work->host, BPF_ANY);
	return bpf_map_lookup_elem(&hosts, work->key.far);
}

static __always_inline void remember_host(struct run *run, __u32 ecn)
{
	struct host *host = far_host(run);

	if (!host)
		return;
	host->seen_ns = run->work->packet.now_ns;
	host->failures = 0;
	host->refused_port = 0;
	host->ecn = ecn;
	host->connections++;
}

/*
 * SYNs that were under way together may have been lost together, in an outage: they count once. `asked`
 * is the time of the SYN that failed, in units of 2^FAILURE_SHIFT ns.
 */
static __always_inline void note_failure(struct run *run, struct host *host, __u32 asked)
{
	if (host->failures && ecn_before(asked, host->failed_ns >> FAILURE_SHIFT))
		return;
	host->failed_ns = run->work->packet.now_ns;
	if (host->failures < FAILURES_MAX)
		host->failures++;
	if (host->failures == FAILURES_MAX)
		host->ecn = HOST_FAILED;
}

/* Whether SYNs with ECN are known to have reached the host not long ago. */
static __always_inline int has_answered(struct run *run, const struct host *host)
{
	return (host->ecn == HOST_CAPABLE || host->ecn == HOST_WITHOUT) &&
	       elapsed_ns(run->work->packet.now_ns, host->seen_ns) < run->settings->fallback_ns;
}

/* A closed port, or a device that resets SYNs with ECN: the next SYN to that port shows which. */
static __always_inline void note_refusal(struct run *run)
{
	struct host *host;

	if (run->settings->policy.keeps_asking)
		return;
	host = far_host(run);
	if (host && !has_answered(run, host))
		host->refused_port = run->work->key.far_port;
}

/* The answer to a SYN without ECN, sent to a host that fails or to the port of a refusal. */
static __always_inline void note_plain_answer(struct run *run, int accepted)
{
	struct host *host = bpf_map_lookup_elem(&hosts, run->work->key.far);

	if (!host || host->refused_port != run->work->key.far_port)
		return;
	host->refused_port = 0;
	if (accepted)
		note_failure(run, host, run->work->packet.now_ns >> FAILURE_SHIFT);
}

/* Only for an answer to the served host, since a SYN may be forged. */
static __always_inline void remember_answer(struct run *run, const struct handshake *handshake)
{
	__u32 events = run->work->edit.events;
	struct host *host;

	if (events & (ECN_EVENT_PROXIED | ECN_EVENT_BOTH)) {
		remember_host(run, HOST_CAPABLE);
	} else if (ECN_RARELY(events & ECN_EVENT_DESTINATION_FAILED)) {
		host = far_host(run);
		if (host)
			note_failure(run, host, handshake->asked);
	} else if (ECN_RARELY(events & ECN_EVENT_REFUSED)) {
		note_refusal(run);
	} else if (ECN_RARELY(events & (ECN_EVENT_PLAIN_ACCEPTED | ECN_EVENT_PLAIN_REFUSED))) {
		note_plain_answer(run, !!(events & ECN_EVENT_PLAIN_ACCEPTED));
	} else if (events & (ECN_EVENT_CLIENT_ONLY | ECN_EVENT_NEITHER) &&
		   !(handshake->machine.notes & ECN_NOTE_PLAIN_SYN)) {
		/* The answer to a plain SYN does not show how the host handles ECN. */
		remember_host(run, HOST_WITHOUT);
	}
}

static __always_inline int destination_fails(struct run *run)
{
	struct work *work = run->work;
	struct host *host = bpf_map_lookup_elem(&hosts, work->key.far);

	if (!host)
		return 0;
	if (ECN_RARELY(host->refused_port) && host->refused_port == work->key.far_port)
		return 1;
	return host->ecn == HOST_FAILED &&
	       elapsed_ns(work->packet.now_ns, host->failed_ns) < run->settings->fallback_ns;
}

/* A SYN on a served connection: a new connection, or a forgery. */
static __always_inline int reopen(struct run *run, struct flow *flow, const int from_host,
				  __u8 fails)
{
	struct work *work = run->work;
	int kept;

	bpf_spin_lock(&flow->lock);
	if (log_decisions)
		work->flow = flow->machine;
	kept = ecn_proxy_opens(&flow->machine, &run->settings->policy, &work->packet, from_host,
			       fails, &work->edit);
	if (log_decisions)
		work->handshake.machine = flow->machine;
	bpf_spin_unlock(&flow->lock);
	log_decision(run, &work->flow, &work->handshake.machine, from_host, fails, kept, 0);
	return 1;
}

/* Whether the entry is of a connection that was served until it was reset: see remember_reset(). */
static __always_inline int is_reset(const struct ecn_flow *machine)
{
	return machine->phase == ECN_PHASE_CLOSED && machine->notes & ECN_NOTE_SERVED;
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
	work->flow = work->handshake.machine;
	kept = ecn_proxy_opens(&work->handshake.machine, &run->settings->policy, &work->packet,
			       from_host, fails, &work->edit);
	log_decision(run, &work->flow, &work->handshake.machine, from_host, fails, kept, 0);
	if (!kept)
		return 1;
	work->handshake.seen_ns = work->packet.now_ns;
	if (work->edit.events & ECN_EVENT_UPGRADED)
		work->handshake.asked = work->packet.now_ns >> FAILURE_SHIFT;
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

/* Whether the opener has acknowledged the SYN-ACK, which proves both addresses. */
static __always_inline int is_proven(const struct handshake *handshake,
				     const struct ecn_packet *packet, int from_host)
{
	if (handshake->machine.phase != ECN_PHASE_PROXIED || packet->flags & (ECN_SYN | ECN_RST))
		return 0;
	if (from_host || handshake->by_host)
		return from_host && handshake->by_host;
	return packet->flags & ECN_ACK && ecn_before(handshake->machine.recover, packet->ack) &&
	       ecn_at_most(packet->ack, handshake->machine.snd_max);
}

/* Into the one table before it leaves the other: look_again() depends on that. */
static __always_inline void promote(struct run *run, struct handshake *handshake)
{
	struct work *work = run->work;
	__u32 zero = 0;
	__u64 *held = bpf_map_lookup_elem(&flow_count, &zero);
	int error;

	__builtin_memset(&work->fresh, 0, sizeof(work->fresh));
	work->fresh.seen_ns = work->packet.now_ns;
	/* Not before the entry of its served host began, at a packet of the handshake: see elapsed_ns(). */
	if (work->fresh.seen_ns < handshake->seen_ns)
		work->fresh.seen_ns = handshake->seen_ns;
	work->fresh.opened_ns = work->fresh.seen_ns;
	work->fresh.machine = handshake->machine;
	if (ECN_RARELY(is_unresponsive(work, run->settings))) {
		ecn_proxy_distrust(&work->fresh.machine, &work->edit);
		count_events(run);
		clear_edit(&work->edit);
	}
	error = bpf_map_update_elem(&flows, &work->key, &work->fresh, BPF_NOEXIST);
	/* A packet on another CPU proved the connection as well: the state is there, and in use. */
	if (ECN_RARELY(error == -EEXIST))
		return;
	if (error < 0) {
		count(run, COUNT_NO_ROOM);
	} else {
		count(run, COUNT_FLOWS_ADDED);
		if (held)
			__sync_fetch_and_add(held, 1);
	}
	/* For connections of the served host this was recorded at the SYN-ACK. */
	if (!handshake->by_host)
		remember_host(run, HOST_CAPABLE);
	bpf_map_delete_elem(&handshakes, &work->key);
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

/* Whether the proxy must keep state for the connection. */
static __always_inline int needs_tracking(__u8 phase)
{
	return phase != ECN_PHASE_BYPASS && phase != ECN_PHASE_CLOSED && phase != ECN_PHASE_NONE;
}

/*
 * Data of the far host may be under way when one of the hosts resets a connection, and has codepoints
 * that the served host must not see. So the state moves to `handshakes`, for the time of a closing
 * connection; work.handshake.machine is that state. Before the connection leaves `flows`, so that a
 * packet on another CPU finds it in one of the two tables.
 */
SPLIT int remember_reset(void)
{
	struct work *work = workspace();

	if (!work)
		return 0;
	work->handshake.seen_ns = work->packet.now_ns;
	work->handshake.mac = 0;
	work->handshake.by_host = 0;
	work->handshake.asked = 0;
	bpf_map_update_elem(&handshakes, &work->key, &work->handshake, BPF_ANY);
	return 1;
}

static __always_inline int serve(struct run *run, struct flow *flow, const int from_host)
{
	struct work *work = run->work;
	__u32 order;
	__u8 phase;

	bpf_spin_lock(&flow->lock);
	if (log_decisions)
		work->flow = flow->machine;
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
		work->handshake.machine = flow->machine;
	bpf_spin_unlock(&flow->lock);
	log_decision(run, &work->flow, &work->handshake.machine, 2 + from_host, 0, 1, order);
	run->counters->values[COUNT_BYTES_SERVED] += work->packet.payload_bytes;
	if (ECN_RARELY(work->edit.events & ECN_EVENTS_REDUCTION))
		note_reduction();
	if (ECN_RARELY(work->edit.events & ECN_EVENT_ECT_WITHDRAWN))
		note_unresponsive();
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
	int has_outcome = handshake->machine.phase == ECN_PHASE_PROXIED;

	if (log_decisions)
		work->flow = handshake->machine;
	run_machine(run, &handshake->machine, from_host);
	handshake->seen_ns = work->packet.now_ns;
	if (!from_host)
		work->mac = handshake->mac;
	if (!has_outcome)
		count_connection();
	log_decision(run, &work->flow, &handshake->machine, 2 + from_host, 0, 1, 0);
	if (handshake->by_host && !from_host)
		remember_answer(run, handshake);
	if (!needs_tracking(handshake->machine.phase) && !is_reset(&handshake->machine))
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
	int asked;

	if (is_lease_over(run))
		return 0;
	clear_edit(&run->work->edit);
	read_segment(skb, run->work);
	if (from_host)
		read_mac(skb, run->work);
	asked = from_host ? open_by_host() : open_by_far_host();
	count_events(run);
	if (from_host)
		count_connection();
	return asked;
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
	int asked = 1;

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
		asked = from_host ? handle_handshake_from_host() : handle_handshake_to_host();
		/* Now in flows, by this packet or by one on another CPU. */
		if (asked != 1)
			flow = bpf_map_lookup_elem(&flows, &run->work->key);
	}
	if (flow)
		asked = serve(run, flow, from_host);
	count_events(run);
	return asked;
}

static __always_inline int watch(struct __sk_buff *skb, struct run *run, const int from_host)
{
	if (ECN_RARELY((run->work->packet.flags & (ECN_SYN | ECN_ACK | ECN_RST)) == ECN_SYN))
		return watch_syn(skb, run, from_host);
	return watch_other(skb, run, from_host);
}

#endif
