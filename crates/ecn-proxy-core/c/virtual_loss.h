/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * A virtual loss: the served host is shown ACKs as if one segment had not arrived, until it has
 * sent that segment again and the far host has shown that it got it. Nothing is lost.
 */
#ifndef WINDLASS_ECN_VIRTUAL_LOSS_H
#define WINDLASS_ECN_VIRTUAL_LOSS_H

#include "acks.h"

/* A virtual loss that gaps of the far host's own keep open goes after as many ACKs. */
#define ECN_HELD_ACKS_MAX 16
/* Flights in which what the sender is told of a virtual loss is chosen: see ecn_sack_up_to(). */
#define ECN_SMALL_FLIGHT_SEGMENTS 5
/*
 * Windows in which it is told nothing for a while. The segment more that it would send is a large part of so small
 * a window; of a larger one it makes up for the place that the retransmission takes in the sender's count.
 */
#define ECN_DEFER_SEGMENTS 3
/* The same for a sender that is told again and again: there are others then, who use what it leaves. */
#define ECN_DEFER_REPEATED_SEGMENTS 4
/* So far at most behind what was sent when the sender last answered, a virtual loss tells it again. */
#define ECN_REPEATED_SEGMENTS 4
/*
 * Flights in which the proxy answers for the far host. Where it keeps the retransmission back, the network
 * holds one segment less than the sender believes, and a link for so small a flight runs empty.
 */
#define ECN_SELF_ANSWER_SEGMENTS 7

ECN_INLINE void ecn_add_block(struct ecn_edit *edit, __u32 start, __u32 end)
{
	const struct ecn_block block = { start, end };

	/* Not blocks[block_count]: the kernel's verifier likes constant offsets on the stack. */
	if (edit->block_count == 0)
		edit->blocks[0] = block;
	else if (edit->block_count == 1)
		edit->blocks[1] = block;
	else if (edit->block_count == 2)
		edit->blocks[2] = block;
	else if (edit->block_count == 3)
		edit->blocks[3] = block;
	else
		return;
	edit->block_count++;
}

/* From the virtual loss on. Who writes little at a time has more in flight than bytes tell. */
ECN_INLINE int ecn_flight_is_at_most(const struct ecn_flow *flow, __u32 segments)
{
	return flow->snd_max - flow->virtual_loss <= segments * flow->average_segment_bytes;
}

/*
 * Whether RACK (RFC 8985 section 6.2 step 4) takes the virtual loss for lost at once when it is told of what left at
 * `tsval`: a quarter of the least round trip after the virtual loss.
 */
ECN_INLINE int ecn_exceeds_reordering_window(const struct ecn_flow *flow, __u32 tsval)
{
	__u32 later = tsval - flow->virtual_loss_tsval;

	return later < 0x80000000 && later > flow->min_rtt / 4;
}

/* Whether the sender answered the last mark a flight or two before the virtual loss. */
ECN_INLINE int ecn_is_repeated(const struct ecn_flow *flow)
{
	return ecn_segments(flow, flow->virtual_loss - flow->recover) <= ECN_REPEATED_SEGMENTS;
}

/* Whether an ACK is to come that tells of the virtual loss at once. */
ECN_INLINE int ecn_defers_block(const struct ecn_flow *flow, const struct ecn_packet *packet)
{
	int three = ecn_flight_is_at_most(flow, ECN_DUPLICATES);
	__u32 limit = ecn_is_repeated(flow) ? ECN_DEFER_REPEATED_SEGMENTS : ECN_DEFER_SEGMENTS;

	if (!(packet->options & ECN_OPT_TIMESTAMPS) || !flow->min_rtt ||
	    packet->ack == flow->snd_max || ecn_recent_flight(flow) > limit)
		return 0;
	/* Where all left together their ACKs come together, and three segments behind the virtual loss are enough. */
	if (!ecn_exceeds_reordering_window(flow, flow->newest_tsval))
		return !three;
	/* What left later is acknowledged as much later: for all but the smallest flight too long a silence. */
	return three || ecn_segments(flow, packet->ack - flow->virtual_loss_end) <= 1;
}

/*
 * When the last segment left that the ACK covers, as far as is known: the far host echoes when the first of
 * them did (RFC 7323 section 4.3).
 */
ECN_INLINE __u32 ecn_last_covered_tsval(const struct ecn_flow *flow, const struct ecn_packet *packet)
{
	return packet->ack == flow->snd_max ? flow->newest_tsval : packet->tsecr;
}

/*
 * How far the block behind the virtual loss goes. Each segment in it lets the sender send another one before it
 * reduces. In a small flight nothing is said until it would know of the loss at once, or, where no
 * ACK will let it, of one segment, which takes it some milliseconds.
 */
ECN_INLINE __u32 ecn_sack_up_to(const struct ecn_flow *flow, const struct ecn_packet *packet)
{
	__u32 one = flow->virtual_loss_end + flow->segment_bytes;

	if (flow->answer != ECN_ANSWER_VIRTUAL_LOSS || flow->notes & ECN_NOTE_GAPS ||
	    !ecn_flight_is_at_most(flow, ECN_SMALL_FLIGHT_SEGMENTS) ||
	    ecn_segments(flow, packet->ack - flow->virtual_loss_end) >= ECN_DUPLICATES)
		return packet->ack;
	if (packet->options & ECN_OPT_TIMESTAMPS && flow->min_rtt &&
	    ecn_exceeds_reordering_window(flow, ecn_last_covered_tsval(flow, packet)))
		return packet->ack;
	if (ecn_defers_block(flow, packet))
		return flow->sacked_to;
	return ecn_before(one, packet->ack) ? one : packet->ack;
}

/* What follows the virtual loss, then the far host's own blocks, without a DSACK. */
ECN_INLINE void ecn_write_blocks(const struct ecn_flow *flow, const struct ecn_packet *packet,
				 const struct ecn_ack_summary *summary, struct ecn_edit *edit)
{
	__u8 room = packet->options & ECN_OPT_TIMESTAMPS ? 3 : 4;
	int i;

	if (ecn_before(flow->virtual_loss_end, flow->sacked_to))
		ecn_add_block(edit, flow->virtual_loss_end, flow->sacked_to);
#pragma GCC unroll 4
	for (i = 0; i < ECN_BLOCKS_MAX; i++) {
		const struct ecn_block *block = &packet->blocks[i];

		if (i >= packet->block_count || (i == 0 && summary->duplicate_block))
			continue;
		if (edit->block_count < room && ecn_is_gap(flow, packet, block))
			ecn_add_block(edit, block->start, block->end);
	}
	if (edit->block_count || packet->options & ECN_OPT_SACK)
		edit->actions |= ECN_DO_BLOCKS;
}

/* The window that ends where the far host's does, though the ACK is a lower one. */
ECN_INLINE __u16 ecn_same_edge(const struct ecn_flow *flow, const struct ecn_packet *packet)
{
	__u64 bytes = ((__u64)packet->window << flow->window_scale) + (packet->ack - flow->virtual_loss);
	__u64 window = bytes >> flow->window_scale;

	return window < 0xffff ? window : 0xffff;
}

ECN_INLINE void ecn_count_rewritten(struct ecn_flow *flow, __u8 count)
{
	__u8 sum = flow->rewritten_acks + count;

	flow->rewritten_acks = sum < 0x7f ? sum : 0x7f;
}

ECN_INLINE void ecn_hold_with_sack(struct ecn_flow *flow, const struct ecn_packet *packet,
				   const struct ecn_ack_summary *summary, struct ecn_edit *edit)
{
	__u32 sacked_to = ecn_later(flow->sacked_to, ecn_sack_up_to(flow, packet));
	__u8 news = ecn_before(flow->sacked_to, sacked_to) || flow->notes & ECN_NOTE_GAPS;

	flow->sacked_to = sacked_to;
	edit->actions |= ECN_DO_ACK | ECN_DO_WINDOW;
	edit->ack = flow->virtual_loss;
	edit->window = ecn_same_edge(flow, packet);
	/* A full segment has no room for blocks: a pure ACK says them, when there is news. */
	if (packet->payload_bytes && news) {
		edit->actions |= ECN_DO_CLONES;
		edit->clones = 1;
	}
	if (packet->payload_bytes == 0 || news) {
		ecn_write_blocks(flow, packet, summary, edit);
		ecn_count_rewritten(flow, edit->block_count ? 1 : 0);
	} else if (packet->options & ECN_OPT_SACK) {
		edit->actions |= ECN_DO_BLOCKS;
	}
}

/* A sender without SACK counts duplicates, and a duplicate has the window of the ACK before. */
ECN_INLINE void ecn_hold_without_sack(struct ecn_flow *flow, const struct ecn_packet *packet,
				      const struct ecn_ack_summary *summary, struct ecn_edit *edit)
{
	__u8 duplicates = packet->payload_bytes == 0 ? 1 : 0;
	__u8 shown = flow->rewritten_acks + duplicates;

	if (summary->window_update) {
		edit->actions |= ECN_DO_DROP;
		return;
	}
	edit->actions |= ECN_DO_ACK | ECN_DO_WINDOW;
	edit->ack = flow->virtual_loss;
	edit->window = flow->shown_window;
	/* Behind delayed ACKs too few would come of themselves. */
	if (shown < ECN_DUPLICATES) {
		edit->actions |= ECN_DO_CLONES;
		edit->clones = ECN_DUPLICATES - shown;
	}
	ecn_count_rewritten(flow, duplicates + edit->clones);
}

/* The echo of a time before the retransmission would undo it too (RFC 3522 section 3.2). */
ECN_INLINE void ecn_raise_echo(struct ecn_flow *flow, const struct ecn_packet *packet,
			       struct ecn_edit *edit)
{
	if (ECN_WITHOUT(ECN_PART_TSECR_FLOOR) || !(flow->notes & ECN_NOTE_TSECR_FLOOR) ||
	    !(packet->options & ECN_OPT_TIMESTAMPS))
		return;
	if (ecn_at_most(flow->ts_floor, packet->tsecr)) {
		flow->notes &= (__u16)~ECN_NOTE_TSECR_FLOOR;
		return;
	}
	edit->actions |= ECN_DO_TSECR;
	edit->tsecr = flow->ts_floor;
}

/* Shows the served host the packet as if the virtual loss's segment were missing. */
ECN_INLINE void ecn_hold(struct ecn_flow *flow, const struct ecn_packet *packet,
			 const struct ecn_ack_summary *summary, struct ecn_edit *edit)
{
	if (flow->notes & ECN_NOTE_SACK && !ECN_WITHOUT(ECN_PART_BLOCKS))
		ecn_hold_with_sack(flow, packet, summary, edit);
	else
		ecn_hold_without_sack(flow, packet, summary, edit);
	/* Where this virtual loss begins the recovery of the last one may end. */
	if (flow->answer == ECN_ANSWER_VIRTUAL_LOSS)
		ecn_raise_echo(flow, packet, edit);
}

/*
 * Where a virtual loss may begin. A sender that repairs a loss reduces again for what lies above `recover`
 * alone. Without SACK it holds its state until that is passed (RFC 6582 section 3.2). What the sender may have
 * taken for lost already is no place either: where it takes that back, Linux looks at the segment no more
 * until a timeout, and one that was sent again just now is lost for RACK only once something later has arrived.
 */
ECN_INLINE __u32 ecn_next_virtual_loss(const struct ecn_flow *flow)
{
	if (!(flow->notes & ECN_NOTE_SACK))
		return flow->shown_una;
	return ecn_later(ecn_later(flow->shown_una, flow->recover), flow->maybe_lost_below);
}

ECN_INLINE void ecn_open_virtual_loss(struct ecn_flow *flow, const struct ecn_packet *packet,
			      struct ecn_edit *edit)
{
	__u32 virtual_loss = ecn_next_virtual_loss(flow);
	__u32 acknowledged = packet->ack - virtual_loss;
	__u32 length = flow->segment_bytes < acknowledged ? flow->segment_bytes : acknowledged;

	flow->answer = ECN_ANSWER_VIRTUAL_LOSS;
	flow->shown_una = virtual_loss;
	flow->virtual_loss = virtual_loss;
	flow->virtual_loss_end = virtual_loss + length;
	flow->last_virtual_loss = virtual_loss;
	flow->sacked_to = flow->virtual_loss_end;
	flow->virtual_loss_tsval = packet->tsecr;
	flow->rewritten_acks = 0;
	flow->retransmits = 0;
	flow->held_acks = 0;
	edit->events |= ECN_EVENT_VIRTUAL_LOSS;
}

ECN_INLINE void ecn_release(struct ecn_flow *flow, struct ecn_edit *edit)
{
	flow->answer = ECN_ANSWER_IDLE;
	edit->events |= ECN_EVENT_RELEASED;
}

ECN_INLINE int ecn_echoes_floor(const struct ecn_flow *flow, const struct ecn_packet *packet)
{
	return packet->options & ECN_OPT_TIMESTAMPS &&
	       ecn_at_most(flow->ts_floor, packet->tsecr);
}

/*
 * Whether the far host has shown that it got the retransmission, or something sent after it. An
 * earlier release would look to the sender as if it had sent the segment again for nothing (RFC
 * 3522, RFC 3708), and it would undo its reduction.
 */
ECN_INLINE int ecn_confirms(struct ecn_flow *flow, const struct ecn_packet *packet,
			    const struct ecn_ack_summary *summary)
{
	int sack = flow->notes & ECN_NOTE_SACK;

	if (ECN_WITHOUT(ECN_PART_CONFIRM))
		return 1;
	/*
	 * Above all that was sent before the retransmission, or a part of what was sent after it. The
	 * ACK of exactly what was sent before may be the last one: the far host may have sent it for the
	 * retransmission, with an earlier time, or the retransmission has not passed. What is shown has
	 * the retransmission's time.
	 */
	if (summary->covers_virtual_loss || summary->beyond_recover || ecn_at_most(flow->recover, packet->ack))
		return 1;
	if (!sack || !(flow->notes & ECN_NOTE_GAPS) || !ecn_echoes_floor(flow, packet))
		return 0;
	flow->held_acks++;
	return flow->held_acks >= ECN_HELD_ACKS_MAX;
}

/* Without SACK: a real loss above the virtual loss. The virtual loss moves there, and the loss is repaired. */
ECN_INLINE void ecn_move_virtual_loss(struct ecn_flow *flow, const struct ecn_packet *packet)
{
	if (flow->notes & ECN_NOTE_SACK || flow->duplicates < ECN_DUPLICATES ||
	    !ecn_before(flow->virtual_loss, packet->ack))
		return;
	flow->virtual_loss = packet->ack;
	flow->virtual_loss_end = packet->ack;
}

/* A packet of the far host while a virtual loss is open. Returns 1 if it is still held. */
ECN_INLINE int ecn_hold_or_release(struct ecn_flow *flow, const struct ecn_packet *packet,
				   const struct ecn_ack_summary *summary, struct ecn_edit *edit)
{
	if (ECN_WITHOUT(ECN_PART_HOLD) && flow->rewritten_acks >= ECN_DUPLICATES) {
		ecn_release(flow, edit);
		return 0;
	}
	if (flow->answer == ECN_ANSWER_RETRANSMITTED && ecn_confirms(flow, packet, summary)) {
		ecn_release(flow, edit);
		return 0;
	}
	ecn_move_virtual_loss(flow, packet);
	if (ecn_at_most(packet->ack, flow->virtual_loss))
		return 0;
	ecn_hold(flow, packet, summary, edit);
	return 1;
}

/* In the far host's name: "I have all of it". */
ECN_INLINE void ecn_answer_for_far(struct ecn_flow *flow, const struct ecn_packet *packet,
				   struct ecn_edit *edit)
{
	struct ecn_reply *reply = &edit->reply;

	edit->actions |= ECN_DO_DROP | ECN_DO_REPLY;
	edit->events |= ECN_EVENT_SELF_ANSWER;
	reply->seq = packet->ack;
	reply->ack = flow->far_una;
	reply->tsval = flow->far_tsval;
	/* No echo: one of the retransmission's time would be the RTT to the proxy, one of an earlier time
	 * would undo the reduction. */
	reply->tsecr = 0;
	reply->window = flow->far_window;
	reply->timestamps = packet->options & ECN_OPT_TIMESTAMPS ? 1 : 0;
	flow->shown_una = flow->far_una;
	flow->shown_window = flow->far_window;
	ecn_release(flow, edit);
}

/* The served host sends the virtual loss again: it has reduced. Returns 1 if the packet goes no further. */
ECN_INLINE int ecn_virtual_loss_retransmitted(struct ecn_flow *flow, const struct ecn_packet *packet,
				    struct ecn_edit *edit)
{
	int sack = flow->notes & ECN_NOTE_SACK && !ECN_WITHOUT(ECN_PART_REPLY);
	int small = ecn_flight_is_at_most(flow, ECN_SELF_ANSWER_SEGMENTS);

	if (flow->answer == ECN_ANSWER_VIRTUAL_LOSS) {
		flow->answer = ECN_ANSWER_RETRANSMITTED;
		flow->recover = flow->snd_max;
		flow->ts_floor = packet->tsval;
		flow->notes |= ECN_NOTE_CWR | ECN_NOTE_STRIP;
		if (packet->options & ECN_OPT_TIMESTAMPS)
			flow->notes |= ECN_NOTE_TSECR_FLOOR;
		edit->events |= ECN_EVENT_ANSWERED_VIRTUAL_LOSS;
	}
	if (flow->retransmits < 0xff)
		flow->retransmits++;
	if (ecn_before(flow->far_una, ecn_end(packet)))
		return 0;
	/*
	 * The far host has it, and its room in a full queue, where it would be dropped, being Not-ECT, is
	 * for something new. In a large flight no answer comes before that to what was sent earlier: where
	 * one takes longer than the least RTT, as over Wi-Fi, RACK takes all of that for lost. Without
	 * SACK the end of the sender's recovery must come from the far host.
	 */
	if (!(sack && small) && flow->far_una != flow->snd_max && flow->retransmits < 2) {
		if (!sack)
			return 0;
		edit->actions |= ECN_DO_DROP;
		edit->events |= ECN_EVENT_KEPT_BACK;
		return 1;
	}
	ecn_answer_for_far(flow, packet, edit);
	return 1;
}

/* A DSACK for the virtual loss's retransmission would undo the reduction. */
ECN_INLINE void ecn_strip_dsack(const struct ecn_flow *flow, const struct ecn_packet *packet,
				struct ecn_edit *edit)
{
	const struct ecn_block *first = &packet->blocks[0];
	int i;

	if (ECN_WITHOUT(ECN_PART_STRIP))
		return;
	if (!(flow->notes & ECN_NOTE_STRIP) || packet->block_count < 1 || !ecn_is_block(first) ||
	    !ecn_at_most(first->end, packet->ack))
		return;
	if (ecn_before(first->start, flow->last_virtual_loss) || ecn_before(flow->recover, first->end))
		return;
	edit->actions |= ECN_DO_BLOCKS;
#pragma GCC unroll 4
	for (i = 1; i < ECN_BLOCKS_MAX; i++) {
		if (i < packet->block_count && ecn_is_block(&packet->blocks[i]))
			ecn_add_block(edit, packet->blocks[i].start, packet->blocks[i].end);
	}
}

/* A packet of the far host passes with its own ACK. */
ECN_INLINE void ecn_pass_ack(struct ecn_flow *flow, const struct ecn_packet *packet,
			 struct ecn_edit *edit)
{
	/* The window of an ACK that was overtaken does not belong to `shown_una`. */
	if (ecn_at_most(flow->shown_una, packet->ack)) {
		if (ecn_before(flow->shown_una, packet->ack) && packet->options & ECN_OPT_TIMESTAMPS)
			flow->shown_tsecr = packet->tsecr;
		flow->shown_una = packet->ack;
		flow->shown_window = packet->window;
	}
	if (flow->answer == ECN_ANSWER_VIRTUAL_LOSS || flow->answer == ECN_ANSWER_RETRANSMITTED)
		return;
	ecn_strip_dsack(flow, packet, edit);
	ecn_raise_echo(flow, packet, edit);
}

#endif
