//! Measures the cost of a segment in the engine alone, without a socket, in nanoseconds. Segments
//! leave in runs of the size of GSO and arrive coalesced, with one ACK per run.
//!
//!     cargo run --release -p windlass-tcp --example segment_cost

use std::time::Instant;
use windlass_tcp::conn::Established;
use windlass_tcp::{Config, Connection, Ecn, Profile, SeqNumber, Span, Time};

const MSS: u16 = 1456;
const SEGMENTS: u64 = 20_000_000;

fn connection(config: Config, local: u32, remote: u32) -> Connection {
    let agreed = Established {
        local_isn: SeqNumber(local),
        remote_isn: SeqNumber(remote),
        peer_mss: MSS,
        peer_window: config.buffers.receive,
    };
    Connection::established(config, Time::ZERO, agreed)
}

/// Nanoseconds of wall time per segment, for both ends together.
fn measure(profile: Profile, run_segments: u32) -> f64 {
    let factory = profile.controller("cubic").expect("known");
    let config = profile.config(MSS, factory).with(|c| {
        c.buffers.send = u64::MAX;
        c.buffers.receive = 4 << 20;
    });
    let (mut a, mut b) = (connection(config.clone(), 1, 2), connection(config, 2, 1));
    a.write(u64::MAX >> 2).expect("open");
    let mut now = Time::ZERO;
    let mut segments = 0;
    let begin = Instant::now();
    while segments < SEGMENTS {
        now += Span::from_micros(10);
        while let Some(run) = a.poll_transmit(now, run_segments, &mut ()) {
            let mut coalesced = run.first;
            coalesced.payload_len *= run.count;
            segments += u64::from(run.count);
            b.handle_segment(now, &coalesced, run.ecn, &mut ());
            b.read(u64::MAX).expect("open");
        }
        if b.poll_timeout().is_some_and(|at| at <= now) {
            b.handle_timeout(now, &mut ());
        }
        while let Some(ack) = b.poll_transmit(now, 1, &mut ()) {
            a.handle_segment(now, &ack.first, Ecn::NotEct, &mut ());
        }
    }
    begin.elapsed().as_nanos() as f64 / segments as f64
}

fn main() {
    println!("profile    segments/run   ns/segment (sender and receiver)");
    for profile in [Profile::Linux, Profile::Rfc5681] {
        for run_segments in [1, 10, 44] {
            let ns = measure(profile, run_segments);
            println!("{:10} {run_segments:12}   {ns:.1}", profile.name());
        }
    }
}
