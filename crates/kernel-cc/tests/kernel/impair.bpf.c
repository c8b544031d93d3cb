// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Marks or drops as many of the next data packets as the test says. */
#include "kernel.h"

#include <bpf/bpf_helpers.h>

#define TC_ACT_OK 0
#define TC_ACT_SHOT 2
/* Longer than any ACK. */
#define DATA_LEN_MIN 500

struct __sk_buff {
	__u32 len;
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* As a count: every packet, until the test writes another. */
#define ALL 0xffffffff

/* Written by the test, also while packets pass: what counts down does so atomically, and ALL does not. */
struct {
	__u32 marks;
	__u32 drops;
} left;

SEC("tc")
int impair(struct __sk_buff *packet)
{
	if (packet->len < DATA_LEN_MIN)
		return TC_ACT_OK;
	if (left.drops) {
		if (left.drops != ALL)
			__sync_fetch_and_sub(&left.drops, 1);
		return TC_ACT_SHOT;
	}
	if (left.marks && bpf_skb_ecn_set_ce(packet))
		__sync_fetch_and_sub(&left.marks, 1);
	return TC_ACT_OK;
}
