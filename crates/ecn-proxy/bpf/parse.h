/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* From a frame to struct ecn_packet. Whatever is odd is not the proxy's business and passes. */
#ifndef WINDLASS_PARSE_H
#define WINDLASS_PARSE_H

#include <bpf/bpf_endian.h>

#include "options.h"
#include "view.h"

#define VLAN_TAGS_MAX 2
#define VLAN_TAG_BYTES 4
#define EXTENSION_HEADERS_MAX 6

enum parsed {
	PARSED_OTHER = 0,
	PARSED_TCP = 1,
	/* Shorter than its headers say, or they contradict each other. */
	PARSED_MALFORMED = 2,
};

/* Finds the IP header: 0 if there is none. */
static __always_inline __u32 find_ip(struct __sk_buff *skb, struct work *work, int ethernet)
{
	__u16 protocol = bpf_ntohs(skb->protocol);
	__u32 l3 = ethernet ? ETH_HLEN : 0;
	__u8 *tag = (__u8 *)work->frame;

	if (ethernet) {
		for (int i = 0; i < VLAN_TAGS_MAX; i++) {
			if (protocol != ETH_P_8021Q && protocol != ETH_P_8021AD)
				break;
			if (bpf_skb_load_bytes(skb, l3, tag, VLAN_TAG_BYTES) < 0)
				return 0;
			protocol = get16(tag + 2);
			l3 += VLAN_TAG_BYTES;
		}
	}
	work->view.l3 = l3;
	return protocol == ETH_P_IP || protocol == ETH_P_IPV6 ? protocol : 0;
}

static __always_inline int parse_ipv4(struct __sk_buff *skb, struct view *view)
{
	__u8 *ip = (__u8 *)view->ip_header;
	__u32 header_bytes, total;

	if (bpf_skb_load_bytes(skb, view->l3, ip, 20) < 0)
		return PARSED_MALFORMED;
	header_bytes = (ip[0] & 0x0f) * 4;
	if (ip[0] >> 4 != 4 || header_bytes < 20)
		return PARSED_MALFORMED;
	/* More fragments, or an offset: not all of the segment is here. */
	if (ip[9] != IPPROTO_TCP || get16(ip + 6) & 0x3fff)
		return PARSED_OTHER;
	total = get16(ip + 2);
	/* A super-packet of more than 64 kB says 0. */
	if (!total && skb->gso_size)
		total = skb->len - view->l3;
	view->l4 = view->l3 + header_bytes;
	view->end = view->l3 + total;
	view->ipv6 = 0;
	view->from[0] = view->from[1] = view->to[0] = view->to[1] = 0;
	view->from[2] = view->to[2] = bpf_htonl(0xffff);
	view->from[3] = view->ip_header[3];
	view->to[3] = view->ip_header[4];
	return PARSED_TCP;
}

static __always_inline int parse_ipv6(struct __sk_buff *skb, struct work *work)
{
	struct view *view = &work->view;
	__u8 *ip = (__u8 *)view->ip_header;
	__u8 *extension = (__u8 *)work->frame;
	__u32 at = view->l3 + 40;
	__u32 payload;
	__u8 next;

	if (bpf_skb_load_bytes(skb, view->l3, ip, 40) < 0 || ip[0] >> 4 != 6)
		return PARSED_MALFORMED;
	payload = get16(ip + 4);
	if (!payload && skb->gso_size)
		payload = skb->len - at;
	view->end = at + payload;
	next = ip[6];
	for (int i = 0; i < EXTENSION_HEADERS_MAX && next != IPPROTO_TCP; i++) {
		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS)
			return PARSED_OTHER;
		if (bpf_skb_load_bytes(skb, at, extension, 4) < 0)
			return PARSED_MALFORMED;
		/* Segments left: the checksum is over another destination (RFC 8200 section 8.1). */
		if (next == IPPROTO_ROUTING && extension[3])
			return PARSED_OTHER;
		next = extension[0];
		at += (extension[1] + 1) * 8;
	}
	if (next != IPPROTO_TCP)
		return PARSED_OTHER;
	view->l4 = at;
	view->ipv6 = 1;
	__builtin_memcpy(view->from, ip + 8, 16);
	__builtin_memcpy(view->to, ip + 24, 16);
	return PARSED_TCP;
}

static __always_inline int parse_tcp(struct __sk_buff *skb, struct work *work)
{
	struct view *view = &work->view;
	struct ecn_packet *packet = &work->packet;
	__u8 *header = view->header;
	__u32 bytes, options;

	if (view->end > skb->len || view->l4 + TCP_HEADER_MIN > view->end)
		return PARSED_MALFORMED;
	if (bpf_skb_load_bytes(skb, view->l4, header, TCP_HEADER_MIN) < 0)
		return PARSED_MALFORMED;
	bytes = (header[12] >> 4) * 4;
	if (bytes < TCP_HEADER_MIN || view->l4 + bytes > view->end)
		return PARSED_MALFORMED;
	view->header_bytes = bytes;
	view->timestamps_at = 0;
	view->sack_at = 0;
	view->sack_bytes = 0;
	packet->seq = get32(header + 4);
	packet->ack = get32(header + 8);
	packet->flags = header[TCP_FLAGS_AT];
	packet->ae = header[12] & 1;
	packet->window = get16(header + 14);
	packet->payload_bytes = view->end - view->l4 - bytes;
	packet->segment_bytes = skb->gso_size ? skb->gso_size : packet->payload_bytes;
	packet->codepoint = view->ipv6 ? view->ip[1] >> 4 & 3 : view->ip[1] & 3;
	packet->options = 0;
	packet->block_count = 0;
	packet->reserved = 0;
	packet->tsval = packet->tsecr = 0;
	packet->mss = 0;
	packet->window_scale = 0;
	options = bytes - TCP_HEADER_MIN;
	if (!options)
		return PARSED_TCP;
	/* The verifier of Linux 6.1 does not conclude from "not 0" that it is 1 or more. */
	options--;
	hide(options);
	if (options >= TCP_HEADER_MAX - TCP_HEADER_MIN)
		return PARSED_MALFORMED;
	hide(options);
	options++;
	if (bpf_skb_load_bytes(skb, view->l4 + TCP_HEADER_MIN, header + TCP_HEADER_MIN, options) < 0)
		return PARSED_MALFORMED;
	parse_options();
	return PARSED_TCP;
}

static __always_inline void make_key(struct work *work, int from_host)
{
	struct view *view = &work->view;
	__u16 source, destination;

	__builtin_memcpy(&source, view->header, 2);
	__builtin_memcpy(&destination, view->header + 2, 2);
	__builtin_memcpy(work->key.host, from_host ? view->from : view->to, 16);
	__builtin_memcpy(work->key.far, from_host ? view->to : view->from, 16);
	work->key.host_port = from_host ? source : destination;
	work->key.far_port = from_host ? destination : source;
}

SPLIT int parse_segment(struct __sk_buff *skb)
{
	struct work *work = workspace();

	return work ? parse_tcp(skb, work) : PARSED_OTHER;
}

/* enum parsed */
SPLIT int parse(struct __sk_buff *skb, __u32 way)
{
	struct work *work = workspace();
	__u32 protocol;
	int parsed;

	if (!work)
		return PARSED_OTHER;
	protocol = find_ip(skb, work, way & WAY_ETHERNET);
	if (!protocol)
		return PARSED_OTHER;
	parsed = protocol == ETH_P_IP ? parse_ipv4(skb, &work->view) : parse_ipv6(skb, work);
	if (parsed != PARSED_TCP)
		return parsed;
	__builtin_memcpy(work->view.ip, work->view.ip_header, 2);
	parsed = parse_segment(skb);
	if (parsed == PARSED_TCP)
		make_key(work, way & WAY_FROM_HOST);
	return parsed;
}

#endif
