/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* Tables shared by the programs and the loader, which knows these layouts. */
#ifndef WINDLASS_TABLES_H
#define WINDLASS_TABLES_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>

/* Of enum ecn_part; tests only. */
const volatile __u32 parts_left_out SEC(".rodata.parts");
#define ECN_WITHOUT(part) (parts_left_out & (part))

#include "ecn_proxy.h"

/* struct settings.lists */
enum lists {
	LISTS_ALLOW_NETWORKS = 1,
	LISTS_ALLOW_PORTS = 2,
	LISTS_DENY_NETWORKS = 4,
	LISTS_DENY_PORTS = 8,
};

struct settings {
	/* Monotonic time after which the programs edit nothing; 0: no limit. */
	__u64 lease_until_ns;
	/* Time for which ECN is not requested from a failing destination. */
	__u64 fallback_ns;
	/* One bit. */
	__u32 mark;
	/* Largest number of served connections. */
	__u32 flows_max;
	struct ecn_policy policy;
	/* enum lists */
	__u8 lists;
	__u8 reserved[2];
};

/* IPv4 addresses as ::ffff:a.b.c.d; ports in network byte order. */
struct flow_key {
	__u32 host[4];
	__u32 far[4];
	__be16 host_port;
	__be16 far_port;
};

struct flow {
	__u64 seen_ns;
	__u64 opened_ns;
	/* Payload in both directions. With it an entry fills its 256 bytes in the kernel. */
	__u64 bytes;
	/* A super-packet counts once. */
	__u32 packets_from_host;
	__u32 packets_to_host;
	/* Events CE, ECHO, ECT, EPISODE and VIRTUAL_LOSS of this connection. */
	__u32 marks;
	__u32 echoes;
	__u32 ect;
	__u32 episodes;
	__u32 virtual_losses;
	struct bpf_spin_lock lock;
	struct ecn_flow machine;
};

struct handshake {
	__u64 seen_ns;
	struct ecn_flow machine;
	/* Of the host's SYN, if it opens; as in struct served_host. */
	__u64 mac;
	/* 1: the served host opens. */
	__u32 by_host;
	/* Time of the SYN that asks for ECN, in units of 2^FAILURE_SHIFT ns. */
	__u32 asked;
};

/* About a millisecond: 2^32 of them are 52 days. */
#define FAILURE_SHIFT 20

/* struct host.ecn */
enum host_ecn {
	/* All answers so far were to SYNs without ECN, but too few of them to decide. */
	HOST_UNKNOWN = 0,
	HOST_CAPABLE = 1,
	HOST_WITHOUT = 2,
	HOST_FAILED = 3,
};

struct host {
	__u64 seen_ns;
	/* When the last failure showed: a SYN that asked for ECN failed, and one without it did not. */
	__u64 failed_ns;
	/* enum host_ecn */
	__u32 ecn;
	__u32 connections;
	/* Such failures in a row. */
	__u32 failures;
	/* The port that last refused a SYN with ECN, 0: none; the next SYN to it goes without. */
	__be16 refused_port;
	__u16 reserved;
};

/* The entry of a served host, see served_hosts.h. */
struct served_host {
	__u64 since_ns;
	__u64 seen_ns;
	/* Of the packets that the host sends, in the lower 48 bits; 0: no Ethernet. */
	__u64 mac;
	/* Payload: of served connections that have ended, and of packets of others, by their codepoint. */
	__u64 bytes_served;
	__u64 bytes_own;
	__u64 bytes_without;
	/* Connections. */
	__u32 own;
	__u32 own_refused;
	__u32 served;
	__u32 refused;
	__u32 other;
	/* Marks that the proxy, a real loss or a drop has answered. */
	__u32 reductions;
	/* CE on packets for the host, of served connections that have ended. */
	__u32 marks;
	/* Times that another device has taken the address over. */
	__u32 takeovers;
	/* Connections whose ECT was withdrawn because the host's sender did not slow down. */
	__u32 unresponsive;
	/* When the latest was, and how many of them came without a pause of settings.fallback_ns. */
	__u64 unresponsive_ns;
	__u32 unresponsive_run;
	__u32 reserved;
};

enum counter {
	COUNT_PACKETS,
	COUNT_TCP,
	COUNT_MALFORMED,
	COUNT_LISTED,
	COUNT_NO_ROOM,
	COUNT_EDITED,
	COUNT_EDIT_FAILED,
	COUNT_CLONES,
	COUNT_REPLIES,
	COUNT_DROPS,
	COUNT_FLOWS_ADDED,
	COUNT_FLOWS_REMOVED,
	COUNT_LEASE_OVER,
	COUNT_LISTS,
	COUNT_LISTS_KEPT,
	COUNT_BYTES_SERVED,
	COUNT_BYTES_OWN,
	COUNT_BYTES_WITHOUT,
	/* By enum ecn_event, a bit each. */
	COUNT_EVENTS = 20,
	/* By enum ecn_reason: connections bypassed, episodes passed over, ECT withdrawn. */
	COUNT_BYPASS = 52,
	COUNT_PASSED_OVER = 84,
	COUNT_WITHDRAWN = 116,
	COUNT_END = 148,
};

struct counters {
	__u64 values[COUNT_END];
};

struct network_key {
	__u32 prefix_bits;
	__u32 address[4];
};

/* One call of the state machine: its input and its output. */
struct decision {
	struct ecn_flow before;
	struct ecn_flow after;
	struct ecn_packet packet;
	struct ecn_edit edit;
	struct ecn_policy policy;
	/* 0: a SYN of the far host; 1: of the served host; 2: to_host; 3: from_host. */
	__u8 call;
	__u8 destination_fails;
	/* The result of ecn_proxy_opens(). */
	__u8 kept;
	/* Packets of the connection so far, as the lock has ordered them; 0 in its handshake. */
	__u32 order;
};

#define TABLE(kind, name, key_type, value_type, entries, flags)                                    \
	struct {                                                                                   \
		__uint(type, kind);                                                                \
		__uint(max_entries, entries);                                                      \
		__uint(map_flags, flags);                                                          \
		__type(key, key_type);                                                             \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

/* The loader sets the sizes that are options. */
TABLE(BPF_MAP_TYPE_ARRAY, settings, __u32, struct settings, 1, 0);
TABLE(BPF_MAP_TYPE_PERCPU_ARRAY, counters, __u32, struct counters, 1, 0);
/* The number of entries in `flows`. */
TABLE(BPF_MAP_TYPE_ARRAY, flow_count, __u32, __u64, 1, 0);
TABLE(BPF_MAP_TYPE_LRU_HASH, handshakes, struct flow_key, struct handshake, 65536, 0);
TABLE(BPF_MAP_TYPE_HASH, flows, struct flow_key, struct flow, 262144, BPF_F_NO_PREALLOC);
TABLE(BPF_MAP_TYPE_LRU_HASH, hosts, __u32[4], struct host, 65536, 0);
/* The least recently used entries are evicted. */
TABLE(BPF_MAP_TYPE_LRU_HASH, served_hosts, __u32[4], struct served_host, 16384, 0);
TABLE(BPF_MAP_TYPE_LPM_TRIE, allow_networks, struct network_key, __u8, 65536, BPF_F_NO_PREALLOC);
TABLE(BPF_MAP_TYPE_LPM_TRIE, deny_networks, struct network_key, __u8, 65536, BPF_F_NO_PREALLOC);
/* By port in host byte order: 1 allowed, 2 denied. */
TABLE(BPF_MAP_TYPE_HASH, ports, __u16, __u8, 65536, BPF_F_NO_PREALLOC);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} decisions SEC(".maps");

/* The loader sets it to record into `decisions`. */
const volatile __u32 log_decisions SEC(".rodata.log");

#endif
