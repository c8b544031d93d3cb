/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* The incremental update of the Internet checksum. windlass_base::checksum::update is the same in Rust. */
#ifndef WINDLASS_ECN_CHECKSUM_H
#define WINDLASS_ECN_CHECKSUM_H

/* A checksum after one of the words under it has changed. */
static inline __attribute__((always_inline)) __u16 ecn_update_checksum(__u16 checksum, __u16 before,
								       __u16 after)
{
	/* RFC 1624 section 3, equation 3: HC' = ~(~HC + ~m + m'). */
	__u32 sum = (__u16)~checksum + (__u32)(__u16)~before + after;

	/* RFC 1071 section 1: carries are added at the low end. */
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

#endif
