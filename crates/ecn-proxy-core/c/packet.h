/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * What the proxy's state machine is told of a packet, and what it answers: plain data, the same in
 * the kernel, in the simulator and under test. Whoever includes this brings __u8 to __u64.
 *
 * Numbers are in the host's byte order. Two hosts stand on the two sides of the proxy: the served
 * host, which never asks for ECN (N in the comments), and the far host (E).
 */
#ifndef WINDLASS_ECN_PACKET_H
#define WINDLASS_ECN_PACKET_H

/*
 * What hardly any packet meets. The compiler puts it elsewhere: between two packets of a fast connection the
 * caches are filled with what those carry, and the program waits for each line of its own code.
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

/* Which options a segment carries. */
enum ecn_option {
	ECN_OPT_MSS = 0x001,
	ECN_OPT_WINDOW_SCALE = 0x002,
	ECN_OPT_SACK_PERMITTED = 0x004,
	ECN_OPT_SACK = 0x008,
	ECN_OPT_TIMESTAMPS = 0x010,
	/* MD5 (RFC 2385) and AO (RFC 5925) sign what an edit would change. */
	ECN_OPT_MD5 = 0x020,
	ECN_OPT_AO = 0x040,
	ECN_OPT_MPTCP = 0x080,
	/* AccECN0 and AccECN1 (RFC 9768): kinds 172 and 174. */
	ECN_OPT_ACCECN = 0x100,
	/* A kind that is not above. */
	ECN_OPT_OTHER = 0x200,
	/* The options do not parse: a length of 0 or 1, or one that runs over the end. */
	ECN_OPT_BROKEN = 0x400,
};

struct ecn_block {
	__u32 start;
	/* The first number after the block. */
	__u32 end;
};

/* A packet of one connection, a super-packet of GRO or GSO included. */
struct ecn_packet {
	/* A monotonic clock. */
	__u64 now_ns;
	__u32 seq;
	__u32 ack;
	/* Of all segments of a super-packet together. */
	__u32 payload_bytes;
	/* Of one segment: gso_size of a super-packet, else payload_bytes. */
	__u32 segment_bytes;
	/* Without meaning unless ECN_OPT_TIMESTAMPS is there. */
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

/* What is to be done with the packet; nothing set: it passes untouched. */
enum ecn_action {
	/* The packet goes no further; of the rest only ECN_DO_REPLY counts. */
	ECN_DO_DROP = 0x001,
	ECN_DO_CODEPOINT = 0x002,
	/* flags_clear, then flags_set; clear_ae. */
	ECN_DO_FLAGS = 0x004,
	ECN_DO_ACK = 0x008,
	ECN_DO_WINDOW = 0x010,
	/* Only with ECN_OPT_TIMESTAMPS. */
	ECN_DO_TSECR = 0x020,
	/*
	 * The packet's SACK option, if any, is replaced by `blocks`, or taken away where there are none.
	 * Blocks go on pure ACKs only: on the packet, or, if it carries data, on its clones while the
	 * packet itself loses its option in place (RFC 9293 section 3.1: by NOPs).
	 */
	ECN_DO_BLOCKS = 0x040,
	/*
	 * Beside the packet go `clones` pure ACKs that say what the edited packet says: before it with
	 * its sequence number, or behind it with the number that follows its data (RFC 9293 section
	 * 3.10.7.4 takes no other). FIN and PSH are not for them.
	 */
	ECN_DO_CLONES = 0x080,
	/* `reply`, a pure ACK, goes back to where the packet came from. */
	ECN_DO_REPLY = 0x100,
};

/* A pure ACK of the proxy's own, in the far host's name. */
struct ecn_reply {
	__u32 seq;
	__u32 ack;
	__u32 tsval;
	__u32 tsecr;
	__u16 window;
	/* 1: with timestamps. */
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
	/* enum ecn_reason, with an event that has one. */
	__u8 reason;
	__u8 reserved;
	/* What to count: enum ecn_event, a bit each. */
	__u32 events;
	struct ecn_block blocks[ECN_BLOCKS_MAX];
	struct ecn_reply reply;
};

#endif
