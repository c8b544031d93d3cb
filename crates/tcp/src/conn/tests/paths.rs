//! Over any path, every byte arrives once and in order.

use super::config;
use crate::conn::{Connection, State};
use crate::stream::Stream;
use crate::{Config, Ecn, Profile, Segment, SeqNumber, Span, Time};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use proptest::prelude::*;

/// The treatment of one packet by the path.
#[derive(Copy, Clone, Debug)]
enum Fate {
    Drop,
    Twice,
    Mark,
    /// The packet is delayed by this many milliseconds more than the others.
    Late(u64),
    Pass,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        3 => Just(Fate::Drop),
        1 => Just(Fate::Twice),
        1 => Just(Fate::Mark),
        2 => (1u64..200).prop_map(Fate::Late),
        8 => Just(Fate::Pass),
    ]
}

/// Options that both ends may differ in.
fn any_config() -> impl Strategy<Value = Config> {
    (
        prop::sample::select(&Profile::ALL[..]),
        prop::sample::select(&crate::cc::NAMES[..]),
        any::<[bool; 5]>(),
        500u64..100_000,
        1u64..100_000,
    )
        .prop_map(
            |(profile, controller, [sack, timestamps, scaling, ecn, nagle], sends, takes)| {
                config(profile, controller).with(|c| {
                    c.extensions.sack = sack;
                    c.extensions.timestamps = timestamps;
                    c.extensions.window_scaling = scaling;
                    c.ecn.enabled = ecn;
                    c.sending.nagle = nagle;
                    // Many losses in a row must not reach the retry limit.
                    c.timers.max_syn_retries = 1000;
                    c.timers.max_retries = 1000;
                    c.buffers.send = sends;
                    c.buffers.receive = takes;
                })
            },
        )
}

struct Packet {
    to: usize,
    segment: Segment,
    payload: Vec<u8>,
    ecn: Ecn,
}

/// Two streams and the packets between them.
struct World {
    now: Time,
    ends: [Stream; 2],
    wire: BTreeMap<(Time, u64), Packet>,
    sent: u64,
    fates: Vec<Fate>,
    /// Every segment sent, lost or not: when, to which end, with which codepoint.
    log: Vec<(Time, usize, Segment, Ecn)>,
}

impl World {
    fn send(&mut self, from: usize, max: u32) {
        while let Some((run, payload)) = self.ends[from].poll_transmit(self.now, max, &mut ()) {
            let payload = payload.concat();
            let mut rest = &payload[..];
            let packets: Vec<Packet> = run
                .segments()
                .map(|segment| {
                    let (head, tail) = rest.split_at(segment.payload_len as usize);
                    rest = tail;
                    Packet { to: 1 - from, segment, payload: head.to_vec(), ecn: run.ecn }
                })
                .collect();
            packets.into_iter().for_each(|packet| self.put(packet));
        }
    }

    /// Each packet takes the next of the fates; after the last, all packets pass.
    fn put(&mut self, mut packet: Packet) {
        self.log.push((self.now, packet.to, packet.segment, packet.ecn));
        let fate = self.fates.pop().unwrap_or(Fate::Pass);
        let mut at = self.now + Span::from_millis(20);
        match fate {
            Fate::Drop => return,
            Fate::Late(ms) => at += Span::from_millis(ms),
            Fate::Mark if packet.ecn.is_capable() => packet.ecn = Ecn::Ce,
            Fate::Twice => {
                let Packet { to, segment, ecn, .. } = packet;
                let twin = Packet { to, segment, payload: packet.payload.clone(), ecn };
                self.wire.insert((at + Span::from_millis(1), self.sent), twin);
                self.sent += 1;
            }
            Fate::Mark | Fate::Pass => {}
        }
        self.wire.insert((at, self.sent), packet);
        self.sent += 1;
    }

    /// Goes to the next arrival or timer; false if there is none.
    fn step(&mut self) -> bool {
        let arrival = self.wire.keys().next().map(|(at, _)| *at);
        let timers = self.ends.iter().filter_map(|end| end.connection().poll_timeout());
        let Some(next) = timers.chain(arrival).min() else { return false };
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let (_, p) = self.wire.pop_first().expect("looked at");
            self.ends[p.to].handle_segment(self.now, &p.segment, &p.payload, p.ecn, &mut ());
        } else {
            for end in &mut self.ends {
                end.connection_mut().handle_timeout(self.now, &mut ());
            }
        }
        true
    }
}

/// The data that one end writes, and the data that it has read so far.
struct Talk {
    to_write: Vec<u8>,
    written: usize,
    read: Vec<u8>,
    bite: usize,
}

impl Talk {
    fn new(salt: u32, bytes: usize, bite: usize) -> Talk {
        let to_write = (0..bytes as u32).map(|i| ((i * 31 + salt) % 251) as u8).collect();
        Talk { to_write, written: 0, read: Vec::new(), bite }
    }

    /// Writes what fits, closes after the last, reads a bite. True if it moved anything.
    fn work(&mut self, now: Time, end: &mut Stream) -> bool {
        let rest = &self.to_write[self.written..];
        let bite = rest.len().min(self.bite * 3);
        let written = end.write(&rest[..bite]).unwrap_or(0);
        self.written += written;
        if self.written == self.to_write.len() {
            end.connection_mut().close(now);
        }
        let mut buffer = alloc::vec![0; self.bite];
        let read = end.read(&mut buffer).unwrap_or(0);
        self.read.extend_from_slice(&buffer[..read]);
        written + read > 0
    }
}

/// Two ends with their data.
struct Case {
    configs: [Config; 2],
    isns: [u32; 2],
    bytes: [usize; 2],
    bites: [usize; 2],
    max_run: u32,
    simultaneous: bool,
    fates: Vec<Fate>,
}

impl Case {
    fn world(&self, fast_paths: bool) -> World {
        let now = Time::from_nanos(1_000_000_000);
        let [a, b] = self.configs.clone();
        let second = if self.simultaneous {
            Connection::connect(b, now, SeqNumber(self.isns[1]))
        } else {
            // A listener writes nothing before it is connected.
            Connection::listen(b, SeqNumber(self.isns[1]))
        };
        let first = Connection::connect(a, now, SeqNumber(self.isns[0]));
        let stream = |connection: Connection| {
            Stream::new(if fast_paths { connection } else { connection.without_fast_paths() })
        };
        World {
            now,
            ends: [stream(first), stream(second)],
            wire: BTreeMap::new(),
            sent: 0,
            fates: self.fates.clone(),
            log: Vec::new(),
        }
    }

    /// Both ends send all their data and close. Returns every segment sent.
    fn run(&self, fast_paths: bool) -> Result<Vec<(Time, usize, Segment, Ecn)>, TestCaseError> {
        let mut world = self.world(fast_paths);
        let talk = |end: usize| Talk::new(end as u32 + 1, self.bytes[end], self.bites[end]);
        let mut talks = [talk(0), talk(1)];
        loop {
            let mut moved = false;
            for (index, talk) in talks.iter_mut().enumerate() {
                if world.ends[index].connection().state() != State::Listen {
                    moved |= talk.work(world.now, &mut world.ends[index]);
                }
                world.send(index, self.max_run);
            }
            if !world.step() && !moved {
                break;
            }
            prop_assert!(world.sent < 200_000, "no end of it");
        }
        prop_assert!(talks[0].read == talks[1].to_write, "{} bytes", talks[0].read.len());
        prop_assert!(talks[1].read == talks[0].to_write, "{} bytes", talks[1].read.len());
        for end in &world.ends {
            prop_assert_eq!(end.connection().state(), State::Closed);
        }
        Ok(world.log)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(windlass_testbed::cases(100)))]

    #[test]
    fn every_byte_arrives_once_and_in_order(
        configs in [any_config(), any_config()],
        isns: [u32; 2],
        bytes in [0usize..40_000, 0usize..40_000],
        bites in [1usize..3000, 1usize..3000],
        max_run in 1u32..45,
        simultaneous: bool,
        fates in prop::collection::vec(fate(), 0..300),
    ) {
        let case = Case { configs, isns, bytes, bites, max_run, simultaneous, fates };
        let fast = case.run(true)?;
        prop_assert!(fast == case.run(false)?, "without fast paths other segments are sent");
    }
}
