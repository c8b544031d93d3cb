//! Stands at interfaces of this network namespace until standard input ends, then prints what was
//! counted: `attach [--network-side] [--policy P] INTERFACE...`.

use std::io::{Read, stdin};
use windlass_ecn_proxy::datapath::{Datapath, Error, Policy, Settings, Side};

fn main() -> Result<(), Error> {
    let mut side = Side::ClientSide;
    let mut settings = Settings { lease: None, ..Settings::default() };
    let mut interfaces = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--network-side" => side = Side::NetworkSide,
            "--drop" => settings.policy = Policy::Drop,
            "--no-ect" => settings.policy = Policy::NoEct,
            "--without-sack" => settings.without_sack = true,
            _ => interfaces.push(argument),
        }
    }
    let mut datapath = Datapath::load(&settings)?;
    for interface in &interfaces {
        println!("{:?}", datapath.attach(interface, side)?);
    }
    let _ = stdin().read_to_end(&mut Vec::new());
    let counters = datapath.counters()?;
    for (name, value, _) in counters.named().iter().filter(|(_, value, _)| *value > 0) {
        println!("{name} {value}");
    }
    println!("bypassed {:?}", counters.bypassed_by_reason);
    println!("passed over {:?}", counters.passed_over_by_reason);
    for flow in datapath.flows()? {
        println!("{flow:?}");
    }
    println!("{:?}", datapath.hosts()?);
    Ok(())
}
