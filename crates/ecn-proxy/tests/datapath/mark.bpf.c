// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Marks or drops as many of the next data packets as the test says, and lets some overtake the others. */
#include "kernel.h"

#include <bpf/bpf_helpers.h>

/* Longer than any ACK. */
#define DATA_LEN_MIN 200
/* In a frame of IPv4 without options: the flags of TCP; SYN, ACK, ECE and CWR among them. */
#define FLAGS_AT (ETH_HLEN + 20 + 13)
#define FLAGS 0xd2
#define ECN_SYN 0xc2
/* TC_PRIO_INTERACTIVE: pfifo_fast sends it before all others. */
#define URGENT 6

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Written by the test. */
struct {
	/* Still to be marked, still to be dropped. */
	__u32 marks;
	__u32 drops;
	/* Data packets that were not marked where a mark was due, as they were not ECT. */
	__u32 not_ect;
	/* Data packets seen. */
	__u32 seen;
	/* SYNs of IPv4 that ask for ECN, still to be dropped. */
	__u32 ecn_syns;
	/* Of so many data packets one overtakes what waits in a pfifo_fast; 0: none does. */
	__u32 overtaking;
} left;

static int is_ecn_syn(struct __sk_buff *skb)
{
	__u8 flags;

	return bpf_skb_load_bytes(skb, FLAGS_AT, &flags, 1) == 0 && (flags & FLAGS) == ECN_SYN;
}

SEC("tc")
int mark(struct __sk_buff *skb)
{
	if (skb->len < DATA_LEN_MIN) {
		if (!left.ecn_syns || !is_ecn_syn(skb))
			return TC_ACT_UNSPEC;
		left.ecn_syns--;
		return TC_ACT_SHOT;
	}
	left.seen++;
	if (left.drops) {
		left.drops--;
		return TC_ACT_SHOT;
	}
	if (left.overtaking && left.seen % left.overtaking == 0)
		skb->priority = URGENT;
	if (!left.marks)
		return TC_ACT_UNSPEC;
	if (bpf_skb_ecn_set_ce(skb))
		left.marks--;
	else
		left.not_ect++;
	return TC_ACT_UNSPEC;
}
