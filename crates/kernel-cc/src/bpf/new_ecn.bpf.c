// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * New-ECN (Hamann 1999, section 3.1) for Linux, as a BPF struct_ops program.
 *
 * It is written on ssthresh, cong_avoid and events, not on cong_control: loss recovery, the
 * proportional rate reduction (PRR, RFC 6937) and undo stay the kernel's own. This changes New-ECN:
 *
 * - An ACK with ECN echo takes the kernel into the state CWR, at most once per window of data, and
 *   asks ssthresh() where to. PRR then brings cwnd there within the round trip, and until its end no
 *   ACK opens the window. The original cuts at once, and its echo ACKs do not open the window either:
 *   as the echo lasts until CWR arrives (RFC 3168 section 6.1.3), for the same round trip. Both send
 *   alpha_wnd of the data that they would have sent.
 * - The kernel takes one number for both targets, but New-ECN cuts ssthresh from ssthresh, and stays in
 *   slow start if cwnd is still below it. So ssthresh() gives PRR the new cwnd, and the new
 *   ssthresh is held back until PRR is done (CA_EVENT_COMPLETE_CWR).
 * - A loss in the round trip of an ECN cut does not cut again, as in the original and in RFC 3168
 *   section 6.1.2.
 *
 * Without ECN on a connection, the kernel's Reno controls it.
 */
#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "new_ecn.h"

/* The kernel gives its functions to programs whose licence is compatible with its own. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/* The loader writes them; `windlass cc status` reads them. */
const volatile struct new_ecn_parameters parameters SEC(".rodata.params");

/* The connections of all namespaces. The kernel removes entries with their sockets. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} connections SEC(".maps");

static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct new_ecn *state_of(struct sock *sk)
{
	return (struct new_ecn *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline bool ecn_negotiated(const struct tcp_sock *tp)
{
	return tp->ecn_flags & ECN_NEGOTIATED;
}

static __always_inline bool in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* cwnd validation, by the kernel's own rule: in slow start cwnd may be twice what was in flight. */
static __always_inline bool window_limits(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

SEC("struct_ops")
void BPF_PROG(new_ecn_init, struct sock *sk)
{
	new_ecn_start(state_of(sk));
	/* A connection may take this controller while another has cut its window. */
	state_of(sk)->asked_ssthresh = tcp_of(sk)->snd_ssthresh;
	bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

SEC("struct_ops")
void BPF_PROG(new_ecn_release, struct sock *sk)
{
	bpf_sk_storage_delete(&connections, sk);
}

/* The reduction for a mark is complete, or a timeout ends it: apply the new ssthresh. */
static __always_inline void give_ssthresh(struct sock *sk)
{
	struct new_ecn *ca = state_of(sk);

	if (!ca->held_ssthresh)
		return;
	tcp_of(sk)->snd_ssthresh = ca->held_ssthresh;
	ca->held_ssthresh = 0;
}

/*
 * A kernel may skip programs: one of a virtual machine (6.18) runs none where the packet has
 * interrupted certain tasks, and takes for ssthresh whatever lay on the stack, 0 included, which
 * would end the connection. The next ACK then sets the ssthresh that the skipped program would have
 * returned, before PRR uses the target again.
 */
static __always_inline void make_up_for_a_cut(struct sock *sk)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	__u8 state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	struct tcp_sock *tp = tcp_of(sk);
	struct new_ecn *ca = state_of(sk);

	if (state != TCP_CA_CWR && state != TCP_CA_Recovery) {
		give_ssthresh(sk);
		ca->ssthresh_before = tp->snd_ssthresh;
		return;
	}
	if (!new_ecn_cut_was_skipped(ca, tp->snd_ssthresh))
		return;
	if (state == TCP_CA_CWR && ecn_negotiated(tp))
		tp->snd_ssthresh = new_ecn_mark(ca, &parameters, tp->tcp_mstamp, tp->prior_cwnd,
						ca->ssthresh_before);
	else
		tp->snd_ssthresh = new_ecn_loss(ca, tp->tcp_mstamp, tp->prior_cwnd);
}

SEC("struct_ops")
void BPF_PROG(new_ecn_in_ack_event, struct sock *sk, __u32 flags)
{
	struct new_ecn *ca = state_of(sk);

	ca->echo = !!(flags & CA_ACK_ECE);
	ca->echoes += ca->echo;
	make_up_for_a_cut(sk);
}

SEC("struct_ops")
void BPF_PROG(new_ecn_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct new_ecn *ca = state_of(sk);
	__u32 cwnd;

	/* Without ECN no mark can show the fair share: the connection behaves as Reno. */
	if (!ecn_negotiated(tp)) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	/* An idle or application-limited sender does not probe its path: keep slope and window. */
	if (!window_limits(tp))
		return;
	if (in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	/* The kernel keeps eight times the smoothed RTT. */
	new_ecn_raise_slope(ca, &parameters, tp->tcp_mstamp, tp->srtt_us >> 3);
	cwnd = new_ecn_avoid(ca, tp->snd_cwnd, acked);
	/* The limit that the application has set (TCP_WINDOW_CLAMP), or none. */
	tp->snd_cwnd = cwnd < tp->snd_cwnd_clamp ? cwnd : tp->snd_cwnd_clamp;
}

/*
 * The kernel does not pass the reason for a call. A segment marked as lost means a loss. Otherwise an
 * ECN echo in the current ACK means a mark. Otherwise a tail loss probe has repaired a loss, or a
 * queue of this host was full.
 */
SEC("struct_ops")
__u32 BPF_PROG(new_ecn_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct new_ecn *ca = state_of(sk);

	if (ecn_negotiated(tp) && ca->echo && !tp->lost_out)
		return new_ecn_mark(ca, &parameters, tp->tcp_mstamp, tp->snd_cwnd,
				    tp->snd_ssthresh);
	if (ecn_negotiated(tp))
		return new_ecn_loss(ca, tp->tcp_mstamp, tp->snd_cwnd);
	ca->loss_cuts++;
	ca->asked_ssthresh = tcp_reno_ssthresh(sk);
	return ca->asked_ssthresh;
}

SEC("struct_ops")
void BPF_PROG(new_ecn_cwnd_event, struct sock *sk, __u32 event)
{
	if (event == CA_EVENT_COMPLETE_CWR)
		give_ssthresh(sk);
	else if (event == CA_EVENT_LOSS)
		state_of(sk)->timeouts++;
}

SEC("struct_ops")
void BPF_PROG(new_ecn_set_state, struct sock *sk, __u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		give_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(new_ecn_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct new_ecn *ca = state_of(sk);

	new_ecn_undo_loss(ca);
	/* The kernel restores the greater one, and without SACK may remain in recovery (RFC 6582). */
	ca->asked_ssthresh =
		tp->prior_ssthresh > tp->snd_ssthresh ? tp->prior_ssthresh : tp->snd_ssthresh;
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops new_ecn = {
	.name = "new_ecn",
	/* Namespaces may make it their default, as they may Reno. */
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)new_ecn_init,
	.release = (void *)new_ecn_release,
	.ssthresh = (void *)new_ecn_ssthresh,
	.cong_avoid = (void *)new_ecn_cong_avoid,
	.set_state = (void *)new_ecn_set_state,
	.cwnd_event = (void *)new_ecn_cwnd_event,
	.in_ack_event = (void *)new_ecn_in_ack_event,
	.undo_cwnd = (void *)new_ecn_undo_cwnd,
};

static __always_inline void print_addresses(struct seq_file *seq, struct sock *sk)
{
	struct sock_common *common = &sk->__sk_common;
	__u32 local_port = common->skc_num;
	__u32 peer_port = bpf_ntohs(common->skc_dport);

	BPF_SEQ_PRINTF(seq, "%u,", common->skc_net.net->ns.inum);
	if (common->skc_family == AF_INET)
		BPF_SEQ_PRINTF(seq, "%pI4,%u,%pI4,%u,", &common->skc_rcv_saddr, local_port,
			       &common->skc_daddr, peer_port);
	else
		BPF_SEQ_PRINTF(seq, "%pI6,%u,%pI6,%u,", &common->skc_v6_rcv_saddr, local_port,
			       &common->skc_v6_daddr, peer_port);
}

/* Each read of the pinned iterator lists all connections as CSV; empty if there are none. */
SEC("iter/bpf_sk_storage_map")
int new_ecn_flows(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct sock *sk = ctx->sk;
	struct tcp_sock *tp;
	struct new_ecn *ca;

	/* The call after the last. */
	if (!sk)
		return 0;
	if (ctx->meta->seq_num == 0)
		BPF_SEQ_PRINTF(seq, "netns,local,local_port,peer,peer_port,ecn,cwnd,ssthresh,"
				    "srtt_us,slope_32,echoes,mark_cuts,loss_cuts,timeouts\n");
	tp = (struct tcp_sock *)bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	ca = state_of((struct sock *)tp);
	print_addresses(seq, sk);
	BPF_SEQ_PRINTF(seq, "%u,%u,%u,%u,%llu,%u,%u,%u,%u\n", ecn_negotiated(tp), tp->snd_cwnd,
		       tp->snd_ssthresh, tp->srtt_us >> 3, ca->slope, ca->echoes, ca->mark_cuts,
		       ca->loss_cuts, ca->timeouts);
	return 0;
}
