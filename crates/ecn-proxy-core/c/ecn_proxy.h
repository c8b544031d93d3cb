/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * The proxy's state machine: it takes the state of a connection and a packet, and returns an edit.
 *
 *   ecn_proxy_opens()      a SYN without ACK, from either host
 *   ecn_proxy_from_host()  any other packet of the served host
 *   ecn_proxy_to_host()    any other packet of the far host
 *
 *   negotiation.h   the handshake: which connections the proxy serves
 *   marks.h         ECT, CE, ECE and CWR in place of the served host
 *   acks.h          the content of the far host's ACKs
 *   answer.h        the answer to an ECE
 *   virtual_loss.h  a simulated loss
 *   response.h      whether the sender slows down for it
 *
 * The code runs in the kernel under a spin lock, so it has no unbounded loop, calls no kernel function
 * and divides by nothing that may be zero. The including file defines __u8 to __u64.
 */
#ifndef WINDLASS_ECN_PROXY_H
#define WINDLASS_ECN_PROXY_H

#include "answer.h"
#include "negotiation.h"

/* The connection has ended, or was refused. */
ECN_INLINE void ecn_close(struct ecn_flow *flow, struct ecn_edit *edit)
{
	ecn_pass_over(flow, ECN_REASON_CLOSING, edit);
	flow->phase = ECN_PHASE_CLOSED;
	edit->events |= ECN_EVENT_CLOSED;
}

/* Stops editing the connection. */
ECN_INLINE void ecn_give_up(struct ecn_flow *flow, __u8 reason, struct ecn_edit *edit)
{
	ecn_pass_over(flow, reason, edit);
	ecn_bypass(flow, reason, edit);
}

ECN_INLINE int ecn_is_accecn(const struct ecn_packet *packet)
{
	/* RFC 9768 sections 3.1 and 3.2.3: the bit and the options that RFC 3168 does not have. */
	return packet->ae || packet->options & ECN_OPT_ACCECN;
}

/* Closes the connection if both hosts have sent FIN and both FINs are acknowledged. */
ECN_INLINE void ecn_close_if_done(struct ecn_flow *flow, struct ecn_edit *edit)
{
	const __u16 fins = ECN_NOTE_HOST_FIN | ECN_NOTE_FAR_FIN;

	/* RFC 9293 section 3.6: each direction is closed once its FIN is acknowledged. */
	if (ECN_RARELY((flow->notes & fins) == fins) && flow->far_una == flow->snd_max &&
	    ecn_at_most(flow->far_fin, flow->host_ack) && flow->answer == ECN_ANSWER_IDLE)
		ecn_close(flow, edit);
}

/* The kill switch: ends a virtual loss at this packet and removes the edit. */
ECN_INLINE void ecn_switch_off(struct ecn_flow *flow, struct ecn_edit *edit)
{
	const __u32 edits = ECN_EVENT_ECHO | ECN_EVENT_ECT | ECN_EVENT_ECT_WAITING | ECN_EVENT_CWR |
			    ECN_EVENT_SELF_ANSWER | ECN_EVENT_KEPT_BACK;

	ecn_pass_over(flow, ECN_REASON_OFF, edit);
	edit->actions = 0;
	edit->events &= ~edits;
}

/*
 * A SYN without ACK. `flow` is the state stored for the connection's addresses, all zero if there is
 * none. `destination_fails` is 1 if ECN SYNs to the far host are known to get lost. Returns 1 if the
 * caller must store the flow. Here and in the other two functions, `edit` is all zero on entry.
 */
ECN_INLINE int ecn_proxy_opens(struct ecn_flow *flow, const struct ecn_policy *policy,
			       const struct ecn_packet *packet, __u8 from_host,
			       __u8 destination_fails, struct ecn_edit *edit)
{
	__u8 excluded;

	if (packet->flags & (ECN_FIN | ECN_RST | ECN_ACK))
		return flow->phase != ECN_PHASE_NONE;
	if (flow->phase == ECN_PHASE_PROXIED) {
		/* The far host's fallback after our SYN-ACK: either SYN may have been answered. */
		if (!from_host && packet->seq == flow->isn && !(flow->notes & ECN_NOTE_UPGRADED) &&
		    ecn_triple(packet) == ECN_TRIPLE_NONE)
			flow->notes |= ECN_NOTE_UNSURE;
		/* Simultaneous open; the far host's SYN-ACK overtook its SYN. */
		if (!from_host && packet->seq + 1 == flow->host_ack &&
		    flow->notes & ECN_NOTE_UPGRADED && !flow->simultaneous)
			flow->simultaneous = ECN_SIMULTANEOUS_CONFIRMED;
		/* Before the first episode `recover` is the number of the SYN-ACK. */
		if (from_host && packet->seq == flow->recover && !flow->simultaneous &&
		    !(flow->notes & ECN_NOTE_UPGRADED))
			ecn_late_syn(flow, policy, packet, destination_fails, edit);
		/* Otherwise a forgery or a restarted host: the far host's answer decides. */
		return 1;
	}
	if (ecn_is_opening(flow, from_host) && packet->seq == flow->isn) {
		ecn_opens_again(flow, policy, packet, from_host, edit);
		return 1;
	}
	if (ecn_is_late_copy(flow, packet, from_host)) {
		if (!from_host && !policy->off)
			ecn_clear_triple(packet, edit);
		return 1;
	}
	if (ecn_is_simultaneous_open(flow, from_host) && !policy->off) {
		if (from_host) {
			ecn_host_opens_too(flow, packet, destination_fails, edit);
			return 1;
		}
		ecn_far_opens_too(flow, packet, edit);
		if (flow->phase == ECN_PHASE_PROXIED)
			ecn_strip_ecn(flow, packet, edit);
		return 1;
	}
	/* Simultaneous open without the proxy: both negotiate by the served host's own SYN. */
	if (ecn_crosses_request(flow, from_host))
		return 1;
	ecn_forget(flow);
	if (policy->off || policy->draining)
		return 0;
	excluded = ecn_excluding_option(packet);
	if (excluded) {
		ecn_bypass(flow, excluded, edit);
		return 0;
	}
	return from_host ? ecn_host_opens(flow, packet, destination_fails, edit)
			 : ecn_far_opens(flow, packet, edit);
}

/* A SYN-ACK in a simultaneous open, where both hosts send one. */
ECN_INLINE void ecn_simultaneous_syn_ack(struct ecn_flow *flow, const struct ecn_packet *packet,
					 __u8 from_host, struct ecn_edit *edit)
{
	if (from_host ? packet->seq != flow->isn : !ecn_answers_syn(flow, packet)) {
		ecn_give_up(flow, ECN_REASON_REOPENED, edit);
		return;
	}
	if (from_host) {
		/* RFC 3168 section 6.1.1: an ECN-setup SYN-ACK has ECE alone. */
		ecn_set_flags(edit, ECN_ECE);
		return;
	}
	ecn_clear_triple(packet, edit);
	/* RFC 3168 section 6.1.1: any SYN-ACK but one with ECE alone declines. */
	if (flow->simultaneous == ECN_SIMULTANEOUS_REQUESTED &&
	    ecn_triple(packet) != ECN_TRIPLE_CLASSIC_ANSWER) {
		ecn_give_up(flow, ECN_REASON_FAR_WITHOUT_ECN, edit);
		return;
	}
	flow->simultaneous = ECN_SIMULTANEOUS_CONFIRMED;
	flow->host_ack = ecn_later(flow->host_ack, packet->seq + 1);
	ecn_strip_ecn(flow, packet, edit);
}

/* A SYN-ACK on a served connection: a retransmission, or the start of a new connection. */
ECN_INLINE void ecn_answered_again(struct ecn_flow *flow, const struct ecn_packet *packet,
				   __u8 from_host, struct ecn_edit *edit)
{
	__u8 host_is_client = flow->notes & ECN_NOTE_UPGRADED ? 1 : 0;

	if (flow->simultaneous) {
		ecn_simultaneous_syn_ack(flow, packet, from_host, edit);
		return;
	}
	/* Another SYN was answered, or by the host that sent the first: a new connection. */
	if (!ecn_answers_syn(flow, packet) || from_host == host_is_client) {
		ecn_give_up(flow, ECN_REASON_REOPENED, edit);
		return;
	}
	if (from_host) {
		/* The copy must negotiate as the first one did (RFC 3168 section 6.1.1). */
		ecn_set_flags(edit, ECN_ECE);
	} else {
		ecn_clear_triple(packet, edit);
		ecn_strip_ecn(flow, packet, edit);
	}
}

/* A packet of the served host during the handshake. */
ECN_INLINE void ecn_host_in_handshake(struct ecn_flow *flow, const struct ecn_policy *policy,
				      const struct ecn_packet *packet, struct ecn_edit *edit)
{
	if (packet->flags & ECN_RST)
		ecn_close(flow, edit);
	/*
	 * A late copy of the SYN of a connection that is not served, and forgotten: the answer to it
	 * must not begin to serve data of which the proxy has not seen the beginning.
	 */
	else if (flow->phase == ECN_PHASE_HOST_OPENS && (packet->flags & (ECN_SYN | ECN_ACK)) == ECN_ACK)
		ecn_bypass(flow, ECN_REASON_UNDER_WAY, edit);
	else if (flow->phase == ECN_PHASE_FAR_OPENS && packet->flags & ECN_SYN &&
		 ecn_answers_syn(flow, packet))
		ecn_host_answers(flow, policy, packet, edit);
}

ECN_INLINE void ecn_far_in_handshake(struct ecn_flow *flow, const struct ecn_packet *packet,
				     struct ecn_edit *edit)
{
	const __u16 upgraded_once = ECN_NOTE_UPGRADED;

	if (flow->phase != ECN_PHASE_HOST_OPENS) {
		/* The far host gives up the connection that it opens: RFC 9293 section 3.10.7.4. */
		if (packet->flags & ECN_RST && packet->seq - flow->isn <= ECN_RECENT)
			ecn_close(flow, edit);
		return;
	}
	/* RFC 9293 section 3.10.7.3: an answer acknowledges the SYN, and nothing that was not sent. */
	if (!ecn_answers_syn(flow, packet) || ecn_before(flow->snd_max, packet->ack)) {
		if (packet->flags & ECN_SYN && flow->notes & ECN_NOTE_UPGRADED)
			ecn_clear_triple(packet, edit);
	} else if (packet->flags & ECN_RST) {
		/* Some devices reset connections whose SYN requests ECN (RFC 3168 section 6.1.1.1). */
		if ((flow->notes & (ECN_NOTE_UPGRADED | ECN_NOTE_PLAIN_SYN)) == upgraded_once)
			edit->events |= ECN_EVENT_REFUSED;
		else if (flow->syn_triple == ECN_TRIPLE_NONE)
			edit->events |= ECN_EVENT_PLAIN_REFUSED;
		ecn_close(flow, edit);
	} else if (packet->flags & ECN_SYN) {
		ecn_far_answers(flow, packet, edit);
		if (flow->phase == ECN_PHASE_PROXIED)
			ecn_strip_ecn(flow, packet, edit);
	}
}

/* Whether a number is within a maximum window of far_una (RFC 7323 section 2.3). */
ECN_INLINE int ecn_is_plausible(const struct ecn_flow *flow, __u32 number)
{
	return number - flow->far_una + ECN_RECENT <= 2 * ECN_RECENT;
}

/* Data of the served host, new or retransmitted. */
ECN_INLINE void ecn_host_sends(struct ecn_flow *flow, const struct ecn_policy *policy,
			       const struct ecn_packet *packet, struct ecn_edit *edit)
{
	__u32 end = ecn_end(packet);
	__u32 segment_bytes = packet->segment_bytes < packet->payload_bytes ? packet->segment_bytes
									     : packet->payload_bytes;

	if (segment_bytes > 0xffff)
		segment_bytes = 0xffff;
	if (segment_bytes > flow->segment_bytes)
		flow->segment_bytes = segment_bytes;
	/* Below the highest number sent: a retransmission. */
	if (ECN_RARELY(ecn_before(packet->seq, flow->snd_max))) {
		__u8 covers = ecn_at_most(packet->seq, flow->virtual_loss) &&
			      ecn_before(flow->virtual_loss, end);

		flow->snd_max = ecn_later(flow->snd_max, end);
		if (!covers || flow->answer < ECN_ANSWER_VIRTUAL_LOSS)
			ecn_retransmission_seen(flow, edit);
		else if (flow->answer == ECN_ANSWER_DROPPED)
			ecn_drop_repaired(flow, packet, edit);
		else
			ecn_virtual_loss_retransmitted(flow, packet, edit);
		return;
	}
	flow->snd_max = end;
	if (packet->payload_bytes == 0)
		return;
	ecn_measure_flight(flow);
	ecn_measure_segments(flow, segment_bytes);
	ecn_measure_rtt(flow, packet);
	if (!ecn_drop_one(flow, policy, packet, edit))
		ecn_mark_new_data(flow, policy, packet, edit);
}

ECN_INLINE void ecn_host_served(struct ecn_flow *flow, const struct ecn_policy *policy,
				const struct ecn_packet *packet, struct ecn_edit *edit)
{
	if (ECN_RARELY(packet->flags & ECN_SYN)) {
		ecn_answered_again(flow, packet, 1, edit);
		return;
	}
	if (ECN_RARELY(ecn_is_accecn(packet))) {
		ecn_give_up(flow, ECN_REASON_ACCECN, edit);
		return;
	}
	if (ECN_RARELY(packet->flags & ECN_RST)) {
		/* RFC 9293 section 3.5.3: a reset is valid within the window only. */
		if (ecn_at_most(flow->shown_una, packet->seq) &&
		    ecn_is_plausible(flow, packet->seq))
			ecn_close(flow, edit);
		return;
	}
	/* An implausible number would corrupt snd_max for good. */
	if (ECN_RARELY(!ecn_is_plausible(flow, packet->seq) ||
		       !ecn_is_plausible(flow, ecn_end(packet))))
		return;
	if (packet->flags & ECN_ACK)
		flow->host_ack = ecn_later(flow->host_ack, packet->ack);
	ecn_echo(flow, packet, edit);
	if (ecn_end(packet) != packet->seq)
		ecn_host_sends(flow, policy, packet, edit);
	if (ECN_RARELY(packet->flags & ECN_FIN)) {
		flow->notes |= ECN_NOTE_HOST_FIN;
		ecn_answer_at_fin(flow, edit);
	}
	ecn_close_if_done(flow, edit);
}

ECN_INLINE void ecn_proxy_from_host(struct ecn_flow *flow, const struct ecn_policy *policy,
				    const struct ecn_packet *packet, struct ecn_edit *edit)
{
	if (ECN_RARELY(packet->options & ECN_OPT_BROKEN))
		return;
	if (ECN_RARELY(flow->phase == ECN_PHASE_HOST_OPENS || flow->phase == ECN_PHASE_FAR_OPENS))
		ecn_host_in_handshake(flow, policy, packet, edit);
	else if (flow->phase == ECN_PHASE_PROXIED)
		ecn_host_served(flow, policy, packet, edit);
	if (ECN_RARELY(policy->off))
		ecn_switch_off(flow, edit);
}

ECN_INLINE void ecn_far_fin(struct ecn_flow *flow, const struct ecn_packet *packet,
			    struct ecn_edit *edit)
{
	flow->notes |= ECN_NOTE_FAR_FIN;
	flow->far_fin = ecn_end(packet);
	/* The far host closes now and would answer a later retransmission with RST. */
	if (flow->notes & ECN_NOTE_HOST_FIN && packet->ack == flow->snd_max)
		ecn_pass_over(flow, ECN_REASON_CLOSING, edit);
}

/* An ACK of the far host for data that has passed the proxy. */
ECN_INLINE void ecn_far_acknowledges(struct ecn_flow *flow, const struct ecn_policy *policy,
				     const struct ecn_packet *packet, struct ecn_edit *edit)
{
	struct ecn_ack_summary summary = {};

	ecn_process_ack(flow, packet, &summary);
	if (ECN_RARELY(packet->flags & ECN_FIN))
		ecn_far_fin(flow, packet, edit);
	if (ECN_RARELY(flow->response_due) && ecn_at_most(flow->recover, flow->far_una))
		ecn_judge_response(flow, edit);
	/* RFC 3168 section 6.1.2: one episode for each window of data. */
	if (ECN_RARELY(packet->flags & ECN_ECE) && flow->answer == ECN_ANSWER_IDLE && !policy->off &&
	    ecn_before(flow->recover, packet->ack))
		ecn_begin_episode(flow, policy, edit);
	if (ECN_RARELY(flow->answer == ECN_ANSWER_ARMED))
		ecn_decide(flow, policy, packet, &summary, edit);
	if (ECN_RARELY(policy->off))
		ecn_switch_off(flow, edit);
	if (ECN_RARELY(flow->answer == ECN_ANSWER_VIRTUAL_LOSS ||
		       flow->answer == ECN_ANSWER_RETRANSMITTED) &&
	    ecn_hold_or_release(flow, packet, &summary, edit))
		return;
	ecn_pass_ack(flow, packet, edit);
	ecn_close_if_done(flow, edit);
}

ECN_INLINE void ecn_far_served(struct ecn_flow *flow, const struct ecn_policy *policy,
			       const struct ecn_packet *packet, struct ecn_edit *edit)
{
	if (ECN_RARELY(packet->flags & ECN_SYN)) {
		ecn_answered_again(flow, packet, 0, edit);
		return;
	}
	if (ECN_RARELY(ecn_is_accecn(packet))) {
		ecn_give_up(flow, ECN_REASON_ACCECN, edit);
		return;
	}
	if (ECN_RARELY(packet->options & ECN_OPT_OTHER) && !(flow->notes & ECN_NOTE_CANNOT_SIGNAL)) {
		ecn_withhold_ect(flow, ECN_REASON_UNKNOWN_OPTION, edit);
		ecn_pass_over(flow, ECN_REASON_UNKNOWN_OPTION, edit);
	}
	ecn_strip_ecn(flow, packet, edit);
	if (ECN_RARELY(packet->flags & ECN_RST)) {
		/* RFC 9293 section 3.10.7.4 accepts RST in the window only; its size is unknown here. */
		if (packet->seq - flow->host_ack <= ECN_RECENT)
			ecn_close(flow, edit);
		return;
	}
	/* An ACK of data that did not pass the proxy is ignored. */
	if (packet->flags & ECN_ACK && ecn_at_most(packet->ack, flow->snd_max))
		ecn_far_acknowledges(flow, policy, packet, edit);
}

ECN_INLINE void ecn_proxy_to_host(struct ecn_flow *flow, const struct ecn_policy *policy,
				  const struct ecn_packet *packet, struct ecn_edit *edit)
{
	if (ECN_RARELY(packet->options & ECN_OPT_BROKEN))
		return;
	if (ECN_RARELY(flow->phase == ECN_PHASE_HOST_OPENS || flow->phase == ECN_PHASE_FAR_OPENS))
		ecn_far_in_handshake(flow, packet, edit);
	else if (flow->phase == ECN_PHASE_PROXIED)
		ecn_far_served(flow, policy, packet, edit);
	/* The far host still speaks ECN, as in a retransmitted FIN. */
	else if (flow->phase == ECN_PHASE_CLOSED && flow->notes & ECN_NOTE_SERVED)
		ecn_strip_ecn(flow, packet, edit);
	/* An answer to a request of the proxy, of which the served host knows nothing. */
	else if (flow->phase == ECN_PHASE_BYPASS && flow->notes & ECN_NOTE_UPGRADED &&
		 packet->flags & ECN_SYN)
		ecn_clear_triple(packet, edit);
	if (policy->off)
		edit->actions = 0;
}

/* Other connections of the served host did not slow down: this one gets no ECT from the beginning. */
ECN_INLINE void ecn_proxy_distrust(struct ecn_flow *flow, struct ecn_edit *edit)
{
	if (flow->phase == ECN_PHASE_PROXIED && !(flow->notes & ECN_NOTE_CANNOT_SIGNAL))
		ecn_withhold_ect(flow, ECN_REASON_NO_RESPONSE, edit);
}

/* Whether the connection would break if its state were evicted. */
ECN_INLINE int ecn_flow_is_served(const struct ecn_flow *flow)
{
	return flow->phase == ECN_PHASE_PROXIED;
}

#endif
