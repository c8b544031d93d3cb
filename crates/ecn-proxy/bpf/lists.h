/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* Decides which connections the proxy takes on. */
#ifndef WINDLASS_LISTS_H
#define WINDLASS_LISTS_H

#include <bpf/bpf_endian.h>

#include "view.h"

/* In `ports`. */
#define PORT_ALLOWED 1
#define PORT_DENIED 2

static __always_inline int is_in(void *networks, struct work *work)
{
	work->network.prefix_bits = 128;
	__builtin_memcpy(work->network.address, work->key.host, 16);
	if (bpf_map_lookup_elem(networks, &work->network))
		return 1;
	__builtin_memcpy(work->network.address, work->key.far, 16);
	return !!bpf_map_lookup_elem(networks, &work->network);
}

/* Returns 1 if the lists admit the connection of this SYN. */
static __always_inline int is_listed(const struct settings *settings, struct work *work,
				     const int from_host)
{
	__u8 lists = settings->lists;
	__u16 port = bpf_ntohs(from_host ? work->key.far_port : work->key.host_port);
	__u8 *found;

	if (!lists)
		return 1;
	if (lists & LISTS_DENY_NETWORKS && is_in(&deny_networks, work))
		return 0;
	if (lists & LISTS_ALLOW_NETWORKS && !is_in(&allow_networks, work))
		return 0;
	if (!(lists & (LISTS_ALLOW_PORTS | LISTS_DENY_PORTS)))
		return 1;
	found = bpf_map_lookup_elem(&ports, &port);
	if (found && *found & PORT_DENIED)
		return 0;
	return !(lists & LISTS_ALLOW_PORTS) || (found && *found & PORT_ALLOWED);
}

#endif
