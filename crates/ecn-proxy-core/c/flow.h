/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * The state that the proxy keeps for a connection, its policy, and the events that it reports.
 *
 * A state of zeros stands for an unknown connection, whose packets pass untouched.
 */
#ifndef WINDLASS_ECN_FLOW_H
#define WINDLASS_ECN_FLOW_H

#include "packet.h"

/* ecn_flow.rounds_since, if there is no earlier flight to compare with. */
#define ECN_NOT_COMPARABLE 0xff

#define ECN_INLINE static inline __attribute__((always_inline))

/* Parts of a virtual loss. Tests leave one out to show what it prevents. */
enum ecn_part {
	/* The virtual loss lasts until the sender has repaired it; without this, three ACKs. */
	ECN_PART_HOLD = 0x01,
	/* SACK blocks for senders with SACK; without this, duplicate ACKs. */
	ECN_PART_BLOCKS = 0x02,
	/* The release waits for the far host to confirm the retransmission. */
	ECN_PART_CONFIRM = 0x04,
	/* DSACKs of the retransmission are removed. */
	ECN_PART_STRIP = 0x08,
	/* TSecr never shows a time before the retransmission: it is 0 instead. */
	ECN_PART_TSECR_FLOOR = 0x10,
	/* With SACK the proxy absorbs the retransmission; without this, the far host answers it. */
	ECN_PART_REPLY = 0x20,
};

/* The including file may define it to leave parts out. */
#ifndef ECN_WITHOUT
#define ECN_WITHOUT(part) 0
#endif

/* The phase of a connection. */
enum ecn_phase {
	/* No packet has been seen. */
	ECN_PHASE_NONE = 0,
	/* The served host's SYN has passed, upgraded or not. */
	ECN_PHASE_HOST_OPENS = 1,
	/* The far host's SYN has passed. */
	ECN_PHASE_FAR_OPENS = 2,
	/* Served: the far host uses ECN on the connection; the served host does not. */
	ECN_PHASE_PROXIED = 3,
	/* No longer edited, for ecn_flow.reason. The caller may forget it. */
	ECN_PHASE_BYPASS = 4,
	/* Reset, or closed in both directions. The caller may forget it. */
	ECN_PHASE_CLOSED = 5,
};

/* The state of the answer to an ECE. */
enum ecn_answer {
	/* No ECE is pending. */
	ECN_ANSWER_IDLE = 0,
	/* An ECE is pending; the proxy has not yet signalled the sender. */
	ECN_ANSWER_ARMED = 1,
	/* A virtual loss is open; the served host has not retransmitted it yet. */
	ECN_ANSWER_VIRTUAL_LOSS = 2,
	/* The served host has retransmitted it; the far host has not confirmed that yet. */
	ECN_ANSWER_RETRANSMITTED = 3,
	/* Policy drop: the proxy dropped a segment that is not yet retransmitted. */
	ECN_ANSWER_DROPPED = 4,
};

/* Simultaneous open (RFC 9293 section 3.5): both hosts have sent a SYN. */
enum ecn_simultaneous_open {
	ECN_SIMULTANEOUS_NO = 0,
	/* The far host's SYN requests ECN. */
	ECN_SIMULTANEOUS_REQUESTED = 1,
	/* Its SYN-ACK confirms ECN. */
	ECN_SIMULTANEOUS_CONFIRMED = 2,
};

/* The proxy's response to an ECE that is meant for the served sender. */
enum ecn_sender_policy {
	ECN_SENDER_VIRTUAL_LOSS = 0,
	/* Drop one packet of the sender. */
	ECN_SENDER_DROP = 1,
	/* Leave its data Not-ECT, so that no ECE arrives. */
	ECN_SENDER_NO_ECT = 2,
};

struct ecn_policy {
	/* enum ecn_sender_policy */
	__u8 sender;
	/* 1: the proxy edits nothing but still tracks connections (the kill switch). */
	__u8 off;
	/* 1: the proxy takes on no new connection. */
	__u8 draining;
	/* 1: senders without SACK get ECT and virtual losses too. */
	__u8 without_sack;
	/* 1: a retransmitted SYN requests ECN again; 0: it goes out without ECN. */
	__u8 keeps_asking;
};

/* Why the proxy bypasses a connection, passes over an episode or withholds ECT. */
enum ecn_reason {
	ECN_REASON_NONE = 0,
	/* The served host requests or confirms ECN itself. */
	ECN_REASON_HOST_HAS_ECN = 1,
	/* The far host does not use ECN. */
	ECN_REASON_FAR_WITHOUT_ECN = 2,
	/* ECN flags in SYN or SYN-ACK that no RFC defines. */
	ECN_REASON_STRANGE_HANDSHAKE = 3,
	/* AE or an AccECN option on a connection that negotiated RFC 3168. */
	ECN_REASON_ACCECN = 4,
	ECN_REASON_MD5 = 5,
	ECN_REASON_AO = 6,
	ECN_REASON_MPTCP = 7,
	/* Options that do not parse. */
	ECN_REASON_BROKEN_OPTIONS = 8,
	/* ECN SYNs to the destination get lost, or the upgraded SYN was not answered. */
	ECN_REASON_FALLBACK = 9,
	/* The far host's ACKs carry options that a virtual loss might contradict. */
	ECN_REASON_UNKNOWN_OPTION = 10,
	ECN_REASON_NO_SACK = 11,
	ECN_REASON_POLICY = 12,
	/* A FIN or RST arrived before the answer. */
	ECN_REASON_CLOSING = 13,
	/* The proxy is switched off. */
	ECN_REASON_OFF = 14,
	/* An ECE has been pending for too long. */
	ECN_REASON_WAITS = 15,
	/* The far host has accepted a new connection under the same addresses. */
	ECN_REASON_REOPENED = 16,
	/* The served host has sent data, but no answer to its SYN has passed the proxy. */
	ECN_REASON_UNDER_WAY = 17,
	/* After virtual losses or drops the sender's flight does not fall: see response.h. */
	ECN_REASON_NO_RESPONSE = 18,
	ECN_REASON_COUNT = 19,
};

/* Events to count. A super-packet (GRO, GSO) counts once. */
enum ecn_event {
	/* The proxy made the served host's SYN request ECN. */
	ECN_EVENT_UPGRADED = 0x000001,
	/* End of the handshake: one of these four, with PROXIED or BYPASS. */
	ECN_EVENT_BOTH = 0x000002,
	ECN_EVENT_CLIENT_ONLY = 0x000004,
	ECN_EVENT_SERVER_ONLY = 0x000008,
	ECN_EVENT_NEITHER = 0x000010,
	/* The proxy serves the connection from now on. */
	ECN_EVENT_PROXIED = 0x000020,
	/* The proxy does not serve the connection, or stops; with a reason. */
	ECN_EVENT_BYPASS = 0x000040,
	/* A SYN passes without ECN because the first one was not answered. */
	ECN_EVENT_FALLBACK = 0x000080,
	/* The far host answered the first SYN without ECN after one with ECN: ECN may be the cause. */
	ECN_EVENT_DESTINATION_FAILED = 0x000100,
	/* A packet for the served host arrived with CE. */
	ECN_EVENT_CE = 0x000200,
	/* The proxy set ECE on a packet of the served host. */
	ECN_EVENT_ECHO = 0x000400,
	/* The proxy set ECT(0) on a packet of the served host. */
	ECN_EVENT_ECT = 0x000800,
	/* The same, while an ECE is pending. */
	ECN_EVENT_ECT_WAITING = 0x001000,
	/* The proxy set CWR on a packet of the served host. */
	ECN_EVENT_CWR = 0x002000,
	/* The far host echoed a mark: an episode begins. It ends with ANSWERED_* or PASSED_OVER. */
	ECN_EVENT_EPISODE = 0x004000,
	/* The window is two segments already; RFC 3168 section 6.1.2 requires no reduction. */
	ECN_EVENT_ANSWERED_FLOOR = 0x008000,
	/* The sender has repaired a virtual loss. */
	ECN_EVENT_ANSWERED_VIRTUAL_LOSS = 0x010000,
	/* The sender repairs a real loss. */
	ECN_EVENT_ANSWERED_LOSS = 0x020000,
	/* The sender has repaired a dropped packet. */
	ECN_EVENT_ANSWERED_DROP = 0x040000,
	/* The episode ends without an answer; with a reason. */
	ECN_EVENT_PASSED_OVER = 0x080000,
	/* A virtual loss opens. */
	ECN_EVENT_VIRTUAL_LOSS = 0x100000,
	/* The proxy acknowledged the retransmission itself, with or after ANSWERED_VIRTUAL_LOSS. */
	ECN_EVENT_SELF_ANSWER = 0x200000,
	/* A virtual loss ends: the served host sees the real ACK again. */
	ECN_EVENT_RELEASED = 0x400000,
	/* New data goes out without ECT from now on; with a reason. */
	ECN_EVENT_ECT_WITHDRAWN = 0x800000,
	/* The connection was reset, or closed in both directions. */
	ECN_EVENT_CLOSED = 0x1000000,
	/* A plain SYN in place of one that requests ECN was reset too: ECN is not the cause. */
	ECN_EVENT_PLAIN_REFUSED = 0x2000000,
	/* The proxy absorbed the retransmission; a later ACK of the far host answers it. */
	ECN_EVENT_KEPT_BACK = 0x4000000,
	/* The SYN that requests ECN was reset: the port is closed, or ECN is the cause. */
	ECN_EVENT_REFUSED = 0x8000000,
	/* The far host accepted a plain SYN in place of one that requests ECN. */
	ECN_EVENT_PLAIN_ACCEPTED = 0x10000000,
	/* After a virtual loss or a drop the sender's flight has fallen; has not fallen. */
	ECN_EVENT_FLIGHT_FELL = 0x20000000,
	ECN_EVENT_FLIGHT_KEPT = 0x40000000,
};

/* ecn_flow.notes */
enum ecn_note {
	/* The proxy wrote the ECN request into the served host's SYN. */
	ECN_NOTE_UPGRADED = 0x0001,
	/* The SYN was retransmitted without ECN. */
	ECN_NOTE_PLAIN_SYN = 0x0002,
	/* During the handshake: offered by the first SYN. Afterwards: agreed by both. */
	ECN_NOTE_SACK = 0x0004,
	ECN_NOTE_TIMESTAMPS = 0x0008,
	ECN_NOTE_SCALING = 0x0010,
	/* The far host's data had CE, and no CWR has arrived since. */
	ECN_NOTE_CE = 0x0020,
	/* The next new data of the served host will carry CWR. */
	ECN_NOTE_CWR = 0x0040,
	/* The far host may not have agreed to ECN: no ECT until it sends an ECT codepoint. */
	ECN_NOTE_UNSURE = 0x0080,
	/* The proxy cannot signal this sender by a virtual loss: see ecn_flow.reason. */
	ECN_NOTE_CANNOT_SIGNAL = 0x0100,
	/* DSACKs of [last_virtual_loss, recover) are removed. */
	ECN_NOTE_STRIP = 0x0200,
	/* TSecr is 0 where it is lower than ts_floor. */
	ECN_NOTE_TSECR_FLOOR = 0x0400,
	/* FIN seen from the served host; from the far host. */
	ECN_NOTE_HOST_FIN = 0x0800,
	ECN_NOTE_FAR_FIN = 0x1000,
	/* The far host's last packet reported gaps. */
	ECN_NOTE_GAPS = 0x2000,
	/* ECT is withheld until the pending ECE is answered. */
	ECN_NOTE_WITHDRAWN = 0x4000,
	/* The proxy serves, or has served, the connection. */
	ECN_NOTE_SERVED = 0x8000,
};

/* A connection. Sequence numbers are the served host's unless a comment says otherwise. */
struct ecn_flow {
	/* Sequence number of the SYN that opened the connection, from either host. */
	__u32 isn;
	/* Highest ACK number that the proxy has shown to the served host. */
	__u32 shown_una;
	/* Highest ACK number of the far host: its SND.UNA in the served host's terms. */
	__u32 far_una;
	/* End of everything that the served host has sent, FIN included. */
	__u32 snd_max;
	/* A round ends when the far host acknowledges this number. */
	__u32 round_end;
	/* First number of the virtual loss, and the number after it. */
	__u32 virtual_loss;
	__u32 virtual_loss_end;
	/* First number of the latest virtual loss or drop, open or over. */
	__u32 last_virtual_loss;
	/* ECE on ACKs up to this number belongs to the last episode. */
	__u32 recover;
	/* TSval of the first retransmission of the virtual loss. */
	__u32 ts_floor;
	/* End of the SACK block shown above the virtual loss. */
	__u32 sacked_to;
	/* TSval of the far host's latest ACK. */
	__u32 far_tsval;
	union {
		/* Until the far host's FIN: when the sender answered last, in units of 2^ECN_ANSWERED_SHIFT ns. */
		__u32 answered_at;
		/* Afterwards: the end of that FIN, in the far host's numbers. */
		__u32 far_fin;
	};
	/* In the far host's numbers: the highest ACK of the served host. */
	__u32 host_ack;
	/*
	 * In ticks of the served host's TSval clock: the last TSecr shown to it, 0 if none; its smallest
	 * RTT, 0 if unknown; the time it sent the virtual loss; the time it last sent new data.
	 */
	__u32 shown_tsecr;
	__u32 min_rtt;
	__u32 virtual_loss_tsval;
	__u32 newest_tsval;
	/*
	 * The served host may have declared data below this number lost: the highest end of a real SACK
	 * block, or the highest number it had sent at its latest retransmission.
	 */
	__u32 maybe_lost_below;
	/* The far host's latest window; the one last shown to the served host. As on the wire. */
	__u16 far_window;
	__u16 shown_window;
	/* Payload of the served host's segments, in bytes: the largest; a moving average. */
	__u16 segment_bytes;
	__u16 average_segment_bytes;
	/* Largest flight of this round, and of the previous one, in segments. */
	__u16 flight_max;
	__u16 previous_flight_max;
	/* enum ecn_note */
	__u16 notes;
	/* enum ecn_phase */
	__u8 phase;
	/* enum ecn_reason: why the proxy bypasses the connection or cannot signal the sender. */
	__u8 reason;
	union {
		/* In the handshake: enum ecn_triple of the SYN as the proxy forwarded it. */
		__u8 syn_triple;
		/* Afterwards: rounds since the sender's latest answer; see ECN_NOT_COMPARABLE. */
		__u8 rounds_since;
	};
	/* enum ecn_answer */
	__u8 answer;
	/* Window scale shift of the far host. */
	__u8 window_scale;
	/* Consecutive duplicate ACKs of the far host, at most ECN_DUPLICATES. */
	__u8 duplicates;
	/* Rewritten ACKs shown to the served host during this virtual loss. */
	__u8 rewritten_acks;
	union {
		/* Rounds for which the ECE has been pending. */
		__u8 rounds;
		/* Retransmissions of the virtual loss, which ends that. */
		__u8 retransmits;
	};
	/* ACKs that would have ended the virtual loss if they had reported no gaps. */
	__u8 held_acks;
	/* enum ecn_simultaneous_open */
	__u8 simultaneous;
	/* SYNs without ECN that followed the one that requests it, at most 2. */
	__u8 plain_syns;
	/* 1: the ACK of `recover` will show whether the flight has fallen. */
	__u8 response_due;
	/* Evidence that the sender does not slow down: of the round trip after an answer; of two answers. */
	__u8 unheeded;
	__u8 surplus;
};

_Static_assert(sizeof(struct ecn_packet) == 80, "ecn_packet");
_Static_assert(sizeof(struct ecn_edit) == 76, "ecn_edit");
_Static_assert(sizeof(struct ecn_flow) == 104, "ecn_flow");

/* Comparisons modulo 2^32 (RFC 9293 section 3.4; RFC 7323 section 5.2 for timestamps). */
ECN_INLINE int ecn_before(__u32 a, __u32 b)
{
	return a - b > 0x7fffffff;
}

ECN_INLINE int ecn_at_most(__u32 a, __u32 b)
{
	return !ecn_before(b, a);
}

ECN_INLINE __u32 ecn_later(__u32 a, __u32 b)
{
	return ecn_before(a, b) ? b : a;
}

/* The packet's end in sequence space, without SYN. */
ECN_INLINE __u32 ecn_end(const struct ecn_packet *packet)
{
	return packet->seq + packet->payload_bytes + (packet->flags & ECN_FIN ? 1 : 0);
}

ECN_INLINE void ecn_set_flags(struct ecn_edit *edit, __u8 flags)
{
	edit->actions |= ECN_DO_FLAGS;
	edit->flags_set |= flags;
}

ECN_INLINE void ecn_clear_flags(struct ecn_edit *edit, __u8 flags)
{
	edit->actions |= ECN_DO_FLAGS;
	edit->flags_clear |= flags;
}

ECN_INLINE void ecn_bypass(struct ecn_flow *flow, __u8 reason, struct ecn_edit *edit)
{
	flow->phase = ECN_PHASE_BYPASS;
	flow->reason = reason;
	edit->reason = reason;
	edit->events |= ECN_EVENT_BYPASS;
}

#endif
