//! The answers to requests at the control socket.

use super::control::Respond;
use super::devices::{Device, EcnShare};
use super::events::Event;
use super::leases::Leases;
use super::metrics;
use super::protocol::{Answer, Command, State};
use super::proxy::{Proxy, by_ecn};
use crate::datapath::{Error, Switch};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Interval at which a waiting client checks whether the drain has ended.
const LOOK: Duration = Duration::from_millis(200);

/// State shared by the threads.
#[derive(Debug)]
pub(super) struct Shared {
    proxy: Mutex<Proxy>,
    switch: Switch,
    events: Sender<Event>,
}

impl Shared {
    pub(super) fn new(proxy: Proxy, events: Sender<Event>) -> Shared {
        Shared { switch: proxy.switch(), proxy: Mutex::new(proxy), events }
    }

    /// Locks the proxy. A panic in another thread leaves it usable, because each change of the packet
    /// path is a single call.
    pub(super) fn lock(&self) -> MutexGuard<'_, Proxy> {
        self.proxy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The leases of now. They are read without the lock, since a disk may be slow.
    fn leases(&self) -> Leases {
        let configured = self.lock().leases();
        Leases::current(configured.as_deref())
    }

    /// The page of metrics.
    pub(super) fn metrics(&self) -> Result<String, String> {
        let leases = self.leases();
        let proxy = self.lock();
        let stats = proxy.stats().map_err(|error| error.to_string())?;
        let devices = proxy.devices_without_flows(&leases).map_err(|error| error.to_string())?;
        let unresponsive = devices.iter().map(|device| u64::from(device.unresponsive > 0)).sum();
        let by_ecn = by_ecn(devices.iter().map(|device| device.ecn));
        let devices = metrics::Devices { by_ecn, unresponsive };
        Ok(metrics::page(&proxy.overview(), &stats, &devices))
    }

    fn answer(&self, command: Command) -> Result<Answer, Error> {
        Ok(match command {
            Command::Status => {
                let leases = self.leases();
                Answer::result(&self.lock().status(&leases)?)
            }
            Command::Stats => Answer::result(&self.lock().stats()?),
            Command::Off => {
                // At once: the proxy may be at a sweep.
                self.switch.set_enabled(false)?;
                let mut proxy = self.lock();
                proxy.switch_off()?;
                Answer::result(&json!({ "state": proxy.state() }))
            }
            Command::On => {
                let mut proxy = self.lock();
                proxy.resume()?;
                Answer::result(&json!({ "state": proxy.state() }))
            }
            Command::Flows | Command::Hosts | Command::Stop { .. } => {
                Answer::error("not answered at once")
            }
        })
    }

    fn flows(&self, out: &mut dyn Write) -> io::Result<()> {
        // Collected first, so that a slow reader does not hold the lock.
        let flows = self.lock().flows();
        list(flows, Answer::flow, |flows| json!({ "flows": flows.len() }), out)
    }

    fn hosts(&self, out: &mut dyn Write) -> io::Result<()> {
        let leases = self.leases();
        let devices = self.lock().devices(&leases);
        let result = |devices: &[Device]| {
            let by_ecn = by_ecn(devices.iter().map(|device| device.ecn));
            json!({ "devices": by_ecn, "ecn": devices.iter().collect::<EcnShare>() })
        };
        list(devices, Answer::device, result, out)
    }

    /// Says what was begun; the end of the connection is the end of the daemon.
    fn stop(&self, drain_s: Option<u64>, out: &mut dyn Write) -> io::Result<()> {
        let begun = match drain_s {
            Some(seconds) => {
                let mut proxy = self.lock();
                let begun = proxy.drain(Duration::from_secs(seconds));
                begun.map(|()| json!({ "state": proxy.state(), "at_most_s": seconds }))
            }
            None => Ok(json!({ "state": "stopping" })),
        };
        let answer = match &begun {
            Ok(begun) => Answer::result(begun),
            Err(error) => Answer::error(error.to_string()),
        };
        out.write_all(answer.line().as_bytes())?;
        out.flush()?;
        if begun.is_err() {
            return Ok(());
        }
        if drain_s.is_none() {
            // If the receiver is gone, the daemon is already stopping.
            let _ = self.events.send(Event::Stop);
            loop {
                thread::park();
            }
        }
        while self.lock().state() == State::Draining {
            thread::sleep(LOOK);
        }
        let message = "the drain was ended by windlass ecn-proxy on, or off; it runs on";
        out.write_all(Answer::error(message).line().as_bytes())
    }
}

/// A line for each item, and a last one with the result.
fn list<T>(
    items: Result<Vec<T>, Error>,
    line: impl Fn(&T) -> Answer,
    result: impl FnOnce(&[T]) -> Value,
    out: &mut dyn Write,
) -> io::Result<()> {
    let last = match items {
        Ok(items) => {
            for item in &items {
                out.write_all(line(item).line().as_bytes())?;
            }
            Answer::result(&result(&items))
        }
        Err(error) => Answer::error(error.to_string()),
    };
    out.write_all(last.line().as_bytes())
}

impl Respond for Shared {
    fn respond(&self, command: Command, out: &mut dyn Write) -> io::Result<()> {
        match command {
            Command::Flows => self.flows(out),
            Command::Hosts => self.hosts(out),
            Command::Stop { drain_s } => self.stop(drain_s, out),
            _ => {
                let answer = self.answer(command);
                let answer = answer.unwrap_or_else(|error| Answer::error(error.to_string()));
                out.write_all(answer.line().as_bytes())
            }
        }
    }
}
