//! Whether the path drops segments with the option (RFC 9768 §3.2.3.2.2).

/// The losses of ACKs with an option, as far as repeated data shows them.
///
/// The ACK of repeated data has no option, because no counter has changed. A path that drops options therefore shows
/// one repetition, and passes the next ACK. Further repetitions in a row are losses of ACKs as such.
#[derive(Clone, Debug)]
pub(crate) struct OptionLoss {
    losses: u8,
    /// Losses in a row after which options are left out.
    most: u8,
    /// The timestamp of the first ACK with an option since the last one without, 0 without timestamps.
    since: Option<u32>,
}

impl OptionLoss {
    /// Without a loss yet; `most` in a row end the use of options.
    pub(crate) fn new(most: u8) -> OptionLoss {
        OptionLoss { losses: 0, most: most.max(1), since: None }
    }

    /// Segments with options seem to reach the peer.
    pub(crate) fn passes(&self) -> bool {
        self.losses < self.most
    }

    /// A segment with an ACK leaves, with this timestamp.
    pub(crate) fn note_sent(&mut self, with_option: bool, timestamp: Option<u32>) {
        match with_option {
            true => self.since = self.since.or(Some(timestamp.unwrap_or(0))),
            false => self.since = None,
        }
    }

    /// Data arrives again.
    pub(crate) fn note_repeated_data(&mut self) {
        self.losses = self.losses.saturating_add(u8::from(self.since.take().is_some()));
    }

    /// New data arrives, which echoes this timestamp. A later one than the first with an option shows that such a
    /// segment has arrived.
    pub(crate) fn note_new_data(&mut self, echo: Option<u32>) {
        let arrived = |since: u32| echo.is_none_or(|echo| echo.wrapping_sub(since) as i32 > 0);
        if self.passes() && self.since.is_some_and(arrived) {
            self.losses = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK with an option at a time, and one of repeated data, which has none.
    fn lose(loss: &mut OptionLoss, at: u32) {
        loss.note_sent(true, Some(at));
        loss.note_repeated_data();
        loss.note_sent(false, Some(at + 1));
    }

    #[test]
    fn rfc9768_3_2_3_2_2_three_lost_options_in_a_row_end_them() {
        let mut loss = OptionLoss::new(3);
        for at in [10, 20, 30] {
            assert!(loss.passes());
            lose(&mut loss, at);
            // The peer sends on after the ACK without the option.
            loss.note_new_data(Some(at + 1));
        }
        assert!(!loss.passes());
        loss.note_sent(true, Some(40));
        loss.note_new_data(Some(50));
        assert!(!loss.passes(), "for the rest of the connection");
    }

    /// Where every ACK has an option, that of repeated data has one, too.
    #[test]
    fn the_second_repetition_of_data_ends_options_on_every_ack_as_in_linux() {
        let mut loss = OptionLoss::new(2);
        loss.note_sent(true, None);
        loss.note_repeated_data();
        loss.note_sent(true, None);
        assert!(loss.passes());
        loss.note_repeated_data();
        assert!(!loss.passes());
    }

    #[test]
    fn repetitions_of_data_whose_ack_had_no_option_say_nothing() {
        let mut loss = OptionLoss::new(3);
        lose(&mut loss, 10);
        (0..10).for_each(|_| loss.note_repeated_data());
        assert!(loss.passes());
    }

    #[test]
    fn an_echo_of_an_ack_with_an_option_shows_that_options_pass() {
        let mut loss = OptionLoss::new(3);
        for at in [10, 20, 30, 40] {
            lose(&mut loss, at);
            loss.note_sent(true, Some(at + 2));
            // Data that was in flight before.
            loss.note_new_data(Some(at + 1));
            loss.note_new_data(Some(at + 3));
            assert!(loss.passes());
        }
    }
}
