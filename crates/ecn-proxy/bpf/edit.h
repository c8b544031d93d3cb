/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * Applies an edit to a packet. The kernel's checksum helpers handle every checksum state of a packet,
 * so this code computes a checksum only where no helper can.
 */
#ifndef WINDLASS_EDIT_H
#define WINDLASS_EDIT_H

#include <bpf/bpf_endian.h>

#include "checksum.h"
#include "parse.h"

/* One call stores octet and checksum, so that their sum does not change: if the device has summed the
 * whole packet (CHECKSUM_COMPLETE), that sum stays valid. */
static __always_inline int set_codepoint4(struct __sk_buff *skb, struct view *view, __u8 codepoint)
{
	const struct ipv4_header *ip = octets(skb, view->l3, sizeof(*ip));
	__u32 words[3];
	__u8 *octets = (__u8 *)words;
	__u16 *halves = (__u16 *)words;
	__u16 before;

	if (!ip)
		return -1;
	__builtin_memcpy(words, ip, sizeof(words));
	before = halves[0];
	/* RFC 3168 section 5: the last two bits of the former TOS octet. */
	octets[1] = (octets[1] & 0xfc) | (codepoint & 3);
	halves[5] = ecn_update_checksum(halves[5], before, halves[0]);
	view->ip[1] = octets[1];
	return bpf_skb_store_bytes(skb, view->l3, words, sizeof(words), 0);
}

static __always_inline int set_codepoint6(struct __sk_buff *skb, struct view *view, __u8 codepoint)
{
	/* RFC 8200 section 3: the traffic class begins four bits into the header. */
	__u8 octets[2] = {view->ip[0], (view->ip[1] & 0xcf) | (codepoint & 3) << 4};

	view->ip[1] = octets[1];
	/* There is no checksum of the header that would balance the change. */
	return bpf_skb_store_bytes(skb, view->l3, octets, 2, BPF_F_RECOMPUTE_CSUM);
}

static __always_inline int set_codepoint(struct __sk_buff *skb, struct work *work, __u8 codepoint)
{
	struct view *view = &work->view;

	if (codepoint == work->packet.codepoint)
		return 0;
	return view->ipv6 ? set_codepoint6(skb, view, codepoint)
			  : set_codepoint4(skb, view, codepoint);
}

static __always_inline int set_ip_length(struct __sk_buff *skb, struct view *view, __u32 end)
{
	__be16 before, after;

	if (view->ipv6) {
		/* RFC 8200 section 3: the payload length does not count the header itself. */
		after = bpf_htons(end - view->l3 - 40);
		return bpf_skb_store_bytes(skb, view->l3 + 4, &after, 2, 0);
	}
	after = bpf_htons(end - view->l3);
	if (bpf_skb_load_bytes(skb, view->l3 + 2, &before, 2) < 0)
		return -1;
	if (bpf_skb_store_bytes(skb, view->l3 + 2, &after, 2, 0) < 0)
		return -1;
	return bpf_l3_csum_replace(skb, view->l3 + 10, before, after, 2);
}

static __always_inline void clear_edited_options(struct view *view)
{
	__u64 *words = (__u64 *)(view->edited + 16);

	/* From octet 20 on; 16 to 19 are the checksum and the urgent pointer. */
	put32(view->edited + 20, 0);
	for (int i = 1; i < 6; i++)
		words[i] = 0;
}

/* Writes timestamps and blocks into `edited`; returns where the header then ends. */
static __always_inline __u32 write_options(struct view *view, int timestamps, __u32 tsval,
					   __u32 tsecr, const struct ecn_block *blocks, __u32 count)
{
	__u8 *at = view->edited + TCP_HEADER_MIN;
	__u32 bytes = TCP_HEADER_MIN;

	clear_edited_options(view);
	/* RFC 7323 appendix A: two NOPs, then kind 8 and length 10. */
	if (timestamps) {
		put32(at, 0x0101080a);
		put32(at + 4, tsval);
		put32(at + 8, tsecr);
		at += 12;
		bytes += 12;
		if (count > ECN_BLOCKS_MAX - 1)
			count = ECN_BLOCKS_MAX - 1;
	}
	if (!count)
		return bytes;
	/* RFC 2018 section 3: kind 5 and length 8n + 2, after two NOPs that align the blocks. */
	put32(at, 0x01010500 | (2 + 8 * count));
	for (__u32 i = 0; i < ECN_BLOCKS_MAX; i++) {
		if (i >= count)
			break;
		put32(at + 4 + 8 * i, blocks[i].start);
		put32(at + 8 + 8 * i, blocks[i].end);
	}
	return bytes + 4 + 8 * count;
}

static __always_inline void set_header_bytes(struct view *view, __u32 bytes)
{
	/* RFC 9293 section 3.1: the data offset counts words of 32 bits. */
	view->edited[12] = (view->edited[12] & 0x0f) | (bytes / 4) << 4;
}

/* The fields of the header in place, and TSecr. */
static __always_inline void edit_fields(struct view *view, const struct ecn_edit *edit)
{
	__u8 *header = view->edited;

	if (edit->actions & ECN_DO_FLAGS) {
		header[TCP_FLAGS_AT] &= ~edit->flags_clear;
		header[TCP_FLAGS_AT] |= edit->flags_set;
		if (edit->clear_ae)
			header[12] &= 0xfe;
	}
	/* RFC 9293 section 3.1: the ACK number is at octet 8, the window at 14. */
	if (edit->actions & ECN_DO_ACK)
		put32(header + 8, edit->ack);
	if (edit->actions & ECN_DO_WINDOW)
		put16(header + 14, edit->window);
	if (edit->actions & ECN_DO_TSECR && view->timestamps_at) {
		__u32 at = view->timestamps_at;

		hide(at);
		if (at < TCP_HEADER_MAX)
			put32(header + at + 6, edit->tsecr);
	}
}

/* The flags alone: their word is stored, and the checksum follows it. */
static __always_inline int edit_flags(struct __sk_buff *skb, struct work *work)
{
	const struct ecn_edit *edit = &work->edit;
	__u32 at = work->view.l4 + TCP_WORDS_AT;
	const __u8 *octet = octets(skb, at, 2);
	__u16 before, after;

	if (!octet)
		return -1;
	before = octet[0] << 8 | octet[1];
	/* AE is the last bit of the first octet, the other flags are the second (RFC 9768 section 3.1). */
	after = (before & ~edit->flags_clear) | edit->flags_set;
	if (edit->clear_ae)
		after &= ~0x100;
	if (after == before)
		return 0;
	before = bpf_htons(before);
	after = bpf_htons(after);
	if (bpf_skb_store_bytes(skb, at, &after, 2, 0) < 0)
		return -1;
	return bpf_l4_csum_replace(skb, work->view.l4 + TCP_CHECK_AT, before, after, 2);
}

/* RFC 9293 section 3.1: NOPs fill. */
static __always_inline void erase_sack(struct view *view)
{
	__u32 at = view->sack_at;
	__u32 bytes = view->sack_bytes;

	for (int i = 0; i < 2 + 8 * ECN_BLOCKS_MAX; i++) {
		if (i >= bytes)
			break;
		hide(at);
		if (at >= TCP_HEADER_MAX)
			break;
		view->edited[at] = KIND_NOP;
		at++;
	}
}

/* Stores `edited` over a header that was `header`, the lengths already right. */
static __always_inline int store_header(struct __sk_buff *skb, struct view *view, __u32 bytes)
{
	__s64 difference;

	/* RFC 1624 section 3: the checksum changes by the difference of the headers. */
	difference = bpf_csum_diff((__be32 *)view->header, TCP_HEADER_MAX, (__be32 *)view->edited,
				   TCP_HEADER_MAX, 0);
	if (difference < 0)
		return -1;
	hide(bytes);
	if (bytes < TCP_HEADER_MIN || bytes > TCP_HEADER_MAX)
		return -1;
	if (bpf_skb_store_bytes(skb, view->l4, view->edited, bytes, 0) < 0)
		return -1;
	return bpf_l4_csum_replace(skb, view->l4 + TCP_CHECK_AT, 0, difference, 0);
}

/* Changes the length of a pure ACK to that of its new header. */
static __always_inline int resize(struct __sk_buff *skb, struct view *view, __u32 bytes,
				  int ingress)
{
	__u32 end = view->l4 + bytes;

	/* Growing makes the kernel forget a checksum of the whole packet, which we could not keep. */
	if (ingress && bpf_skb_change_tail(skb, skb->len + 4, 0) < 0)
		return -1;
	if (bpf_skb_change_tail(skb, end, 0) < 0)
		return -1;
	return set_ip_length(skb, view, end);
}

/* The checksum has TCP's length in it. After the header is stored, which puts the old sum back. */
static __always_inline int set_tcp_length(struct __sk_buff *skb, struct view *view, __u32 bytes)
{
	return bpf_l4_csum_replace(skb, view->l4 + TCP_CHECK_AT, bpf_htons(view->header_bytes),
				   bpf_htons(bytes), BPF_F_PSEUDO_HDR | 2);
}

static __always_inline void copy_header(struct view *view)
{
	__u32 end = view->header_bytes;

	/* csum_diff() sums all 60 octets, so the rest of an earlier packet's header must go. */
	for (__u32 at = TCP_HEADER_MIN; at < TCP_HEADER_MAX; at += 4) {
		if (at >= end)
			*(__u32 *)(view->header + at) = 0;
	}
	__builtin_memcpy(view->edited, view->header, 64);
}

/* Whether write_options() can write all options of the packet. */
static __always_inline int can_rewrite_options(const struct ecn_packet *packet)
{
	return !(packet->options & ~(ECN_OPT_SACK | ECN_OPT_TIMESTAMPS));
}

static __always_inline int edit_header(struct __sk_buff *skb, struct work *work, int ingress)
{
	struct view *view = &work->view;
	struct ecn_packet *packet = &work->packet;
	struct ecn_edit *edit = &work->edit;
	__u32 bytes = view->header_bytes;

	copy_header(view);
	edit_fields(view, edit);
	if (edit->actions & ECN_DO_BLOCKS) {
		/* Its clones carry the blocks: see ECN_DO_BLOCKS in packet.h. */
		if (packet->payload_bytes || packet->flags & (ECN_FIN | ECN_SYN)) {
			erase_sack(view);
		} else if (can_rewrite_options(packet)) {
			__u32 tsecr = edit->actions & ECN_DO_TSECR ? edit->tsecr : packet->tsecr;

			bytes = write_options(view, packet->options & ECN_OPT_TIMESTAMPS,
					      packet->tsval, tsecr, edit->blocks, edit->block_count);
			set_header_bytes(view, bytes);
		} else {
			return -1;
		}
	}
	if (bytes == view->header_bytes)
		return store_header(skb, view, bytes);
	if (resize(skb, view, bytes, ingress) < 0 || store_header(skb, view, bytes) < 0)
		return -1;
	return set_tcp_length(skb, view, bytes);
}

#endif
