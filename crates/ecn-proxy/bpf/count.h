/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* Counts packets, connections and events, and logs the decisions of the state machine. */
#ifndef WINDLASS_COUNT_H
#define WINDLASS_COUNT_H

#include "view.h"

struct run {
	const struct settings *settings;
	struct counters *counters;
	struct work *work;
};

static __always_inline int begin(struct run *run)
{
	__u32 zero = 0;

	run->settings = bpf_map_lookup_elem(&settings, &zero);
	run->counters = bpf_map_lookup_elem(&counters, &zero);
	run->work = workspace();
	return run->settings && run->counters && run->work;
}

static __always_inline void count(struct run *run, enum counter which)
{
	run->counters->values[which]++;
}

static __always_inline void count_reason(struct run *run, __u32 base)
{
	__u32 reason = run->work->edit.reason;

	hide(reason);
	if (reason < ECN_REASON_COUNT)
		run->counters->values[base + reason]++;
}

#define EVENTS 31

SPLIT int count_all_events(void)
{
	struct run run;
	__u32 events;

	if (!begin(&run))
		return 0;
	events = run.work->edit.events;
	for (int i = 0; i < EVENTS; i++) {
		if (events >> i & 1)
			count(&run, COUNT_EVENTS + i);
	}
	if (events & ECN_EVENT_BYPASS)
		count_reason(&run, COUNT_BYPASS);
	if (events & ECN_EVENT_PASSED_OVER)
		count_reason(&run, COUNT_PASSED_OVER);
	if (events & ECN_EVENT_ECT_WITHDRAWN)
		count_reason(&run, COUNT_WITHDRAWN);
	return 0;
}

/* The bit of ECN_EVENT_ECT. */
#define EVENT_ECT 11
_Static_assert(ECN_EVENT_ECT == 1 << EVENT_ECT, "ECN_EVENT_ECT");

static __always_inline void count_events(struct run *run)
{
	__u32 events = run->work->edit.events;

	/* The common case: a data packet of a served host. */
	if (events == ECN_EVENT_ECT)
		count(run, COUNT_EVENTS + EVENT_ECT);
	else if (events)
		count_all_events();
}

static __always_inline void note_events(struct flow *flow, __u32 events)
{
	if (!events)
		return;
	flow->marks += !!(events & ECN_EVENT_CE);
	flow->echoes += !!(events & ECN_EVENT_ECHO);
	flow->ect += !!(events & ECN_EVENT_ECT);
	flow->episodes += !!(events & ECN_EVENT_EPISODE);
	flow->virtual_losses += !!(events & ECN_EVENT_VIRTUAL_LOSS);
}

static __always_inline void log_decision(struct run *run, const struct ecn_flow *before,
					 const struct ecn_flow *after, __u8 call, __u8 fails,
					 __u8 kept, __u32 order)
{
	struct work *work = run->work;
	struct decision *decision;

	if (!log_decisions)
		return;
	decision = bpf_ringbuf_reserve(&decisions, sizeof(*decision), 0);
	if (!decision)
		return;
	decision->before = *before;
	decision->after = *after;
	decision->packet = work->packet;
	decision->edit = work->edit;
	decision->policy = run->settings->policy;
	decision->call = call;
	decision->destination_fails = fails;
	decision->kept = kept;
	decision->order = order;
	bpf_ringbuf_submit(decision, 0);
}

#endif
