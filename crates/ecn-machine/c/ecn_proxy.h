/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * The proxy's state machine: (state of a connection, packet) -> what to do with the packet.
 *
 *   ecn_proxy_opens()      a SYN without ACK, of either host: is the connection to be watched, and
 *                          what becomes of the SYN?
 *   ecn_proxy_from_host()  any other packet of the served host
 *   ecn_proxy_to_host()    any other packet of the far host
 *
 * No loops without a bound, no calls of the kernel, no division by what may be zero: it runs in the
 * kernel under a spin lock. Whoever includes this brings __u8 to __u64.
 */
#ifndef WINDLASS_ECN_PROXY_H
#define WINDLASS_ECN_PROXY_H

#include "flow.h"

/*
 * `flow` is what is known under the connection's addresses, all zero if nothing. Returns 1 if it is
 * to be kept, 0 if there is nothing to remember (a flow that was known before stays as it is).
 * `edit` is all zero on entry, here and below.
 */
ECN_INLINE int ecn_proxy_opens(struct ecn_flow *flow, const struct ecn_policy *policy,
			       const struct ecn_packet *packet, __u8 from_host,
			       __u8 destination_fails, struct ecn_edit *edit)
{
	(void)flow, (void)policy, (void)packet, (void)from_host, (void)destination_fails, (void)edit;
	return 0;
}

ECN_INLINE void ecn_proxy_from_host(struct ecn_flow *flow, const struct ecn_policy *policy,
				    const struct ecn_packet *packet, struct ecn_edit *edit)
{
	(void)flow, (void)policy, (void)packet, (void)edit;
}

ECN_INLINE void ecn_proxy_to_host(struct ecn_flow *flow, const struct ecn_policy *policy,
				  const struct ecn_packet *packet, struct ecn_edit *edit)
{
	(void)flow, (void)policy, (void)packet, (void)edit;
}

/* 1 while a forgotten connection would lose something: a table evicts the others first. */
ECN_INLINE int ecn_flow_is_served(const struct ecn_flow *flow)
{
	return flow->phase == ECN_PHASE_PROXIED;
}

#endif
