use super::{Fate, Pair, config};
use crate::conn::{Error, Event, State};
use crate::{Profile, Span};

#[test]
fn a_transfer_and_an_orderly_close_under_every_profile_and_controller() {
    for profile in Profile::ALL {
        for controller in crate::cc::NAMES {
            let mut pair = Pair::new(config(profile, controller), config(profile, controller));
            assert_eq!(pair.a.connection.write(500_000), Ok(500_000));
            pair.a.connection.close(pair.now);
            let mut read = 0;
            for _ in 0..600 {
                pair.run_for(Span::from_millis(100));
                read += pair.b.connection.read(u64::MAX).unwrap_or(0);
            }
            assert_eq!(read, 500_000, "{profile:?} {controller}");
            assert_eq!(pair.b.connection.read(1), Err(Error::Closed));
            assert_eq!(pair.b.connection.state(), State::CloseWait);
            assert_eq!(
                pair.a.connection.stats().retransmitted_segments,
                0,
                "{profile:?} {controller}"
            );
            pair.b.connection.close(pair.now);
            pair.run_for(Span::from_secs(1));
            assert_eq!(pair.a.connection.state(), State::TimeWait);
            assert_eq!(pair.b.connection.state(), State::Closed);
            pair.run_for(Span::from_secs(61));
            assert_eq!(pair.a.connection.state(), State::Closed);
            let events: alloc::vec::Vec<Event> =
                core::iter::from_fn(|| pair.a.connection.poll_event()).collect();
            assert!(events.contains(&Event::Closed) && events.contains(&Event::Connected));
        }
    }
}

#[test]
fn every_tenth_segment_lost_both_ways_still_arrives_under_every_profile_and_controller() {
    for profile in Profile::ALL {
        for controller in crate::cc::NAMES {
            let mut pair = Pair::new(config(profile, controller), config(profile, controller));
            pair.a.connection.write(300_000).expect("room");
            pair.a.connection.close(pair.now);
            let (mut n, mut m) = (0, 5);
            let mut read = 0;
            for _ in 0..6000 {
                let until = pair.now + Span::from_millis(100);
                pair.run(
                    until,
                    |_| {
                        n += 1;
                        if n % 10 == 0 { Fate::Drop } else { Fate::Pass }
                    },
                    |_| {
                        m += 1;
                        if m % 10 == 0 { Fate::Drop } else { Fate::Pass }
                    },
                );
                read += pair.b.connection.read(u64::MAX).unwrap_or(0);
            }
            assert_eq!(read, 300_000, "{profile:?} {controller}");
            assert_eq!(pair.b.connection.state(), State::CloseWait, "{profile:?} {controller}");
        }
    }
}
