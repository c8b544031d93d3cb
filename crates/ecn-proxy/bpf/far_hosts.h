/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * Remembers how each far host answers SYNs with ECN. A host that fails with ECN, though not without it,
 * gets SYNs without ECN for a while.
 */
#ifndef WINDLASS_FAR_HOSTS_H
#define WINDLASS_FAR_HOSTS_H

#include "count.h"

/* Queues drop SYNs too, so fewer failures in a row prove nothing. */
#define FAILURES_MAX 3

/* The entry of the far host, a new one if there is none; 0 if the kernel refuses. */
static __always_inline struct host *far_host(struct run *run)
{
	struct work *work = run->work;
	struct host *known = bpf_map_lookup_elem(&hosts, work->key.far);

	if (known)
		return known;
	__builtin_memset(&work->host, 0, sizeof(work->host));
	work->host.seen_ns = work->packet.now_ns;
	bpf_map_update_elem(&hosts, work->key.far, &work->host, BPF_ANY);
	return bpf_map_lookup_elem(&hosts, work->key.far);
}

static __always_inline void remember_host(struct run *run, __u32 ecn)
{
	struct host *host = far_host(run);

	if (!host)
		return;
	host->seen_ns = run->work->packet.now_ns;
	host->failures = 0;
	host->refused_port = 0;
	host->ecn = ecn;
	host->connections++;
}

/*
 * SYNs that were under way together may have been lost together, in an outage: they count once. `asked`
 * is the time of the SYN that failed, in units of 2^FAILURE_SHIFT ns.
 */
static __always_inline void note_failure(struct run *run, struct host *host, __u32 asked)
{
	if (host->failures && ecn_before(asked, host->failed_ns >> FAILURE_SHIFT))
		return;
	host->failed_ns = run->work->packet.now_ns;
	if (host->failures < FAILURES_MAX)
		host->failures++;
	if (host->failures == FAILURES_MAX)
		host->ecn = HOST_FAILED;
}

/* Whether SYNs with ECN are known to have reached the host not long ago. */
static __always_inline int has_answered(struct run *run, const struct host *host)
{
	return (host->ecn == HOST_CAPABLE || host->ecn == HOST_WITHOUT) &&
	       elapsed_ns(run->work->packet.now_ns, host->seen_ns) < run->settings->fallback_ns;
}

/* A closed port, or a device that resets SYNs with ECN: the next SYN to that port shows which. */
static __always_inline void note_refusal(struct run *run)
{
	struct host *host;

	/* No SYN goes without ECN then, so no port need be remembered. */
	if (run->settings->policy.keeps_asking)
		return;
	host = far_host(run);
	if (host && !has_answered(run, host))
		host->refused_port = run->work->key.far_port;
}

/* The answer to a SYN without ECN, sent to a host that fails or to the port of a refusal. */
static __always_inline void note_plain_answer(struct run *run, int accepted)
{
	struct host *host = bpf_map_lookup_elem(&hosts, run->work->key.far);

	if (!host || host->refused_port != run->work->key.far_port)
		return;
	host->refused_port = 0;
	if (accepted)
		note_failure(run, host, run->work->packet.now_ns >> FAILURE_SHIFT);
}

/* Only for an answer to the served host, since a SYN may be forged. */
static __always_inline void remember_answer(struct run *run, const struct handshake *handshake)
{
	__u32 events = run->work->edit.events;
	struct host *host;

	if (events & (ECN_EVENT_PROXIED | ECN_EVENT_BOTH)) {
		remember_host(run, HOST_CAPABLE);
	} else if (ECN_RARELY(events & ECN_EVENT_DESTINATION_FAILED)) {
		host = far_host(run);
		if (host)
			note_failure(run, host, handshake->asked);
	} else if (ECN_RARELY(events & ECN_EVENT_REFUSED)) {
		note_refusal(run);
	} else if (ECN_RARELY(events & (ECN_EVENT_PLAIN_ACCEPTED | ECN_EVENT_PLAIN_REFUSED))) {
		note_plain_answer(run, !!(events & ECN_EVENT_PLAIN_ACCEPTED));
	} else if (events & (ECN_EVENT_CLIENT_ONLY | ECN_EVENT_NEITHER) &&
		   !(handshake->machine.notes & ECN_NOTE_PLAIN_SYN)) {
		/* The answer to a plain SYN does not show how the host handles ECN. */
		remember_host(run, HOST_WITHOUT);
	}
}

static __always_inline int destination_fails(struct run *run)
{
	struct work *work = run->work;
	struct host *host = bpf_map_lookup_elem(&hosts, work->key.far);

	if (!host)
		return 0;
	/* RFC 3168 section 6.1.1.1: after a reset the next SYN goes without ECN. */
	if (ECN_RARELY(host->refused_port) && host->refused_port == work->key.far_port)
		return 1;
	return host->ecn == HOST_FAILED &&
	       elapsed_ns(work->packet.now_ns, host->failed_ns) < run->settings->fallback_ns;
}

#endif
