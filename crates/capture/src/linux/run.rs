//! A captured command from its start to its end.

use super::driver::{Counters, Driver};
use super::tun::Tun;
use super::{handover, inside};
use crate::far::{Dialer, Resolver};
use crate::stack::Config;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::{Duration, Instant};
use windlass_namespace::{Signals, exit_code};

/// Numbers of watched descriptors.
const END: usize = 0;
const SIGNALS: usize = 1;

/// After the command's end, its last bytes are carried for as long as some move within this time.
const LINGER: Duration = Duration::from_secs(60);

/// A command to capture.
#[derive(Clone, Debug)]
pub struct Capture {
    command: Vec<OsString>,
    tool: String,
    stack: Config,
}

/// The end of a captured command: its status and its traffic.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The command's exit status, or 128 and the number of the signal that ended it. 126 or 127 if it
    /// could not be started; then the reason is on standard error.
    pub exit_code: u8,
    /// Traffic of all its connections.
    pub counters: Counters,
    /// Connections of the command whose last bytes did not reach the far end.
    pub undelivered: usize,
}

impl Capture {
    /// A command and its arguments.
    pub fn new(command: impl IntoIterator<Item = impl Into<OsString>>) -> Capture {
        Capture {
            command: command.into_iter().map(Into::into).collect(),
            tool: "capture".to_owned(),
            stack: Config { offload: true, ..Config::default() },
        }
    }

    /// Sets the name that error messages begin with.
    pub fn tool(mut self, name: impl Into<String>) -> Capture {
        self.tool = name.into();
        self
    }

    /// Sets the largest IP packet of the command's device, in bytes.
    pub fn mtu(mut self, mtu: u16) -> Capture {
        self.stack.mtu = mtu;
        self
    }

    /// Runs the command to its end, and carries its connections. `signals` are forwarded to it. The
    /// calling thread does all the work, and the command ends with it.
    ///
    /// The program must call [`child_main`](super::child_main) first in `main`, and block the signals
    /// before it starts a second thread.
    ///
    /// # Errors
    ///
    /// The process may make neither namespaces nor a TUN device, or the device fails. A running command
    /// is killed.
    pub fn run(
        &self,
        signals: &Signals,
        dialer: &mut dyn Dialer,
        resolver: &mut dyn Resolver,
    ) -> io::Result<Outcome> {
        let (ours, theirs) = UnixStream::pair()?;
        let inside = inside::start(theirs.into(), &self.tool, self.stack.mtu, &self.command)?;
        let mut inside = Inside(inside);
        let tun = Tun::new(handover::receive(&ours)?);
        let mut driver = Driver::new(self.stack.clone(), tun, dialer, resolver)?;
        driver.watch(END, ours.as_fd())?;
        driver.watch(SIGNALS, signals.as_fd())?;
        let mut running = true;
        while running {
            let watched = driver.turn(None)?;
            if watched.contains(&SIGNALS) {
                signals.forward(inside.0.id())?;
            }
            running = !watched.contains(&END);
        }
        let status = inside.0.wait()?;
        linger(&mut driver, signals)?;
        let undelivered = driver.undelivered();
        Ok(Outcome { exit_code: exit_code(status), counters: driver.finish(), undelivered })
    }
}

/// Carries the bytes that the command left behind in the kernel's buffers, until all are delivered,
/// none moves any more, or a signal comes.
fn linger(driver: &mut Driver<'_>, signals: &Signals) -> io::Result<()> {
    driver.give_up_connecting();
    let mut moved = (driver.counters().bytes_up, Instant::now());
    while driver.undelivered() > 0 {
        let left = LINGER.saturating_sub(moved.1.elapsed());
        let watched = driver.turn(Some(left))?;
        if driver.counters().bytes_up != moved.0 {
            moved = (driver.counters().bytes_up, Instant::now());
        }
        if left.is_zero() || watched.contains(&SIGNALS) && signals.take()? > 0 {
            break;
        }
    }
    Ok(())
}

/// The process inside the namespace. It is killed if the capture fails.
struct Inside(Child);

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
