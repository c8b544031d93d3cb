/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * A virtual loss: the served host is shown ACKs as if one segment had not arrived, until it has
 * sent that segment again and the far host has shown that it got it. Nothing is lost.
 */
#ifndef WINDLASS_ECN_HOLE_H
#define WINDLASS_ECN_HOLE_H

#include "acks.h"

/* A hole that gaps of the far host's own keep open goes after as many ACKs. */
#define ECN_HELD_MAX 16
/* Flights in which what the sender is told of a hole is chosen: see ecn_told_of(). */
#define ECN_SPARING_SEGMENTS 5
/*
 * Windows in which it is told nothing for a while. The segment more that it would send is a large part of so small
 * a window; of a larger one it makes up for the place that the retransmission takes in the sender's count.
 */
#define ECN_SILENT_SEGMENTS 3
/* The same for a sender that is told again and again: there are others then, who use what it leaves. */
#define ECN_SILENT_AGAIN_SEGMENTS 4
/* So far at most behind what was sent when the sender last answered, a hole tells it again. */
#define ECN_AGAIN_SEGMENTS 4
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

/* From the hole on. Who writes little at a time has more in flight than bytes tell. */
ECN_INLINE int ecn_flight_is_at_most(const struct ecn_flow *flow, __u32 segments)
{
	return flow->snd_max - flow->hole <= segments * flow->usual_bytes;
}

/*
 * Whether RACK (RFC 8985 section 6.2 step 4) takes the hole for lost at once when it is told of what left at
 * `tsval`: a quarter of the least round trip after the hole.
 */
ECN_INLINE int ecn_left_late_enough(const struct ecn_flow *flow, __u32 tsval)
{
	__u32 later = tsval - flow->hole_tsval;

	return later < 0x80000000 && later > flow->rtt_least / 4;
}

/* Whether the sender answered the last mark a flight or two before the hole. */
ECN_INLINE int ecn_is_told_again(const struct ecn_flow *flow)
{
	return ecn_segments(flow, flow->hole - flow->recover) <= ECN_AGAIN_SEGMENTS;
}

/* Whether an ACK is to come that tells of the hole at once. */
ECN_INLINE int ecn_is_worth_waiting(const struct ecn_flow *flow, const struct ecn_packet *packet)
{
	int three = ecn_flight_is_at_most(flow, ECN_DUPLICATES);
	__u32 silent = ecn_is_told_again(flow) ? ECN_SILENT_AGAIN_SEGMENTS : ECN_SILENT_SEGMENTS;

	if (!(packet->options & ECN_OPT_TIMESTAMPS) || !flow->rtt_least ||
	    packet->ack == flow->snd_max || ecn_recent_flight(flow) > silent)
		return 0;
	/* Where all left together their ACKs come together, and three segments behind the hole are enough. */
	if (!ecn_left_late_enough(flow, flow->newest_tsval))
		return !three;
	/* What left later is acknowledged as much later: for all but the smallest flight too long a silence. */
	return three || ecn_segments(flow, packet->ack - flow->hole_end) <= 1;
}

/*
 * When the last segment left that the ACK covers, as far as is known: the far host echoes when the first of
 * them did (RFC 7323 section 4.3).
 */
ECN_INLINE __u32 ecn_covered_tsval(const struct ecn_flow *flow, const struct ecn_packet *packet)
{
	return packet->ack == flow->snd_max ? flow->newest_tsval : packet->tsecr;
}

/*
 * How far the block behind the hole goes. Each segment in it lets the sender send another one before it
 * reduces. In a small flight nothing is said until it would know of the loss at once, or, where no
 * ACK will let it, of one segment, which takes it some milliseconds.
 */
ECN_INLINE __u32 ecn_told_of(const struct ecn_flow *flow, const struct ecn_packet *packet)
{
	__u32 one = flow->hole_end + flow->segment_bytes;

	if (flow->answer != ECN_ANSWER_WAIT || flow->notes & ECN_NOTE_GAPS ||
	    !ecn_flight_is_at_most(flow, ECN_SPARING_SEGMENTS) ||
	    ecn_segments(flow, packet->ack - flow->hole_end) >= ECN_DUPLICATES)
		return packet->ack;
	if (packet->options & ECN_OPT_TIMESTAMPS && flow->rtt_least &&
	    ecn_left_late_enough(flow, ecn_covered_tsval(flow, packet)))
		return packet->ack;
	if (ecn_is_worth_waiting(flow, packet))
		return flow->told;
	return ecn_before(one, packet->ack) ? one : packet->ack;
}

/* What follows the hole, then the far host's own blocks, without a DSACK. */
ECN_INLINE void ecn_write_blocks(const struct ecn_flow *flow, const struct ecn_packet *packet,
				 const struct ecn_heard *heard, struct ecn_edit *edit)
{
	__u8 room = packet->options & ECN_OPT_TIMESTAMPS ? 3 : 4;
	int i;

	if (ecn_before(flow->hole_end, flow->told))
		ecn_add_block(edit, flow->hole_end, flow->told);
#pragma GCC unroll 4
	for (i = 0; i < ECN_BLOCKS_MAX; i++) {
		const struct ecn_block *block = &packet->blocks[i];

		if (i >= packet->block_count || (i == 0 && heard->duplicate_block))
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
	__u64 bytes = ((__u64)packet->window << flow->window_scale) + (packet->ack - flow->hole);
	__u64 window = bytes >> flow->window_scale;

	return window < 0xffff ? window : 0xffff;
}

ECN_INLINE void ecn_count_rewritten(struct ecn_flow *flow, __u8 count)
{
	__u8 sum = flow->rewritten + count;

	flow->rewritten = sum < 0x7f ? sum : 0x7f;
}

ECN_INLINE void ecn_hold_with_sack(struct ecn_flow *flow, const struct ecn_packet *packet,
				   const struct ecn_heard *heard, struct ecn_edit *edit)
{
	__u32 told = ecn_later(flow->told, ecn_told_of(flow, packet));
	__u8 news = ecn_before(flow->told, told) || flow->notes & ECN_NOTE_GAPS;

	flow->told = told;
	edit->actions |= ECN_DO_ACK | ECN_DO_WINDOW;
	edit->ack = flow->hole;
	edit->window = ecn_same_edge(flow, packet);
	/* A full segment has no room for blocks: a pure ACK says them, when there is news. */
	if (packet->payload_bytes && news) {
		edit->actions |= ECN_DO_CLONES;
		edit->clones = 1;
	}
	if (packet->payload_bytes == 0 || news) {
		ecn_write_blocks(flow, packet, heard, edit);
		ecn_count_rewritten(flow, edit->block_count ? 1 : 0);
	} else if (packet->options & ECN_OPT_SACK) {
		edit->actions |= ECN_DO_BLOCKS;
	}
}

/* A sender without SACK counts duplicates, and a duplicate has the window of the ACK before. */
ECN_INLINE void ecn_hold_without_sack(struct ecn_flow *flow, const struct ecn_packet *packet,
				      const struct ecn_heard *heard, struct ecn_edit *edit)
{
	__u8 duplicates = packet->payload_bytes == 0 ? 1 : 0;
	__u8 shown = flow->rewritten + duplicates;

	if (heard->window_update) {
		edit->actions |= ECN_DO_DROP;
		return;
	}
	edit->actions |= ECN_DO_ACK | ECN_DO_WINDOW;
	edit->ack = flow->hole;
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
	if (ECN_WITHOUT(ECN_PART_FLOOR) || !(flow->notes & ECN_NOTE_FLOOR) ||
	    !(packet->options & ECN_OPT_TIMESTAMPS))
		return;
	if (ecn_at_most(flow->ts_floor, packet->tsecr)) {
		flow->notes &= (__u16)~ECN_NOTE_FLOOR;
		return;
	}
	edit->actions |= ECN_DO_TSECR;
	edit->tsecr = flow->ts_floor;
}

/* Shows the served host the packet as if the hole's segment were missing. */
ECN_INLINE void ecn_hold(struct ecn_flow *flow, const struct ecn_packet *packet,
			 const struct ecn_heard *heard, struct ecn_edit *edit)
{
	if (flow->notes & ECN_NOTE_SACK && !ECN_WITHOUT(ECN_PART_BLOCKS))
		ecn_hold_with_sack(flow, packet, heard, edit);
	else
		ecn_hold_without_sack(flow, packet, heard, edit);
	/* Where this hole begins the recovery of the last one may end. */
	if (flow->answer == ECN_ANSWER_WAIT)
		ecn_raise_echo(flow, packet, edit);
}

/*
 * Where a hole may begin. A sender that repairs a loss reduces again for what lies above `recover`
 * alone. Without SACK it holds its state until that is passed (RFC 6582 section 3.2). What the sender may have
 * taken for lost already is no place either: where it takes that back, Linux looks at the segment no more
 * until a timeout, and one that was sent again just now is lost for RACK only once something later has arrived.
 */
ECN_INLINE __u32 ecn_hole_at(const struct ecn_flow *flow)
{
	if (!(flow->notes & ECN_NOTE_SACK))
		return flow->una;
	return ecn_later(ecn_later(flow->una, flow->recover), flow->doubted);
}

ECN_INLINE void ecn_open_hole(struct ecn_flow *flow, const struct ecn_packet *packet,
			      struct ecn_edit *edit)
{
	__u32 hole = ecn_hole_at(flow);
	__u32 acknowledged = packet->ack - hole;
	__u32 length = flow->segment_bytes < acknowledged ? flow->segment_bytes : acknowledged;

	flow->answer = ECN_ANSWER_WAIT;
	flow->una = hole;
	flow->hole = hole;
	flow->hole_end = hole + length;
	flow->last_hole = hole;
	flow->told = flow->hole_end;
	flow->hole_tsval = packet->tsecr;
	flow->rewritten = 0;
	flow->retransmits = 0;
	flow->held = 0;
	edit->events |= ECN_EVENT_HOLE;
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
			    const struct ecn_heard *heard)
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
	if (heard->covers_hole || heard->beyond_recover || ecn_at_most(flow->recover, packet->ack))
		return 1;
	if (!sack || !(flow->notes & ECN_NOTE_GAPS) || !ecn_echoes_floor(flow, packet))
		return 0;
	flow->held++;
	return flow->held >= ECN_HELD_MAX;
}

/* Without SACK: a real loss above the hole. The hole moves there, and the loss is repaired. */
ECN_INLINE void ecn_move_hole(struct ecn_flow *flow, const struct ecn_packet *packet)
{
	if (flow->notes & ECN_NOTE_SACK || flow->duplicates < ECN_DUPLICATES ||
	    !ecn_before(flow->hole, packet->ack))
		return;
	flow->hole = packet->ack;
	flow->hole_end = packet->ack;
}

/* A packet of the far host while a hole is open. Returns 1 if it is still held. */
ECN_INLINE int ecn_hold_or_release(struct ecn_flow *flow, const struct ecn_packet *packet,
				   const struct ecn_heard *heard, struct ecn_edit *edit)
{
	if (ECN_WITHOUT(ECN_PART_HOLD) && flow->rewritten >= ECN_DUPLICATES) {
		ecn_release(flow, edit);
		return 0;
	}
	if (flow->answer == ECN_ANSWER_REX && ecn_confirms(flow, packet, heard)) {
		ecn_release(flow, edit);
		return 0;
	}
	ecn_move_hole(flow, packet);
	if (ecn_at_most(packet->ack, flow->hole))
		return 0;
	ecn_hold(flow, packet, heard, edit);
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
	reply->ack = flow->rack;
	reply->tsval = flow->far_tsval;
	/* No echo: one of the retransmission's time would be the RTT to the proxy, one of an earlier time
	 * would undo the reduction. */
	reply->tsecr = 0;
	reply->window = flow->far_window;
	reply->timestamps = packet->options & ECN_OPT_TIMESTAMPS ? 1 : 0;
	flow->una = flow->rack;
	flow->shown_window = flow->far_window;
	ecn_release(flow, edit);
}

/* The served host sends the hole again: it has reduced. Returns 1 if the packet goes no further. */
ECN_INLINE int ecn_hole_comes_again(struct ecn_flow *flow, const struct ecn_packet *packet,
				    struct ecn_edit *edit)
{
	int sack = flow->notes & ECN_NOTE_SACK && !ECN_WITHOUT(ECN_PART_REPLY);
	int small = ecn_flight_is_at_most(flow, ECN_SELF_ANSWER_SEGMENTS);

	if (flow->answer == ECN_ANSWER_WAIT) {
		flow->answer = ECN_ANSWER_REX;
		flow->recover = flow->snd_max;
		flow->ts_floor = packet->tsval;
		flow->notes |= ECN_NOTE_CWR | ECN_NOTE_STRIP;
		if (packet->options & ECN_OPT_TIMESTAMPS)
			flow->notes |= ECN_NOTE_FLOOR;
		edit->events |= ECN_EVENT_ANSWERED_HOLE;
	}
	if (flow->retransmits < 0xff)
		flow->retransmits++;
	if (ecn_before(flow->rack, ecn_end(packet)))
		return 0;
	/*
	 * The far host has it, and its room in a full queue, where it would be dropped, being Not-ECT, is
	 * for something new. In a large flight no answer comes before that to what was sent earlier: where
	 * one takes longer than the least RTT, as over Wi-Fi, RACK takes all of that for lost. Without
	 * SACK the end of the sender's recovery must come from the far host.
	 */
	if (!(sack && small) && flow->rack != flow->snd_max && flow->retransmits < 2) {
		if (!sack)
			return 0;
		edit->actions |= ECN_DO_DROP;
		edit->events |= ECN_EVENT_KEPT_BACK;
		return 1;
	}
	ecn_answer_for_far(flow, packet, edit);
	return 1;
}

/* A DSACK for the hole's retransmission would undo the reduction. */
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
	if (ecn_before(first->start, flow->last_hole) || ecn_before(flow->recover, first->end))
		return;
	edit->actions |= ECN_DO_BLOCKS;
#pragma GCC unroll 4
	for (i = 1; i < ECN_BLOCKS_MAX; i++) {
		if (i < packet->block_count && ecn_is_block(&packet->blocks[i]))
			ecn_add_block(edit, packet->blocks[i].start, packet->blocks[i].end);
	}
}

/* A packet of the far host passes with its own ACK. */
ECN_INLINE void ecn_show(struct ecn_flow *flow, const struct ecn_packet *packet,
			 struct ecn_edit *edit)
{
	/* The window of an ACK that was overtaken does not belong to `una`. */
	if (ecn_at_most(flow->una, packet->ack)) {
		if (ecn_before(flow->una, packet->ack) && packet->options & ECN_OPT_TIMESTAMPS)
			flow->shown_tsecr = packet->tsecr;
		flow->una = packet->ack;
		flow->shown_window = packet->window;
	}
	if (flow->answer == ECN_ANSWER_WAIT || flow->answer == ECN_ANSWER_REX)
		return;
	ecn_strip_dsack(flow, packet, edit);
	ecn_raise_echo(flow, packet, edit);
}

#endif
