/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * The kernel's types, with only the fields that New-ECN uses. The loader relocates every access by the
 * field's name (CO-RE), so the order of the fields here does not matter and other fields may be missing.
 */
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

#ifndef bool
#define bool _Bool
#define true 1
#define false 0
#endif

enum {
	BPF_MAP_TYPE_SK_STORAGE = 24,
};
#define BPF_F_NO_PREALLOC (1U << 0)
#define BPF_SK_STORAGE_GET_F_CREATE (1U << 0)

#define AF_INET 2

/* include/net/tcp.h */
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_CONG_NON_RESTRICTED 1
#define CA_ACK_ECE 4
/* Bit 0 means classic ECN in every kernel, bit 4 accurate ECN (RFC 9768) in those that have it. */
#define ECN_NEGOTIATED 0x11

/* enum tcp_ca_event */
#define CA_EVENT_COMPLETE_CWR 2
#define CA_EVENT_LOSS 3

/* enum tcp_ca_state, include/uapi/linux/tcp.h */
#define TCP_CA_CWR 2
#define TCP_CA_Recovery 3
#define TCP_CA_Loss 4

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct ns_common {
	__u32 inum;
} KERNEL_TYPE;

struct net {
	struct ns_common ns;
} KERNEL_TYPE;

typedef struct {
	struct net *net;
} KERNEL_TYPE possible_net_t;

struct in6_addr {
	__u8 bytes[16];
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	__u16 skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} KERNEL_TYPE;

struct sock {
	struct sock_common __sk_common;
} KERNEL_TYPE;

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
	__u64 icsk_ca_priv[13];
} KERNEL_TYPE;

struct tcp_sock {
	__u8 ecn_flags;
	__u8 is_cwnd_limited : 1;
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 prior_cwnd;
	__u32 prior_ssthresh;
	__u32 max_packets_out;
	__u32 lost_out;
	__u32 srtt_us;
	__u64 tcp_mstamp;
} KERNEL_TYPE;

struct seq_file;
struct bpf_map;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 seq_num;
} KERNEL_TYPE;

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
	void *value;
} KERNEL_TYPE;

/* Members are found by their names too. `name` is first because the loader writes it. */
struct tcp_congestion_ops {
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, __u32 event);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	__u32 (*undo_cwnd)(struct sock *sk);
};

#endif
