//! Closed loops: simulated TCP flows whose packets pass a queue, ours or the kernel's.

use super::bottleneck::{Bottleneck, Log};
use super::held::{Held, Parcel};
use std::cell::RefCell;
use std::error::Error;
use std::io;
use std::rc::Rc;
use windlass_base::{BitRate, Ecn, Span, Time};
use windlass_sim::packet::Packet;
use windlass_sim::{Middlebox, Simulation};

/// A path and its flows.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) mbit_per_s: u64,
    pub(crate) rtt_ms: u64,
    /// Controllers, one flow of each.
    pub(crate) controllers: Vec<String>,
}

/// The part of a run that does not count, as flows settle, is one of so many.
const SETTLES: u64 = 4;

impl Cell {
    fn rate(&self) -> BitRate {
        BitRate::from_bits_per_sec(self.mbit_per_s * 1_000_000).expect("a rate above zero")
    }

    fn scenario(&self, duration: Span) -> String {
        let flows: String = (1..).zip(&self.controllers).map(|(n, name)| flow(n, name)).collect();
        format!(
            r#"
            schema = 2
            name = "kernel_dualpi2"
            duration = "{}ns"
            jitter = "100ms"
            {flows}
            [dumbbell]
            bottleneck = {{ delay = "{}us" }}
            access = [{{ count = {}, delay = "0s" }}]
            "#,
            duration.as_nanos(),
            self.rtt_ms * 500,
            self.controllers.len(),
        )
    }
}

fn flow(number: usize, controller: &str) -> String {
    let ecn = match controller {
        "dctcp" => "ecn = true\nreceiver = { echo = \"dctcp\", ack = \"immediate\" }\n",
        "prague" => "accecn = true\n",
        _ => "",
    };
    format!("[[flows]]\nfrom = \"s{number}\"\ncontroller = \"{controller}\"\n{ecn}")
}

/// A router whose way to the receivers is a bottleneck.
struct Router<Q> {
    bottleneck: Bottleneck<Q>,
    arrived: u64,
    through: Vec<Parcel>,
    failed: io::Result<()>,
}

impl<Q: Held> Router<Q> {
    fn offer(&mut self, now: Time, packet: Packet, out: &mut Vec<Packet>) -> io::Result<()> {
        self.forward(now, out)?;
        // ECN-capable flows are those of low latency here, also where they send ECT(0).
        let ecn = if packet.ecn == Ecn::NotEct { Ecn::NotEct } else { Ecn::Ect1 };
        let parcel = Parcel {
            number: self.arrived,
            arrived: now,
            bytes: packet.wire_bytes(),
            came_with: ecn,
            ecn,
            content: Some(packet),
        };
        self.arrived += 1;
        self.bottleneck.arrive(now, parcel)
    }

    fn forward(&mut self, now: Time, out: &mut Vec<Packet>) -> io::Result<()> {
        let result = self.bottleneck.advance(now, &mut self.through);
        out.extend(self.through.drain(..).filter_map(|parcel| {
            let packet = parcel.content?;
            let ecn = if parcel.ecn == Ecn::Ce { Ecn::Ce } else { packet.ecn };
            Some(Packet { ecn, ..packet })
        }));
        result
    }

    fn keep(&mut self, result: io::Result<()>) {
        if self.failed.is_ok() {
            self.failed = result;
        }
    }
}

impl<Q: Held> Middlebox for Router<Q> {
    fn handle_packet(&mut self, now: Time, packet: Packet, out: &mut Vec<Packet>) {
        if packet.reverse {
            return out.push(packet);
        }
        let result = self.offer(now, packet, out);
        self.keep(result);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.bottleneck.due()
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Vec<Packet>) {
        let result = self.forward(now, out);
        self.keep(result);
    }
}

/// Runs the flows of a cell through a queue. Returns the log of the packets, in two parts: before and after the
/// flows settled.
pub(crate) fn run<Q: Held + 'static>(
    cell: &Cell,
    queue: Q,
    seed: u64,
    duration: Span,
) -> Result<Log, Box<dyn Error>> {
    let document = windlass_scenario::from_toml("flows", &cell.scenario(duration), &[])?;
    let router = document.scenario.node("r1").ok_or("no router")?;
    let log = Log::new(vec![Time::ZERO + duration / SETTLES]);
    let bottleneck = Bottleneck::new(queue, cell.rate(), log);
    let middlebox =
        Rc::new(RefCell::new(Router { bottleneck, arrived: 0, through: vec![], failed: Ok(()) }));
    let mut simulation = Simulation::new(&document.scenario, seed)?;
    simulation.add_middlebox(router, Rc::clone(&middlebox));
    simulation.run(&mut ());
    let mut router = middlebox.borrow_mut();
    std::mem::replace(&mut router.failed, Ok(()))?;
    Ok(router.bottleneck.log.clone())
}
