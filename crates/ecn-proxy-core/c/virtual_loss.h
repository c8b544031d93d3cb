/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * A virtual loss makes the served host reduce its window. The proxy rewrites ACKs as if one segment
 * had not arrived, until the served host has retransmitted it and the far host has confirmed that. No
 * packet is lost.
 */
#ifndef WINDLASS_ECN_VIRTUAL_LOSS_H
#define WINDLASS_ECN_VIRTUAL_LOSS_H

#include "acks.h"
#include "response.h"

/* Real gaps keep a virtual loss open for at most this many ACKs. */
#define ECN_HELD_ACKS_MAX 16
/* In flights of at most this size ecn_sack_up_to() limits the SACK block. */
#define ECN_SMALL_FLIGHT_SEGMENTS 5
/*
 * In windows of at most this size the proxy may defer the SACK block. Each SACKed segment lets the
 * sender transmit one more before it reduces (RFC 3042), which is a large part of so small a window. In
 * a larger window that segment makes up for the retransmission, which the sender counts as in flight.
 */
#define ECN_DEFER_SEGMENTS 3
/* The same for a repeated virtual loss: other flows then use the capacity that this one leaves. */
#define ECN_DEFER_REPEATED_SEGMENTS 4
/*
 * A virtual loss is a repeated one if it starts at most this many segments above `recover`, the end
 * of the data sent when the sender last reduced.
 */
#define ECN_REPEATED_SEGMENTS 4
/*
 * In flights of at most this size the proxy acknowledges the retransmission itself. An absorbed
 * retransmission counts as in flight for the sender but is not in the network. A flight this small
 * would then leave the link idle.
 */
#define ECN_SELF_ANSWER_SEGMENTS 7

ECN_INLINE void ecn_add_block(struct ecn_edit *edit, __u32 start, __u32 end)
{
	const struct ecn_block block = { start, end };

	/* Constant offsets: the kernel's verifier tracks those better than blocks[block_count]. */
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

/* The flight from the virtual loss on, in segments of average size. */
ECN_INLINE int ecn_flight_is_at_most(const struct ecn_flow *flow, __u32 segments)
{
	return flow->snd_max - flow->virtual_loss <= segments * flow->average_segment_bytes;
}

/*
 * Whether a SACK of a segment sent at `tsval` makes RACK (RFC 8985 section 6.2 step 4) declare the
 * virtual loss lost immediately. The segment must have left more than the reordering window, a quarter
 * of the minimum RTT, after it.
 */
ECN_INLINE int ecn_exceeds_reordering_window(const struct ecn_flow *flow, __u32 tsval)
{
	__u32 later = tsval - flow->virtual_loss_tsval;

	/* RFC 8985 section 6.2 step 4: RACK.reo_wnd is RACK.min_RTT / 4. */
	return later < 0x80000000 && later > flow->min_rtt / 4;
}

/* Whether the sender reduced shortly before this virtual loss. */
ECN_INLINE int ecn_is_repeated(const struct ecn_flow *flow)
{
	return ecn_segments(flow, flow->virtual_loss - flow->recover) <= ECN_REPEATED_SEGMENTS;
}

/* Whether a later ACK will make the loss detectable immediately, so that the block can wait. */
ECN_INLINE int ecn_defers_block(const struct ecn_flow *flow, const struct ecn_packet *packet)
{
	int three = ecn_flight_is_at_most(flow, ECN_DUPLICATES);
	__u32 limit = ecn_is_repeated(flow) ? ECN_DEFER_REPEATED_SEGMENTS : ECN_DEFER_SEGMENTS;

	if (!(packet->options & ECN_OPT_TIMESTAMPS) || !flow->min_rtt ||
	    packet->ack == flow->snd_max || ecn_recent_flight(flow) > limit)
		return 0;
	/* Segments sent together are acknowledged together, and three of them suffice. */
	if (!ecn_exceeds_reordering_window(flow, flow->newest_tsval))
		return !three;
	/* The ACK of a segment sent later arrives later: only the smallest flights can wait. */
	return three || ecn_segments(flow, packet->ack - flow->virtual_loss_end) <= 1;
}

/*
 * The latest known time at which a segment that the ACK covers was sent. TSecr is the time of the
 * first one (RFC 7323 section 4.3). Only for an ACK of all data is the time of the last one known.
 */
ECN_INLINE __u32 ecn_last_covered_tsval(const struct ecn_flow *flow,
					const struct ecn_packet *packet)
{
	return packet->ack == flow->snd_max ? flow->newest_tsval : packet->tsecr;
}

/*
 * The end of the SACK block above the virtual loss. Each segment in the block lets the sender transmit
 * another one before it reduces. In small flights the block is therefore deferred until the sender can
 * detect the loss immediately. If no ACK will allow that, the block has one segment, and RACK's
 * reordering timer detects the loss some milliseconds later.
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

/* The block above the virtual loss comes first, then the far host's blocks, without a DSACK. */
ECN_INLINE void ecn_write_blocks(const struct ecn_flow *flow, const struct ecn_packet *packet,
				 const struct ecn_ack_summary *summary, struct ecn_edit *edit)
{
	/* RFC 2018 section 3: three blocks have room beside timestamps. */
	__u8 room = packet->options & ECN_OPT_TIMESTAMPS ? 3 : 4;
	int i;

	/* RFC 6675 section 5, RFC 8985 section 6.2: what lies above reveals the loss. */
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

/* The window that keeps the far host's right edge with the lower ACK number. */
ECN_INLINE __u16 ecn_same_edge(const struct ecn_flow *flow, const struct ecn_packet *packet)
{
	__u32 moved_back = packet->ack - flow->virtual_loss;
	/* RFC 7323 section 2.3: the field counts units of 2^shift bytes, in 16 bits. */
	__u64 bytes = ((__u64)packet->window << flow->window_scale) + moved_back;
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
	/* RFC 9293 section 3.1: the ACK number is the next one expected, that of the missing segment. */
	edit->actions |= ECN_DO_ACK | ECN_DO_WINDOW;
	edit->ack = flow->virtual_loss;
	/* RFC 9293 section 3.8.6: the right edge stays, although the ACK number is lower. */
	edit->window = ecn_same_edge(flow, packet);
	/* A full segment has no room for blocks. A pure ACK carries them when they have changed. */
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

/* A sender without SACK counts duplicate ACKs, which repeat the window of the last ACK. */
ECN_INLINE void ecn_hold_without_sack(struct ecn_flow *flow, const struct ecn_packet *packet,
				      const struct ecn_ack_summary *summary, struct ecn_edit *edit)
{
	__u8 duplicates = packet->payload_bytes == 0 ? 1 : 0;
	__u8 shown = flow->rewritten_acks + duplicates;

	/* RFC 5681 section 2: an ACK that changes the window is no duplicate. */
	if (summary->window_update) {
		edit->actions |= ECN_DO_DROP;
		return;
	}
	edit->actions |= ECN_DO_ACK | ECN_DO_WINDOW;
	edit->ack = flow->virtual_loss;
	edit->window = flow->shown_window;
	/* RFC 5681 section 3.2: the third duplicate is a loss. Delayed ACKs alone would be too few. */
	if (shown < ECN_DUPLICATES) {
		edit->actions |= ECN_DO_CLONES;
		edit->clones = ECN_DUPLICATES - shown;
	}
	ecn_count_rewritten(flow, duplicates + edit->clones);
}

/*
 * A TSecr from before the retransmission would undo the reduction (RFC 3522 section 3.2). The
 * retransmission's own TSval would be a sample of the RTT that nothing has made: what the ACK answers
 * left earlier, so the sample may be far below the path's RTT, and BBR's model and RACK's reordering
 * window rest on the least one. 0 is no echo: the sender takes no sample of it (Linux: tcp_ack_update_rtt)
 * and undoes nothing (tcp_tsopt_ecr_before).
 */
ECN_INLINE void ecn_hide_echo(struct ecn_flow *flow, const struct ecn_packet *packet,
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
	edit->tsecr = 0;
}

/* Rewrites an ACK as if the segment of the virtual loss were missing. */
ECN_INLINE void ecn_hold(struct ecn_flow *flow, const struct ecn_packet *packet,
			 const struct ecn_ack_summary *summary, struct ecn_edit *edit)
{
	if (flow->notes & ECN_NOTE_SACK && !ECN_WITHOUT(ECN_PART_BLOCKS))
		ecn_hold_with_sack(flow, packet, summary, edit);
	else
		ecn_hold_without_sack(flow, packet, summary, edit);
	/* This ACK may end the sender's recovery from the last virtual loss. */
	if (flow->answer == ECN_ANSWER_VIRTUAL_LOSS)
		ecn_hide_echo(flow, packet, edit);
}

/*
 * The first number at which a virtual loss may start. A sender in recovery reduces again only for a
 * loss above `recover`; without SACK it leaves recovery above it (RFC 6582 section 3.2). Data that the
 * sender may have declared lost is excluded too. If Linux reverts that decision, it ignores the segment
 * until a timeout. And RACK declares a retransmitted segment lost only after a later one has arrived.
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
	/* One whole segment, if the ACK covers one: the sender retransmits a segment. */
	__u32 length = flow->segment_bytes < acknowledged ? flow->segment_bytes : acknowledged;

	flow->answer = ECN_ANSWER_VIRTUAL_LOSS;
	flow->shown_una = virtual_loss;
	flow->virtual_loss = virtual_loss;
	flow->virtual_loss_end = virtual_loss + length;
	flow->sacked_to = flow->virtual_loss_end;
	/* RFC 7323 section 4.3: TSecr is the TSval of the first segment that the ACK covers. */
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
 * Whether the far host has confirmed the retransmission, or something sent after it. After an earlier
 * release the sender would consider its retransmission unnecessary (RFC 3522, RFC 3708) and undo the
 * reduction.
 */
ECN_INLINE int ecn_confirms(struct ecn_flow *flow, const struct ecn_packet *packet,
			    const struct ecn_ack_summary *summary)
{
	int sack = flow->notes & ECN_NOTE_SACK;

	if (ECN_WITHOUT(ECN_PART_CONFIRM))
		return 1;
	/*
	 * The ACK covers everything sent before the retransmission, or a block reports data sent after
	 * it. An ACK of exactly `recover` must suffice, because it may be the last one: the far host may
	 * have sent it for the retransmission with an earlier TSecr, or the proxy absorbed the
	 * retransmission. ecn_hide_echo() hides the earlier time.
	 */
	if (summary->covers_virtual_loss || summary->beyond_recover ||
	    ecn_at_most(flow->recover, packet->ack))
		return 1;
	/*
	 * A real gap keeps the ACK below `recover`. The echo shows that the retransmission has arrived,
	 * so after some more ACKs the sender must see the gap itself.
	 */
	if (!sack || !(flow->notes & ECN_NOTE_GAPS) || !ecn_echoes_floor(flow, packet))
		return 0;
	flow->held_acks++;
	return flow->held_acks >= ECN_HELD_ACKS_MAX;
}

/* Without SACK: moves the virtual loss to a real loss above it, so that the sender repairs that. */
ECN_INLINE void ecn_move_virtual_loss(struct ecn_flow *flow, const struct ecn_packet *packet)
{
	if (flow->notes & ECN_NOTE_SACK || flow->duplicates < ECN_DUPLICATES ||
	    !ecn_before(flow->virtual_loss, packet->ack))
		return;
	flow->virtual_loss = packet->ack;
	flow->virtual_loss_end = packet->ack;
}

/* An ACK of the far host during a virtual loss. Returns 1 if the virtual loss stays open. */
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
	/* An ACK from below the virtual loss shows nothing of it. */
	if (ecn_at_most(packet->ack, flow->virtual_loss))
		return 0;
	ecn_hold(flow, packet, summary, edit);
	return 1;
}

/* Acknowledges everything that the far host has, in its name. */
ECN_INLINE void ecn_answer_for_far(struct ecn_flow *flow, const struct ecn_packet *packet,
				   struct ecn_edit *edit)
{
	struct ecn_reply *reply = &edit->reply;

	edit->actions |= ECN_DO_DROP | ECN_DO_REPLY;
	edit->events |= ECN_EVENT_SELF_ANSWER;
	/* RFC 9293 section 3.10.7.4: the number that the served host expects is acceptable. */
	reply->seq = packet->ack;
	reply->ack = flow->far_una;
	reply->tsval = flow->far_tsval;
	/* As in ecn_hide_echo(): the retransmission's TSval would give the RTT to the proxy. */
	reply->tsecr = 0;
	reply->window = flow->far_window;
	reply->timestamps = packet->options & ECN_OPT_TIMESTAMPS ? 1 : 0;
	flow->shown_una = flow->far_una;
	flow->shown_window = flow->far_window;
	ecn_release(flow, edit);
}

/* The served host retransmits the virtual loss: it has reduced. Returns 1 to drop it. */
ECN_INLINE int ecn_virtual_loss_retransmitted(struct ecn_flow *flow,
					      const struct ecn_packet *packet,
					      struct ecn_edit *edit)
{
	int sack = flow->notes & ECN_NOTE_SACK && !ECN_WITHOUT(ECN_PART_REPLY);
	int small = ecn_flight_is_at_most(flow, ECN_SELF_ANSWER_SEGMENTS);

	if (flow->answer == ECN_ANSWER_VIRTUAL_LOSS) {
		flow->answer = ECN_ANSWER_RETRANSMITTED;
		ecn_compare_flights(flow, packet, edit);
		/* RFC 6675 section 5, RFC 6582 section 3.2: recovery ends at the highest number sent. */
		flow->recover = flow->snd_max;
		flow->ts_floor = packet->tsval;
		flow->notes |= ECN_NOTE_CWR | ECN_NOTE_STRIP;
		if (packet->options & ECN_OPT_TIMESTAMPS)
			flow->notes |= ECN_NOTE_TSECR_FLOOR;
		edit->events |= ECN_EVENT_ANSWERED_VIRTUAL_LOSS;
		ecn_await_response(flow, packet);
	}
	if (flow->retransmits < 0xff)
		flow->retransmits++;
	/* The far host lacks a part of it. */
	if (ecn_before(flow->far_una, ecn_end(packet)))
		return 0;
	/*
	 * The far host has the data already. Forwarding it would waste capacity, and a full queue would
	 * drop it, because it is Not-ECT. In a large flight the proxy must not answer before the ACKs of
	 * earlier data have arrived: if those take longer than the minimum RTT, as over Wi-Fi, RACK would
	 * declare all of that data lost. Without SACK, the ACK that ends the sender's recovery must come
	 * from the far host.
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

/* Removes a DSACK of the retransmission, which would undo the reduction. */
ECN_INLINE void ecn_strip_dsack(const struct ecn_flow *flow, const struct ecn_packet *packet,
				struct ecn_edit *edit)
{
	const struct ecn_block *first = &packet->blocks[0];
	int i;

	if (ECN_WITHOUT(ECN_PART_STRIP))
		return;
	/*
	 * RFC 2883 section 4: a block below the ACK number. RFC 3708 infers from it that the
	 * retransmission was needless.
	 */
	if (!(flow->notes & ECN_NOTE_STRIP) || packet->block_count < 1 || !ecn_is_block(first) ||
	    !ecn_at_most(first->end, packet->ack))
		return;
	if (ecn_before(first->start, flow->last_virtual_loss) ||
	    ecn_before(flow->recover, first->end))
		return;
	edit->actions |= ECN_DO_BLOCKS;
#pragma GCC unroll 4
	for (i = 1; i < ECN_BLOCKS_MAX; i++) {
		if (i < packet->block_count && ecn_is_block(&packet->blocks[i]))
			ecn_add_block(edit, packet->blocks[i].start, packet->blocks[i].end);
	}
}

/* Lets a packet of the far host pass with its own ACK number. */
ECN_INLINE void ecn_pass_ack(struct ecn_flow *flow, const struct ecn_packet *packet,
			     struct ecn_edit *edit)
{
	/* The window of a reordered ACK does not belong to shown_una. */
	if (ecn_at_most(flow->shown_una, packet->ack)) {
		if (ecn_before(flow->shown_una, packet->ack) &&
		    packet->options & ECN_OPT_TIMESTAMPS)
			flow->shown_tsecr = packet->tsecr;
		flow->shown_una = packet->ack;
		flow->shown_window = packet->window;
	}
	if (flow->answer == ECN_ANSWER_VIRTUAL_LOSS || flow->answer == ECN_ANSWER_RETRANSMITTED)
		return;
	ecn_strip_dsack(flow, packet, edit);
	ecn_hide_echo(flow, packet, edit);
}

#endif
