//! PRR's arithmetic. `conn::reduction` calls it with each ACK of a recovery.

/// Proportional rate reduction (PRR, RFC 9937 §6, in the form of Linux). Instead of an immediate
/// cut, the sender reduces the data in flight to ssthresh over a round trip, in proportion to the
/// segments that arrive.
#[derive(Clone, Debug)]
pub(crate) struct Reduction {
    /// The window before the cut, in bytes (RecoverFS).
    prior: u64,
    /// The window after the reduction, in bytes (ssthresh).
    target: u64,
    /// Bytes delivered since the reduction began (prr_delivered).
    delivered: u64,
    /// Data segments that the connection had sent when the reduction began.
    sent_before: u64,
}

/// The information of an ACK that [`Reduction::allow`] needs.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Progress {
    /// Bytes newly acknowledged or SACKed.
    pub(crate) delivered: u64,
    /// SND.UNA advanced, and nothing more was found to be lost (RFC 9937 §5: SafeACK).
    pub(crate) safe: bool,
    /// The estimate of the bytes in the network now.
    pub(crate) pipe: u64,
    /// Data segments that the connection has sent.
    pub(crate) sent: u64,
}

impl Reduction {
    pub(crate) fn new(prior: u64, target: u64, sent: u64) -> Reduction {
        Reduction { prior: prior.max(1), target, delivered: 0, sent_before: sent }
    }

    /// Bytes that may be in the network after an ACK.
    pub(crate) fn allow(&mut self, progress: Progress, mss: u32) -> u64 {
        let mss = u64::from(mss);
        let Progress { delivered, safe, pipe, sent } = progress;
        self.delivered += delivered;
        let out = (sent - self.sent_before) * mss;
        // RFC 9937 §6: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out while pipe exceeds
        // ssthresh, then growth up to ssthresh.
        let quota = if pipe > self.target {
            // In whole segments, as the sender sends no fraction of one.
            let due = u128::from(self.delivered) * u128::from(self.target);
            let segments = due.div_ceil(u128::from(self.prior * mss)) as u64;
            (segments * mss).saturating_sub(out)
        } else {
            // The slow start reduction bound: MAX(prr_delivered - prr_out, DeliveredData) + SMSS;
            // without SafeACK the conservative one (PRR-CRB), which has no SMSS more.
            let conserved = self.delivered.saturating_sub(out).max(delivered);
            (conserved + if safe { mss } else { 0 }).min(self.target - pipe)
        };
        // The fast retransmit is always allowed, and so is one segment into an empty network:
        // without it no ACK would follow.
        pipe + if out == 0 || pipe == 0 { quota.max(mss) } else { quota }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn progress(delivered: u64, pipe: u64, sent: u64) -> Progress {
        Progress { delivered, safe: false, pipe, sent }
    }

    /// RFC 9937 §7: of a window of 20 segments, one lost, 14 are to be left.
    #[test]
    fn above_the_target_seven_segments_go_out_for_ten_that_arrive() {
        let mut reduction = Reduction::new(20_000, 14_000, 0);
        let (mut pipe, mut sent) = (19_000, 0);
        for _ in 0..17 {
            pipe -= 1000;
            let allowed = reduction.allow(progress(1000, pipe, sent), MSS);
            while pipe + 1000 <= allowed {
                pipe += 1000;
                sent += 1;
            }
        }
        assert_eq!((sent, pipe), (12, 14_000));
    }

    /// RFC 9937 §6: sndcnt = ceil(prr_delivered * ssthresh / RecoverFS) - prr_out.
    #[test]
    fn above_the_target_the_allowance_is_the_ratio_of_what_arrived() {
        let mut reduction = Reduction::new(20_000, 14_000, 100);
        let mut allowed = |progress| reduction.allow(progress, MSS);
        // 3000 * 14 / 20 = 2100: three segments, of which none was sent.
        assert_eq!(allowed(progress(3000, 16_000, 100)), 19_000);
        // 5000 * 14 / 20 = 3500: four segments, of which three were sent.
        assert_eq!(allowed(progress(2000, 17_000, 103)), 18_000);
        // 10_000 * 14 / 20 = 7000: seven segments, of which eight were sent.
        assert_eq!(allowed(progress(5000, 15_000, 108)), 15_000);
    }

    #[test]
    fn below_the_target_packets_are_conserved_and_a_safe_ack_adds_one() {
        let mut reduction = Reduction::new(20_000, 14_000, 0);
        // Most of the window is lost.
        assert_eq!(reduction.allow(progress(1000, 3000, 0), MSS), 4000, "CRB");
        let safe = Progress { safe: true, ..progress(2000, 2000, 1) };
        assert_eq!(reduction.allow(safe, MSS), 5000, "SSRB");
        let safe = Progress { safe: true, ..progress(4000, 13_000, 4) };
        assert_eq!(reduction.allow(safe, MSS), 14_000, "not beyond the target");
    }

    #[test]
    fn an_empty_network_gets_one_segment() {
        let mut reduction = Reduction::new(4000, 2000, 0);
        assert_eq!(reduction.allow(progress(1, 0, 3), MSS), 1000);
    }

    #[test]
    fn at_the_target_only_what_leaves_the_network_is_replaced() {
        let mut reduction = Reduction::new(20_000, 14_000, 0);
        assert_eq!(reduction.allow(progress(6000, 14_000, 1), MSS), 14_000);
    }
}
