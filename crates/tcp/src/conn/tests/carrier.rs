//! Commands of a carrier: beginnings, errors of the path, its MTU, memory.

use super::script::{Script, plain};
use crate::SeqNumber;
use crate::conn::{Error, Event, State};

#[test]
fn a_connection_knows_the_sequence_number_of_its_syn() {
    let s = Script::connect(plain());
    let SeqNumber(isn) = super::script::LOCAL_ISN;
    assert!(s.connection.began_with(SeqNumber(isn)));
    assert!(!s.connection.began_with(SeqNumber(isn.wrapping_add(1))));
}

#[test]
fn an_error_of_the_path_fails_only_a_connection_that_is_being_opened() {
    let mut s = Script::established(plain());
    s.expect_events(&[Event::Connected]);
    s.connection.fail_opening(Error::Refused);
    s.expect_state(State::Established);
    let mut s = Script::connect(plain());
    s.connection.fail_opening(Error::Refused);
    s.expect_state(State::Closed);
    s.expect_events(&[Event::Failed(Error::Refused)]);
}

#[test]
fn the_path_is_probed_only_with_sack_and_while_data_may_follow() {
    for (sack, may) in [(false, false), (true, true)] {
        let mut s = Script::established(plain().with(|c| c.extensions.sack = sack));
        assert_eq!(s.connection.may_probe_path(), may);
        s.close();
        assert!(!s.connection.may_probe_path(), "nothing follows");
    }
    let s = Script::connect(plain().with(|c| c.extensions.sack = true));
    assert!(!s.connection.may_probe_path());
}

#[test]
fn a_probe_of_the_path_repeats_what_was_acknowledged() {
    let mut s = Script::established(plain().with(|c| c.extensions.sack = true));
    s.write(1000);
    s.recv(". 1 ack 1001");
    let now = s.now;
    assert!(s.connection.path_probe(now, 1001).is_none(), "more than was acknowledged");
    let probe = s.connection.path_probe(now, 1000).expect("all that was acknowledged");
    assert_eq!((probe.seq, probe.payload_len), (super::script::LOCAL_ISN.at(1), 1000));
    assert_eq!(s.connection.path_probe(now, 400).map(|probe| probe.payload_len), Some(400));
}

#[test]
fn smaller_buffers_hold_less() {
    let mut s =
        Script::established(plain().with(|c| (c.buffers.send, c.buffers.receive) = (5000, 4000)));
    s.connection.limit_buffers(3000, 2000);
    assert_eq!((s.connection.writable(), s.connection.send_buffer()), (3000, 3000));
    s.connection.limit_buffers(u64::MAX, u64::MAX);
    assert_eq!(s.connection.writable(), 5000, "not beyond the configured buffer");
}

#[test]
fn getters_report_what_was_negotiated_and_measured() {
    for timestamps in [false, true] {
        let s = Script::established(plain().with(|c| c.extensions.timestamps = timestamps));
        assert_eq!(s.connection.timestamps_negotiated(), timestamps);
        assert_eq!(s.connection.min_rtt(), Some(crate::Span::from_millis(100)));
    }
    assert_eq!(Script::connect(plain()).connection.min_rtt(), None);
}
