//! The engine of Windlass, with any of its controllers or one of another crate.

use crate::bed::MSS;
use crate::subject::{Ecn, Packet, Repair, Sender, Setup, Subject};
use crate::suites::known;
use std::sync::Arc;
use windlass_base::Time;
use windlass_tcp::cc::ControllerFactory;
use windlass_tcp::config::EcnEcho;
use windlass_tcp::{Config, Connection, Profile, SeqNumber};

const BUFFER: u64 = 64 << 20;

/// A controller on the engine.
#[derive(Clone, Debug)]
pub struct Engine {
    controller: Arc<dyn ControllerFactory>,
    profile: Profile,
}

impl Engine {
    /// The controller with the options of Linux.
    pub fn new(controller: Arc<dyn ControllerFactory>) -> Engine {
        Engine { controller, profile: Profile::Linux }
    }

    /// The same with the options of another profile.
    pub fn with_profile(self, profile: Profile) -> Engine {
        Engine { profile, ..self }
    }

    fn config(&self, setup: &Setup) -> Config {
        let mut config = self.profile.config(MSS, Arc::clone(&self.controller));
        config.ecn.enabled = setup.ecn != Ecn::Off;
        if setup.ecn == Ecn::Accurate {
            config.ecn.echo = EcnEcho::Accurate;
        }
        config.ecn.abe = setup.abe;
        config.growth.rate_limited_increase = setup.rate_limited;
        config.extensions.timestamps = setup.timestamps;
        config.extensions.sack = setup.repair != Repair::NewReno;
        let rack = setup.repair == Repair::Rack;
        (config.recovery.rack, config.recovery.tail_loss_probe) = (rack, rack);
        config.recovery.prr = matches!(setup.repair, Repair::Prr | Repair::Rack);
        (config.recovery.undo, config.recovery.frto) = (setup.undo, setup.undo);
        // RFC 3168 section 6.1.2, RFC 9438 section 4.6: echoes may leave one segment. Linux keeps two.
        config.window.least = 1;
        // Whatever the application writes leaves at once.
        config.sending.nagle = false;
        (config.buffers.send, config.buffers.receive) = (BUFFER, BUFFER);
        config
    }
}

impl Subject for Engine {
    fn name(&self) -> String {
        self.controller.name().to_owned()
    }

    fn controller(&self) -> String {
        self.controller.name().to_owned()
    }

    fn explains(&self, case: &str) -> Option<&'static str> {
        let explanation = match self.profile {
            Profile::Linux => known::with_linux,
            Profile::Rfc5681 => known::with_rfc5681,
            _ => known::of_the_engine,
        };
        explanation(case, self.controller.name())
    }

    fn open(&self, setup: &Setup, now: Time) -> Result<Box<dyn Sender>, String> {
        let connection = Connection::connect(self.config(setup), now, SeqNumber(1));
        Ok(Box::new(EngineSender { connection }))
    }
}

#[derive(Debug)]
struct EngineSender {
    connection: Connection,
}

impl Sender for EngineSender {
    fn receive(&mut self, now: Time, packet: &Packet) {
        self.connection.handle_segment(now, &packet.segment, packet.ecn, &mut ());
    }

    fn wake(&mut self, now: Time) {
        self.connection.handle_timeout(now, &mut ());
    }

    fn wakes_at(&self) -> Option<Time> {
        self.connection.poll_timeout()
    }

    fn transmit(&mut self, now: Time, packets: &mut Vec<Packet>) {
        while let Some(run) = self.connection.poll_transmit(now, 4, &mut ()) {
            packets.extend(run.segments().map(|segment| Packet { segment, ecn: run.ecn }));
        }
    }

    fn write(&mut self, bytes: u64) -> u64 {
        self.connection.write(bytes).unwrap_or(0)
    }

    fn close(&mut self, now: Time) {
        self.connection.close(now);
    }

    fn variable(&self, name: &str) -> Option<f64> {
        let (connection, stats) = (&self.connection, self.connection.stats());
        match name {
            "cwnd" => Some(connection.cwnd()),
            "ssthresh" => Some(connection.ssthresh())
                .filter(|bytes| *bytes < u64::MAX)
                .map(|bytes| bytes as f64),
            "srtt" => connection.smoothed_rtt().map(|span| span.as_secs_f64()),
            "rto" => Some(connection.rto().as_secs_f64()),
            "timeouts" => Some(stats.timeouts as f64),
            "fast_retransmits" => Some(stats.fast_retransmits as f64),
            "undone_cuts" => Some(stats.undone_cuts as f64),
            _ => connection.trace_value(name),
        }
    }
}
