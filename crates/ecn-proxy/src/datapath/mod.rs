//! The packet path: tc programs at interfaces, their tables, and the switch.
//!
//! [`Datapath::load`] brings the programs into the kernel, [`Datapath::attach`] puts them at an
//! interface of the calling thread's network namespace. Without [`Settings::pin`] all of it goes when the value is dropped or the
//! process dies. Nothing here runs by itself: who owns a `Datapath` calls [`Datapath::expire`] every
//! few seconds, which is also the sign of life that the programs want (see [`Settings::lease`]).
//!
//! All of it wants root, or rather CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON.

mod attach;
mod bytes;
mod counters;
mod error;
mod flow;
mod interface;
mod lists;
mod load;
mod log;
mod settings;
mod switch;

pub use counters::{Counters, REASONS};
pub use error::Error;
pub use flow::{AnswerState, Flow, FlowState, Host, HostEcn};
pub use lists::{Lists, Rules};
pub use settings::{Policy, Settings, Side, Timeouts};
pub use switch::Switch;

use attach::Attached;
use bytes::Reader;
use error::doing;
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ProgramInput as Input};
use serde::Serialize;
use settings::InForce;
use std::path::PathBuf;
use std::time::Duration;

/// Entries of a table read at once.
const BATCH: u32 = 4096;

/// Where the kernel runs the programs of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    /// A TCX link (Linux 6.6): it goes with the process, or with its pin.
    Tcx,
    /// Filters of a clsact qdisc: they stay when the process is killed, and pass everything once
    /// the lease is over.
    Clsact,
}

/// An interface at which the programs stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// Its name when it was attached.
    pub interface: String,
    /// The kernel's number of it.
    pub index: u32,
    /// Whom it faces.
    pub side: Side,
    /// How the programs are attached.
    pub hook: Hook,
    /// Its packets begin with an Ethernet header; else with that of IP (ppp, tun, wireguard).
    pub ethernet: bool,
}

/// What of this kernel is in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Features {
    /// Its release, as `uname -r` says.
    pub kernel: String,
    /// It has TCX.
    pub tcx: bool,
    /// The folder of the pins, if the tables and links outlive the process.
    pub pinned: Option<PathBuf>,
    /// Tables were found there and taken over.
    pub reused: bool,
}

/// The programs in the kernel.
#[derive(Debug)]
pub struct Datapath {
    attached: Vec<Attached>,
    object: Object,
    features: Features,
    pin: Option<PathBuf>,
    switch: Switch,
}

impl Datapath {
    /// Loads the programs, or takes over the tables pinned at [`Settings::pin`].
    ///
    /// # Errors
    ///
    /// Missing rights, a kernel without what is needed (named), settings out of range.
    pub fn load(settings: &Settings) -> Result<Datapath, Error> {
        let (object, reused) = load::load(settings)?;
        let kernel = load::release();
        let features = Features {
            tcx: !settings.clsact && !load::older(&kernel, (6, 6)),
            kernel,
            pinned: settings.pin.clone(),
            reused,
        };
        let switch = Switch::new(load::table(&object, "settings")?, InForce::new(settings));
        switch.renew()?;
        let pin = settings.pin.clone();
        Ok(Datapath { attached: Vec::new(), object, features, pin, switch })
    }

    /// Stands at `interface`, in both directions. Again with the same side: nothing happens.
    ///
    /// # Errors
    ///
    /// No such interface; attached with the other side; the kernel refuses.
    pub fn attach(&mut self, interface: &str, side: Side) -> Result<Attachment, Error> {
        self.attached.retain(Attached::is_there);
        let known = self.attached.iter().find(|known| known.attachment.interface == interface);
        match known.map(|known| &known.attachment) {
            Some(known) if known.side == side => return Ok(known.clone()),
            Some(_) => return Err(Error::OtherSide(interface.to_owned())),
            None => {}
        }
        let pin = self.pin.as_deref();
        let new = Attached::attach(&mut self.object, pin, self.features.tcx, interface, side)?;
        let attachment = new.attachment.clone();
        self.attached.push(new);
        Ok(attachment)
    }

    /// Leaves `interface`. The flows stay in the table.
    ///
    /// # Errors
    ///
    /// Not attached there.
    pub fn detach(&mut self, interface: &str) -> Result<(), Error> {
        let known = |attached: &Attached| attached.attachment.interface == interface;
        match self.attached.iter().position(known) {
            Some(at) => self.attached.remove(at).detach(self.pin.as_deref()),
            None => Err(Error::NotAttached(interface.to_owned())),
        }
    }

    /// Where the programs stand, as the kernel says: an interface that went away is not among them.
    /// To be asked in the network namespace in which they were attached.
    pub fn attachments(&self) -> Vec<Attachment> {
        let there = self.attached.iter().filter(|attached| attached.is_there());
        there.map(|attached| attached.attachment.clone()).collect()
    }

    /// The kill switch. Off: no packet is changed from now on; connections are still followed.
    ///
    /// # Errors
    ///
    /// The kernel refuses, here and below.
    pub fn set_enabled(&mut self, enabled: bool) -> Result<(), Error> {
        self.switch.set_enabled(enabled)
    }

    /// The kill switch by itself, for who cannot wait until the `Datapath` is free.
    pub fn switch(&self) -> Switch {
        self.switch.clone()
    }

    /// Draining: no new connection is taken on, those under way are served to their end.
    pub fn set_draining(&mut self, draining: bool) -> Result<(), Error> {
        self.switch.change(|in_force| in_force.draining = draining)
    }

    /// How served senders are told, from now on and for all connections.
    pub fn set_policy(&mut self, policy: Policy) -> Result<(), Error> {
        self.switch.change(|in_force| in_force.policy = policy)
    }

    /// Which connections are taken on from now on; those under way are not asked again.
    pub fn set_lists(&mut self, lists: &Lists) -> Result<(), Error> {
        lists.write(&self.object)?;
        self.switch.change(|in_force| in_force.lists = lists.bits())
    }

    /// What has been counted since the tables were made.
    pub fn counters(&self) -> Result<Counters, Error> {
        Counters::read(&self.object)
    }

    /// How many connections are in the table, those in their handshake not among them.
    pub fn flow_count(&self) -> Result<u64, Error> {
        let value = load::table(&self.object, "flow_count")?.lookup(&[0; 4], MapFlags::ANY);
        let value = value.map_err(doing("reading the number of connections"))?.unwrap_or_default();
        let number = Reader(&value).u64();
        number.ok_or_else(|| Error::Unreadable("a number of connections".to_owned()))
    }

    /// The connections in the table, those in their handshake last.
    pub fn flows(&self) -> Result<Vec<Flow>, Error> {
        let now = now_ns();
        let mut flows = self.entries("flows", |key, value| Flow::from_entry(key, value, now))?;
        let handshakes =
            self.entries("handshakes", |key, value| Flow::from_handshake(key, value, now))?;
        flows.extend(handshakes);
        Ok(flows)
    }

    /// What is known of far hosts.
    pub fn hosts(&self) -> Result<Vec<Host>, Error> {
        let now = now_ns();
        self.entries("hosts", |key, value| Host::from_entry(key, value, now))
    }

    /// Removes connections that have been idle for too long, and renews the lease. Returns how many
    /// went, handshakes not among them: those go after the time of closing connections.
    pub fn expire(&mut self, timeouts: &Timeouts) -> Result<u64, Error> {
        self.switch.renew()?;
        self.expire_handshakes(timeouts.closing)?;
        let now = now_ns();
        let before = |time: Duration| now.saturating_sub(nanoseconds(time));
        let limits = [before(timeouts.idle).to_ne_bytes(), before(timeouts.closing).to_ne_bytes()];
        let shortest = timeouts.idle.min(timeouts.closing);
        let old = self.entries("flows", |key, value| {
            let flow = Flow::from_entry(key, value, now)?;
            Some((flow.idle >= shortest).then(|| key.to_vec()))
        })?;
        let mut removed = 0;
        for key in old.into_iter().flatten() {
            // As struct forget of the program, which looks again whether it is idle.
            let request = [&key, [0; 4].as_slice(), &limits[0], &limits[1]].concat();
            removed += u64::from(self.run("forget", &request)? == 1);
        }
        Ok(removed)
    }

    fn expire_handshakes(&self, after: Duration) -> Result<(), Error> {
        let now = now_ns();
        let old = self.entries("handshakes", |key, value| {
            let handshake = Flow::from_handshake(key, value, now)?;
            Some((handshake.idle >= after).then(|| key.to_vec()))
        })?;
        let table = load::table(&self.object, "handshakes")?;
        for key in old.into_iter().flatten() {
            // Promoted or pushed out meanwhile, perhaps.
            let _ = table.delete(&key);
        }
        Ok(())
    }

    /// What of this kernel is in use.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Runs a program on `frame`: what tests of single frames are made of. Returns the action and
    /// the frame as the program left it.
    pub fn run_frame(&self, program: &str, frame: &[u8]) -> Result<(i32, Vec<u8>), Error> {
        let mut out = vec![0; frame.len() + 256];
        let length;
        let mut context = [0; 192];
        let action = {
            let program = self.program(program)?;
            let result = program
                .test_run(Input {
                    data_in: Some(frame),
                    data_out: Some(&mut out),
                    context_in: Some(&mut context),
                    ..Input::default()
                })
                .map_err(doing("running a program"))?;
            length = result.data.map_or(0, |data| data.len());
            result.return_value as i32
        };
        out.truncate(length);
        Ok((action, out))
    }

    /// What a program takes for `frame`: the mean of so many runs, each of which finds the frame as
    /// the run before left it.
    pub fn time_frame(&self, program: &str, frame: &[u8], repeats: u32) -> Result<Duration, Error> {
        let input = Input { data_in: Some(frame), repeat: repeats, ..Input::default() };
        let output = self.program(program)?.test_run(input).map_err(doing("running a program"))?;
        Ok(output.duration)
    }

    /// The ring of [`Settings::decisions_bytes`].
    pub fn decisions(&self) -> Result<MapHandle, Error> {
        load::table(&self.object, "decisions")
    }

    fn program(&self, name: &str) -> Result<libbpf_rs::ProgramMut<'_>, Error> {
        let program = self.object.progs_mut().find(|program| program.name() == name);
        program.ok_or_else(|| Error::Unreadable(format!("the object has no program {name}")))
    }

    fn run(&self, name: &str, data: &[u8]) -> Result<i32, Error> {
        let input = Input { data_in: Some(data), ..Input::default() };
        let output = self.program(name)?.test_run(input).map_err(doing("running a program"))?;
        Ok(output.return_value as i32)
    }

    fn entries<T>(
        &self,
        table: &str,
        read: impl Fn(&[u8], &[u8]) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let table = load::table(&self.object, table)?;
        let flags = MapFlags::ANY;
        let batches = table.lookup_batch(BATCH, flags, flags).map_err(doing("reading a table"))?;
        let unreadable = || Error::Unreadable("an entry of a table".to_owned());
        batches.map(|(key, value)| read(&key, &value).ok_or_else(unreadable)).collect()
    }
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
