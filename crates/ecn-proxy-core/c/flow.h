/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * What the proxy remembers of a connection, what it is told to do, and what it reports.
 *
 * All of it zero is a connection that nobody knows: its packets pass untouched.
 */
#ifndef WINDLASS_ECN_FLOW_H
#define WINDLASS_ECN_FLOW_H

#include "packet.h"

#define ECN_INLINE static inline __attribute__((always_inline))

/* Parts of a virtual loss that a test leaves out, to see what each is there for. */
enum ecn_part {
	/* The virtual loss is held until the sender has repaired it; else for three ACKs. */
	ECN_PART_HOLD = 0x01,
	/* Blocks for senders with SACK; else duplicates. */
	ECN_PART_BLOCKS = 0x02,
	/* The release waits for the far host to confirm the retransmission. */
	ECN_PART_CONFIRM = 0x04,
	/* DSACKs of the retransmission are taken away. */
	ECN_PART_STRIP = 0x08,
	/* No echo of a time before the retransmission. */
	ECN_PART_TSECR_FLOOR = 0x10,
	/* With SACK the retransmission goes no further; else the far host answers it. */
	ECN_PART_REPLY = 0x20,
};

/* Whoever includes this may say otherwise. */
#ifndef ECN_WITHOUT
#define ECN_WITHOUT(part) 0
#endif

/* How far a connection has come. */
enum ecn_phase {
	/* Unknown. */
	ECN_PHASE_NONE = 0,
	/* The served host's SYN has passed, upgraded or not. */
	ECN_PHASE_HOST_OPENS = 1,
	/* The far host's SYN has passed. */
	ECN_PHASE_FAR_OPENS = 2,
	/* The far host believes that the connection uses ECN; the served host knows nothing of it. */
	ECN_PHASE_PROXIED = 3,
	/* Not edited any more, for the reason in ecn_flow.reason. It may be forgotten. */
	ECN_PHASE_BYPASS = 4,
	/* Reset, or closed on both sides. It may be forgotten. */
	ECN_PHASE_CLOSED = 5,
};

/* How far the answer to an ECE has come. */
enum ecn_answer {
	/* No ECE waits. */
	ECN_ANSWER_IDLE = 0,
	/* An ECE waits for its answer. */
	ECN_ANSWER_ARMED = 1,
	/* A virtual loss is open; the served host has not sent it again yet. */
	ECN_ANSWER_VIRTUAL_LOSS = 2,
	/* The virtual loss was sent again; the far host has not shown yet that it got it. */
	ECN_ANSWER_RETRANSMITTED = 3,
	/* Policy drop: a segment was dropped and not sent again yet. */
	ECN_ANSWER_DROPPED = 4,
};

/* Both hosts have opened the connection, at once. */
enum ecn_simultaneous_open {
	ECN_SIMULTANEOUS_NO = 0,
	/* The far host's SYN asks for ECN. */
	ECN_SIMULTANEOUS_REQUESTED = 1,
	/* So does its SYN-ACK. */
	ECN_SIMULTANEOUS_CONFIRMED = 2,
};

/* Policies: what becomes of an ECE that is meant for the served sender. */
enum ecn_sender_policy {
	ECN_SENDER_VIRTUAL_LOSS = 0,
	/* One packet of the sender is dropped. */
	ECN_SENDER_DROP = 1,
	/* What the sender sends stays Not-ECT, so no ECE is to come. */
	ECN_SENDER_NO_ECT = 2,
};

struct ecn_policy {
	/* enum ecn_sender_policy */
	__u8 sender;
	/* 1: nothing is edited, but connections are followed: the kill switch. */
	__u8 off;
	/* 1: no new connection is taken on. */
	__u8 draining;
	/* 1: virtual loss for senders without SACK as well, ECT included. */
	__u8 without_sack;
	/* 1: a SYN that is sent again asks for ECN again, instead of going without. */
	__u8 keeps_asking;
};

/* Why a connection is bypassed, an episode passed over, or ECT withheld. */
enum ecn_reason {
	ECN_REASON_NONE = 0,
	/* The served host asks for ECN itself, or answers a request for it. */
	ECN_REASON_HOST_HAS_ECN = 1,
	/* The far host wants no ECN. */
	ECN_REASON_FAR_WITHOUT_ECN = 2,
	/* Flags in SYN or SYN-ACK that no RFC gives a meaning. */
	ECN_REASON_STRANGE_HANDSHAKE = 3,
	/* AE or an option of AccECN on a connection that negotiated RFC 3168. */
	ECN_REASON_ACCECN = 4,
	ECN_REASON_MD5 = 5,
	ECN_REASON_AO = 6,
	ECN_REASON_MPTCP = 7,
	/* Options that do not parse. */
	ECN_REASON_BROKEN_OPTIONS = 8,
	/* The destination is known to fail, or the upgraded SYN was not answered. */
	ECN_REASON_FALLBACK = 9,
	/* The far host's ACKs have options that a virtual loss might contradict. */
	ECN_REASON_UNKNOWN_OPTION = 10,
	ECN_REASON_NO_SACK = 11,
	ECN_REASON_POLICY = 12,
	/* FIN or RST came before the answer. */
	ECN_REASON_CLOSING = 13,
	/* The switch is off. */
	ECN_REASON_OFF = 14,
	/* An ECE waits too long for its answer. */
	ECN_REASON_WAITS = 15,
	/* The far host has accepted a new connection under the same addresses. */
	ECN_REASON_REOPENED = 16,
	ECN_REASON_COUNT = 17,
};

/* What is counted; of a super-packet once. */
enum ecn_event {
	/* The served host's SYN asks for ECN now. */
	ECN_EVENT_UPGRADED = 0x000001,
	/* The handshake is over; one of these four, and PROXIED or BYPASS. */
	ECN_EVENT_BOTH = 0x000002,
	ECN_EVENT_CLIENT_ONLY = 0x000004,
	ECN_EVENT_SERVER_ONLY = 0x000008,
	ECN_EVENT_NEITHER = 0x000010,
	/* The connection is served from here on. */
	ECN_EVENT_PROXIED = 0x000020,
	/* It is not, or no more; with a reason. */
	ECN_EVENT_BYPASS = 0x000040,
	/* A SYN that the destination left unanswered passes without ECN. */
	ECN_EVENT_FALLBACK = 0x000080,
	/* The destination is to be remembered as one that fails. */
	ECN_EVENT_DESTINATION_FAILED = 0x000100,
	/* A packet for the served host came with CE. */
	ECN_EVENT_CE = 0x000200,
	/* A packet of the served host got ECE. */
	ECN_EVENT_ECHO = 0x000400,
	/* A packet of the served host got ECT(0). */
	ECN_EVENT_ECT = 0x000800,
	/* The same, and an ECE waits for its answer. */
	ECN_EVENT_ECT_WAITING = 0x001000,
	/* A packet of the served host got CWR. */
	ECN_EVENT_CWR = 0x002000,
	/* The far host told of a mark: an episode begins. It ends with one of the six below. */
	ECN_EVENT_EPISODE = 0x004000,
	/* The sender's window is two segments, where RFC 3168 leaves it. */
	ECN_EVENT_ANSWERED_FLOOR = 0x008000,
	/* The sender has repaired a virtual loss. */
	ECN_EVENT_ANSWERED_VIRTUAL_LOSS = 0x010000,
	/* The sender repairs a real loss. */
	ECN_EVENT_ANSWERED_LOSS = 0x020000,
	/* The sender has repaired a dropped packet. */
	ECN_EVENT_ANSWERED_DROP = 0x040000,
	/* Nobody answers it; with a reason. */
	ECN_EVENT_PASSED_OVER = 0x080000,
	/* A virtual loss opens. */
	ECN_EVENT_VIRTUAL_LOSS = 0x100000,
	/* The proxy has answered the virtual loss's retransmission itself; beside ANSWERED_VIRTUAL_LOSS, or after. */
	ECN_EVENT_SELF_ANSWER = 0x200000,
	/* A virtual loss is over. */
	ECN_EVENT_RELEASED = 0x400000,
	/* New data goes without ECT from here on; with a reason. */
	ECN_EVENT_ECT_WITHDRAWN = 0x800000,
	/* Reset, or closed on both sides. */
	ECN_EVENT_CLOSED = 0x1000000,
	/* A destination that was to fail refuses a SYN without ECN too: it does not mind ECN. */
	ECN_EVENT_PLAIN_REFUSED = 0x2000000,
	/* The virtual loss's retransmission goes no further: an ACK of the far host's own will answer it. */
	ECN_EVENT_KEPT_BACK = 0x4000000,
};

/* ecn_flow.notes */
enum ecn_note {
	/* The SYN that passed said what ecn_flow.asked says, because the proxy wrote it. */
	ECN_NOTE_UPGRADED = 0x0001,
	/* The SYN came again without ECN. */
	ECN_NOTE_PLAIN_SYN = 0x0002,
	/* In the first SYN; in both. */
	ECN_NOTE_SACK = 0x0004,
	ECN_NOTE_TIMESTAMPS = 0x0008,
	ECN_NOTE_SCALING = 0x0010,
	/* CE came from the far host, and no CWR since. */
	ECN_NOTE_CE = 0x0020,
	/* The next new data of the served host carries CWR. */
	ECN_NOTE_CWR = 0x0040,
	/* No ECT until the far host has shown ECT. */
	ECN_NOTE_UNSURE = 0x0080,
	/* A virtual loss could not be explained to this sender: see ecn_flow.reason. */
	ECN_NOTE_CANNOT_SIGNAL = 0x0100,
	/* DSACKs of [last_virtual_loss, recover) are taken away. */
	ECN_NOTE_STRIP = 0x0200,
	/* TSecr is kept from falling under ts_floor. */
	ECN_NOTE_TSECR_FLOOR = 0x0400,
	/* The served host has sent FIN; the far host has. */
	ECN_NOTE_HOST_FIN = 0x0800,
	ECN_NOTE_FAR_FIN = 0x1000,
	/* The far host's last packet told of gaps. */
	ECN_NOTE_GAPS = 0x2000,
	/* ECT is withdrawn until the ECE that waits is answered. */
	ECN_NOTE_WITHDRAWN = 0x4000,
	/* The connection was taken on. */
	ECN_NOTE_SERVED = 0x8000,
};

/* A connection: 104 bytes. Sequence numbers are the served host's unless it says otherwise. */
struct ecn_flow {
	/* Of the SYN that opened the connection, whoever sent it. */
	__u32 isn;
	/* The highest ACK that the served host was shown. */
	__u32 shown_una;
	/* The highest ACK that the far host sent. */
	__u32 far_una;
	/* The highest sequence end that the served host sent, FIN included. */
	__u32 snd_max;
	/* A round ends when it is acknowledged. */
	__u32 round_end;
	/* The virtual loss; its end moves with it. */
	__u32 virtual_loss;
	__u32 virtual_loss_end;
	/* Where the last virtual loss began. */
	__u32 last_virtual_loss;
	/* ECE up to here belongs to the last episode. */
	__u32 recover;
	/* TSval of the virtual loss's first retransmission. */
	__u32 ts_floor;
	/* How far the SACK blocks for the virtual loss have told. */
	__u32 sacked_to;
	/* The far host's last TSval. */
	__u32 far_tsval;
	/* The far host's numbers: its sequence end with its FIN; the last ACK that it was sent. */
	__u32 far_fin;
	__u32 host_ack;
	/* Of the served host's clock, in units of its TSval: the last echo that it was shown, 0 if none; its
	 * least round trip, 0 if not known; when it sent the virtual loss; when it sent new data last. */
	__u32 shown_tsecr;
	__u32 min_rtt;
	__u32 virtual_loss_tsval;
	__u32 newest_tsval;
	/* Below this number the served host may have taken for lost what it sent: how far the far host's own blocks
	 * have told, and what was sent again. */
	__u32 maybe_lost_below;
	/* The far host's last window, and the last one shown to the served host; unscaled. */
	__u16 far_window;
	__u16 shown_window;
	/* The served host's largest segment, in bytes, and what is usual lately. */
	__u16 segment_bytes;
	__u16 average_segment_bytes;
	/* The largest flight of this round and of the last, in segments. */
	__u16 flight_max;
	__u16 previous_flight_max;
	/* enum ecn_note */
	__u16 notes;
	/* enum ecn_phase */
	__u8 phase;
	/* enum ecn_reason: why it is bypassed, or why the sender cannot be told. */
	__u8 reason;
	/* AE, CWR, ECE of the SYN as it passed; none of a served host's only where it failed before. */
	__u8 syn_triple;
	/* enum ecn_answer */
	__u8 answer;
	/* The shift of the far host's window. */
	__u8 window_scale;
	/* Real duplicates of the far host in a row. */
	__u8 duplicates;
	/* Rewritten ACKs that the served host was shown of this virtual loss. */
	__u8 rewritten_acks;
	/* How often the virtual loss was sent again. */
	__u8 retransmits;
	/* Rounds that an ECE has waited. */
	__u8 rounds;
	/* ACKs that would have released a virtual loss, were there no gaps. */
	__u8 held_acks;
	/* enum ecn_simultaneous_open */
	__u8 simultaneous;
	__u8 reserved[3];
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
