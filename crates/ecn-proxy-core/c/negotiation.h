/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * The handshake decides which connections the proxy serves (RFC 3168 section 6.1.1; RFC 9768 section
 * 3.1 for the AE bit).
 */
#ifndef WINDLASS_ECN_NEGOTIATION_H
#define WINDLASS_ECN_NEGOTIATION_H

#include "flow.h"

/* The bits AE, CWR and ECE of a SYN or SYN-ACK, as one number. */
enum ecn_triple {
	ECN_TRIPLE_NONE = 0,
	/* A SYN-ACK of RFC 3168. */
	ECN_TRIPLE_CLASSIC_ANSWER = 1,
	/* A SYN of RFC 3168. */
	ECN_TRIPLE_CLASSIC = 3,
	/* A SYN of RFC 9768, whose sender accepts an answer of RFC 3168 too. */
	ECN_TRIPLE_ACCECN = 7,
};

ECN_INLINE __u8 ecn_triple(const struct ecn_packet *packet)
{
	/* RFC 9768 section 3.1.1: the three bits negotiate together, AE first. */
	return (packet->ae ? 4 : 0) | (packet->flags & ECN_CWR ? 2 : 0) |
	       (packet->flags & ECN_ECE ? 1 : 0);
}

ECN_INLINE void ecn_clear_triple(const struct ecn_packet *packet, struct ecn_edit *edit)
{
	if (!ecn_triple(packet))
		return;
	ecn_clear_flags(edit, ECN_ECE | ECN_CWR);
	edit->clear_ae = packet->ae != 0;
}

/* The reason why options of a SYN or SYN-ACK exclude the connection, or ECN_REASON_NONE. */
ECN_INLINE __u8 ecn_excluding_option(const struct ecn_packet *packet)
{
	if (packet->options & ECN_OPT_BROKEN)
		return ECN_REASON_BROKEN_OPTIONS;
	if (packet->options & ECN_OPT_MD5)
		return ECN_REASON_MD5;
	if (packet->options & ECN_OPT_AO)
		return ECN_REASON_AO;
	if (packet->options & ECN_OPT_MPTCP)
		return ECN_REASON_MPTCP;
	return ECN_REASON_NONE;
}

ECN_INLINE void ecn_forget(struct ecn_flow *flow)
{
	const struct ecn_flow unknown = {};

	*flow = unknown;
}

ECN_INLINE __u16 ecn_offered(const struct ecn_packet *syn)
{
	return (syn->options & ECN_OPT_SACK_PERMITTED ? ECN_NOTE_SACK : 0) |
	       (syn->options & ECN_OPT_TIMESTAMPS ? ECN_NOTE_TIMESTAMPS : 0) |
	       (syn->options & ECN_OPT_WINDOW_SCALE ? ECN_NOTE_SCALING : 0);
}

ECN_INLINE void ecn_agree(struct ecn_flow *flow, const struct ecn_packet *syn_ack)
{
	const __u16 options = ECN_NOTE_SACK | ECN_NOTE_TIMESTAMPS | ECN_NOTE_SCALING;

	/* RFC 7323 sections 2.2 and 3.2: an option is agreed if both SYNs carry it. */
	flow->notes &= ecn_offered(syn_ack) | (__u16)~options;
}

ECN_INLINE void ecn_keep_scale(struct ecn_flow *flow, const struct ecn_packet *packet)
{
	/* RFC 7323 section 2.3: a shift above 14 counts as 14. */
	flow->window_scale = packet->window_scale < 14 ? packet->window_scale : 14;
}

/* Starts to serve the connection. `isn` is the served host's ISN, `far_isn` the far host's. */
ECN_INLINE void ecn_take_on(struct ecn_flow *flow, const struct ecn_packet *syn_ack, __u32 isn,
			    __u32 far_isn, struct ecn_edit *edit)
{
	ecn_agree(flow, syn_ack);
	/* RFC 7323 section 2.2: unless both SYNs carry the option, no window is scaled. */
	if (!(flow->notes & ECN_NOTE_SCALING))
		flow->window_scale = 0;
	flow->phase = ECN_PHASE_PROXIED;
	flow->notes |= ECN_NOTE_SERVED;
	/* Nothing is in flight: the next ECE begins an episode, and any ACK of data ends the round. */
	flow->recover = isn;
	flow->maybe_lost_below = isn;
	flow->shown_una = isn;
	flow->far_una = isn;
	flow->round_end = isn;
	flow->rounds_since = ECN_NOT_COMPARABLE;
	/* RFC 9293 section 3.4: the SYN occupies one number. */
	flow->host_ack = far_isn + 1;
	edit->events |= ECN_EVENT_PROXIED;
}

ECN_INLINE void ecn_start(struct ecn_flow *flow, const struct ecn_packet *syn, __u8 phase)
{
	ecn_forget(flow);
	flow->phase = phase;
	flow->isn = syn->seq;
	flow->syn_triple = ecn_triple(syn);
	flow->notes = ecn_offered(syn);
}

/* Makes the served host's SYN request ECN. */
ECN_INLINE void ecn_upgrade(struct ecn_flow *flow, struct ecn_edit *edit)
{
	flow->syn_triple = ECN_TRIPLE_CLASSIC;
	flow->notes |= ECN_NOTE_UPGRADED;
	/* RFC 3168 section 6.1.1: an ECN-setup SYN has both ECE and CWR. */
	ecn_set_flags(edit, ECN_ECE | ECN_CWR);
	edit->events |= ECN_EVENT_UPGRADED;
}

/* The first SYN of a connection that the served host opens. */
ECN_INLINE int ecn_host_opens(struct ecn_flow *flow, const struct ecn_packet *syn,
			      __u8 destination_fails, struct ecn_edit *edit)
{
	__u8 triple = ecn_triple(syn);

	ecn_start(flow, syn, ECN_PHASE_HOST_OPENS);
	flow->snd_max = ecn_end(syn) + 1;
	/* The host uses ECN itself: the proxy only counts the handshake. */
	if (triple == ECN_TRIPLE_CLASSIC || triple == ECN_TRIPLE_ACCECN)
		return 1;
	/* Linux answers a SYN with an ECN codepoint without ECE, because the path is broken. */
	if (triple != ECN_TRIPLE_NONE || syn->codepoint != ECN_NOT_ECT) {
		ecn_bypass(flow, ECN_REASON_STRANGE_HANDSHAKE, edit);
		return 0;
	}
	/* RFC 3168 section 6.1.1.1: a SYN to a host that answers none with ECN goes without. */
	if (destination_fails) {
		ecn_bypass(flow, ECN_REASON_FALLBACK, edit);
		/* The answer to this plain SYN shows whether ECN caused the earlier failures. */
		flow->phase = ECN_PHASE_HOST_OPENS;
		flow->notes |= ECN_NOTE_PLAIN_SYN;
		return 1;
	}
	ecn_upgrade(flow, edit);
	return 1;
}

/* The first SYN of a connection that the far host opens; it passes unchanged. */
ECN_INLINE int ecn_far_opens(struct ecn_flow *flow, const struct ecn_packet *syn,
			     struct ecn_edit *edit)
{
	__u8 triple = ecn_triple(syn);

	ecn_start(flow, syn, ECN_PHASE_FAR_OPENS);
	ecn_keep_scale(flow, syn);
	/* RFC 3168 section 6.1.1, RFC 9768 section 3.1: the far host requests ECN. */
	if (triple == ECN_TRIPLE_CLASSIC || triple == ECN_TRIPLE_ACCECN)
		return 1;
	/* RFC 3168 section 6.1.1: without an ECN-setup SYN there must be no ECN-setup SYN-ACK. */
	if (triple == ECN_TRIPLE_NONE) {
		edit->events |= ECN_EVENT_NEITHER;
		ecn_bypass(flow, ECN_REASON_FAR_WITHOUT_ECN, edit);
		return 0;
	}
	ecn_bypass(flow, ECN_REASON_STRANGE_HANDSHAKE, edit);
	return 0;
}

/*
 * A retransmitted SYN. The served host's passes without ECN (RFC 3168 section 6.1.1.1), because a
 * device may have dropped the first one for its ECN flags.
 */
ECN_INLINE void ecn_opens_again(struct ecn_flow *flow, const struct ecn_policy *policy,
				const struct ecn_packet *syn, __u8 from_host, struct ecn_edit *edit)
{
	int upgraded = from_host && flow->notes & ECN_NOTE_UPGRADED;

	/* The host itself still asks for ECN. */
	if (ecn_triple(syn) != ECN_TRIPLE_NONE)
		return;
	/* A second plain SYN: the first was lost too, so ECN need not be the cause. */
	if (flow->notes & ECN_NOTE_PLAIN_SYN) {
		flow->plain_syns = 2;
		return;
	}
	/* The setting fallback = false, as net.ipv4.tcp_ecn_fallback = 0 of Linux. */
	if (upgraded && policy->keeps_asking && !policy->off) {
		ecn_set_flags(edit, ECN_ECE | ECN_CWR);
		return;
	}
	flow->notes |= ECN_NOTE_PLAIN_SYN;
	flow->plain_syns = 1;
	if (upgraded)
		edit->events |= ECN_EVENT_FALLBACK;
}

ECN_INLINE int ecn_is_opening(const struct ecn_flow *flow, __u8 from_host)
{
	return flow->phase == (from_host ? ECN_PHASE_HOST_OPENS : ECN_PHASE_FAR_OPENS);
}

/*
 * Whether a SYN is a late copy of one whose answer has passed already, on a connection that is not served.
 * It must not negotiate anew. If the served host asked for ECN itself, its copies fall back as it likes (RFC
 * 3168 section 6.1.1.1, RFC 9768 section 3.1.4.1), and the far host keeps to its first answer.
 */
ECN_INLINE int ecn_is_late_copy(const struct ecn_flow *flow, const struct ecn_packet *syn,
				__u8 from_host)
{
	if (flow->phase != ECN_PHASE_BYPASS)
		return 0;
	if (flow->reason == ECN_REASON_HOST_HAS_ECN)
		return from_host && syn->seq == flow->isn;
	return flow->notes & ECN_NOTE_UPGRADED &&
	       (from_host ? syn->seq == flow->isn : syn->seq + 1 == flow->host_ack);
}

/* Whether a packet acknowledges the SYN and any data in it (RFC 7413). */
ECN_INLINE int ecn_answers_syn(const struct ecn_flow *flow, const struct ecn_packet *packet)
{
	return packet->flags & ECN_ACK && packet->ack - flow->isn - 1 < 0xffff;
}

/* The far host's SYN-ACK for a served host that requested ECN itself. */
ECN_INLINE void ecn_count_answer(struct ecn_flow *flow, __u8 triple, struct ecn_edit *edit)
{
	edit->events |= triple == ECN_TRIPLE_NONE ? ECN_EVENT_CLIENT_ONLY : ECN_EVENT_BOTH;
	ecn_bypass(flow, ECN_REASON_HOST_HAS_ECN, edit);
}

/* The far host's SYN-ACK. */
ECN_INLINE void ecn_far_answers(struct ecn_flow *flow, const struct ecn_packet *syn_ack,
				struct ecn_edit *edit)
{
	__u8 triple = ecn_triple(syn_ack);
	__u8 excluded = ecn_excluding_option(syn_ack);

	/* The host's SYN went without ECN: its answer is about the fallback only. */
	if (flow->syn_triple == ECN_TRIPLE_NONE) {
		flow->phase = ECN_PHASE_BYPASS;
		edit->events |= ECN_EVENT_PLAIN_ACCEPTED;
		return;
	}
	if (excluded) {
		ecn_bypass(flow, excluded, edit);
		/* No edit: a signature may cover the header, or the options are unclear. */
		return;
	}
	/* The host has requested ECN itself: count its answer. */
	if (!(flow->notes & ECN_NOTE_UPGRADED)) {
		ecn_count_answer(flow, triple, edit);
		return;
	}
	ecn_clear_triple(syn_ack, edit);
	/*
	 * This also holds after a plain SYN: a SYN-ACK with ECE shows that the first SYN arrived. Only
	 * the proxy can then echo CE to the far host.
	 */
	if (triple == ECN_TRIPLE_CLASSIC_ANSWER) {
		/* RFC 3168 section 6.1.1: an ECN-setup SYN-ACK has ECE alone. */
		edit->events |= ECN_EVENT_SERVER_ONLY;
		ecn_keep_scale(flow, syn_ack);
		ecn_take_on(flow, syn_ack, flow->isn, syn_ack->seq, edit);
		/* The far host may acknowledge data of the SYN too (RFC 7413). */
		flow->shown_una = syn_ack->ack;
		flow->far_una = syn_ack->ack;
		/* RFC 7323 section 2.2: the window of a SYN is not scaled. */
		flow->far_window = syn_ack->window >> flow->window_scale;
		flow->shown_window = flow->far_window;
		flow->far_tsval = syn_ack->tsval;
	} else if (triple == ECN_TRIPLE_NONE) {
		edit->events |= ECN_EVENT_NEITHER;
		/* A path that loses plain SYNs too, as in an outage, shows nothing about ECN. */
		if (flow->plain_syns == 1)
			edit->events |= ECN_EVENT_DESTINATION_FAILED;
		ecn_bypass(flow, ECN_REASON_FAR_WITHOUT_ECN, edit);
	} else {
		ecn_bypass(flow, ECN_REASON_STRANGE_HANDSHAKE, edit);
	}
}

/* The served host's SYN-ACK. */
ECN_INLINE void ecn_host_answers(struct ecn_flow *flow, const struct ecn_policy *policy,
				 const struct ecn_packet *syn_ack, struct ecn_edit *edit)
{
	__u8 triple = ecn_triple(syn_ack);
	__u8 excluded = ecn_excluding_option(syn_ack);

	if (excluded) {
		ecn_bypass(flow, excluded, edit);
	} else if (triple == 5 || triple == 7) {
		/* Of RFC 3540, or the SYN's bits reflected: RFC 9768 section 3.1 defines no other use. */
		ecn_bypass(flow, ECN_REASON_STRANGE_HANDSHAKE, edit);
	} else if (triple != ECN_TRIPLE_NONE) {
		/* The host has ECN of its own: nothing to do for it. */
		edit->events |= ECN_EVENT_BOTH;
		ecn_bypass(flow, ECN_REASON_HOST_HAS_ECN, edit);
	} else if (policy->off) {
		ecn_bypass(flow, ECN_REASON_OFF, edit);
	} else if (flow->notes & ECN_NOTE_PLAIN_SYN) {
		/* The far host has fallen back to a SYN without ECN. */
		ecn_bypass(flow, ECN_REASON_FALLBACK, edit);
	} else {
		edit->events |= ECN_EVENT_CLIENT_ONLY;
		/* RFC 3168 section 6.1.1: an ECN-setup SYN-ACK has ECE alone. */
		ecn_set_flags(edit, ECN_ECE);
		flow->snd_max = ecn_end(syn_ack) + 1;
		ecn_take_on(flow, syn_ack, syn_ack->seq, flow->isn, edit);
	}
}

/*
 * Simultaneous open (RFC 9293 section 3.5, figure 7): each SYN answers the other. Both SYNs request
 * ECN: the far host's own, and the served host's as the proxy forwards it.
 */
ECN_INLINE void ecn_open_simultaneously(struct ecn_flow *flow, const struct ecn_packet *syn,
					__u32 isn, __u32 far_isn, struct ecn_edit *edit)
{
	edit->events |= ECN_EVENT_SERVER_ONLY;
	ecn_take_on(flow, syn, isn, far_isn, edit);
	flow->simultaneous = ECN_SIMULTANEOUS_REQUESTED;
}

/* Whether a SYN crosses one of the other host whose handshake the proxy follows. */
ECN_INLINE int ecn_is_simultaneous_open(const struct ecn_flow *flow, __u8 from_host)
{
	if (from_host)
		return flow->phase == ECN_PHASE_FAR_OPENS && !(flow->notes & ECN_NOTE_PLAIN_SYN);
	return flow->phase == ECN_PHASE_HOST_OPENS && flow->notes & ECN_NOTE_UPGRADED;
}

/* Whether the far host's SYN crosses one with which the served host asks for ECN itself. */
ECN_INLINE int ecn_crosses_request(const struct ecn_flow *flow, __u8 from_host)
{
	return !from_host && flow->phase == ECN_PHASE_HOST_OPENS &&
	       !(flow->notes & ECN_NOTE_UPGRADED) && flow->syn_triple != ECN_TRIPLE_NONE;
}

/* The far host's SYN after the upgraded SYN of the served host. */
ECN_INLINE void ecn_far_opens_too(struct ecn_flow *flow, const struct ecn_packet *syn,
				  struct ecn_edit *edit)
{
	__u8 triple = ecn_triple(syn);
	__u8 excluded = ecn_excluding_option(syn);

	if (excluded) {
		ecn_bypass(flow, excluded, edit);
		return;
	}
	flow->host_ack = syn->seq + 1;
	ecn_clear_triple(syn, edit);
	if (triple == ECN_TRIPLE_CLASSIC || triple == ECN_TRIPLE_ACCECN) {
		ecn_keep_scale(flow, syn);
		ecn_open_simultaneously(flow, syn, flow->isn, syn->seq, edit);
		/* The far host may receive only the plain one of the served host's two SYNs. */
		if (flow->notes & ECN_NOTE_PLAIN_SYN)
			flow->notes |= ECN_NOTE_UNSURE;
	} else if (triple == ECN_TRIPLE_NONE) {
		edit->events |= ECN_EVENT_NEITHER;
		ecn_bypass(flow, ECN_REASON_FAR_WITHOUT_ECN, edit);
	} else {
		ecn_bypass(flow, ECN_REASON_STRANGE_HANDSHAKE, edit);
	}
}

/* The served host's SYN after the far host's SYN with an ECN request. */
ECN_INLINE void ecn_host_opens_too(struct ecn_flow *flow, const struct ecn_packet *syn,
				   __u8 destination_fails, struct ecn_edit *edit)
{
	__u8 excluded = ecn_excluding_option(syn);

	if (excluded) {
		ecn_bypass(flow, excluded, edit);
		return;
	}
	if (ecn_triple(syn) != ECN_TRIPLE_NONE || syn->codepoint != ECN_NOT_ECT) {
		edit->events |= ECN_EVENT_BOTH;
		ecn_bypass(flow, ECN_REASON_HOST_HAS_ECN, edit);
		/* For ecn_is_late_copy(). */
		flow->isn = syn->seq;
		return;
	}
	if (destination_fails) {
		ecn_bypass(flow, ECN_REASON_FALLBACK, edit);
		return;
	}
	ecn_upgrade(flow, edit);
	flow->snd_max = ecn_end(syn) + 1;
	ecn_open_simultaneously(flow, syn, syn->seq, flow->isn, edit);
	flow->isn = syn->seq;
}

/*
 * Simultaneous open in which the served host's SYN arrives after its SYN-ACK. The far host will answer
 * this SYN too.
 */
ECN_INLINE void ecn_late_syn(struct ecn_flow *flow, const struct ecn_policy *policy,
			     const struct ecn_packet *syn, __u8 destination_fails,
			     struct ecn_edit *edit)
{
	flow->isn = syn->seq;
	flow->simultaneous = ECN_SIMULTANEOUS_CONFIRMED;
	if (policy->off || destination_fails || ecn_excluding_option(syn) || ecn_triple(syn) ||
	    syn->codepoint != ECN_NOT_ECT)
		return;
	ecn_upgrade(flow, edit);
}

#endif
