/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* Parses TCP options. */
#ifndef WINDLASS_OPTIONS_H
#define WINDLASS_OPTIONS_H

#include "view.h"

enum option_kind {
	KIND_END = 0,
	KIND_NOP = 1,
	KIND_MSS = 2,
	KIND_WINDOW_SCALE = 3,
	KIND_SACK_PERMITTED = 4,
	KIND_SACK = 5,
	KIND_TIMESTAMPS = 8,
	KIND_MD5 = 19,
	KIND_AO = 29,
	KIND_MPTCP = 30,
	/* RFC 9768 section 3.2.3. */
	KIND_ACCECN0 = 172,
	KIND_ACCECN1 = 174,
};
#define TIMESTAMPS_BYTES 10

static __always_inline void parse_sack(struct view *view, struct ecn_packet *packet, __u32 at,
				       __u32 bytes)
{
	__u32 count = (bytes - 2) / 8;
	const __u8 *from = view->header + at + 2;

	/* RFC 2018 section 3: 8n + 2 octets with at least one block. */
	if (view->sack_at || bytes < 10 || (bytes - 2) % 8 || count > ECN_BLOCKS_MAX) {
		packet->options |= ECN_OPT_BROKEN;
		return;
	}
	view->sack_at = at;
	view->sack_bytes = bytes;
	packet->options |= ECN_OPT_SACK;
	packet->block_count = count;
	/* Entries after `count` hold other bytes of the header and are never read. */
	for (int i = 0; i < ECN_BLOCKS_MAX; i++) {
		packet->blocks[i].start = get32(from + 8 * i);
		packet->blocks[i].end = get32(from + 8 * i + 4);
	}
}

static __always_inline void parse_timestamps(struct view *view, struct ecn_packet *packet, __u32 at)
{
	const __u8 *from = view->header + at + 2;

	/* RFC 7323 section 3.2: kind, length, TSval, TSecr. */
	view->timestamps_at = at;
	packet->options |= ECN_OPT_TIMESTAMPS;
	packet->tsval = get32(from);
	packet->tsecr = get32(from + 4);
}

/*
 * The option at octet `at` of view.header. One of the wrong length for its kind is as broken as one that does
 * not fit. Apart, because the verifier follows the loop of parse_options() through each of its turns.
 */
SPLIT int parse_option(__u32 at, __u32 bytes)
{
	struct work *work = workspace();
	struct ecn_packet *packet;
	const __u8 *option;
	struct view *view;

	if (!work || at >= TCP_HEADER_MAX)
		return 0;
	packet = &work->packet;
	view = &work->view;
	option = view->header + at;
	switch (option[0]) {
	case KIND_MSS:
		packet->options |= bytes == 4 ? ECN_OPT_MSS : ECN_OPT_BROKEN;
		packet->mss = get16(option + 2);
		break;
	case KIND_WINDOW_SCALE:
		packet->options |= bytes == 3 ? ECN_OPT_WINDOW_SCALE : ECN_OPT_BROKEN;
		packet->window_scale = option[2];
		break;
	case KIND_SACK_PERMITTED:
		packet->options |= bytes == 2 ? ECN_OPT_SACK_PERMITTED : ECN_OPT_BROKEN;
		break;
	case KIND_SACK:
		parse_sack(view, packet, at, bytes);
		break;
	case KIND_TIMESTAMPS:
		if (bytes != TIMESTAMPS_BYTES || view->timestamps_at)
			packet->options |= ECN_OPT_BROKEN;
		else
			parse_timestamps(view, packet, at);
		break;
	case KIND_MD5:
		packet->options |= ECN_OPT_MD5;
		break;
	case KIND_AO:
		packet->options |= ECN_OPT_AO;
		break;
	case KIND_MPTCP:
		packet->options |= ECN_OPT_MPTCP;
		break;
	case KIND_ACCECN0:
	case KIND_ACCECN1:
		packet->options |= ECN_OPT_ACCECN;
		break;
	default:
		packet->options |= ECN_OPT_OTHER;
	}
	return 0;
}

/* The options of view.header. */
static __always_inline int parse_options(struct work *work)
{
	struct ecn_packet *packet = &work->packet;
	struct view *view = &work->view;
	__u32 end = view->header_bytes;
	__u32 at = TCP_HEADER_MIN;
	/* A value in memory is unknown to the verifier, so it checks one iteration for all. */
	view->cursor = at;
	for (int i = 0; i < TCP_HEADER_MAX - TCP_HEADER_MIN; i++) {
		__u32 bytes;

		at = *(volatile __u32 *)&view->cursor;
		if (at >= end || at >= TCP_HEADER_MAX)
			break;
		if (view->header[at] == KIND_END)
			break;
		if (view->header[at] == KIND_NOP) {
			*(volatile __u32 *)&view->cursor = at + 1;
			continue;
		}
		/* RFC 9293 section 3.1: the length counts the octets of kind and length too. */
		bytes = view->header[at + 1];
		if (at + 1 >= end || bytes < 2 || at + bytes > end) {
			packet->options |= ECN_OPT_BROKEN;
			break;
		}
		parse_option(at, bytes);
		*(volatile __u32 *)&view->cursor = at + bytes;
	}
	return 0;
}

#endif
