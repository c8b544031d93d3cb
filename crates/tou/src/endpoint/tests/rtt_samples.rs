//! Round-trip times that a connection measures.

use super::network::{Network, config, pattern};
use windlass_base::Span;

const ROUND_TRIP: Span = Span::from_millis(20);

#[test]
fn samples_are_kept_from_the_call_on_and_are_those_of_the_path() {
    let mut network = Network::new(2);
    network.host(2).listen(config(), 1).expect("free");
    let [client, server] = network.pair();
    assert!(network.host(1).rtt_samples(client).is_none(), "none were asked for");
    assert!(network.host(1).keep_rtt_samples(client));
    let stream = network.host(1).stream_mut(client).expect("there");
    stream.write(&pattern(20_000)).expect("open");
    network.run(Span::from_millis(500));
    assert_eq!(network.read(2, server).expect("open").len(), 20_000);
    let samples = network.host(1).rtt_samples(client).expect("kept");
    let found = samples.distribution().expect("data was acknowledged");
    // The receiver may delay an ACK by 40 ms.
    assert!(
        found.mean >= ROUND_TRIP && found.max <= ROUND_TRIP + Span::from_millis(40),
        "{found:?}"
    );
    assert!(network.host(1).keep_rtt_samples(client));
    let samples = network.host(1).rtt_samples(client).expect("kept");
    assert_eq!(samples.count(), 0, "the second call begins anew");
}
