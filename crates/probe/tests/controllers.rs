//! Which controller a server runs: servers made of the engine, in virtual time.

mod common;

use common::server::{EngineServer, page, says};
use common::{Path, World};
use std::sync::Arc;
use windlass_base::Span;
use windlass_probe::cca::Trace;
use windlass_probe::{Order, Purpose};
use windlass_tcp::cc::{self, ControllerFactory};
use windlass_tcp::{Config, Profile};

fn config(controller: Arc<dyn ControllerFactory>) -> Config {
    Profile::Linux.config(256, controller).with(|c| {
        c.sending.nagle = false;
        c.ecn.enabled = true;
        c.buffers.send = 1 << 20;
        c.buffers.receive = 64 << 10;
    })
}

fn trace(controller: &str, path: Path, seed: u64) -> Trace {
    let factory = cc::by_name(controller).expect("a controller");
    let server = EngineServer::new(config(factory), says(page(8 << 20)));
    let mut world = World::new(path, seed).with("192.0.2.1:80", server);
    let order = Order {
        purpose: Purpose::Identify,
        mss: 256,
        window: 1 << 20,
        ..common::order(windlass_probe::Test::Split(1))
    };
    let report = world.connect("192.0.2.1:80".parse().expect("an address"), order);
    report.trace.expect("a trace")
}

#[test]
fn print_them() {
    for name in ["reno", "cubic", "vegas", "new-ecn"] {
        let trace = trace(name, Path { delay: Span::from_millis(20), loss: 0.0 }, 1);
        println!(
            "{name} losses at {:?} complete {} ecn {} losses {} repeated {} bytes {}",
            trace.losses, trace.complete, trace.ecn, trace.path_losses, trace.repeated, trace.bytes
        );
        for round in &trace.rounds {
            print!(
                "{:?}{}{}:{:.1} ",
                round.show,
                if round.recovering { "*" } else { "" },
                if round.marked { "!" } else { "" },
                round.window
            );
        }
        println!();
    }
}
