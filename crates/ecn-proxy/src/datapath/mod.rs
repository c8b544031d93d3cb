//! The packet path: tc programs at interfaces, their tables, and the switch.
//! [`Datapath::load`] loads the programs into the kernel. [`Datapath::attach`] attaches them to an
//! interface of the calling thread's network namespace. Without [`Settings::pin`] the kernel removes
//! everything when the value is dropped or the process ends. The owner of a `Datapath` calls
//! [`Datapath::expire`] every few seconds. This also renews [`Settings::lease`], without which the
//! programs stop editing.
//! The process needs root, or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON.

mod attach;
mod bytes;
mod counters;
mod error;
mod flow;
mod lists;
mod load;
mod served_hosts;
mod settings;
mod switch;

pub use counters::{Counters, REASONS};
pub use error::Error;
pub use flow::{AnswerState, Flow, FlowState, Host, HostEcn};
pub use lists::{ConnectionFilter, Lists};
pub(crate) use load::check_pin;
pub use served_hosts::{EcnUse, HostBytes, HostConnections, MacAddress, NoMacAddress, ServedHost};
pub use settings::{Policy, Settings, Side, Timeouts};
pub(crate) use switch::Switch;

use attach::Attached;
use bytes::Reader;
use error::doing;
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ProgramInput as Input};
use serde::Serialize;
use served_hosts::{Entry, FlowSums, SERVED_HOST_MEMORY};
use settings::InForce;
use std::path::PathBuf;
use std::time::Duration;

/// Offset of `gso_size` in `struct __sk_buff`.
const GSO_SIZE_AT: usize = 176;
/// Entries of a table read at once.
const BATCH: u32 = 4096;

/// Where the kernel runs the programs of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    /// A TCX link (Linux 6.6), which ends with the process or its pin.
    Tcx,
    /// Filters of a clsact qdisc. They outlive a killed process, and pass every packet once the lease
    /// has expired.
    Clsact,
}

/// An interface with the programs attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// Name of the interface at the time of attachment.
    pub interface: String,
    /// Interface index.
    pub index: u32,
    /// The side that the interface faces.
    pub side: Side,
    /// How the programs are attached.
    pub hook: Hook,
    /// Whether packets begin with an Ethernet header; otherwise with an IP header (ppp, tun, wireguard).
    pub ethernet: bool,
}

/// Kernel features in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Features {
    /// Kernel release, as of `uname -r`.
    pub kernel: String,
    /// Whether the programs are attached by TCX.
    pub tcx: bool,
    /// Whether the kernel publishes its types (BTF). Without them lists of GRO are not recognised.
    pub types: bool,
    /// The folder of the pins, if the tables and links outlive the process.
    pub pinned: Option<PathBuf>,
    /// Whether existing pinned tables were reused.
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
    /// A capability is missing, the kernel lacks a feature (named), or a setting is out of range.
    pub fn load(settings: &Settings) -> Result<Datapath, Error> {
        let (object, reused) = load::load(settings)?;
        let kernel = windlass_bpf::release();
        let features = Features {
            types: load::knows_types(),
            tcx: !settings.clsact && !windlass_bpf::older(&kernel, (6, 6)),
            kernel,
            pinned: settings.pin.clone(),
            reused,
        };
        let switch = Switch::new(load::table(&object, "settings")?, InForce::new(settings));
        switch.renew()?;
        let pin = settings.pin.clone();
        Ok(Datapath { attached: Vec::new(), object, features, pin, switch })
    }

    /// Attaches to `interface` in both directions. A second call with the same side does nothing.
    ///
    /// # Errors
    /// The interface does not exist, is attached with the other side, or the kernel refuses.
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

    /// Detaches from `interface`. The flows stay in the table.
    ///
    /// # Errors
    /// The programs are not attached to the interface.
    pub fn detach(&mut self, interface: &str) -> Result<(), Error> {
        let known = |attached: &Attached| attached.attachment.interface == interface;
        match self.attached.iter().position(known) {
            Some(at) => self.attached.remove(at).detach(self.pin.as_deref()),
            None => Err(Error::NotAttached(interface.to_owned())),
        }
    }

    /// The current attachments as the kernel reports them, without removed interfaces. Call it in the
    /// network namespace of the attachments.
    pub fn attachments(&self) -> Vec<Attachment> {
        let there = self.attached.iter().filter(|attached| attached.is_there());
        there.map(|attached| attached.attachment.clone()).collect()
    }

    /// The kill switch. While it is off the proxy edits no packet but still tracks connections.
    ///
    /// # Errors
    /// The kernel refuses to update the table.
    pub fn set_enabled(&mut self, enabled: bool) -> Result<(), Error> {
        self.switch.set_enabled(enabled)
    }

    /// A handle of the kill switch that works while another thread uses the `Datapath`.
    pub(crate) fn switch(&self) -> Switch {
        self.switch.clone()
    }

    /// Draining: the proxy takes on no new connection and serves existing ones to their end.
    ///
    /// # Errors
    ///
    /// The kernel refuses to update the table.
    pub fn set_draining(&mut self, draining: bool) -> Result<(), Error> {
        self.switch.change(|in_force| in_force.draining = draining)
    }

    /// Sets how the proxy signals marks to served senders, for all connections from now on.
    ///
    /// # Errors
    ///
    /// The kernel refuses to update the table.
    pub(crate) fn set_policy(&mut self, policy: Policy) -> Result<(), Error> {
        self.switch.change(|in_force| in_force.policy = policy)
    }

    /// Sets which new connections the proxy serves. Connections under way stay as they are.
    ///
    /// # Errors
    ///
    /// The kernel refuses to update a table.
    pub fn set_lists(&mut self, lists: &Lists) -> Result<(), Error> {
        lists.write(&self.object)?;
        self.switch.change(|in_force| in_force.lists = lists.bits())
    }

    /// The counters since the tables were made.
    ///
    /// # Errors
    ///
    /// The kernel refuses to read the table, or the table has another size than this build's.
    pub fn counters(&self) -> Result<Counters, Error> {
        Counters::read(&self.object)
    }

    /// The number of connections in the table, without those in their handshake.
    ///
    /// # Errors
    ///
    /// The kernel refuses to read the table, or the table has another size than this build's.
    pub fn flow_count(&self) -> Result<u64, Error> {
        let value = load::table(&self.object, "flow_count")?.lookup(&[0; 4], MapFlags::ANY);
        let value = value.map_err(doing("reading the number of connections"))?.unwrap_or_default();
        let number = Reader::new(&value, size_of::<u64>()).and_then(|mut reader| reader.u64());
        number.ok_or_else(|| Error::Unreadable("a number of connections".to_owned()))
    }

    /// The connections in the table, those in their handshake last.
    ///
    /// # Errors
    ///
    /// The kernel refuses to read a table, or an entry has another size than this build's.
    pub fn flows(&self) -> Result<Vec<Flow>, Error> {
        let now = now_ns();
        let mut flows = self.entries("flows", |key, value| Flow::from_entry(key, value, now))?;
        let handshakes = self.entries("handshakes", |key, value| {
            let handshake = Flow::from_handshake(key, value, now)?;
            Some(Flow::is_under_way(value)?.then_some(handshake))
        })?;
        flows.extend(handshakes.into_iter().flatten());
        Ok(flows)
    }

    /// The ECN capability of each far host that the proxy remembers.
    ///
    /// # Errors
    ///
    /// The kernel refuses to read the table, or an entry has another size than this build's.
    pub fn hosts(&self) -> Result<Vec<Host>, Error> {
        let now = now_ns();
        self.entries("hosts", |key, value| Host::from_entry(key, value, now))
    }

    /// The served hosts by address, with what their connections have of ECN. The table holds 16,384 of
    /// them; the least recently used are evicted.
    ///
    /// # Errors
    ///
    /// The kernel refuses to read a table, or an entry has another size than this build's.
    pub fn served_hosts(&self) -> Result<Vec<ServedHost>, Error> {
        // First: a connection that ends in between is missing once rather than counted twice.
        let hosts = self.entries("served_hosts", Entry::read)?;
        let flows = self.entries("flows", FlowSums::from_entry)?;
        Ok(served_hosts::join(hosts, flows, now_ns()))
    }

    /// The same without the bytes, marks and last packets of connections in the table. Unlike
    /// [`Datapath::served_hosts`] it reads no connection.
    ///
    /// # Errors
    ///
    /// The kernel refuses to read the table, or an entry has another size than this build's.
    pub(crate) fn served_hosts_without_flows(&self) -> Result<Vec<ServedHost>, Error> {
        let hosts = self.entries("served_hosts", Entry::read)?;
        Ok(served_hosts::join(hosts, Vec::new(), now_ns()))
    }

    /// Removes idle connections and renews the lease. Returns the number of removed connections without
    /// handshakes, which expire after the time for closing connections.
    ///
    /// # Errors
    ///
    /// The kernel refuses to read or update a table.
    pub fn expire(&mut self, timeouts: &Timeouts) -> Result<u64, Error> {
        self.switch.renew()?;
        self.expire_handshakes(timeouts.closing)?;
        self.expire_served_hosts()?;
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
            // The layout of struct forget. The program checks again whether the connection is idle.
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
        self.remove("handshakes", old.into_iter().flatten())
    }

    fn expire_served_hosts(&self) -> Result<(), Error> {
        let now = now_ns();
        let entries = self.entries("served_hosts", Entry::read)?;
        // Packets of served connections do not update the entries, so the connections decide.
        if !entries.iter().any(|entry| entry.is_old(now)) {
            return Ok(());
        }
        let hosts = self.served_hosts()?.into_iter();
        let old = hosts.filter(|host| host.idle >= SERVED_HOST_MEMORY);
        self.remove("served_hosts", old.map(|host| bytes::mapped(host.address).to_vec()))
    }

    fn remove(&self, table: &str, keys: impl IntoIterator<Item = Vec<u8>>) -> Result<(), Error> {
        let table = load::table(&self.object, table)?;
        for key in keys {
            // The entry may have been promoted or evicted meanwhile.
            let _ = table.delete(&key);
        }
        Ok(())
    }

    /// Kernel features in use.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Runs a program on `frame`, for tests. Returns the action of tc and the edited frame.
    ///
    /// # Errors
    ///
    /// There is no such program, or the kernel refuses to run it.
    pub fn run_frame(&self, program: &str, frame: &[u8]) -> Result<(i32, Vec<u8>), Error> {
        self.run_super_packet(program, frame, 0)
    }

    /// The same on a super-packet of segments with `segment_bytes` of payload; 0: an ordinary packet.
    ///
    /// # Errors
    ///
    /// There is no such program, or the kernel refuses to run it.
    pub fn run_super_packet(
        &self,
        program: &str,
        frame: &[u8],
        segment_bytes: u32,
    ) -> Result<(i32, Vec<u8>), Error> {
        let mut out = vec![0; frame.len() + 256];
        let length;
        let mut context = [0; 192];
        context[GSO_SIZE_AT..GSO_SIZE_AT + 4].copy_from_slice(&segment_bytes.to_ne_bytes());
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

    /// Mean run time of a program for `frame` over `repeats` runs. Each run starts with the frame that
    /// the last one left.
    ///
    /// # Errors
    ///
    /// There is no such program, or the kernel refuses to run it.
    pub fn time_frame(&self, program: &str, frame: &[u8], repeats: u32) -> Result<Duration, Error> {
        let input = Input { data_in: Some(frame), repeat: repeats, ..Input::default() };
        let output = self.program(program)?.test_run(input).map_err(doing("running a program"))?;
        Ok(output.duration)
    }

    /// The ring buffer of [`Settings::decisions_bytes`].
    ///
    /// # Errors
    ///
    /// The table is missing or cannot be opened.
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
