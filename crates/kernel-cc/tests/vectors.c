/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * Reads the events of one case on standard input and answers each with the state after it: "cwnd
 * ssthresh slope", in segments. It calls the same functions as the kernel program. The kernel's own
 * part (slow start, one segment after a timeout) is reproduced here in short.
 */
#include <linux/types.h>
#include <stdio.h>
#include <string.h>

#include "../src/bpf/new_ecn.h"

static const struct new_ecn_parameters parameters = { 900000, 900000, 16000000 };

struct connection {
	struct new_ecn ca;
	__u32 cwnd;
	__u32 ssthresh;
	__u64 now_us;
};

static void acknowledge(struct connection *c, __u32 segments, __u32 srtt_us)
{
	__u32 room = c->ssthresh > c->cwnd ? c->ssthresh - c->cwnd : 0;
	__u32 used = segments < room ? segments : room;

	c->cwnd += used;
	if (used == segments)
		return;
	new_ecn_raise_slope(&c->ca, &parameters, c->now_us, srtt_us);
	c->cwnd = new_ecn_avoid(&c->ca, c->cwnd, segments - used);
}

/* A kernel takes `garbage` for ssthresh instead of asking; the program makes up for it once. */
static void mark_skipped(struct connection *c, __u32 garbage)
{
	__u32 before = c->ssthresh;

	c->ssthresh = garbage;
	for (int ack = 0; ack < 2; ack++) {
		if (!new_ecn_cut_was_skipped(&c->ca, c->ssthresh))
			continue;
		c->cwnd = new_ecn_mark(&c->ca, &parameters, c->now_us, c->cwnd, before);
		c->ssthresh = c->cwnd;
	}
	c->ssthresh = c->ca.held_ssthresh;
}

static void happen(struct connection *c, const char *event, __u32 segments, __u32 srtt_us)
{
	if (!strcmp(event, "ack")) {
		acknowledge(c, segments, srtt_us);
	} else if (!strcmp(event, "mark")) {
		c->cwnd = new_ecn_mark(&c->ca, &parameters, c->now_us, c->cwnd, c->ssthresh);
		c->ssthresh = c->ca.held_ssthresh;
	} else if (!strcmp(event, "skipped-mark")) {
		mark_skipped(c, segments);
	} else if (!strcmp(event, "loss")) {
		c->ssthresh = new_ecn_loss(&c->ca, c->now_us, c->cwnd);
		c->cwnd = c->ssthresh;
	} else if (!strcmp(event, "timeout")) {
		c->ssthresh = new_ecn_loss(&c->ca, c->now_us, c->cwnd);
		c->cwnd = 1;
	}
}

int main(void)
{
	unsigned int times, after_ms, srtt_ms, segments, ssthresh;
	struct connection c;
	char event[16];

	while (scanf("%15s %u %u %u %u %u", event, &times, &after_ms, &srtt_ms, &segments,
		     &ssthresh) == 6) {
		if (!strcmp(event, "start")) {
			memset(&c, 0, sizeof(c));
			new_ecn_start(&c.ca);
			c.cwnd = segments;
			c.ssthresh = ssthresh;
		}
		while (times--) {
			c.now_us += after_ms * 1000ULL;
			happen(&c, event, segments, srtt_ms * 1000);
		}
		printf("%.9f %u %.9f\n", c.cwnd + c.ca.fraction / 4294967296.0, c.ssthresh,
		       c.ca.slope / 4294967296.0);
	}
	return 0;
}
