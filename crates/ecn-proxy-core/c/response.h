/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * Whether the sender slows down. A sender that retransmits the virtual loss has noticed it, but it need
 * not reduce its window for it: BBRv1 does not. Such a sender must not have ECT, because it would keep
 * the queue in which others make room at each mark.
 *
 * The measure is the sender's flight when it answers: what it had sent, from the virtual loss on, when
 * it retransmitted that. It is compared
 *
 * - with what it has sent in the round trip since, at the ACK of everything that it had sent before the
 *   retransmission. In small flights this favours the sender by some segments, and BBR sends no more in
 *   that round trip than is acknowledged.
 * - with its flight at the next answer. A sender that reduces as RFC 5681 or RFC 9438 requires has then
 *   not more than ecn_flight_allowed().
 */
#ifndef WINDLASS_ECN_RESPONSE_H
#define WINDLASS_ECN_RESPONSE_H

#include "flow.h"

/* Smaller flights are not judged: one segment more or less would decide. */
#define ECN_RESPONSE_SEGMENTS_MIN 6
/* Evidence at which ECT ends. */
#define ECN_UNHEEDED_MAX 8
/* The same of flights at two answers, in 32nds of a flight: eight times one that is kept whole. */
#define ECN_SURPLUS_MAX 64
/* Units of 17 ms, and 1.75 s in them. */
#define ECN_ANSWERED_SHIFT 24
#define ECN_REGROWN 104

/* Why new data get no ECT from now on. */
ECN_INLINE void ecn_withhold_ect(struct ecn_flow *flow, __u8 reason, struct ecn_edit *edit)
{
	flow->notes |= ECN_NOTE_CANNOT_SIGNAL;
	flow->reason = reason;
	edit->events |= ECN_EVENT_ECT_WITHDRAWN;
	edit->reason = reason;
}

/*
 * The sender has retransmitted the virtual loss or the drop; `recover` is the end of its data by then. A
 * virtual loss without an end was moved to a real loss: see ecn_move_virtual_loss().
 */
ECN_INLINE void ecn_await_response(struct ecn_flow *flow, const struct ecn_packet *packet)
{
	flow->last_virtual_loss = flow->virtual_loss;
	flow->response_due = flow->virtual_loss != flow->virtual_loss_end;
	flow->rounds_since = ECN_NOT_COMPARABLE;
	if (!flow->response_due || flow->notes & (ECN_NOTE_GAPS | ECN_NOTE_FAR_FIN))
		return;
	flow->rounds_since = 0;
	flow->answered_at = packet->now_ns >> ECN_ANSWERED_SHIFT;
}

/*
 * The largest flight at an answer of a sender that reduced at the one before, where it had `before`.
 * It leaves 0.7 (RFC 9438 section 4.6) or half (RFC 5681 section 3.1 and 3.2), and adds
 *
 * - at most 0.53 segments a round trip (RFC 9438 section 4.3), or one if it left half. As long as there
 *   were at most before / 2 round trips, half a segment for each covers both, from three quarters on.
 * - or, of C * (t - K)^3 + W_max (section 4.2), less than 0.3 W_max * 3 t / K in t seconds, with K at
 *   least 1.65 s for six segments and more: W_max / 1.75 a second.
 *
 * A segment is for what it sends between the ACK that opens the virtual loss and its retransmission.
 */
ECN_INLINE __u32 ecn_flight_allowed(const struct ecn_flow *flow, __u32 before, __u32 elapsed)
{
	__u32 by_rounds = flow->segment_bytes * (__u32)flow->rounds_since / 2;
	__u32 by_time = (__u64)before * elapsed / ECN_REGROWN;

	return before - before / 4 + flow->segment_bytes + (by_time > by_rounds ? by_time : by_rounds);
}

/*
 * The sender answers, and `flow` still has the flight of its last answer. An excess over the allowed
 * flight adds to the evidence, and a shortfall takes from it: single flights scatter. Larger flights
 * than before are not the sender's lack of response alone, so they count as little more than equal ones.
 */
ECN_INLINE void ecn_compare_flights(struct ecn_flow *flow, const struct ecn_packet *packet,
				    struct ecn_edit *edit)
{
	__u32 before = flow->recover - flow->last_virtual_loss;
	__u32 flight = flow->snd_max - flow->virtual_loss;
	__u32 elapsed = (packet->now_ns >> ECN_ANSWERED_SHIFT) - flow->answered_at;
	__u32 part = before / 32 + 1;
	__u32 allowed, change;

	if (flow->rounds_since == ECN_NOT_COMPARABLE || elapsed > ECN_REGROWN ||
	    flow->notes & (ECN_NOTE_GAPS | ECN_NOTE_FAR_FIN) ||
	    before < ECN_RESPONSE_SEGMENTS_MIN * (__u32)flow->segment_bytes ||
	    before < 2 * (__u32)flow->segment_bytes * flow->rounds_since)
		return;
	allowed = ecn_flight_allowed(flow, before, elapsed);
	if (flight > before + before / 4)
		flight = before + before / 4;
	if (flight <= allowed) {
		change = (allowed - flight) / part;
		flow->surplus -= flow->surplus < change ? flow->surplus : change;
		return;
	}
	change = flow->surplus + (flight - allowed) / part;
	flow->surplus = change < ECN_SURPLUS_MAX ? change : ECN_SURPLUS_MAX;
	if (flow->surplus == ECN_SURPLUS_MAX && !(flow->notes & ECN_NOTE_CANNOT_SIGNAL))
		ecn_withhold_ect(flow, ECN_REASON_NO_RESPONSE, edit);
}

ECN_INLINE void ecn_judge_response(struct ecn_flow *flow, struct ecn_edit *edit)
{
	__u32 before = flow->recover - flow->last_virtual_loss;
	__u32 after = flow->snd_max - flow->far_una;

	flow->response_due = 0;
	/* Data beyond a gap has been sent in more than one round trip. */
	if (flow->notes & ECN_NOTE_GAPS || before < ECN_RESPONSE_SEGMENTS_MIN * (__u32)flow->segment_bytes)
		return;
	/* 0.7 and 0.5 lie below 7/8 (RFC 9438 section 4.6, RFC 5681 section 3.1). */
	if (after <= before - before / 8) {
		flow->unheeded -= flow->unheeded < 2 ? flow->unheeded : 2;
		edit->events |= ECN_EVENT_FLIGHT_FELL;
		return;
	}
	edit->events |= ECN_EVENT_FLIGHT_KEPT;
	flow->unheeded++;
	if (flow->unheeded >= ECN_UNHEEDED_MAX && !(flow->notes & ECN_NOTE_CANNOT_SIGNAL))
		ecn_withhold_ect(flow, ECN_REASON_NO_RESPONSE, edit);
}

#endif
