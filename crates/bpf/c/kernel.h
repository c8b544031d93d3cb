/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* The part of the kernel's interface to tc programs that Windlass uses. */
#ifndef WINDLASS_KERNEL_H
#define WINDLASS_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_RINGBUF = 27,
};
#define BPF_F_NO_PREALLOC (1U << 0)
#define BPF_ANY 0
#define BPF_NOEXIST 1

#define BPF_F_RECOMPUTE_CSUM (1ULL << 0)
#define BPF_F_PSEUDO_HDR (1ULL << 4)
#define BPF_F_INGRESS (1ULL << 0)

/* Actions of tc; TCX has the first two under other names. */
#define TC_ACT_UNSPEC (-1)
#define TC_ACT_SHOT 2

#define ETH_HLEN 14
#define ETH_P_IP 0x0800
#define ETH_P_8021Q 0x8100
#define ETH_P_IPV6 0x86DD
#define ETH_P_8021AD 0x88A8

#define IPPROTO_HOPOPTS 0
#define IPPROTO_TCP 6
#define IPPROTO_ROUTING 43
#define IPPROTO_DSTOPTS 60

struct bpf_spin_lock {
	__u32 val;
};

/* include/uapi/linux/bpf.h: the order is the kernel's promise. */
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 queue_mapping;
	__u32 protocol;
	__u32 vlan_present;
	__u32 vlan_tci;
	__u32 vlan_proto;
	__u32 priority;
	__u32 ingress_ifindex;
	__u32 ifindex;
	__u32 tc_index;
	__u32 cb[5];
	__u32 hash;
	__u32 tc_classid;
	__u32 data;
	__u32 data_end;
	__u32 napi_id;
	__u32 family;
	__u32 remote_ip4;
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port;
	__u32 local_port;
	__u32 data_meta;
	__u64 flow_keys;
	__u64 tstamp;
	__u32 wire_len;
	__u32 gso_segs;
	__u64 sk;
	__u32 gso_size;
};

#endif
