//! The effect of marks, losses and idleness on a connection's window and slope.

use crate::impair::ALL;
use crate::skip;
use crate::testbed::{Connection, Loaded, Testbed};
use rustix::net::sockopt;
use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use windlass_kernel_cc::{Flow, Name};
use windlass_testbed::{PATIENCE, eventually};

/// The connection's state, once it is as `done` wants it.
pub(crate) fn wait_for(
    connection: &Connection,
    name: &Name,
    mut done: impl FnMut(&Flow) -> bool,
) -> Flow {
    let mut flow = connection.flow(name);
    let found = eventually(|| {
        flow = connection.flow(name);
        done(&flow)
    });
    assert!(found, "never as the test describes: {flow:?}");
    flow
}

/// The connection's state, once none of `what` has changed for three round trips.
fn unchanged<T: PartialEq>(
    connection: &Connection,
    name: &Name,
    what: impl Fn(&Flow) -> T,
) -> Flow {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let before = connection.flow(name);
        thread::sleep(Duration::from_micros(u64::from(before.srtt_us) * 3));
        let after = connection.flow(name);
        if what(&before) == what(&after) {
            return after;
        }
        assert!(Instant::now() < deadline, "never settles: {after:?}");
    }
}

/// Marks whose echo is not counted after so many round trips have met a kernel that ran no program in them.
const ECHO_WITHIN_ROUND_TRIPS: u32 = 20;
/// It skips one packet in thousands: a third echo in a row that is not counted has another cause.
const SKIPPED_ECHOES_MAX: u32 = 2;

/// Has packets marked by `mark`, and waits until marks have cut the connection `cuts` times. A kernel that skips
/// programs (docs/internals/kernel-cc.md) may skip them for the whole round trip of the echo: then more are marked.
pub(crate) fn mark_until_cut(
    connection: &Connection,
    name: &Name,
    cuts: u32,
    mark: impl Fn(),
) -> Flow {
    let echoes_before = connection.flow(name).echoes;
    mark();
    let (mut marked_at, mut skipped) = (Instant::now(), 0);
    wait_for(connection, name, |flow| {
        let passed = marked_at.elapsed();
        let long = Duration::from_micros(u64::from(flow.srtt_us * ECHO_WITHIN_ROUND_TRIPS));
        if flow.echoes == echoes_before && passed > long.max(Duration::from_secs(1)) {
            println!("no echo was counted in {passed:?}: {flow:?}");
            skipped += 1;
            assert!(skipped <= SKIPPED_ECHOES_MAX, "no echo of {skipped} marks: {flow:?}");
            mark();
            marked_at = Instant::now();
        }
        flow.mark_cuts >= cuts
    })
}

/// The state of the connection once the cut is in force.
fn after_the_cut(connection: &Connection, name: &Name) -> Flow {
    unchanged(connection, name, |flow| (flow.ssthresh, flow.mark_cuts, flow.loss_cuts))
}

/// cwnd at rest, as the receiver's window limits the sender.
fn at_rest(connection: &Connection, name: &Name) -> Flow {
    wait_for(connection, name, |flow| flow.cwnd > 100);
    unchanged(connection, name, |flow| (flow.cwnd, flow.ssthresh, flow.slope.to_bits()))
}

/// Runs `test` while the sender writes as fast as it may and the receiver reads all.
pub(crate) fn while_sending<T>(connection: &Connection, test: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| send_until(connection, &stop));
        scope.spawn(|| receive_all(connection));
        // The threads end however the test ends, or the scope would wait for them for ever.
        let _stop = StopOnDrop(&stop, connection);
        test()
    })
}

struct StopOnDrop<'a>(&'a AtomicBool, &'a Connection);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        // No FIN may come through a link as a failed test left it.
        if thread::panicking() {
            let _ = self.1.receiver.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn send_until(connection: &Connection, stop: &AtomicBool) {
    let data = [0; 16 << 10];
    // Full segments only: the link takes short ones for ACKs, which it neither marks nor drops.
    sockopt::set_tcp_cork(&connection.sender, true).expect("a TCP socket");
    connection.sender.set_write_timeout(Some(Duration::from_millis(100))).expect("not zero");
    while !stop.load(Ordering::Relaxed) {
        match (&connection.sender).write(&data) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => break,
            _ => {}
        }
    }
    let _ = connection.sender.shutdown(std::net::Shutdown::Write);
}

fn receive_all(connection: &Connection) {
    let mut buffer = [0; 64 << 10];
    while (&connection.receiver).read(&mut buffer).is_ok_and(|count| count > 0) {}
}

/// A tenth off, in whole segments.
fn tenth_off(segments: u32) -> u32 {
    segments * 9 / 10
}

#[test]
fn a_mark_takes_a_tenth_off_the_window_and_ends_slow_start() {
    if skip() {
        return;
    }
    let (bed, loaded) = (Testbed::new(), Loaded::new());
    let connection = bed.connect(false, Some(&loaded.0)).expect("connects");
    while_sending(&connection, || {
        let before = at_rest(&connection, &loaded.0);
        assert!(before.ecn && before.ssthresh.is_none() && before.mark_cuts == 0, "{before:?}");
        mark_until_cut(&connection, &loaded.0, 1, || bed.link.mark(1));
        let after = after_the_cut(&connection, &loaded.0);
        let cut = tenth_off(before.cwnd);
        assert_eq!(after.ssthresh, Some(cut), "{before:?} {after:?}");
        // Both may have grown between the cut and this reading.
        assert!(after.cwnd >= cut && after.cwnd < before.cwnd, "{before:?} {after:?}");
        assert!(after.slope >= 1.0, "the first mark spares the slope: {after:?}");
        assert_eq!(after.loss_cuts, 0, "{after:?}");
        assert!(after.echoes >= 1, "{after:?}");
    });
}

#[test]
fn later_marks_cut_ssthresh_from_ssthresh_and_the_slope() {
    if skip() {
        return;
    }
    let (bed, loaded) = (Testbed::new(), Loaded::new());
    let connection = bed.connect(true, Some(&loaded.0)).expect("connects");
    while_sending(&connection, || {
        at_rest(&connection, &loaded.0);
        mark_until_cut(&connection, &loaded.0, 1, || bed.link.mark(1));
        let mut ratios = Vec::new();
        for cuts in 2..5 {
            let before = at_rest(&connection, &loaded.0);
            let cut = mark_until_cut(&connection, &loaded.0, cuts, || bed.link.mark(1));
            ratios.push(cut.slope / before.slope);
            let after = after_the_cut(&connection, &loaded.0);
            assert_eq!(after.ssthresh, before.ssthresh.map(tenth_off), "{before:?} {after:?}");
            assert!(after.cwnd < before.cwnd && after.cwnd >= tenth_off(before.cwnd), "{after:?}");
        }
        // A reading that comes late sees a slope that rises again.
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((least - 0.9).abs() < 1e-6, "{ratios:?}");
    });
}

/// A round trip of tens of milliseconds makes the slope rise by hundredths each.
#[test]
fn the_slope_rises_while_the_window_limits_the_sender() {
    if skip() {
        return;
    }
    let (bed, loaded) = (Testbed::new(), Loaded::new());
    let connection = bed.connect(false, Some(&loaded.0)).expect("connects");
    while_sending(&connection, || {
        wait_for(&connection, &loaded.0, |flow| flow.cwnd > 40 && flow.srtt_us > 20_000);
        // Down to half of the receive window.
        let mut cuts = 0;
        while connection.flow(&loaded.0).cwnd > 42 {
            cuts += 1;
            mark_until_cut(&connection, &loaded.0, cuts, || bed.link.mark(1));
        }
        after_the_cut(&connection, &loaded.0);
        let low = connection.flow(&loaded.0);
        let risen = wait_for(&connection, &loaded.0, |flow| flow.slope > low.slope + 0.1);
        assert!(risen.cwnd > low.cwnd && risen.mark_cuts == low.mark_cuts, "{low:?} {risen:?}");
    });
}

#[test]
fn many_marks_in_one_window_are_one_cut() {
    if skip() {
        return;
    }
    let (bed, loaded) = (Testbed::new(), Loaded::new());
    let connection = bed.connect(false, Some(&loaded.0)).expect("connects");
    while_sending(&connection, || {
        wait_for(&connection, &loaded.0, |flow| flow.cwnd > 40 && flow.srtt_us > 20_000);
        mark_until_cut(&connection, &loaded.0, 1, || bed.link.mark(10));
        wait_for(&connection, &loaded.0, |_| bed.link.left() == (0, 0));
        let after = after_the_cut(&connection, &loaded.0);
        assert_eq!(after.mark_cuts, 1, "{after:?}");
    });
}

#[test]
fn a_loss_halves_the_window_though_ecn_was_negotiated() {
    if skip() {
        return;
    }
    let (bed, loaded) = (Testbed::new(), Loaded::new());
    let connection = bed.connect(false, Some(&loaded.0)).expect("connects");
    while_sending(&connection, || {
        let before = at_rest(&connection, &loaded.0);
        bed.link.drop(1);
        wait_for(&connection, &loaded.0, |flow| flow.loss_cuts == 1);
        let after = after_the_cut(&connection, &loaded.0);
        assert_eq!(after.ssthresh, Some(before.cwnd / 2), "{before:?} {after:?}");
        assert_eq!((after.mark_cuts, after.timeouts, after.slope), (0, 0, 1.0), "{after:?}");
    });
}

#[test]
fn a_timeout_is_survived() {
    if skip() {
        return;
    }
    let (bed, loaded) = (Testbed::new(), Loaded::new());
    let connection = bed.connect(false, Some(&loaded.0)).expect("connects");
    while_sending(&connection, || {
        let time_out = || {
            wait_for(&connection, &loaded.0, |flow| flow.cwnd > 40 && flow.srtt_us > 20_000);
            bed.link.drop(ALL);
            let cut = wait_for(&connection, &loaded.0, |flow| flow.cwnd <= 2);
            bed.link.drop(0);
            cut
        };
        let mut cut = time_out();
        if cut.timeouts == 0 {
            println!("a kernel that skips programs (docs/internals/kernel-cc.md): {cut:?}");
            cut = time_out();
        }
        assert!(cut.timeouts > 0 && cut.loss_cuts > 0 && cut.mark_cuts == 0, "{cut:?}");
        wait_for(&connection, &loaded.0, |flow| flow.cwnd > 10);
    });
}

#[test]
fn without_ecn_it_is_the_kernels_reno() {
    if skip() {
        return;
    }
    let (bed, loaded) = (Testbed::new(), Loaded::new());
    bed.allow_ecn(false);
    let connection = bed.connect(true, Some(&loaded.0)).expect("connects");
    while_sending(&connection, || {
        let before = at_rest(&connection, &loaded.0);
        bed.link.drop(1);
        wait_for(&connection, &loaded.0, |flow| flow.loss_cuts == 1);
        let after = after_the_cut(&connection, &loaded.0);
        assert!(!after.ecn && after.mark_cuts == 0 && after.slope == 1.0, "{after:?}");
        assert_eq!(after.ssthresh, Some(before.cwnd / 2), "{before:?} {after:?}");
    });
}

/// An application that sends little learns nothing of the path.
#[test]
fn an_application_limited_sender_gathers_no_slope() {
    if skip() {
        return;
    }
    let (bed, loaded) = (Testbed::new(), Loaded::new());
    let connection = bed.connect(false, Some(&loaded.0)).expect("connects");
    let send = |bytes: usize| {
        (&connection.sender).write_all(&vec![0; bytes]).expect("connected");
        (&connection.receiver).read_exact(&mut vec![0; bytes]).expect("connected");
    };
    let before = mark_until_cut(&connection, &loaded.0, 1, || {
        bed.link.mark(1);
        send(40_000);
    });
    (0..200).for_each(|_| send(1000));
    let after = connection.flow(&loaded.0);
    assert_eq!((after.slope, after.mark_cuts), (before.slope, 1), "{after:?}");
    assert!(after.cwnd <= before.cwnd, "{before:?} {after:?}");
}
