//! Frames of real-time media over a link, against arithmetic.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::*;
use windlass_base::Span;
use windlass_sim::model::{Loss, UdpTraffic};
use windlass_sim::summary::{MediaSummary, Windows};
use windlass_sim::{Scenario, Simulation, Summary, run};
use windlass_traffic::media::Media;

/// Frames of 4 packets of 1000 bytes on the wire every 100 ms, for a second, over 8 Mbit/s and 20 ms:
/// a packet takes 1 ms, and the last of a frame arrives 24 ms after the frame's time.
fn call(deadline: Span) -> Scenario {
    let wire = || channel(mbit(8.0), ms(20.0), drop_tail(100));
    let mut scenario = pair(wire(), wire(), Span::from_secs(1));
    let mut source = udp(0, 1, 1000, mbit(1.0));
    source.traffic = UdpTraffic::Media(Media {
        frames_per_second: 10.0,
        bitrate: vec![(Span::ZERO, mbit(4.0 * 972.0 * 8.0 * 10.0 / 1e6).expect("a rate"))],
        key_every: 1,
        key_factor: 1.0,
        packet_bytes: 972,
        spread: 0.0,
        deadline,
    });
    scenario.udp.push(source);
    scenario
}

fn result(scenario: &Scenario) -> Summary {
    run(scenario, 1, &mut ()).expect("a sound scenario")
}

fn media(scenario: &Scenario) -> MediaSummary {
    result(scenario).udp[0].media.clone().expect("media")
}

fn counts(media: &MediaSummary) -> [u64; 4] {
    [media.frames, media.on_time, media.late, media.lost]
}

#[test]
fn a_frame_is_in_time_if_its_last_packet_is() {
    let in_time = media(&call(ms(24.0)));
    assert_eq!(counts(&in_time), [10, 10, 0, 0]);
    assert_eq!(in_time.miss_ratio, Some(0.0));
    assert_eq!(in_time.frame_delay_ms.expect("frames").max, ms(24.0));
    let late = media(&call(ms(23.9)));
    assert_eq!((counts(&late), late.miss_ratio), ([10, 0, 10, 0], Some(1.0)));
}

#[test]
fn a_frame_with_a_lost_packet_is_lost() {
    let mut scenario = call(ms(50.0));
    // Two of the third frame, one of the last.
    scenario.links[0].forward.loss = Loss::Listed { packets: vec![9, 12, 40] };
    let found = media(&scenario);
    assert_eq!((counts(&found), found.miss_ratio), ([10, 8, 0, 2], Some(0.2)));
}

#[test]
fn frames_count_whose_times_are_in_the_steady_window_and_whose_deadlines_came() {
    let mut scenario = call(ms(50.0));
    // Frames 3 to 8, of which the last is due at 850 ms.
    (scenario.steady_from, scenario.duration) = (ms(300.0), ms(930.0));
    assert_eq!(counts(&media(&scenario)), [6, 6, 0, 0]);
    // The source starts at 250 ms: frames 1, at 350 ms, to 6, at 850 ms.
    scenario.udp[0].start = ms(250.0);
    assert_eq!(counts(&media(&scenario)), [6, 6, 0, 0]);
    // Frame 3, at 550 ms, is sent; then it stops.
    scenario.udp[0].stop = Some(ms(600.0));
    assert_eq!(counts(&media(&scenario)), [3, 3, 0, 0]);
}

#[test]
fn the_rate_counts_the_bytes_on_the_wire() {
    let source = result(&call(ms(50.0))).udp.remove(0);
    assert_eq!(source.received, 40);
    assert_eq!(source.mbit_per_s, Windows { whole_run: 0.32, steady: 0.32 });
}

#[test]
fn frames_pass_middleboxes() {
    let mut scenario = call(ms(50.0));
    let wire = || channel(mbit(8.0), ms(0.0), drop_tail(100));
    scenario.nodes.push("c".into());
    scenario.links.push(link(1, 2, wire(), wire()));
    scenario.udp[0].to = 2;
    let mut simulation = Simulation::new(&scenario, 1).expect("a sound scenario");
    simulation.add_middlebox(1, Witness::default());
    let found = simulation.run(&mut ()).udp[0].media.clone().expect("media");
    assert_eq!(counts(&found), [10, 10, 0, 0]);
}

#[test]
fn other_sources_have_no_frames() {
    let summary = result(&cbr(8.0, 10));
    let json = serde_json::to_string(&summary.udp[0]).expect("a summary");
    assert!(!json.contains("media"), "{json}");
}
