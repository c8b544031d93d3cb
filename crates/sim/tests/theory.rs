//! Figures that theory gives for one flow, or a few, on a plain path.

mod common;

use common::*;
use windlass_aqm::{Config as Queue, PieConfig};
use windlass_base::Span;
use windlass_sim::scenario::model::TcpApp;
use windlass_sim::summary::FlowSummary;
use windlass_sim::{Scenario, Summary, run};
use windlass_tcp::{Profile, cc};

const MSS: u16 = 1460;

/// One bulk flow of the profile `linux` from a to b; the way back has no bottleneck.
fn linux(controller: &str, ecn: bool, there: (f64, f64, Queue), seconds: u64) -> Scenario {
    let (rate, round_trip_ms, queue) = there;
    let one_way = ms(round_trip_ms / 2.0);
    let forth = channel(mbit(rate), one_way, queue);
    let back = channel(None, one_way, drop_tail(1000));
    let mut scenario = pair(forth, back, Span::from_secs(seconds));
    scenario.steady_from = Span::from_secs(seconds / 4);
    let mut flow = modern_flow(0, 1, TcpApp::Bulk);
    let congestion = cc::by_name(controller).expect("a known controller");
    flow.sender = Profile::Linux.config(MSS, congestion);
    flow.sender.ecn = ecn;
    flow.receiver = flow.sender.clone();
    scenario.flows.push(flow);
    scenario
}

fn result(scenario: &Scenario) -> Summary {
    run(scenario, 1, &mut ()).expect("a sound scenario")
}

/// The steady rate of the only flow, as a share of what the link carries.
fn utilisation(summary: &Summary, rate: f64) -> f64 {
    let packets_per_s = rate * 1e6 / 8.0 / f64::from(MSS + 40);
    summary.flows[0].packets_per_s.steady / packets_per_s
}

fn flow(summary: &Summary) -> &FlowSummary {
    &summary.flows[0]
}

/// PIE drops in bulk where slow start ends; what is sent again carries no CWR, so the receiver
/// echoes all the while.
#[test]
fn an_echo_left_over_from_before_a_timeout_does_not_hold_the_window_down() {
    for controller in ["cubic", "newreno", "new-ecn"] {
        let path = (10.0, 100.0, Queue::Pie(PieConfig::default()));
        let summary = result(&linux(controller, true, path, 40));
        assert!(flow(&summary).timeouts > 0, "{controller}: the case is another one");
        let share = utilisation(&summary, 10.0);
        assert!(share > 0.75, "{controller}: {share}");
    }
}
