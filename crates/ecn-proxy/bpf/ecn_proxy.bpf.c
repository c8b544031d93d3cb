// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * The ECN proxy in the packet path: programs for tc that hold each packet against the tables, ask
 * the state machine, and carry out what it says.
 *
 * A connection is in `handshakes` until both ends have shown that they are there, then in `flows`
 * if it needs work, else nowhere: who is not known passes. So a flood of SYNs can push out
 * handshakes, but no connection that is served.
 */
#include "kernel.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "acks.h"
#include "watch.h"

/* The kernel gives some of its helpers to programs whose licence is compatible with its own. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* What is done to a packet is an action of tc. UNSPEC: it goes on, to other programs first. */
static __always_inline int carry_out(struct __sk_buff *skb, struct run *run, const struct way way)
{
	struct work *work = run->work;
	__u16 actions = work->edit.actions;

	if (!actions)
		return TC_ACT_UNSPEC;
	count(run, COUNT_EDITED);
	if (actions & ECN_DO_REPLY) {
		count(run, COUNT_REPLIES);
		if (!(actions & ECN_DO_DROP))
			clone_on(skb, run->settings->mark, way.ingress);
		return send_reply(skb, work, run->settings->mark, way.ethernet, way.ingress);
	}
	if (actions & ECN_DO_DROP) {
		count(run, COUNT_DROPS);
		return TC_ACT_SHOT;
	}
	if (actions & ECN_DO_CODEPOINT &&
	    set_codepoint(skb, &work->view, work->edit.codepoint) < 0)
		count(run, COUNT_EDIT_FAILED);
	if (!(actions & ~ECN_DO_CODEPOINT))
		return TC_ACT_UNSPEC;
	if (edit_header(skb, work, way.ingress) < 0) {
		count(run, COUNT_EDIT_FAILED);
		return TC_ACT_UNSPEC;
	}
	if (!(actions & ECN_DO_CLONES))
		return TC_ACT_UNSPEC;
	count(run, COUNT_CLONES);
	if (send_clones(skb, work, run->settings->mark, way.ingress) == 0)
		return TC_ACT_UNSPEC;
	count(run, COUNT_EDIT_FAILED);
	return TC_ACT_SHOT;
}

static __always_inline int handle(struct __sk_buff *skb, const struct way way)
{
	struct run run = {};
	__u32 zero = 0;
	int parsed;

	run.settings = bpf_map_lookup_elem(&settings, &zero);
	run.counters = bpf_map_lookup_elem(&counters, &zero);
	run.work = bpf_map_lookup_elem(&work, &zero);
	if (!run.settings || !run.counters || !run.work)
		return TC_ACT_UNSPEC;
	if (skb->mark & run.settings->mark) {
		skb->mark &= ~run.settings->mark;
		return TC_ACT_UNSPEC;
	}
	count(&run, COUNT_PACKETS);
	parsed = parse(skb, run.work, way.ethernet, way.from_host);
	if (parsed != PARSED_TCP) {
		if (parsed == PARSED_MALFORMED)
			count(&run, COUNT_MALFORMED);
		return TC_ACT_UNSPEC;
	}
	count(&run, COUNT_TCP);
	if (!watch(&run, way.from_host))
		return TC_ACT_UNSPEC;
	return carry_out(skb, &run, way);
}

#define PROGRAM(name, hook, is_ingress, is_from_host, is_ethernet)                                 \
	SEC("tcx/" hook)                                                                           \
	int name(struct __sk_buff *skb)                                                            \
	{                                                                                          \
		const struct way way = {                                                           \
			.ingress = is_ingress,                                                     \
			.from_host = is_from_host,                                                 \
			.ethernet = is_ethernet,                                                   \
		};                                                                                 \
		return handle(skb, way);                                                           \
	}

PROGRAM(client_in, "ingress", 1, 1, 1)
PROGRAM(client_out, "egress", 0, 0, 1)
PROGRAM(client_in_l3, "ingress", 1, 1, 0)
PROGRAM(client_out_l3, "egress", 0, 0, 0)
PROGRAM(network_in, "ingress", 1, 0, 1)
PROGRAM(network_out, "egress", 0, 1, 1)
PROGRAM(network_in_l3, "ingress", 1, 0, 0)
PROGRAM(network_out_l3, "egress", 0, 1, 0)

/* What the loader hands to forget(), as a packet. */
struct forget {
	struct flow_key key;
	__u32 reserved;
	__u64 idle_since_ns;
	__u64 closing_since_ns;
};

/* Removes a connection if it has been idle, and keeps count of what is left. 1 if it did. */
SEC("tc")
int forget(struct __sk_buff *skb)
{
	struct forget request;
	struct flow *flow;
	struct run run = {};
	__u32 zero = 0;
	int old;

	run.counters = bpf_map_lookup_elem(&counters, &zero);
	if (!run.counters || bpf_skb_load_bytes(skb, 0, &request, sizeof(request)) < 0)
		return 0;
	flow = bpf_map_lookup_elem(&flows, &request.key);
	if (!flow)
		return 0;
	bpf_spin_lock(&flow->lock);
	old = flow->seen_ns < request.idle_since_ns;
	if (flow->machine.notes & (ECN_NOTE_HOST_FIN | ECN_NOTE_FAR_FIN))
		old = flow->seen_ns < request.closing_since_ns;
	bpf_spin_unlock(&flow->lock);
	if (!old)
		return 0;
	return remove_flow(&run, &request.key);
}
