/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * Input and output of the proxy's state machine: a packet, and the edit that it gets. Both are plain
 * data, the same in the kernel, in the simulator and in tests. The including file defines __u8 to
 * __u64.
 *
 * Numbers are in host byte order. The proxy stands between the served host, which does not request
 * ECN, and the far host.
 */
#ifndef WINDLASS_ECN_PACKET_H
#define WINDLASS_ECN_PACKET_H

/*
 * A condition that few packets meet. The compiler moves its code out of the common path. Between two
 * packets, other work evicts the program from the instruction cache, so each cache line of the common
 * path costs a miss.
 */
#define ECN_RARELY(condition) __builtin_expect(!!(condition), 0)

/* RFC 2018 section 3: four blocks fill the option space, three beside timestamps. */
#define ECN_BLOCKS_MAX 4

/* The ECN field of the IP header (RFC 3168 section 5). */
enum ecn_codepoint {
	ECN_NOT_ECT = 0,
	ECN_ECT1 = 1,
	ECN_ECT0 = 2,
	ECN_CE = 3,
};

/* The control bits of TCP's 14th octet, as they stand there. */
enum ecn_tcp_flag {
	ECN_FIN = 0x01,
	ECN_SYN = 0x02,
	ECN_RST = 0x04,
	ECN_PSH = 0x08,
	ECN_ACK = 0x10,
	ECN_URG = 0x20,
	ECN_ECE = 0x40,
	ECN_CWR = 0x80,
};

/* TCP options of a segment. */
enum ecn_option {
	ECN_OPT_MSS = 0x001,
	ECN_OPT_WINDOW_SCALE = 0x002,
	ECN_OPT_SACK_PERMITTED = 0x004,
	ECN_OPT_SACK = 0x008,
	ECN_OPT_TIMESTAMPS = 0x010,
	/* MD5 (RFC 2385) and AO (RFC 5925) sign the fields that an edit would change. */
	ECN_OPT_MD5 = 0x020,
	ECN_OPT_AO = 0x040,
	ECN_OPT_MPTCP = 0x080,
	/* AccECN0 and AccECN1 (RFC 9768): kinds 172 and 174. */
	ECN_OPT_ACCECN = 0x100,
	/* Any other kind. */
	ECN_OPT_OTHER = 0x200,
	/* Options that do not parse, such as a length below 2 or one beyond the end. */
	ECN_OPT_BROKEN = 0x400,
};

struct ecn_block {
	__u32 start;
	/* The first number after the block. */
	__u32 end;
};

/* A packet of one connection, a super-packet of GRO or GSO included. */
struct ecn_packet {
	/* Time of a monotonic clock. */
	__u64 now_ns;
	__u32 seq;
	__u32 ack;
	/* Payload of all segments of a super-packet together. */
	__u32 payload_bytes;
	/* Payload of one segment: gso_size of a super-packet, otherwise payload_bytes. */
	__u32 segment_bytes;
	/* Valid with ECN_OPT_TIMESTAMPS. */
	__u32 tsval;
	__u32 tsecr;
	/* As on the wire, before scaling. */
	__u16 window;
	/* enum ecn_option */
	__u16 options;
	/* With ECN_OPT_MSS, in bytes. */
	__u16 mss;
	/* enum ecn_tcp_flag */
	__u8 flags;
	/* 1 if AE is set (RFC 9768; the former NS bit). */
	__u8 ae;
	/* enum ecn_codepoint */
	__u8 codepoint;
	/* With ECN_OPT_WINDOW_SCALE: the shift, at most 14 (RFC 7323 section 2.3). */
	__u8 window_scale;
	__u8 block_count;
	__u8 reserved;
	struct ecn_block blocks[ECN_BLOCKS_MAX];
};

/* Changes to make to the packet. With none it passes untouched. */
enum ecn_action {
	/* Drop the packet. Of the other actions only ECN_DO_REPLY applies. */
	ECN_DO_DROP = 0x001,
	ECN_DO_CODEPOINT = 0x002,
	/* Apply flags_clear, then flags_set, and clear_ae. */
	ECN_DO_FLAGS = 0x004,
	ECN_DO_ACK = 0x008,
	ECN_DO_WINDOW = 0x010,
	/* Only with ECN_OPT_TIMESTAMPS. */
	ECN_DO_TSECR = 0x020,
	/*
	 * Replace the packet's SACK blocks by `blocks`; without blocks, remove the option. Only pure ACKs
	 * carry them. If the packet has data, its clones do, and NOPs replace its own option (RFC 9293
	 * section 3.1).
	 */
	ECN_DO_BLOCKS = 0x040,
	/*
	 * Send `clones` pure ACKs with the fields of the edited packet, but without FIN and PSH. They go
	 * before the packet with its sequence number, or behind it with the number after its data: RFC
	 * 9293 section 3.10.7.4 accepts no other.
	 */
	ECN_DO_CLONES = 0x080,
	/* Send `reply`, a pure ACK, back to the sender of the packet. */
	ECN_DO_REPLY = 0x100,
};

/* A pure ACK that the proxy sends in the name of the far host. */
struct ecn_reply {
	__u32 seq;
	__u32 ack;
	__u32 tsval;
	__u32 tsecr;
	__u16 window;
	/* 1: the ACK has timestamps. */
	__u8 timestamps;
	__u8 reserved;
};

struct ecn_edit {
	/* enum ecn_action */
	__u16 actions;
	__u16 window;
	__u32 ack;
	__u32 tsecr;
	/* enum ecn_codepoint */
	__u8 codepoint;
	/* enum ecn_tcp_flag */
	__u8 flags_clear;
	__u8 flags_set;
	__u8 clear_ae;
	__u8 clones;
	__u8 block_count;
	/* enum ecn_reason, for events that have a reason. */
	__u8 reason;
	__u8 reserved;
	/* Set of enum ecn_event: the events to count. */
	__u32 events;
	struct ecn_block blocks[ECN_BLOCKS_MAX];
	struct ecn_reply reply;
};

#endif
