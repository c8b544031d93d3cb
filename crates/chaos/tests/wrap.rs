//! More bytes than there are sequence numbers, through losses.

use windlass_tcp::{Config, Connection, Ecn, Profile, SeqNumber, Span, Time};

const TOTAL: u64 = (1 << 32) + (1 << 30);
const CHUNK: u64 = 4 << 20;
/// One in so many runs is lost.
const LOSS: u64 = 997;

fn config() -> Config {
    let factory = Profile::Linux.controller("cubic").expect("a controller of the crate");
    Profile::Linux.config(9000, factory).with(|c| {
        c.buffers.send = CHUNK;
        c.buffers.receive = CHUNK;
        c.window.limit = Some(CHUNK);
    })
}

/// Hands over what `from` wants to send.
fn carry(now: Time, from: &mut Connection, to: &mut Connection, count: &mut u64) {
    while let Some(run) = from.poll_transmit(now, 64, &mut ()) {
        *count += 1;
        for segment in run.segments().filter(|_| !count.is_multiple_of(LOSS)) {
            to.handle_segment(now, &segment, Ecn::NotEct, &mut ());
        }
    }
}

#[test]
fn five_gigabytes_pass_all_sequence_numbers() {
    let mut now = Time::ZERO;
    let mut a = Connection::connect(config(), now, SeqNumber(0u32.wrapping_sub(1 << 20)));
    let mut b = Connection::listen(config(), SeqNumber(7));
    let (mut read, mut count) = (0, 0);
    while read < TOTAL {
        assert!(now < Time::ZERO + Span::from_secs(3600), "stalled after {read} bytes");
        a.write(TOTAL - a.bytes_written()).expect("open");
        carry(now, &mut a, &mut b, &mut count);
        now += Span::from_millis(1);
        read += b.read(u64::MAX).expect("open");
        carry(now, &mut b, &mut a, &mut count);
        now += Span::from_millis(1);
        for end in [&mut a, &mut b] {
            if end.poll_timeout().is_some_and(|at| at <= now) {
                end.handle_timeout(now, &mut ());
            }
        }
    }
    assert_eq!((read, b.bytes_received()), (TOTAL, TOTAL));
    assert!(a.stats().retransmitted_segments > 0, "losses were repaired");
}
