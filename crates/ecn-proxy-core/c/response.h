/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * Whether the sender slows down. A sender that retransmits the virtual loss has noticed it, but it need
 * not reduce its window for it: BBRv1 does not. Such a sender must not have ECT, because it would keep
 * the queue in which others make room at each mark.
 *
 * The measure is the sender's flight. `before` is what it had sent and not seen acknowledged when it
 * retransmitted. `after` is what it has sent in the round trip since: at the ACK of everything that it
 * had sent before the retransmission, that is the new flight.
 */
#ifndef WINDLASS_ECN_RESPONSE_H
#define WINDLASS_ECN_RESPONSE_H

#include "flow.h"

/* Smaller flights are not judged: one segment more or less would decide. */
#define ECN_RESPONSE_SEGMENTS_MIN 6
/* Evidence at which ECT ends. */
#define ECN_UNHEEDED_MAX 8

/* The sender has retransmitted the virtual loss or the drop, from `last_virtual_loss` to `recover`. */
ECN_INLINE void ecn_await_response(struct ecn_flow *flow)
{
	flow->response_due = 1;
}

/* Why new data get no ECT from now on. */
ECN_INLINE void ecn_withhold_ect(struct ecn_flow *flow, __u8 reason, struct ecn_edit *edit)
{
	flow->notes |= ECN_NOTE_CANNOT_SIGNAL;
	flow->reason = reason;
	edit->events |= ECN_EVENT_ECT_WITHDRAWN;
	edit->reason = reason;
}

ECN_INLINE void ecn_judge_response(struct ecn_flow *flow, struct ecn_edit *edit)
{
	__u32 before = flow->recover - flow->last_virtual_loss;
	__u32 after = flow->snd_max - flow->far_una;

	flow->response_due = 0;
	/* Data beyond a gap has been sent in more than one round trip. */
	if (flow->notes & ECN_NOTE_GAPS || before < ECN_RESPONSE_SEGMENTS_MIN * (__u32)flow->segment_bytes)
		return;
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
