/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * Lists of GRO (`ethtool -K IF rx-gro-list on`): super-packets whose packets keep their own headers.
 * The kernel cuts one at the packets' bounds, so an edit would reach the first packet only. But it
 * copies the header of the first to all, as for any other super-packet, if part of the second has
 * moved into the first (Linux 6.12, tcp4_gso_segment).
 */
#ifndef WINDLASS_GRO_LIST_H
#define WINDLASS_GRO_LIST_H

#include <bpf/bpf_core_read.h>

#include "parse.h"

/* include/linux/skbuff.h */
#define SKB_GSO_FRAGLIST (1 << 18)

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct skb_shared_info {
	unsigned int gso_type;
} KERNEL_TYPE;

struct sk_buff {
	unsigned int end;
	unsigned char *head;
} KERNEL_TYPE;

/* Linux 6.2. TCP has lists since 6.10, and some routers' kernels since 6.6. */
extern void *bpf_cast_to_kern_ctx(void *context) __ksym __weak;
extern void *bpf_rdonly_cast(const void *object, __u32 btf_id) __ksym __weak;

/* The loader sets it to 0 on kernels that would mistake the moved part for a damaged list. */
const volatile __u32 can_split_lists SEC(".rodata.lists") = 1;

static __always_inline int is_list(struct __sk_buff *skb)
{
	struct skb_shared_info *info;
	struct sk_buff *kernel_skb;
	__u32 type;

	/* Where pointers have 32 bits, `end` is one. */
	if (!bpf_ksym_exists(bpf_cast_to_kern_ctx) || !bpf_ksym_exists(bpf_rdonly_cast) ||
	    !bpf_core_field_exists(struct sk_buff, end))
		return 0;
	kernel_skb = bpf_cast_to_kern_ctx(skb);
	type = bpf_core_type_id_kernel(struct skb_shared_info);
	info = bpf_rdonly_cast(kernel_skb->head + kernel_skb->end, type);
	return !!(info->gso_type & SKB_GSO_FRAGLIST);
}

/* Makes the kernel copy the header of a list to all its packets; 0, or -1 without memory. */
static __always_inline int split_list(struct __sk_buff *skb, const struct view *view)
{
	__u32 first = view->l4 + view->header_bytes + skb->gso_size;

	return first < skb->len && bpf_skb_pull_data(skb, first + 1) < 0 ? -1 : 0;
}

#endif
