/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * The proxy's state machine: (state of a connection, packet) -> what to do with the packet.
 *
 *   ecn_proxy_opens()      a first SYN: is the connection to be watched, and what becomes of the SYN?
 *   ecn_proxy_from_host()  a later packet of the served host
 *   ecn_proxy_to_host()    a later packet of the far host
 *
 * No loops without a bound, no calls of the kernel, no division by what may be zero: it runs in the
 * kernel under a spin lock. Whoever includes this brings __u8 to __u64.
 */
#ifndef WINDLASS_ECN_PROXY_H
#define WINDLASS_ECN_PROXY_H

#include "packet.h"

#endif
