/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * Parses a frame into the key of its connection and, if the connection is known, into struct
 * ecn_packet. Packets that do not parse pass.
 *
 * Headers are read in place: a helper call for each would cost more than the rest of the parser.
 */
#ifndef WINDLASS_PARSE_H
#define WINDLASS_PARSE_H

#include <bpf/bpf_endian.h>

#include "options.h"
#include "view.h"

#define VLAN_TAGS_MAX 2
#define VLAN_TAG_BYTES 4
#define EXTENSION_HEADERS_MAX 6
/* Headers lie before this: 6 extension headers of 2 kB, and what is around them. */
#define HEADERS_MAX 0x3fff

enum parsed {
	PARSED_OTHER = 0,
	PARSED_TCP = 1,
	/* Shorter than its headers say, or they contradict each other. */
	PARSED_MALFORMED = 2,
};

struct ipv4_header {
	__u8 version_words;
	__u8 tos;
	__be16 total_bytes;
	__be16 id;
	__be16 fragment;
	__u8 ttl;
	__u8 protocol;
	__u16 check;
	__be32 from;
	__be32 to;
};

struct ipv6_header {
	__u8 version[2];
	__be16 label;
	__be16 payload_bytes;
	__u8 next;
	__u8 hop_limit;
	__be32 from[4];
	__be32 to[4];
};

struct tcp_header {
	__be16 from_port;
	__be16 to_port;
	__be32 seq;
	__be32 ack;
	__u8 words;
	__u8 flags;
	__be16 window;
	__u16 check;
	__u16 urgent;
	/* If there are options. */
	__be32 options[3];
};

static __always_inline void *linear(struct __sk_buff *skb, __u32 at, __u32 bytes)
{
	void *here = (void *)(long)skb->data + at;

	return here + bytes <= (void *)(long)skb->data_end ? here : 0;
}

/* `bytes` octets at `at`; 0 if there are fewer. Pointers that it returned before become invalid. */
static __always_inline void *octets(struct __sk_buff *skb, __u32 at, __u32 bytes)
{
	void *here;

	hide(at);
	if (ECN_RARELY(at > HEADERS_MAX))
		return 0;
	here = linear(skb, at, bytes);
	if (ECN_RARELY(!here)) {
		/* Drivers and GRO leave headers in pages now and then. */
		if (at + bytes > skb->len || bpf_skb_pull_data(skb, at + bytes) < 0)
			return 0;
		here = linear(skb, at, bytes);
	}
	return here;
}

/* Finds the IP header: 0 if there is none. */
static __always_inline __u32 find_ip(struct __sk_buff *skb, struct view *view, int ethernet)
{
	__u16 protocol = bpf_ntohs(skb->protocol);
	__u32 l3 = ethernet ? ETH_HLEN : 0;
	__u8 tag[VLAN_TAG_BYTES];

	if (ethernet) {
		for (int i = 0; i < VLAN_TAGS_MAX; i++) {
			if (!ECN_RARELY(protocol == ETH_P_8021Q || protocol == ETH_P_8021AD))
				break;
			if (bpf_skb_load_bytes(skb, l3, tag, VLAN_TAG_BYTES) < 0)
				return 0;
			protocol = get16(tag + 2);
			l3 += VLAN_TAG_BYTES;
		}
	}
	view->l3 = l3;
	return protocol == ETH_P_IP || protocol == ETH_P_IPV6 ? protocol : 0;
}

static __always_inline void set_ends(struct flow_key *key, int from_host, const __be32 *from,
				     const __be32 *to)
{
	__builtin_memcpy(key->host, from_host ? from : to, 16);
	__builtin_memcpy(key->far, from_host ? to : from, 16);
}

static __always_inline int parse_ipv4(struct __sk_buff *skb, struct work *work, int from_host)
{
	struct view *view = &work->view;
	struct flow_key *key = &work->key;
	const struct ipv4_header *ip = octets(skb, view->l3, sizeof(*ip));
	__u32 header_bytes, total;

	if (ECN_RARELY(!ip))
		return PARSED_MALFORMED;
	/* RFC 791 section 3.1: the header length counts words of 32 bits. */
	header_bytes = (ip->version_words & 0x0f) * 4;
	if (ip->version_words >> 4 != 4 || header_bytes < 20)
		return PARSED_MALFORMED;
	/* More fragments, or an offset: not all of the segment is here. */
	if (ip->protocol != IPPROTO_TCP || ip->fragment & bpf_htons(0x3fff))
		return PARSED_OTHER;
	total = bpf_ntohs(ip->total_bytes);
	/* A super-packet of more than 64 kB says 0. */
	if (ECN_RARELY(!total) && skb->gso_size)
		total = skb->len - view->l3;
	view->l4 = view->l3 + header_bytes;
	view->end = view->l3 + total;
	view->ipv6 = 0;
	view->ip[0] = ip->version_words;
	view->ip[1] = ip->tos;
	/* RFC 4291 section 2.5.5.2: the IPv6 address that stands for an IPv4 one. */
	key->host[0] = key->host[1] = key->far[0] = key->far[1] = 0;
	key->host[2] = key->far[2] = bpf_htonl(0xffff);
	key->host[3] = from_host ? ip->from : ip->to;
	key->far[3] = from_host ? ip->to : ip->from;
	return PARSED_TCP;
}

static __always_inline int parse_ipv6(struct __sk_buff *skb, struct work *work, int from_host)
{
	struct view *view = &work->view;
	const struct ipv6_header *ip = octets(skb, view->l3, sizeof(*ip));
	__u32 at = view->l3 + sizeof(*ip);
	__u8 extension[4];
	__u32 payload;
	__u8 next;

	if (!ip || ip->version[0] >> 4 != 6)
		return PARSED_MALFORMED;
	payload = bpf_ntohs(ip->payload_bytes);
	if (ECN_RARELY(!payload) && skb->gso_size)
		payload = skb->len - at;
	view->end = at + payload;
	next = ip->next;
	for (int i = 0; i < EXTENSION_HEADERS_MAX && next != IPPROTO_TCP; i++) {
		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS)
			return PARSED_OTHER;
		if (bpf_skb_load_bytes(skb, at, extension, 4) < 0)
			return PARSED_MALFORMED;
		/* Segments left: the checksum is over another destination (RFC 8200 section 8.1). */
		if (next == IPPROTO_ROUTING && extension[3])
			return PARSED_OTHER;
		/* RFC 8200 section 4.3: in units of 8 octets, without the first. */
		next = extension[0];
		at += (extension[1] + 1) * 8;
	}
	if (next != IPPROTO_TCP)
		return PARSED_OTHER;
	view->l4 = at;
	view->ipv6 = 1;
	view->ip[0] = ip->version[0];
	view->ip[1] = ip->version[1];
	set_ends(&work->key, from_host, ip->from, ip->to);
	return PARSED_TCP;
}

static __always_inline int parse_tcp(struct __sk_buff *skb, struct work *work, int from_host)
{
	struct view *view = &work->view;
	const struct tcp_header *tcp;
	__u32 bytes;

	if (view->end > skb->len || view->l4 + TCP_HEADER_MIN > view->end)
		return PARSED_MALFORMED;
	tcp = octets(skb, view->l4, TCP_HEADER_MIN);
	if (ECN_RARELY(!tcp))
		return PARSED_MALFORMED;
	/* RFC 9293 section 3.1: the data offset counts words of 32 bits. */
	bytes = (tcp->words >> 4) * 4;
	if (bytes < TCP_HEADER_MIN || view->l4 + bytes > view->end)
		return PARSED_MALFORMED;
	view->header_bytes = bytes;
	work->packet.flags = tcp->flags;
	work->key.host_port = from_host ? tcp->from_port : tcp->to_port;
	work->key.far_port = from_host ? tcp->to_port : tcp->from_port;
	return PARSED_TCP;
}

/* Finds the connection of a packet (the key), its headers and its flags. enum parsed */
static __always_inline int parse(struct __sk_buff *skb, struct work *work, __u32 flags)
{
	int from_host = flags & PROGRAM_FROM_HOST;
	__u32 protocol = find_ip(skb, &work->view, flags & PROGRAM_ETHERNET);
	int parsed;

	if (!protocol)
		return PARSED_OTHER;
	if (protocol == ETH_P_IP)
		parsed = parse_ipv4(skb, work, from_host);
	else
		parsed = parse_ipv6(skb, work, from_host);
	return parsed == PARSED_TCP ? parse_tcp(skb, work, from_host) : parsed;
}

/* Copies the TCP header. Returns 0, or -1 if the kernel refuses. */
static __always_inline int load_header(struct __sk_buff *skb, struct view *view)
{
	__u32 options = view->header_bytes - TCP_HEADER_MIN;

	if (bpf_skb_load_bytes(skb, view->l4, view->header, TCP_HEADER_MIN) < 0)
		return -1;
	if (!options)
		return 0;
	/* The verifier of Linux 6.1 does not conclude from "not 0" that it is 1 or more. */
	options--;
	hide(options);
	if (options >= TCP_HEADER_MAX - TCP_HEADER_MIN)
		return -1;
	hide(options);
	options++;
	return bpf_skb_load_bytes(skb, view->l4 + TCP_HEADER_MIN, view->header + TCP_HEADER_MIN,
				  options);
}

/* Options that are not timestamps alone. */
SPLIT int read_options(struct __sk_buff *skb)
{
	struct work *work = workspace();

	if (!work || load_header(skb, &work->view) < 0)
		return 0;
	return parse_options(work);
}

/* The rest of struct ecn_packet, after parse(). */
static __always_inline void read_segment(struct __sk_buff *skb, struct work *work)
{
	struct view *view = &work->view;
	struct ecn_packet *packet = &work->packet;
	const struct tcp_header *tcp = octets(skb, view->l4, TCP_HEADER_MIN);
	__u32 bytes = view->header_bytes;

	if (ECN_RARELY(!tcp))
		return;
	view->timestamps_at = 0;
	view->sack_at = 0;
	view->sack_bytes = 0;
	packet->seq = bpf_ntohl(tcp->seq);
	packet->ack = bpf_ntohl(tcp->ack);
	/* RFC 9768 section 3.1: the last bit before CWR. */
	packet->ae = tcp->words & 1;
	packet->window = bpf_ntohs(tcp->window);
	packet->payload_bytes = view->end - view->l4 - bytes;
	packet->segment_bytes = skb->gso_size ? skb->gso_size : packet->payload_bytes;
	/* RFC 3168 section 5: the last two bits of the TOS octet or the traffic class. */
	packet->codepoint = view->ipv6 ? view->ip[1] >> 4 & 3 : view->ip[1] & 3;
	packet->options = 0;
	packet->block_count = 0;
	packet->reserved = 0;
	packet->tsval = packet->tsecr = 0;
	packet->mss = 0;
	packet->window_scale = 0;
	if (bytes == TCP_HEADER_MIN)
		return;
	/* Timestamps alone, as RFC 7323 appendix A lays them out: nearly every packet. */
	if (bytes == sizeof(*tcp)) {
		tcp = octets(skb, view->l4, sizeof(*tcp));
		if (tcp && tcp->options[0] == bpf_htonl(0x0101080a)) {
			view->timestamps_at = TCP_HEADER_MIN + 2;
			packet->options = ECN_OPT_TIMESTAMPS;
			packet->tsval = bpf_ntohl(tcp->options[1]);
			packet->tsecr = bpf_ntohl(tcp->options[2]);
			return;
		}
	}
	read_options(skb);
}

#endif
