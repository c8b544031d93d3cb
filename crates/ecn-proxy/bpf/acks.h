/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* Builds the proxy's own pure ACKs from the current packet. */
#ifndef WINDLASS_ACKS_H
#define WINDLASS_ACKS_H

#include "edit.h"

/* Bounds a loop for the verifier. The state machine asks for at most ECN_DUPLICATES clones. */
#define CLONES_MAX 4

static __always_inline __u16 fold(__u64 sum)
{
	/* RFC 1071 section 1: carries are added at the low end. */
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/*
 * Cuts the packet down to its headers and `bytes` of TCP header. Sets `partial` if the device
 * completes the checksum (CHECKSUM_PARTIAL). The kernel refuses to truncate such a packet within its
 * checksum field, so the first call tests for it. The second call extends any other packet again.
 */
static __always_inline int cut(struct __sk_buff *skb, struct view *view, __u32 bytes, int *partial)
{
	__u32 end = view->l4 + bytes;

	*partial = bpf_skb_change_tail(skb, view->l4 + TCP_CHECK_AT + 1, 0) < 0;
	if (bpf_skb_change_tail(skb, end, 0) < 0)
		return -1;
	return set_ip_length(skb, view, end);
}

/*
 * Stores `edited` with a new checksum. The order of the two addresses does not affect it. `edited` is
 * complete and zero behind the options: edit_header() or send_reply() has filled it, write_options()
 * has cleared the rest.
 */
static __always_inline int store_ack(struct __sk_buff *skb, struct work *work, __u32 bytes,
				     int partial)
{
	struct view *view = &work->view;
	__s64 sum;
	__u16 check;

	/* RFC 9293 section 3.1, RFC 8200 section 8.1: addresses, length and protocol. */
	__builtin_memcpy(view->pseudo, work->key.host, 16);
	__builtin_memcpy(view->pseudo + 4, work->key.far, 16);
	if (!view->ipv6)
		/* The IPv4 pseudo-header lacks the ::ffff prefix of mapped addresses. */
		view->pseudo[2] = view->pseudo[6] = 0;
	view->pseudo[8] = bpf_htonl(bytes);
	view->pseudo[9] = bpf_htonl(IPPROTO_TCP);
	sum = bpf_csum_diff(0, 0, view->pseudo, sizeof(view->pseudo), 0);
	put16(view->edited + TCP_CHECK_AT, 0);
	if (!partial)
		sum = bpf_csum_diff(0, 0, (__be32 *)view->edited, TCP_HEADER_MAX, sum);
	check = fold(sum & 0xffffffff);
	/* The device complements the sum that it completes. */
	if (!partial)
		check = ~check;
	__builtin_memcpy(view->edited + TCP_CHECK_AT, &check, 2);
	hide(bytes);
	if (bytes < TCP_HEADER_MIN || bytes > TCP_HEADER_MAX)
		return -1;
	return bpf_skb_store_bytes(skb, view->l4, view->edited, bytes, 0);
}

/* Sends a copy of the packet on, as ECN_DO_CLONES and ECN_DO_REPLY of packet.h need. */
static __always_inline int clone_on(struct __sk_buff *skb, __u32 mark, int ingress)
{
	int result;

	/* The clone passes this hook again; handle() sees the mark, removes it and lets it pass. */
	skb->mark |= mark;
	result = bpf_clone_redirect(skb, skb->ifindex, ingress ? BPF_F_INGRESS : 0);
	skb->mark &= ~mark;
	return result;
}

/* Sends the packet on as a clone, and turns the original into a pure ACK with the same ACK fields. */
static __always_inline int split_ack(struct __sk_buff *skb, struct work *work, __u32 mark,
				     int ingress)
{
	struct view *view = &work->view;
	struct ecn_packet *packet = &work->packet;
	struct ecn_edit *edit = &work->edit;
	__u32 tsecr = edit->actions & ECN_DO_TSECR ? edit->tsecr : packet->tsecr;
	__u32 count = edit->actions & ECN_DO_BLOCKS ? edit->block_count : 0;
	__u32 bytes;
	int partial;

	/* The clone carries the data. Without it, the data would be lost. */
	if (clone_on(skb, mark, ingress) < 0)
		return -1;
	bytes = write_options(view, packet->options & ECN_OPT_TIMESTAMPS, packet->tsval, tsecr,
			      edit->blocks, count);
	set_header_bytes(view, bytes);
	put32(view->edited + 4,
	      packet->seq + packet->payload_bytes + !!(packet->flags & ECN_FIN));
	view->edited[TCP_FLAGS_AT] = ECN_ACK;
	/* Without URG there is no urgent pointer. */
	put16(view->edited + 18, 0);
	if (cut(skb, view, bytes, &partial) < 0)
		return -1;
	return store_ack(skb, work, bytes, partial);
}

/* ECN_DO_CLONES of packet.h. Returns 0, or -1 if the packet must be dropped: it may be damaged. */
static __always_inline int send_clones(struct __sk_buff *skb, struct work *work, __u32 mark,
				       int ingress)
{
	__u32 count = work->edit.clones;

	if (!count)
		return 0;
	if (work->packet.payload_bytes || work->packet.flags & ECN_FIN) {
		if (split_ack(skb, work, mark, ingress) < 0)
			return -1;
		count--;
	}
	for (__u32 i = 0; i < CLONES_MAX; i++) {
		if (i >= count)
			break;
		/* A lost clone is a lost ACK. */
		clone_on(skb, mark, ingress);
	}
	return 0;
}

static __always_inline int swap_ends(struct __sk_buff *skb, struct view *view, int ethernet)
{
	__u32 address_bytes = view->ipv6 ? 16 : 4;
	__u32 at = view->l3 + (view->ipv6 ? 8 : 12);
	__u32 from[4], to[4];

	if (ethernet) {
		__u16 macs[6], swapped[6];

		if (bpf_skb_load_bytes(skb, 0, macs, 12) < 0)
			return -1;
		for (int i = 0; i < 3; i++) {
			swapped[i] = macs[i + 3];
			swapped[i + 3] = macs[i];
		}
		if (bpf_skb_store_bytes(skb, 0, swapped, 12, 0) < 0)
			return -1;
	}
	if (bpf_skb_load_bytes(skb, at, from, address_bytes) < 0 ||
	    bpf_skb_load_bytes(skb, at + address_bytes, to, address_bytes) < 0 ||
	    bpf_skb_store_bytes(skb, at, to, address_bytes, 0) < 0)
		return -1;
	return bpf_skb_store_bytes(skb, at + address_bytes, from, address_bytes, 0);
}

/* ECN_DO_REPLY of packet.h: turns the packet into the reply and sends it back. Returns an action of tc. */
static __always_inline int send_reply(struct __sk_buff *skb, struct work *work, __u32 mark,
				      int ethernet, int ingress)
{
	struct view *view = &work->view;
	const struct ecn_reply *reply = &work->edit.reply;
	__u8 *header = view->edited;
	__u32 bytes;
	int partial;

	bytes = write_options(view, reply->timestamps, reply->tsval, reply->tsecr, 0, 0);
	__builtin_memcpy(header, view->header + 2, 2);
	__builtin_memcpy(header + 2, view->header, 2);
	put32(header + 4, reply->seq);
	put32(header + 8, reply->ack);
	header[12] = 0;
	set_header_bytes(view, bytes);
	header[TCP_FLAGS_AT] = ECN_ACK;
	put16(header + 14, reply->window);
	put16(header + 18, 0);
	if (set_codepoint(skb, work, ECN_NOT_ECT) < 0 || cut(skb, view, bytes, &partial) < 0 ||
	    store_ack(skb, work, bytes, partial) < 0 || swap_ends(skb, view, ethernet) < 0)
		return TC_ACT_SHOT;
	skb->mark |= mark;
	/* Back where it came from: out of the interface, or up to this host. */
	return bpf_redirect(skb->ifindex, ingress ? 0 : BPF_F_INGRESS);
}

#endif
