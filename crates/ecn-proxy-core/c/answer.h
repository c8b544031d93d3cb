/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * The answer to an ECE that the far host sends to the served sender. Each episode has one answer: a
 * virtual loss, a real loss, a dropped packet or, at the smallest window, CWR alone.
 */
#ifndef WINDLASS_ECN_ANSWER_H
#define WINDLASS_ECN_ANSWER_H

#include "virtual_loss.h"
#include "marks.h"

/* RFC 5681 section 3.1 never reduces below two segments, so an ECE changes nothing there. */
#define ECN_FLOOR_SEGMENTS 2
/* The round in which the ECE arrived, and two full ones. */
#define ECN_ROUNDS_MAX 3

/* The sender has reduced, or need not. CWR stops the echo of the far host. */
ECN_INLINE void ecn_end_episode(struct ecn_flow *flow, __u32 event, struct ecn_edit *edit)
{
	flow->answer = ECN_ANSWER_IDLE;
	/* RFC 3168 section 6.1.2: one reduction for each window of data. */
	flow->recover = flow->snd_max;
	flow->rounds_since = ECN_NOT_COMPARABLE;
	flow->notes |= ECN_NOTE_CWR;
	flow->notes &= (__u16)~ECN_NOTE_WITHDRAWN;
	edit->events |= event;
}

/* Ends the episode without an answer. */
ECN_INLINE void ecn_pass_over(struct ecn_flow *flow, __u8 reason, struct ecn_edit *edit)
{
	if (flow->answer == ECN_ANSWER_IDLE)
		return;
	if (flow->answer == ECN_ANSWER_VIRTUAL_LOSS || flow->answer == ECN_ANSWER_RETRANSMITTED)
		edit->events |= ECN_EVENT_RELEASED;
	/* The answer was counted when the sender retransmitted. */
	if (flow->answer == ECN_ANSWER_RETRANSMITTED) {
		flow->answer = ECN_ANSWER_IDLE;
		return;
	}
	ecn_end_episode(flow, ECN_EVENT_PASSED_OVER, edit);
	edit->reason = reason;
}

ECN_INLINE void ecn_begin_episode(struct ecn_flow *flow, const struct ecn_policy *policy,
				  struct ecn_edit *edit)
{
	__u8 reason = ecn_cannot_signal(flow, policy);

	edit->events |= ECN_EVENT_EPISODE;
	flow->answer = ECN_ANSWER_ARMED;
	flow->rounds = 0;
	if (reason)
		ecn_pass_over(flow, reason, edit);
	/* No new data follows the FIN: there is nothing left to slow down. */
	else if (flow->notes & ECN_NOTE_HOST_FIN)
		ecn_pass_over(flow, ECN_REASON_CLOSING, edit);
}

ECN_INLINE int ecn_may_open(const struct ecn_flow *flow, const struct ecn_packet *packet)
{
	__u32 least = flow->notes & ECN_NOTE_SACK ? 2 : 3;
	__u32 virtual_loss = ecn_next_virtual_loss(flow);

	/* RFC 6582 section 3.2: without SACK the sender reduces above `recover` only. */
	if (!(flow->notes & ECN_NOTE_SACK) && ecn_at_most(flow->shown_una, flow->recover))
		return 0;
	return ecn_before(virtual_loss, packet->ack) && !(flow->notes & ECN_NOTE_GAPS) &&
	       flow->duplicates == 0 && ecn_segments(flow, flow->snd_max - virtual_loss) >= least;
}

/* Chooses the answer at an ACK of the far host while an ECE is pending. */
ECN_INLINE void ecn_decide(struct ecn_flow *flow, const struct ecn_policy *policy,
			   const struct ecn_packet *packet, const struct ecn_ack_summary *summary,
			   struct ecn_edit *edit)
{
	/* RFC 6675 section 4, IsLost: more than two segments above a gap. */
	if (flow->duplicates >= ECN_DUPLICATES || ecn_segments(flow, summary->sacked_bytes) > 2) {
		ecn_end_episode(flow, ECN_EVENT_ANSWERED_LOSS, edit);
	} else if (ecn_recent_flight(flow) <= ECN_FLOOR_SEGMENTS) {
		/* RFC 5681 section 3.1: the sender's window is at its floor. */
		ecn_end_episode(flow, ECN_EVENT_ANSWERED_FLOOR, edit);
	} else if (policy->sender == ECN_SENDER_VIRTUAL_LOSS && ecn_may_open(flow, packet)) {
		flow->notes &= (__u16)~ECN_NOTE_WITHDRAWN;
		ecn_open_virtual_loss(flow, packet, edit);
	} else if (flow->rounds >= ECN_ROUNDS_MAX && !(flow->notes & ECN_NOTE_WITHDRAWN)) {
		/* No opportunity for several rounds: new data is Not-ECT until there is one. */
		flow->notes |= ECN_NOTE_WITHDRAWN;
		edit->events |= ECN_EVENT_ECT_WITHDRAWN;
		edit->reason = ECN_REASON_WAITS;
	}
}

/*
 * A retransmission of anything but the virtual loss. If an ECE is pending and the far host has reported
 * gaps, the sender is repairing a real loss, and that reduction is the answer.
 *
 * Everything that was sent before it counts as lost once it has arrived, or seems to (RFC 8985 section
 * 6.2 step 5): an ACK of the original may come so late that RACK takes it for one of the retransmission.
 */
ECN_INLINE void ecn_retransmission_seen(struct ecn_flow *flow, struct ecn_edit *edit)
{
	flow->maybe_lost_below = flow->snd_max;
	/* The repair of a real loss takes round trips in which the window may grow again. */
	flow->response_due = 0;
	flow->rounds_since = ECN_NOT_COMPARABLE;
	if (flow->answer == ECN_ANSWER_ARMED && flow->notes & ECN_NOTE_GAPS)
		ecn_end_episode(flow, ECN_EVENT_ANSWERED_LOSS, edit);
}

/* Policy drop, called for new data. Returns 1 if the proxy drops this packet. */
ECN_INLINE int ecn_drop_one(struct ecn_flow *flow, const struct ecn_policy *policy,
			    const struct ecn_packet *packet, struct ecn_edit *edit)
{
	/* The repair of a real gap will be the answer. A FIN has no data after it to reveal its loss. */
	if (policy->sender != ECN_SENDER_DROP || flow->answer != ECN_ANSWER_ARMED ||
	    packet->flags & ECN_FIN || flow->notes & ECN_NOTE_GAPS)
		return 0;
	flow->answer = ECN_ANSWER_DROPPED;
	flow->virtual_loss = packet->seq;
	flow->virtual_loss_end = ecn_end(packet);
	flow->notes &= (__u16)~ECN_NOTE_WITHDRAWN;
	edit->actions |= ECN_DO_DROP;
	return 1;
}

ECN_INLINE void ecn_drop_repaired(struct ecn_flow *flow, const struct ecn_packet *packet,
				  struct ecn_edit *edit)
{
	ecn_compare_flights(flow, packet, edit);
	ecn_end_episode(flow, ECN_EVENT_ANSWERED_DROP, edit);
	ecn_await_response(flow, packet);
}

/* At the served host's FIN: passes the episode over if too few ACKs remain to signal a loss. */
ECN_INLINE void ecn_answer_at_fin(struct ecn_flow *flow, struct ecn_edit *edit)
{
	__u8 enough = flow->notes & ECN_NOTE_SACK ? 2 : ECN_DUPLICATES;

	if (flow->answer == ECN_ANSWER_ARMED ||
	    (flow->answer == ECN_ANSWER_VIRTUAL_LOSS && flow->rewritten_acks < enough))
		ecn_pass_over(flow, ECN_REASON_CLOSING, edit);
}

#endif
