/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* Reads the far host's ACKs: progress, reported gaps, flight size, RTT. */
#ifndef WINDLASS_ECN_ACKS_H
#define WINDLASS_ECN_ACKS_H

#include "flow.h"

/* Older numbers are moved up, because comparisons reach across half the number space only. */
#define ECN_RECENT (1U << 30)
/* RFC 5681 section 3.2: duplicate ACKs that indicate a loss. */
#define ECN_DUPLICATES 3

/* The content of one ACK. */
struct ecn_ack_summary {
	/* Bytes above `ack` that the SACK blocks report. */
	__u32 sacked_bytes;
	/* The ACK number is the highest so far. */
	__u8 advances;
	/* Only the window differs from the last ACK. */
	__u8 window_update;
	/* The first block is a DSACK (RFC 2883). */
	__u8 duplicate_block;
	/* That DSACK covers the start of the virtual loss. */
	__u8 covers_virtual_loss;
	/* A block reports data above `recover`. */
	__u8 beyond_recover;
};

ECN_INLINE __u32 ecn_segments(const struct ecn_flow *flow, __u32 bytes)
{
	__u32 segment_bytes = flow->segment_bytes;

	/* No segment so far, or the numbers are in the other order (RFC 9293 section 3.4). */
	if (!segment_bytes || bytes > 0x7fffffff)
		return 0;
	return (bytes + segment_bytes - 1) / segment_bytes;
}

/* Segments in flight as the served host counts them: snd_max - shown_una. */
ECN_INLINE __u32 ecn_flight(const struct ecn_flow *flow)
{
	return ecn_segments(flow, flow->snd_max - flow->shown_una);
}

/* The larger flight of this round and the previous one, in segments. */
ECN_INLINE __u16 ecn_recent_flight(const struct ecn_flow *flow)
{
	return flow->flight_max > flow->previous_flight_max ? flow->flight_max
							   : flow->previous_flight_max;
}

/* Called for new data, after snd_max has moved. */
ECN_INLINE void ecn_measure_flight(struct ecn_flow *flow)
{
	__u32 segments = ecn_segments(flow, flow->snd_max - flow->far_una);

	if (segments > 0xffff)
		segments = 0xffff;
	if (segments > flow->flight_max)
		flow->flight_max = segments;
}

/*
 * Called for new data: a moving average with a weight of 1/8 for the new segment. Rounded up, so that
 * it reaches the size of equal segments: below it, a flight of four of them is more than four.
 */
ECN_INLINE void ecn_measure_segments(struct ecn_flow *flow, __u32 bytes)
{
	__u32 average = flow->average_segment_bytes;

	flow->average_segment_bytes = average ? (7 * average + bytes + 7) / 8 : bytes;
}

/* Called for new data. A pause before sending makes a sample longer, never shorter. */
ECN_INLINE void ecn_measure_rtt(struct ecn_flow *flow, const struct ecn_packet *packet)
{
	__u32 rtt = packet->tsval - flow->shown_tsecr;

	if (!(packet->options & ECN_OPT_TIMESTAMPS))
		return;
	flow->newest_tsval = packet->tsval;
	if (!flow->shown_tsecr || rtt > 0x7fffffff)
		return;
	/* RFC 7323 section 4: the time now less TSecr. The TSval that leaves is the time now. */
	/* The least sample; 0 stands for none, so a sample of 0 counts as 1. */
	if (!flow->min_rtt || rtt < flow->min_rtt)
		flow->min_rtt = rtt ? rtt : 1;
}

ECN_INLINE void ecn_end_round(struct ecn_flow *flow)
{
	/* Without new data there is no round: each data packet of the far host repeats an ACK. */
	if (!flow->flight_max || ecn_before(flow->far_una, flow->round_end))
		return;
	flow->round_end = flow->snd_max;
	flow->previous_flight_max = flow->flight_max;
	flow->flight_max = 0;
	/* response.h compares flights by the round trips between two answers. */
	if (flow->rounds_since != ECN_NOT_COMPARABLE)
		flow->rounds_since++;
	if (flow->answer == ECN_ANSWER_ARMED && flow->rounds < 0xff)
		flow->rounds++;
}

ECN_INLINE int ecn_is_block(const struct ecn_block *block)
{
	return ecn_before(block->start, block->end);
}

/* RFC 2883 section 4: the first block is below the ACK, or within the second block. */
ECN_INLINE int ecn_is_dsack(const struct ecn_packet *packet)
{
	const struct ecn_block *first = &packet->blocks[0], *second = &packet->blocks[1];

	if (!ECN_RARELY(packet->block_count) || !ecn_is_block(first))
		return 0;
	/* Data below the ACK number, which the host has received twice. */
	if (ecn_at_most(first->end, packet->ack))
		return 1;
	/* A part of a block above the ACK number has arrived twice. */
	return packet->block_count > 1 && ecn_at_most(second->start, first->start) &&
	       ecn_at_most(first->end, second->end);
}

/* Whether a block reports data above a gap. Rejects numbers that were never sent. */
ECN_INLINE int ecn_is_gap(const struct ecn_flow *flow, const struct ecn_packet *packet,
			  const struct ecn_block *block)
{
	/* A block up to the number shown would contradict what the sender knows. */
	return ecn_is_block(block) && ecn_before(packet->ack, block->start) &&
	       ecn_before(flow->shown_una, block->start) &&
	       ecn_at_most(block->end, flow->snd_max);
}

ECN_INLINE void ecn_process_blocks(struct ecn_flow *flow, const struct ecn_packet *packet,
				   struct ecn_ack_summary *summary)
{
	const struct ecn_block *first = &packet->blocks[0];
	int i;

	summary->duplicate_block = ecn_is_dsack(packet);
	summary->covers_virtual_loss = summary->duplicate_block &&
				       ecn_at_most(first->start, flow->virtual_loss) &&
				       ecn_before(flow->virtual_loss, first->end);
	flow->notes &= (__u16)~ECN_NOTE_GAPS;
	/* RFC 2018 section 3: a block is contiguous data above a gap. A DSACK comes first (RFC 2883). */
#pragma GCC unroll 4
	for (i = 0; i < ECN_BLOCKS_MAX; i++) {
		const struct ecn_block *block = &packet->blocks[i];

		if (!ECN_RARELY(i < packet->block_count) || (i == 0 && summary->duplicate_block))
			continue;
		if (!ecn_is_gap(flow, packet, block))
			continue;
		summary->sacked_bytes += block->end - block->start;
		summary->beyond_recover |= ecn_before(flow->recover, block->end);
		flow->maybe_lost_below = ecn_later(flow->maybe_lost_below, block->end);
		flow->notes |= ECN_NOTE_GAPS;
	}
}

ECN_INLINE int ecn_is_old(const struct ecn_flow *flow, __u32 number)
{
	return flow->far_una - number > ECN_RECENT && ecn_before(number, flow->far_una);
}

/* After 2^31 bytes an old number would compare as a later one. */
ECN_INLINE void ecn_age_numbers(struct ecn_flow *flow)
{
	if (ecn_is_old(flow, flow->maybe_lost_below))
		flow->maybe_lost_below = flow->far_una - ECN_RECENT;
	if (!ecn_is_old(flow, flow->recover))
		return;
	flow->recover = flow->far_una - ECN_RECENT;
	flow->rounds_since = ECN_NOT_COMPARABLE;
	flow->notes &= (__u16)~ECN_NOTE_STRIP;
}

/* Processes an ACK of data that has passed the proxy: see ecn_proxy_to_host(). */
ECN_INLINE void ecn_process_ack(struct ecn_flow *flow, const struct ecn_packet *packet,
				struct ecn_ack_summary *summary)
{
	int same = packet->ack == flow->far_una && packet->payload_bytes == 0 &&
		   !(packet->flags & ECN_FIN);

	summary->advances = ecn_before(flow->far_una, packet->ack);
	summary->window_update = same && packet->window != flow->far_window;
	/* RFC 5681 section 2: the definition of a duplicate ACK. */
	if (summary->advances)
		flow->duplicates = 0;
	else if (same && !summary->window_update && flow->snd_max != flow->far_una &&
		 flow->duplicates < ECN_DUPLICATES)
		flow->duplicates++;
	ecn_process_blocks(flow, packet, summary);
	/* With SACK a duplicate ACK without a gap answers an unnecessary retransmission. */
	if (flow->notes & ECN_NOTE_SACK && !(flow->notes & ECN_NOTE_GAPS))
		flow->duplicates = 0;
	/* A reordered ACK: far_una plus its window would exceed the advertised right edge. */
	if (ecn_before(packet->ack, flow->far_una))
		return;
	/* RFC 9293 section 3.10.7.4: the window is that of the latest ACK. */
	flow->far_window = packet->window;
	flow->far_tsval = packet->tsval;
	if (!summary->advances)
		return;
	flow->far_una = packet->ack;
	ecn_end_round(flow);
	ecn_age_numbers(flow);
}

#endif
