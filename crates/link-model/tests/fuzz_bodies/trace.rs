//! Any bytes as a packet-delivery trace: an error or a trace, over which packets arrive in order.

use std::sync::Arc;
use windlass_base::{Span, Time};
use windlass_link_model::{DeliveryTrace, RateOverTime, Transmitter, Variation};

/// One input of the target `trace`.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(trace) = DeliveryTrace::parse(&String::from_utf8_lossy(bytes)) else { return };
    assert!(trace.millis().is_sorted());
    let rate = Some(RateOverTime::Trace(Arc::new(trace)));
    let mut transmitter = Transmitter::new(None, &Variation { rate, ..Variation::default() });
    let (mut at, mut last) = (Time::ZERO, Time::ZERO);
    for (packet, byte) in bytes.iter().enumerate().take(200) {
        let end = transmitter.transmit(at, 40 + 7 * u32::from(*byte)).end;
        assert!(end >= last && end >= at, "packet {packet}");
        last = end;
        at += Span::from_micros(u64::from(*byte) * 50);
    }
}
