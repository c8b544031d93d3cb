/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * The course of a transfer, by rounds. A round begins with the first data that can answer an ACK of the
 * round before: data that comes no earlier than a round-trip time after the first ACK of that round.
 * docs/internals/split-ack.md has the whole definition. Without `settings.rounds` the verifier removes
 * all of it.
 */
#ifndef WINDLASS_ROUNDS_H
#define WINDLASS_ROUNDS_H

#include "parse.h"

/* The initial value of an entry, which is too large for the stack. */
static const struct transfer new_transfer;

static __always_inline struct transfer *find_transfer(const struct flow_key *key)
{
	struct transfer *transfer;

	if (!settings.rounds)
		return 0;
	transfer = bpf_map_lookup_elem(&transfers, key);
	if (transfer)
		return transfer;
	bpf_map_update_elem(&transfers, key, &new_transfer, BPF_ANY);
	return bpf_map_lookup_elem(&transfers, key);
}

/* Starts the clock at the connection's first segment. */
static __always_inline void note_begin(struct transfer *transfer, __u64 now)
{
	if (!transfer->began_ns)
		transfer->began_ns = now;
}

/* Times one segment at a time. A retransmission makes the sample ambiguous (RFC 6298 section 3). */
static __always_inline void start_timing(struct transfer *transfer, const struct segment *segment,
					 __u64 now)
{
	__u32 end = segment->seq + segment->payload_bytes;

	end += !!(segment->flags & TCP_SYN) + !!(segment->flags & TCP_FIN);
	if (end == segment->seq)
		return;
	if (transfer->has_sent && (__s32)(segment->seq - transfer->sent_end) < 0) {
		transfer->timed_ns = 0;
		return;
	}
	if (!transfer->timed_ns) {
		transfer->timed_ns = now;
		transfer->timed_end = end;
	}
	transfer->has_sent = 1;
	transfer->sent_end = end;
}

static __always_inline void stop_timing(struct transfer *transfer, const struct segment *segment,
					__u64 now)
{
	__u64 rtt_ns = now - transfer->timed_ns;

	if (!transfer->timed_ns || !(segment->flags & TCP_ACK) ||
	    (__s32)(segment->ack - transfer->timed_end) < 0)
		return;
	transfer->timed_ns = 0;
	if (!transfer->rtt_ns || rtt_ns < transfer->rtt_ns)
		transfer->rtt_ns = rtt_ns;
}

static __always_inline struct round *present_round(struct transfer *transfer)
{
	__u32 i = transfer->rounds - 1;

	return &transfer->round[i < ROUNDS_MAX ? i : ROUNDS_MAX];
}

/* A segment leaves. Returns the round in which it does; 0 before the first data. */
static __always_inline struct round *note_leaving(struct transfer *transfer,
						  const struct segment *segment, __u64 now)
{
	note_begin(transfer, now);
	start_timing(transfer, segment, now);
	if (!transfer->rounds)
		return 0;
	if (segment->flags & TCP_ACK && !transfer->acked_ns)
		transfer->acked_ns = now;
	return present_round(transfer);
}

/* Whether data that arrives now can answer an ACK of the present round. An eighth of the RTT is for its
 * variation. `now` may be from before an ACK of another CPU. */
static __always_inline int answers_round(const struct transfer *transfer, __u64 now)
{
	__s64 passed_ns = now - transfer->acked_ns;

	return transfer->acked_ns && transfer->rtt_ns &&
	       passed_ns >= (__s64)(transfer->rtt_ns - transfer->rtt_ns / 8);
}

/* A packet of `segments` arrives, which extends the data received by `extent` bytes. */
static __always_inline void note_arriving(struct transfer *transfer, const struct segment *segment,
					  __u32 segments, __u32 extent, __u64 now)
{
	struct round *round;

	note_begin(transfer, now);
	stop_timing(transfer, segment, now);
	if (!segment->payload_bytes)
		return;
	if (!transfer->rounds || answers_round(transfer, now)) {
		transfer->rounds++;
		transfer->acked_ns = 0;
	}
	round = present_round(transfer);
	if (!round->packets)
		round->began_ns = now;
	round->packets += segments;
	round->bytes += segment->payload_bytes;
	if (extent) {
		transfer->bytes += extent;
		transfer->last_ns = now;
	}
}

#endif
