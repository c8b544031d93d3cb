//! Properties of every link, whatever its settings.

use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;
use windlass_base::{BitRate, Rng, Span, Time};
use windlass_link_model::{
    Aggregation, Aggregator, DeliveryTrace, OPPORTUNITY_BYTES, Orbit, Outage, Policer,
    RateOverTime, Steps, TokenBucket, Transmitter, Variation, WifiJitter,
};

fn time_us(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

prop_compose! {
    fn any_trace()(gaps in vec(0_u64..5, 1..40)) -> DeliveryTrace {
        let mut at = 0;
        let mut at_ms: Vec<u64> = gaps.iter().map(|gap| { at += gap; at }).collect();
        at_ms.push(at + 1);
        DeliveryTrace::from_millis(at_ms).expect("ascending")
    }
}

prop_compose! {
    fn any_steps()(
        pieces in vec((1_u64..50_000, prop::option::of(1_u64..200)), 1..6),
        repeats in any::<bool>(),
    ) -> Steps<Option<BitRate>> {
        let mut at = Span::ZERO;
        let mut steps = Vec::new();
        for (lasts_us, mbit) in pieces {
            steps.push((at, mbit.and_then(|mbit| BitRate::from_bits_per_sec(mbit * 1_000_000))));
            at += Span::from_micros(lasts_us);
        }
        // Packets always leave at last.
        steps.push((at, BitRate::from_bits_per_sec(1_000_000)));
        let repeat = repeats.then_some(at + Span::from_millis(1));
        Steps::new(steps, repeat).expect("ascending")
    }
}

fn any_rate() -> impl Strategy<Value = RateOverTime> {
    prop_oneof![
        any_steps().prop_map(RateOverTime::Steps),
        any_trace().prop_map(|trace| RateOverTime::Trace(Arc::new(trace))),
    ]
}

prop_compose! {
    fn any_outage()(
        at_us in 0_u64..100_000,
        lasts_us in 1_u64..20_000,
        gap_us in prop::option::of(1_u64..50_000),
        lose in any::<bool>(),
    ) -> Outage {
        let lasts = Span::from_micros(lasts_us);
        let every = gap_us.map(|gap| lasts + Span::from_micros(gap));
        Outage { at: Span::from_micros(at_us), lasts, every, lose }
    }
}

prop_compose! {
    fn any_bucket()(mbit in 1_u64..100, burst_bytes in 1_u64..100_000) -> TokenBucket {
        let rate = BitRate::from_bits_per_sec(mbit * 1_000_000).expect("not zero");
        TokenBucket { rate, burst_bytes }
    }
}

/// Pauses between packets in microseconds, and the packets' sizes.
fn any_packets() -> impl Strategy<Value = Vec<(Time, u32)>> {
    vec((prop_oneof![Just(0), 0_u64..20_000], 40_u32..1501), 1..200).prop_map(|packets| {
        let mut at = 0;
        packets
            .into_iter()
            .map(|(pause, bytes)| {
                at += pause;
                (time_us(at), bytes)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn transmissions_follow_one_another(
        rate in any_rate(),
        shaper in prop::option::of(any_bucket()),
        outage in any_outage(),
        packets in any_packets(),
    ) {
        let variation =
            Variation { rate: Some(rate), shaper, outages: vec![outage], ..Variation::default() };
        variation.validate().expect("settings that work");
        let mut transmitter = Transmitter::new(None, &variation);
        let mut last = Time::ZERO;
        for (at, bytes) in packets {
            let transmission = transmitter.transmit(at, bytes);
            prop_assert!(transmission.begin >= last.max(at));
            prop_assert!(transmission.end >= transmission.begin);
            prop_assert!(transmission.end < Time::MAX);
            last = transmission.end;
        }
    }

    /// On a saturated path the bytes delivered by any opportunity are within a packet of the trace.
    #[test]
    fn a_saturated_trace_is_never_more_than_a_packet_behind(
        trace in any_trace(),
        sizes in vec(40_u32..1501, 1..300),
    ) {
        let rate = Some(RateOverTime::Trace(Arc::new(trace.clone())));
        let mut transmitter = Transmitter::new(None, &Variation { rate, ..Variation::default() });
        let opportunities = |until: u64| {
            let per_round = trace.millis().len() as u64;
            let period = trace.period().as_nanos() / 1_000_000;
            let rounds = until / period;
            let in_round = trace.millis().iter().filter(|at| **at <= until % period).count() as u64;
            // At the end of a round the next one's opportunities at 0 come too.
            rounds * per_round + in_round
        };
        let mut delivered = 0;
        for (index, bytes) in sizes.iter().enumerate() {
            let end = transmitter.transmit(Time::ZERO, *bytes).end.as_nanos() / 1_000_000;
            delivered += u64::from(*bytes);
            let possible = opportunities(end) * u64::from(OPPORTUNITY_BYTES);
            prop_assert!(delivered <= possible, "packet {index} at {end} ms");
            // Before this time the packet did not fit.
            if end > 0 {
                let before = opportunities(end - 1) * u64::from(OPPORTUNITY_BYTES);
                prop_assert!(delivered > before, "packet {index} at {end} ms is late");
            }
        }
    }

    #[test]
    fn a_policer_admits_no_more_than_its_bucket(bucket in any_bucket(), packets in any_packets()) {
        let mut policer = Policer::new(&bucket);
        let mut admitted = 0;
        for (at, bytes) in packets {
            admitted += if policer.admits(at, bytes) { u128::from(bytes) } else { 0 };
            let came = u128::from(bucket.rate.bits_per_sec()) * u128::from(at.as_nanos());
            let most = u128::from(bucket.burst_bytes) + came.div_ceil(8_000_000_000);
            prop_assert!(admitted <= most);
        }
    }

    #[test]
    fn released_packets_keep_their_order(
        interval_us in 1_u64..10_000,
        more_us in 0_u64..10_000,
        most in prop::option::of(1_u32..10),
        packets in any_packets(),
        seed in any::<u64>(),
    ) {
        let interval = Span::from_micros(interval_us);
        let max_interval = interval + Span::from_micros(more_us);
        let config = Aggregation { interval, max_interval, packets: most, bytes: None };
        let mut aggregator = Aggregator::new(config);
        let mut rng = Rng::new(seed);
        let mut last = Time::ZERO;
        for (at, bytes) in packets {
            let released = aggregator.release(at, bytes, &mut rng);
            prop_assert!(released >= at.max(last));
            if most.is_none() {
                prop_assert!(released <= at + max_interval, "no packet waits longer");
            }
            last = released;
        }
    }

    #[test]
    fn jitter_of_wifi_has_a_bound(target_us in 0_u64..1_000_000, seed in any::<u64>()) {
        let jitter = WifiJitter::new(Steps::constant(Span::from_micros(target_us)));
        let mut rng = Rng::new(seed);
        let draws: Vec<Span> = (0..200).map(|_| jitter.draw(Time::ZERO, &mut rng)).collect();
        prop_assert!(draws.iter().all(|delay| *delay < WifiJitter::MAX));
        // Up to 1 ms there are no retransmissions, and so no long delays.
        let longest = if target_us <= 1_000 { Span::from_millis(20) } else { WifiJitter::MAX };
        prop_assert!(draws.iter().all(|delay| *delay < longest));
    }

    /// The delay is never less than from the zenith, nor more than from where a satellite rises.
    #[test]
    fn the_delay_over_satellites_has_bounds(
        altitude_km in 160_u16..2_001,
        elevation in 0_u8..90,
        share in 0.01_f64..1.0,
        whole_pass in any::<bool>(),
    ) {
        let mut orbit = Orbit {
            altitude_km: altitude_km.into(),
            min_elevation_deg: elevation.into(),
            handover: None,
            legs: 1,
            extra: Span::ZERO,
        };
        orbit.handover = (!whole_pass).then(|| Span::from_secs_f64(orbit.pass().as_secs_f64() * share));
        let light = |km: f64| Span::from_secs_f64(km / 299_792.458).as_nanos();
        let least = light(altitude_km.into()) - 1;
        let most = light(orbit.slant_range_km(elevation.into())) + 1;
        let delays = orbit.delay().expect("no longer than a pass");
        for delay in delays.values() {
            prop_assert!((least..=most).contains(&delay.as_nanos()), "{delay}");
        }
    }
}
