/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/*
 * New-ECN's arithmetic (Hamann 1999, section 3.1) in integers. The kernel program includes it, and so
 * does the test that compares it with the Rust controller. The including file defines __u32 and __u64.
 *
 * The factors are in millionths: 0.9 is then exact, and a tenth off ten segments leaves nine. (In
 * binary fixed point 0.9 is a little less, and floor makes that eight.)
 */
#ifndef WINDLASS_NEW_ECN_H
#define WINDLASS_NEW_ECN_H

#define NEW_ECN_INLINE static inline __attribute__((always_inline))

#define NEW_ECN_MILLION 1000000
/* One segment, or one segment per round trip, in slopes and fractions of a window. */
#define NEW_ECN_ONE (1ULL << 32)
/* Segments per round trip. No path comes near; it keeps the products below in 64 bits. */
#define NEW_ECN_SLOPE_MAX (32767 * NEW_ECN_ONE)
/* Longer round trips count as this: its square must fit. */
#define NEW_ECN_SRTT_MAX_US 4000000
#define NEW_ECN_WINDOW_MAX 0xffffff
/* RFC 5681 section 3.1, equation 4; Linux gives cwnd the same floor. */
#define NEW_ECN_WINDOW_MIN 2
/* The kernel's "no ssthresh yet". */
#define NEW_ECN_NO_SSTHRESH 0x7fffffff

struct new_ecn_parameters {
	__u32 alpha_wnd_millionths;
	__u32 alpha_slp_millionths;
	__u32 beta_millionths;
};

/* State of a connection. The kernel keeps it in icsk_ca_priv: at most 104 bytes. */
struct new_ecn {
	/* Segments per round trip, in 2^-32. */
	__u64 slope;
	/* The slope before the last loss, to undo a spurious one. */
	__u64 slope_before_loss;
	/* When the slope last rose or the window was last cut. */
	__u64 updated_us;
	/* The fraction of cwnd, which the kernel holds as an integer, in 2^-32 segments. */
	__u32 fraction;
	/* ssthresh after the mark that is being obeyed; 0 for none. See new_ecn.bpf.c. */
	__u32 held_ssthresh;
	/* ssthresh while the window was not being cut. */
	__u32 ssthresh_before;
	/* The kernel's ssthresh after the last cut or its undoing. */
	__u32 asked_ssthresh;
	/* ACKs with ECN echo. */
	__u32 echoes;
	/* Cuts for a mark, cuts for a loss, and of these the timeouts. */
	__u32 mark_cuts;
	__u32 loss_cuts;
	__u32 timeouts;
	/* A mark was seen on this connection. */
	__u8 marked;
	/* The ACK at hand carries ECN echo. */
	__u8 echo;
};

NEW_ECN_INLINE __u64 new_ecn_times_millionths(__u64 value, __u32 millionths)
{
	/* Quotient and remainder apart, so that the products fit into 64 bits. */
	return value / NEW_ECN_MILLION * millionths +
	       value % NEW_ECN_MILLION * millionths / NEW_ECN_MILLION;
}

NEW_ECN_INLINE __u32 new_ecn_cut(__u32 window, __u32 millionths)
{
	__u32 cut = (__u64)window * millionths / NEW_ECN_MILLION;

	return cut < NEW_ECN_WINDOW_MIN ? NEW_ECN_WINDOW_MIN : cut;
}

NEW_ECN_INLINE void new_ecn_start(struct new_ecn *ca)
{
	ca->slope = NEW_ECN_ONE;
	ca->slope_before_loss = 0;
	ca->updated_us = 0;
	ca->fraction = 0;
	ca->held_ssthresh = 0;
	ca->ssthresh_before = NEW_ECN_NO_SSTHRESH;
	ca->asked_ssthresh = NEW_ECN_NO_SSTHRESH;
	ca->echoes = 0;
	ca->mark_cuts = 0;
	ca->loss_cuts = 0;
	ca->timeouts = 0;
	ca->marked = 0;
	ca->echo = 0;
}

/* Once a round trip, and not before a round trip has passed since a cut: beta * SRTT^2. */
NEW_ECN_INLINE void new_ecn_raise_slope(struct new_ecn *ca,
					const volatile struct new_ecn_parameters *parameters,
					__u64 now_us, __u32 srtt_us)
{
	__u64 srtt = srtt_us < NEW_ECN_SRTT_MAX_US ? srtt_us : NEW_ECN_SRTT_MAX_US;
	__u64 square, slope;

	if (!ca->marked || now_us < ca->updated_us + srtt_us)
		return;
	/* Square seconds in 2^-32: us^2 * 2^32 / 10^12, and 10^12 = 2^12 * 5^12. */
	square = (srtt * srtt << 20) / 244140625;
	/* Hamann 1999, section 3.1: the slope rises by beta * SRTT^2 in a round trip without a mark. */
	slope = ca->slope + new_ecn_times_millionths(square, parameters->beta_millionths);
	ca->slope = slope < NEW_ECN_SLOPE_MAX ? slope : NEW_ECN_SLOPE_MAX;
	ca->updated_us = now_us;
}

/*
 * Congestion avoidance: cwnd grows by slope / cwnd for each segment acknowledged. Returns the new
 * whole cwnd. Never faster than slow start: a slope that a long path has gathered would otherwise
 * turn every ACK of a small window, as timeouts leave it, into a burst.
 */
NEW_ECN_INLINE __u32 new_ecn_avoid(struct new_ecn *ca, __u32 cwnd, __u32 acked)
{
	__u64 segments = acked < 0xffff ? acked : 0xffff;
	__u64 window, step, fraction;

	if (cwnd == 0 || cwnd > NEW_ECN_WINDOW_MAX)
		return cwnd;
	/* Both in 2^-16 segments: the quotient of slope and window is in 2^-32. */
	window = (__u64)cwnd << 16 | ca->fraction >> 16;
	step = (ca->slope << 16) / window;
	/* RFC 5681 section 3.1, equation 2: slow start adds one segment for each acknowledged. */
	if (step > NEW_ECN_ONE)
		step = NEW_ECN_ONE;
	fraction = ca->fraction + segments * step;
	ca->fraction = (__u32)fraction;
	return cwnd + (__u32)(fraction >> 32);
}

/* A mark. Returns the new cwnd and leaves the new ssthresh in held_ssthresh. */
NEW_ECN_INLINE __u32 new_ecn_mark(struct new_ecn *ca,
				  const volatile struct new_ecn_parameters *parameters,
				  __u64 now_us, __u32 cwnd, __u32 ssthresh)
{
	/* Without an ssthresh yet, the mark ends slow start. */
	__u32 from = ssthresh >= NEW_ECN_NO_SSTHRESH ? cwnd : ssthresh;

	ca->held_ssthresh = new_ecn_cut(from, parameters->alpha_wnd_millionths);
	/* Hamann 1999, section 3.1: a mark cuts the slope too. The first one only ends slow start. */
	if (ca->marked)
		ca->slope = new_ecn_times_millionths(ca->slope, parameters->alpha_slp_millionths);
	ca->marked = 1;
	ca->fraction = 0;
	ca->updated_us = now_us;
	ca->mark_cuts++;
	ca->asked_ssthresh = new_ecn_cut(cwnd, parameters->alpha_wnd_millionths);
	return ca->asked_ssthresh;
}

/* A loss. Returns the new ssthresh. It is the new cwnd too, unless the timer detected the loss. */
NEW_ECN_INLINE __u32 new_ecn_loss(struct new_ecn *ca, __u64 now_us, __u32 cwnd)
{
	ca->slope_before_loss = ca->slope;
	/* RFC 5681 section 3.1, equation 4: a loss halves the window. The slope stays at Reno's or above. */
	if (ca->slope > NEW_ECN_ONE)
		ca->slope /= 2;
	ca->held_ssthresh = 0;
	ca->fraction = 0;
	ca->updated_us = now_us;
	ca->loss_cuts++;
	ca->asked_ssthresh = new_ecn_cut(cwnd, NEW_ECN_MILLION / 2);
	return ca->asked_ssthresh;
}

/*
 * While a window is being cut, the kernel has the ssthresh that the last cut returned. Any other
 * says that the kernel did not run the program for this cut: see new_ecn.bpf.c.
 */
NEW_ECN_INLINE int new_ecn_cut_was_skipped(const struct new_ecn *ca, __u32 ssthresh)
{
	return ssthresh != ca->asked_ssthresh;
}

/* Undoes the last loss, which was spurious. */
NEW_ECN_INLINE void new_ecn_undo_loss(struct new_ecn *ca)
{
	if (ca->slope_before_loss)
		ca->slope = ca->slope_before_loss;
	ca->slope_before_loss = 0;
}

#endif
