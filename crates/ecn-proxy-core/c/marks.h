/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * The duties of an ECN host that the proxy takes over (RFC 3168 section 6.1): echo CE until CWR, set
 * ECT(0) on new data, confirm a reduction by CWR. The served host sees none of this.
 */
#ifndef WINDLASS_ECN_MARKS_H
#define WINDLASS_ECN_MARKS_H

#include "flow.h"

/*
 * An ECN host acknowledges CE and CWR immediately (Linux: tcp_data_ecn_check, tcp_ecn_accept_cwr),
 * because the sender's window may be so small that the sender waits for this ACK. The served host sees
 * neither CE nor CWR, so the proxy sets PSH (RFC 9293 section 3.9.1). PSH does not change the data.
 * Linux (6.6, and stable kernels since October 2023) then acknowledges once the application has read
 * everything.
 */
ECN_INLINE void ecn_ask_for_ack(const struct ecn_packet *packet, struct ecn_edit *edit)
{
	if (ECN_RARELY(packet->flags & ECN_CWR || packet->codepoint == ECN_CE) &&
	    packet->payload_bytes && !(packet->flags & ECN_SYN))
		ecn_set_flags(edit, ECN_PSH);
}

/* Removes ECN from a packet for the served host and records its signals. */
ECN_INLINE void ecn_strip_ecn(struct ecn_flow *flow, const struct ecn_packet *packet,
			      struct ecn_edit *edit)
{
	if (ECN_RARELY(packet->flags & (ECN_ECE | ECN_CWR)))
		ecn_clear_flags(edit, ECN_ECE | ECN_CWR);
	ecn_ask_for_ack(packet, edit);
	/* Section 6.1.3: CWR ends the echo; CE on the same packet starts a new one. */
	if (packet->flags & ECN_CWR)
		flow->notes &= (__u16)~ECN_NOTE_CE;
	if (packet->codepoint == ECN_NOT_ECT)
		return;
	edit->actions |= ECN_DO_CODEPOINT;
	edit->codepoint = ECN_NOT_ECT;
	if (!(packet->flags & ECN_SYN))
		flow->notes &= (__u16)~ECN_NOTE_UNSURE;
	if (ECN_RARELY(packet->codepoint == ECN_CE)) {
		flow->notes |= ECN_NOTE_CE;
		edit->events |= ECN_EVENT_CE;
	}
}

/* Sets the ECN flags for the far host in place of any that the served host has set. */
ECN_INLINE void ecn_echo(const struct ecn_flow *flow, const struct ecn_packet *packet,
			 struct ecn_edit *edit)
{
	if (ECN_RARELY(packet->flags & (ECN_ECE | ECN_CWR)))
		ecn_clear_flags(edit, ECN_ECE | ECN_CWR);
	/* Section 6.1.3: each ACK has ECE until CWR arrives. */
	if (ECN_RARELY(flow->notes & ECN_NOTE_CE) && packet->flags & ECN_ACK &&
	    !(packet->flags & ECN_RST)) {
		ecn_set_flags(edit, ECN_ECE);
		edit->events |= ECN_EVENT_ECHO;
	}
}

/* Why the proxy cannot signal a mark to the sender; ECN_REASON_NONE if it can. */
ECN_INLINE __u8 ecn_cannot_signal(const struct ecn_flow *flow, const struct ecn_policy *policy)
{
	if (policy->sender == ECN_SENDER_NO_ECT)
		return ECN_REASON_POLICY;
	/* A drop needs neither SACK nor known options, only a sender that slows down for it. */
	if (policy->sender == ECN_SENDER_DROP)
		return flow->reason == ECN_REASON_NO_RESPONSE ? flow->reason : ECN_REASON_NONE;
	if (flow->notes & ECN_NOTE_CANNOT_SIGNAL)
		return flow->reason;
	if (!(flow->notes & ECN_NOTE_SACK) && !policy->without_sack)
		return ECN_REASON_NO_SACK;
	return ECN_REASON_NONE;
}

/* New data of the served host gets ECT(0), and CWR once after a reduction (section 6.1.2). */
ECN_INLINE void ecn_mark_new_data(struct ecn_flow *flow, const struct ecn_policy *policy,
				  const struct ecn_packet *packet, struct ecn_edit *edit)
{
	if (ECN_RARELY(flow->notes & ECN_NOTE_CWR)) {
		flow->notes &= (__u16)~ECN_NOTE_CWR;
		ecn_set_flags(edit, ECN_CWR);
		edit->events |= ECN_EVENT_CWR;
	}
	/* Section 6.1.6: window probes are Not-ECT. */
	if (packet->codepoint != ECN_NOT_ECT || flow->far_window == 0)
		return;
	/* Where a mark cannot be signalled to the sender, its data stays Not-ECT. */
	if (flow->notes & (ECN_NOTE_UNSURE | ECN_NOTE_WITHDRAWN) || ecn_cannot_signal(flow, policy))
		return;
	edit->actions |= ECN_DO_CODEPOINT;
	edit->codepoint = ECN_ECT0;
	edit->events |= ECN_EVENT_ECT;
	if (flow->answer == ECN_ANSWER_ARMED || flow->answer == ECN_ANSWER_VIRTUAL_LOSS)
		edit->events |= ECN_EVENT_ECT_WAITING;
}

#endif
