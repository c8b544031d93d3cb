//! Which controller a server runs that switches it in the middle of a trial, in virtual time. No verdict may name
//! a controller that the server never ran.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::Path;
use common::engine::{self, PAGE_BYTES, known};
use std::sync::Arc;
use windlass_base::{Ecn, Span, Time};
use windlass_probe::cca::Library;
use windlass_tcp::cc::{Ack, Congestion, Controller, ControllerFactory, Params};

/// A controller that becomes another one after this time of a connection, with the window as it is.
#[derive(Clone, Debug)]
struct Switching {
    first: Arc<dyn ControllerFactory>,
    second: Arc<dyn ControllerFactory>,
    after: Span,
}

impl ControllerFactory for Switching {
    fn name(&self) -> &'static str {
        "switching"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        let now = self.first.build(params);
        Box::new(Switched { rule: self.clone(), params: *params, begun: None, now, done: false })
    }
}

#[derive(Debug)]
struct Switched {
    rule: Switching,
    params: Params,
    begun: Option<Time>,
    now: Box<dyn Controller>,
    done: bool,
}

impl Switched {
    fn look_at(&mut self, now: Time) {
        let begun = *self.begun.get_or_insert(now);
        if !self.done && now >= begun + self.rule.after {
            self.done = true;
            // Linux keeps cwnd and ssthresh (tcp_reinit_congestion_control, net/ipv4/tcp_cong.c).
            let mut params = self.params;
            params.initial_window = self.now.cwnd() as u64;
            params.initial_ssthresh = self.now.ssthresh();
            self.now = self.rule.second.build(&params);
        }
    }
}

impl Controller for Switched {
    fn cwnd(&self) -> f64 {
        self.now.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.now.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.look_at(ack.now);
        self.now.on_ack(ack);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.look_at(congestion.now);
        self.now.on_congestion(congestion);
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.now.on_idle_restart(restart);
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.params.mss = mss;
        self.now.on_mss_change(mss);
    }

    fn ecn_codepoint(&self) -> Ecn {
        self.now.ecn_codepoint()
    }
}

/// After the first loss, and after the second one.
const SWITCHES_MS: [u64; 2] = [3500, 6500];
const CONTROLLERS: [&str; 4] = ["reno", "cubic", "vegas", "new-ecn"];

#[test]
fn a_server_that_switches_is_unknown_or_named_by_a_controller_that_it_ran() {
    let library = Library::measured().expect("sound");
    let path = Path { delay: Span::from_millis(20), loss: 0.0 };
    let (mut unknown, mut named, mut wrong) = (0, 0, Vec::new());
    for first in CONTROLLERS {
        for second in CONTROLLERS.into_iter().filter(|second| *second != first) {
            for after in SWITCHES_MS {
                let (from, to) = (known(first), known(second));
                let rule = Switching { first: from, second: to, after: Span::from_millis(after) };
                let server = engine::server(Arc::new(rule), PAGE_BYTES);
                let (verdict, _) = engine::measure_server(server, path, library.clone());
                let found = &verdict.identity.controllers;
                // Before the first mark New-ECN does what Reno does.
                let like = if first == "new-ecn" { "reno" } else { first };
                let ran =
                    |name: &String| [first, second, like].iter().any(|ran| name.ends_with(ran));
                println!("{first} to {second} after {after} ms: {verdict}");
                match (found.is_empty(), found.iter().any(ran)) {
                    (true, _) => {
                        assert!(verdict.why.is_some() && verdict.identity.confidence == 0.0);
                        unknown += 1;
                    }
                    (false, true) => named += 1,
                    (false, false) => wrong.push(format!("{first} to {second}: {verdict}")),
                }
            }
        }
    }
    println!("{unknown} unknown, {named} named by one that it ran, wrong: {wrong:?}");
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(unknown > 0, "no switch was seen");
}
