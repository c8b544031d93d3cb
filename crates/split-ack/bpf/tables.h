/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* The connections of the command. src/connection.rs reads the same layouts. */
#ifndef WINDLASS_TABLES_H
#define WINDLASS_TABLES_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>

/* The most connections in one run. Further ones pass unchanged; `missed` counts their packets. */
#define FLOWS_MAX 16384

/* IPv4 addresses as ::ffff:a.b.c.d; all in network order. */
struct flow_key {
	__be32 local[4];
	__be32 peer[4];
	__be16 local_port;
	__be16 peer_port;
};

enum flow_flag {
	/* `acked` holds the last ACK number that was sent. */
	FLOW_ACKED = 1,
	/* `highest` holds the end of the data that came. */
	FLOW_HIGHEST = 2,
	/* `fin_ack` holds the ACK number that acknowledges the peer's FIN. */
	FLOW_FIN = 4,
	/* `syn` holds the sequence number of our SYN. */
	FLOW_SYN = 8,
};

struct flow {
	struct bpf_spin_lock lock;
	__u32 flags;
	__u32 acked;
	__u32 highest;
	__u32 fin_ack;
	__u32 syn;
	/* ACKs split since that SYN. */
	__u32 splits;
	/* From here on the report: the largest segment's payload in bytes, and how many connections had
	 * these ends one after the other. */
	__u32 mss;
	__u32 connections;
	__u32 reserved;
	__u64 acks_split;
	__u64 acks_sent;
	__u64 acks_lost;
	__u64 acks_with_sack;
	__u64 acks_with_data;
	/* Segments, and packets as GRO made them. */
	__u64 segments;
	__u64 packets;
	__u64 data_segments;
	__u64 late_segments;
	__u64 bytes;
	__u64 acked_bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FLOWS_MAX);
	__type(key, struct flow_key);
	__type(value, struct flow);
} flows SEC(".maps");

/* Rounds that are kept apart. src/transfer.rs has the same number. */
#define ROUNDS_MAX 16

struct round {
	/* The arrival of its first data. */
	__u64 began_ns;
	/* The data that arrived, duplicates included, and its segments. */
	__u64 bytes;
	__u32 packets;
	/* ACKs of new data that were sent, each part counted. */
	__u32 acks;
};

/* The course of a connection, the last of those with these ends. Times are of CLOCK_MONOTONIC; 0 means
 * none. The lock of its `struct flow` protects it. src/transfer.rs reads the same layout. */
struct transfer {
	/* The first segment, and the last one with new data. */
	__u64 began_ns;
	__u64 last_ns;
	/* The smallest round-trip time, and when the segment left that is timed now. */
	__u64 rtt_ns;
	__u64 timed_ns;
	/* The first ACK of the present round. */
	__u64 acked_ns;
	/* The data received, each byte once. */
	__u64 bytes;
	/* The ACK number that answers the timed segment. */
	__u32 timed_end;
	/* The end of the sequence numbers sent, if there is one. */
	__u32 sent_end;
	__u32 has_sent;
	/* Rounds so far. The last element of `round` is the sum of all beyond ROUNDS_MAX. */
	__u32 rounds;
	struct round round[ROUNDS_MAX + 1];
};

/* The loader makes it one entry without `settings.rounds`. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FLOWS_MAX);
	__type(key, struct flow_key);
	__type(value, struct transfer);
} transfers SEC(".maps");

/* The command's cgroup, stored before the command starts. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} cgroups SEC(".maps");

struct settings {
	/* ACKs for one, and for how many ACKs of a connection. */
	__u32 split;
	__u32 acks;
	/* Whether `transfers` is kept. */
	__u32 rounds;
};
const volatile struct settings settings SEC(".rodata.settings");

/* Packets of connections that did not fit into the table. */
__u64 missed;

#endif
