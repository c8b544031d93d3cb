/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* Finds the TCP segment of a packet. Packets that cannot be parsed pass unchanged. */
#ifndef WINDLASS_PARSE_H
#define WINDLASS_PARSE_H

#include <bpf/bpf_endian.h>

#include "tables.h"

#define TCP_HEADER_MIN 20
#define TCP_ACK_AT 8
#define TCP_CHECK_AT 16

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10
#define TCP_URG 0x20

#define KIND_END 0
#define KIND_NOP 1
#define KIND_SACK 5
/* RFC 9293 section 3.1: 40 bytes of options. */
#define OPTIONS_MAX 40

#define VLAN_TAGS_MAX 2

struct segment {
	/* Offset of the TCP header, and its length. */
	__u32 at;
	__u32 header_bytes;
	__u32 payload_bytes;
	__u32 seq;
	__u32 ack;
	__u32 flags;
	struct flow_key key;
};

static __always_inline __u16 get16(const __u8 *at)
{
	return at[0] << 8 | at[1];
}

static __always_inline __u32 get32(const __u8 *at)
{
	return (__u32)get16(at) << 16 | get16(at + 2);
}

/* The offset of the IP header in an Ethernet frame: 0 if there is none. */
static __always_inline __u32 find_ip(struct __sk_buff *skb)
{
	__u16 protocol = bpf_ntohs(skb->protocol);
	__u32 at = ETH_HLEN;
	__u8 tag[4];

	for (int i = 0; i < VLAN_TAGS_MAX; i++) {
		if (protocol != ETH_P_8021Q && protocol != ETH_P_8021AD)
			break;
		if (bpf_skb_load_bytes(skb, at, tag, sizeof(tag)) < 0)
			return 0;
		protocol = get16(tag + 2);
		at += sizeof(tag);
	}
	return protocol == ETH_P_IP || protocol == ETH_P_IPV6 ? at : 0;
}

/* The offset of the TCP header: 0 for other packets and for fragments. */
static __always_inline __u32 parse_ip(struct __sk_buff *skb, __u32 ip_at, int from_us,
				      struct flow_key *key)
{
	__be32 *from = from_us ? key->local : key->peer;
	__be32 *to = from_us ? key->peer : key->local;
	__u32 words[10];
	__u8 *ip = (__u8 *)words;
	__u32 header_bytes;

	if (bpf_skb_load_bytes(skb, ip_at, ip, 20) < 0)
		return 0;
	if (ip[0] >> 4 == 4) {
		header_bytes = (ip[0] & 0x0f) * 4;
		if (header_bytes < 20 || ip[9] != IPPROTO_TCP || get16(ip + 6) & 0x3fff)
			return 0;
		from[0] = from[1] = to[0] = to[1] = 0;
		from[2] = to[2] = bpf_htonl(0xffff);
		from[3] = words[3];
		to[3] = words[4];
		return ip_at + header_bytes;
	}
	if (ip[0] >> 4 != 6 || bpf_skb_load_bytes(skb, ip_at, ip, 40) < 0 || ip[6] != IPPROTO_TCP)
		return 0;
	__builtin_memcpy(from, words + 2, 16);
	__builtin_memcpy(to, words + 6, 16);
	return ip_at + 40;
}

/* Whether the packet is a whole TCP segment. */
static __always_inline int parse(struct __sk_buff *skb, __u32 ip_at, int from_us,
				 struct segment *segment)
{
	__u8 tcp[TCP_HEADER_MIN];
	__be16 *ports = (__be16 *)tcp;

	segment->at = parse_ip(skb, ip_at, from_us, &segment->key);
	if (!segment->at || bpf_skb_load_bytes(skb, segment->at, tcp, sizeof(tcp)) < 0)
		return 0;
	segment->header_bytes = (tcp[12] >> 4) * 4;
	if (segment->header_bytes < TCP_HEADER_MIN ||
	    segment->at + segment->header_bytes > skb->len)
		return 0;
	segment->payload_bytes = skb->len - segment->at - segment->header_bytes;
	segment->seq = get32(tcp + 4);
	segment->ack = get32(tcp + TCP_ACK_AT);
	segment->flags = tcp[13];
	segment->key.local_port = from_us ? ports[0] : ports[1];
	segment->key.peer_port = from_us ? ports[1] : ports[0];
	return 1;
}

/* Whether the segment has a SACK option; unreadable options count as one. */
static __always_inline int has_sack(struct __sk_buff *skb, const struct segment *segment)
{
	__u32 at = segment->at + TCP_HEADER_MIN;
	__u32 end = segment->at + segment->header_bytes;
	__u8 option[2];

	for (int i = 0; i < OPTIONS_MAX; i++) {
		if (at >= end)
			return 0;
		if (bpf_skb_load_bytes(skb, at, option, 1) < 0)
			return 1;
		if (option[0] == KIND_END)
			return 0;
		if (option[0] == KIND_NOP) {
			at++;
			continue;
		}
		if (option[0] == KIND_SACK || bpf_skb_load_bytes(skb, at, option, 2) < 0)
			return 1;
		if (option[1] < 2)
			return 1;
		at += option[1];
	}
	return at < end;
}

#endif
