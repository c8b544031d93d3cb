/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* The state machine and the checksum as functions that Rust can call; the layout of the structs. */
#include <stddef.h>
#include <stdint.h>

typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
/* The kernel's type on every architecture. */
typedef unsigned long long __u64;

#include "checksum.h"
#include "ecn_proxy.h"

int windlass_ecn_opens(struct ecn_flow *flow, const struct ecn_policy *policy,
		       const struct ecn_packet *packet, __u8 from_host, __u8 destination_fails,
		       struct ecn_edit *edit)
{
	return ecn_proxy_opens(flow, policy, packet, from_host, destination_fails, edit);
}

void windlass_ecn_from_host(struct ecn_flow *flow, const struct ecn_policy *policy,
			    const struct ecn_packet *packet, struct ecn_edit *edit)
{
	ecn_proxy_from_host(flow, policy, packet, edit);
}

void windlass_ecn_to_host(struct ecn_flow *flow, const struct ecn_policy *policy,
			  const struct ecn_packet *packet, struct ecn_edit *edit)
{
	ecn_proxy_to_host(flow, policy, packet, edit);
}

void windlass_ecn_distrust(struct ecn_flow *flow, struct ecn_edit *edit)
{
	ecn_proxy_distrust(flow, edit);
}

__u16 windlass_ecn_update_checksum(__u16 checksum, __u16 before, __u16 after)
{
	return ecn_update_checksum(checksum, before, after);
}

#define AT(type, field) offsetof(struct type, field)

/* Sizes, and the offsets at which a misplaced field would show. See src/ffi.rs. */
const __u32 windlass_ecn_layout[] = {
	sizeof(struct ecn_flow),
	AT(ecn_flow, isn),
	AT(ecn_flow, host_ack),
	AT(ecn_flow, far_window),
	AT(ecn_flow, notes),
	AT(ecn_flow, phase),
	AT(ecn_flow, held_acks),
	AT(ecn_flow, surplus),
	sizeof(struct ecn_policy),
	AT(ecn_policy, keeps_asking),
	sizeof(struct ecn_packet),
	AT(ecn_packet, segment_bytes),
	AT(ecn_packet, tsecr),
	AT(ecn_packet, window),
	AT(ecn_packet, mss),
	AT(ecn_packet, flags),
	AT(ecn_packet, block_count),
	AT(ecn_packet, blocks),
	sizeof(struct ecn_edit),
	AT(ecn_edit, window),
	AT(ecn_edit, codepoint),
	AT(ecn_edit, reason),
	AT(ecn_edit, events),
	AT(ecn_edit, blocks),
	AT(ecn_edit, reply),
	AT(ecn_edit, reply.window),
	AT(ecn_edit, reply.timestamps),
};
const __u32 windlass_ecn_layout_count = sizeof(windlass_ecn_layout) / sizeof(__u32);
