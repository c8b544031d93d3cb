/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* Moves connections between the tables `handshakes` and `flows`, and out of them. */
#ifndef WINDLASS_CONNECTIONS_H
#define WINDLASS_CONNECTIONS_H

#include "far_hosts.h"
#include "served_hosts.h"

/* Of Linux: the entry exists. */
#define EEXIST 17

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

/* Whether the entry is of a connection that was served until it was reset: see remember_reset(). */
static __always_inline int is_reset(const struct ecn_flow *machine)
{
	return machine->phase == ECN_PHASE_CLOSED && machine->notes & ECN_NOTE_SERVED;
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

/* Whether the proxy must keep state for the connection. */
static __always_inline int needs_tracking(__u8 phase)
{
	return phase != ECN_PHASE_BYPASS && phase != ECN_PHASE_CLOSED && phase != ECN_PHASE_NONE;
}

/*
 * Whether a handshake has ended, or is of a connection that the proxy leaves alone. If the served host asked
 * for ECN itself, the answer may get lost behind the proxy: only the host's ACK shows that no copy of its SYN
 * follows, which must not negotiate anew (see ecn_is_late_copy()).
 */
static __always_inline int is_over(const struct ecn_flow *machine, const int from_host)
{
	if (needs_tracking(machine->phase) || is_reset(machine))
		return 0;
	return from_host || machine->phase != ECN_PHASE_BYPASS ||
	       machine->reason != ECN_REASON_HOST_HAS_ECN;
}

/*
 * Data of the far host may be under way when one of the hosts resets a connection, and has codepoints
 * that the served host must not see. So the state moves to `handshakes`, for the time of a closing
 * connection; work.after is that entry. Before the connection leaves `flows`, so that a
 * packet on another CPU finds it in one of the two tables.
 */
SPLIT int remember_reset(void)
{
	struct work *work = workspace();

	if (!work)
		return 0;
	work->after.seen_ns = work->packet.now_ns;
	work->after.mac = 0;
	work->after.by_host = 0;
	work->after.asked = 0;
	bpf_map_update_elem(&handshakes, &work->key, &work->after, BPF_ANY);
	return 1;
}

#endif
