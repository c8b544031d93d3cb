// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * The ECN proxy in the packet path: tc programs that look up each packet's connection, run the state
 * machine and apply its edit.
 *
 * A connection is in `handshakes` until both ends are proven to exist, then in `flows` if the proxy
 * serves it. Packets of other connections pass. A flood of SYNs can therefore evict handshakes but no
 * served connection.
 */
#include "kernel.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "acks.h"
#include "gro_list.h"
#include "watch.h"

/* The kernel gives some of its helpers to programs whose licence is compatible with its own. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* A served host must not see a codepoint: better no packet, as if the kernel had no memory for it. */
static __always_inline int codepoint_failed(struct run *run, __u32 flags)
{
	count(run, COUNT_EDIT_FAILED);
	return flags & PROGRAM_FROM_HOST ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}

/* Applies the edit. Returns an action of tc; UNSPEC passes the packet to the next program. */
SPLIT int carry_out(struct __sk_buff *skb, __u32 flags)
{
	int ingress = flags & PROGRAM_INGRESS;
	struct run run;
	__u16 actions;
	int edited;

	if (!begin(&run))
		return TC_ACT_UNSPEC;
	actions = run.work->edit.actions;
	if (actions & ~(ECN_DO_CODEPOINT | ECN_DO_FLAGS | ECN_DO_DROP) && load_header(skb, &run.work->view) < 0) {
		count(&run, COUNT_EDIT_FAILED);
		return TC_ACT_UNSPEC;
	}
	if (actions & ECN_DO_REPLY) {
		count(&run, COUNT_REPLIES);
		if (!(actions & ECN_DO_DROP))
			clone_on(skb, run.settings->mark, ingress);
		return send_reply(skb, run.work, run.settings->mark, flags & PROGRAM_ETHERNET, ingress);
	}
	/*
	 * To a device that does not exist. A sender on this machine would hear of a drop that its packet
	 * was not sent, and send it again at once.
	 */
	if (run.work->edit.events & ECN_EVENT_KEPT_BACK)
		return bpf_redirect(0, 0);
	if (actions & ECN_DO_DROP) {
		count(&run, COUNT_DROPS);
		return TC_ACT_SHOT;
	}
	if (actions & ECN_DO_CODEPOINT &&
	    set_codepoint(skb, run.work, run.work->edit.codepoint) < 0)
		return codepoint_failed(&run, flags);
	if (!(actions & ~ECN_DO_CODEPOINT))
		return TC_ACT_UNSPEC;
	if (actions & ~(ECN_DO_CODEPOINT | ECN_DO_FLAGS))
		edited = edit_header(skb, run.work, ingress);
	else
		edited = edit_flags(skb, run.work);
	if (edited < 0) {
		count(&run, COUNT_EDIT_FAILED);
		return TC_ACT_UNSPEC;
	}
	if (!(actions & ECN_DO_CLONES))
		return TC_ACT_UNSPEC;
	count(&run, COUNT_CLONES);
	if (send_clones(skb, run.work, run.settings->mark, ingress) == 0)
		return TC_ACT_UNSPEC;
	count(&run, COUNT_EDIT_FAILED);
	return TC_ACT_SHOT;
}

/* Whether the packet, a list, may be edited and pass: no segment then keeps a codepoint to hide. */
SPLIT int prepare_list(struct __sk_buff *skb, __u32 from_host)
{
	struct run run;

	if (!begin(&run))
		return 0;
	if (!can_split_lists) {
		count(&run, COUNT_LISTS_KEPT);
		return from_host || !(run.work->edit.actions & ECN_DO_CODEPOINT);
	}
	count(&run, COUNT_LISTS);
	return split_list(skb, &run.work->view) == 0;
}

static __always_inline int handle(struct __sk_buff *skb, __u32 flags)
{
	struct run run;
	__u16 actions;
	int parsed;

	if (ECN_RARELY(!begin(&run)))
		return TC_ACT_UNSPEC;
	if (ECN_RARELY(skb->mark & run.settings->mark)) {
		skb->mark &= ~run.settings->mark;
		return TC_ACT_UNSPEC;
	}
	count(&run, COUNT_PACKETS);
	parsed = parse(skb, run.work, flags);
	if (ECN_RARELY(parsed != PARSED_TCP)) {
		if (parsed == PARSED_MALFORMED)
			count(&run, COUNT_MALFORMED);
		return TC_ACT_UNSPEC;
	}
	count(&run, COUNT_TCP);
	if (ECN_RARELY(!watch(skb, &run, !!(flags & PROGRAM_FROM_HOST))))
		return TC_ACT_UNSPEC;
	actions = run.work->edit.actions;
	if (!actions)
		return TC_ACT_UNSPEC;
	count(&run, COUNT_EDITED);
	if (ECN_RARELY(skb->gso_size && is_list(skb)) &&
	    !prepare_list(skb, flags & PROGRAM_FROM_HOST))
		return codepoint_failed(&run, flags);
	if (ECN_RARELY(actions != ECN_DO_CODEPOINT))
		return carry_out(skb, flags);
	if (ECN_RARELY(set_codepoint(skb, run.work, run.work->edit.codepoint) < 0))
		return codepoint_failed(&run, flags);
	return TC_ACT_UNSPEC;
}

#define PROGRAM(name, hook, flags)                                                                 \
	SEC("tcx/" hook)                                                                           \
	int name(struct __sk_buff *skb)                                                            \
	{                                                                                          \
		return handle(skb, flags);                                                         \
	}

/*
 * The loader (src/datapath/attach.rs) attaches two to each interface: the client side faces the served
 * hosts, the network side the far hosts. Interfaces without an Ethernet header get those with _l3.
 */
PROGRAM(client_in, "ingress", PROGRAM_INGRESS | PROGRAM_FROM_HOST | PROGRAM_ETHERNET)
PROGRAM(client_out, "egress", PROGRAM_ETHERNET)
PROGRAM(client_in_l3, "ingress", PROGRAM_INGRESS | PROGRAM_FROM_HOST)
PROGRAM(client_out_l3, "egress", 0)
PROGRAM(network_in, "ingress", PROGRAM_INGRESS | PROGRAM_ETHERNET)
PROGRAM(network_out, "egress", PROGRAM_FROM_HOST | PROGRAM_ETHERNET)
PROGRAM(network_in_l3, "ingress", PROGRAM_INGRESS)
PROGRAM(network_out_l3, "egress", PROGRAM_FROM_HOST)

/* The request to forget(), which the loader passes as a packet. */
struct forget {
	struct flow_key key;
	__u32 reserved;
	__u64 idle_since_ns;
	__u64 closing_since_ns;
};

/* Removes a connection that is still idle. Returns 1 if it did. */
SEC("tc")
int forget(struct __sk_buff *skb)
{
	struct forget request;
	struct flow *flow;
	struct run run;
	int old;

	if (!begin(&run) || bpf_skb_load_bytes(skb, 0, &request, sizeof(request)) < 0)
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
	return remove_flow(&run, flow, &request.key);
}
