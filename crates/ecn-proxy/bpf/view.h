/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * Where the parts of a packet are, and the work space of a program's run. Each CPU has one: no other
 * run of these programs interrupts a run, except that of a clone, which ends at the mark.
 */
#ifndef WINDLASS_VIEW_H
#define WINDLASS_VIEW_H

#include "tables.h"

/* RFC 9293 section 3.1: a data offset of 15 words. */
#define TCP_HEADER_MAX 60
#define TCP_HEADER_MIN 20
/* Where in it: */
#define TCP_WORDS_AT 12
#define TCP_FLAGS_AT 13
#define TCP_CHECK_AT 16

struct view {
	/* Offsets in the packet: of the IP header, the TCP header, and the end of the segment. */
	__u32 l3;
	__u32 l4;
	__u32 end;
	/* Of the TCP header, options included. */
	__u32 header_bytes;
	/* Offsets in the TCP header of the first option of its kind; 0 without one. */
	__u32 timestamps_at;
	__u32 sack_at;
	__u32 sack_bytes;
	__u32 cursor;
	/* The first two octets of the IP header: version, and where the ECN field is. */
	__u8 ip[2];
	__u8 ipv6;
	__u8 reserved;
	/*
	 * The TCP header as it arrived and as it leaves. They are filled only if the options or an edit
	 * need them.
	 */
	__u8 header[128];
	__u8 edited[128];
	__u32 pseudo[10];
};

/* Constants of each program: its hook and the layout of its packets. */
enum program_flag {
	PROGRAM_INGRESS = 1,
	PROGRAM_FROM_HOST = 2,
	PROGRAM_ETHERNET = 4,
};

/* Fields that nearly every packet writes come first, on few cache lines. */
struct work {
	struct flow_key key;
	struct ecn_packet packet;
	struct ecn_edit edit;
	struct view view;
	/* See coarse_ns(). */
	__u64 clock_ns;
	__u64 clock_tick;
	/* The state of the machine before and after a call, `after` as remember_reset() keeps it. */
	struct ecn_flow before;
	struct handshake after;
	struct handshake handshake;
	struct flow fresh;
	struct host host;
	struct network_key network;
	__u32 frame[4];
	/* As in struct served_host. */
	__u64 mac;
	struct served_host served_host;
	/* Whether the connection of a handshake was counted before the packet: see advance_handshake(). */
	__u8 has_outcome;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct work);
} work SEC(".maps");

/*
 * A function that the verifier checks once and separately. Inlined code it checks again for each path
 * that leads there.
 */
#define SPLIT __attribute__((noinline))

static __always_inline struct work *workspace(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&work, &zero);
}

static __always_inline void clear_edit(struct ecn_edit *edit)
{
	/* Later fields are read only after they have been written, except by the log. */
	if (log_decisions)
		__builtin_memset(edit, 0, sizeof(*edit));
	else
		__builtin_memset(edit, 0, __builtin_offsetof(struct ecn_edit, blocks));
}

/*
 * The kernel's coarse clock, which is precise enough for expiry. It moves once in a tick of the timer,
 * and so it is read once in a tick: reading the number of the tick costs no call. The kernel counts the
 * tick a moment before it moves the clock, so this may be a tick late, and another CPU's may not.
 */
static __always_inline __u64 coarse_ns(struct work *work)
{
	__u64 tick = bpf_jiffies64();

	if (ECN_RARELY(work->clock_tick != tick)) {
		work->clock_tick = tick;
		work->clock_ns = bpf_ktime_get_coarse_ns();
	}
	return work->clock_ns;
}

/* The time since `then_ns`, which another CPU may have put a tick later than this one's `now_ns`. */
static __always_inline __u64 elapsed_ns(__u64 now_ns, __u64 then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

/* Keeps the compiler from removing a bounds check that the verifier needs. */
#define hide(value) asm volatile("" : "+r"(value))

static __always_inline __u16 get16(const __u8 *at)
{
	return at[0] << 8 | at[1];
}

static __always_inline __u32 get32(const __u8 *at)
{
	return (__u32)get16(at) << 16 | get16(at + 2);
}

static __always_inline void put16(__u8 *at, __u16 value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static __always_inline void put32(__u8 *at, __u32 value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

#endif
