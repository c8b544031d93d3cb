//! The controllers that are loaded: `windlass cc status`.

use crate::error::doing;
use crate::load::UNLOAD_MAX;
use crate::registration::Registration;
use crate::{Error, Name, Parameters, Pins, flows};
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapInfo};
use serde::Serialize;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The state of a controller that Windlass has loaded, read from the kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The name by which connections choose it.
    pub name: String,
    /// The factors in force.
    pub parameters: Parameters,
    /// Seconds since it was loaded.
    pub loaded_for_s: f64,
    /// Connections that use it, in all network namespaces.
    pub connections: usize,
    /// The kernel's number of the link that keeps it registered. `None` before Linux 6.4, where a map
    /// keeps it registered.
    pub link_id: Option<u32>,
    /// The kernel's numbers of its programs.
    pub program_ids: Vec<u32>,
}

/// Every controller that Windlass has loaded, sorted by name.
///
/// # Errors
///
/// The process lacks a capability.
pub fn status() -> Result<Vec<Status>, Error> {
    Pins::names()?.iter().filter_map(|name| status_while_it_stays(name).transpose()).collect()
}

/// Reads the state of one controller. `None` if another process is unloading it.
fn status_while_it_stays(name: &Name) -> Result<Option<Status>, Error> {
    let deadline = Instant::now() + UNLOAD_MAX;
    loop {
        match status_of(name) {
            Ok(status) => return Ok(Some(status)),
            Err(_) if !Pins::of(name).exist() => return Ok(None),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn status_of(name: &Name) -> Result<Status, Error> {
    let pins = Pins::of(name);
    let link_id = Registration::open(&pins)?.link_id()?;
    let map =
        MapHandle::from_pinned_path(pins.parameters()).map_err(doing("opening the parameters"))?;
    let map_id = MapInfo::new(map.as_fd()).map_err(doing("asking for the parameters"))?.info.id;
    let (program_ids, loaded_at_s) = programs_with(map_id);
    Ok(Status {
        name: name.to_string(),
        parameters: parameters_in(&map)?,
        loaded_for_s: (uptime_s()? - loaded_at_s).max(0.0),
        connections: flows(name)?.len(),
        link_id,
        program_ids,
    })
}

fn parameters_in(map: &MapHandle) -> Result<Parameters, Error> {
    let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY);
    let value = value.map_err(doing("reading the parameters"))?.unwrap_or_default();
    let unreadable = || Error::Unreadable(format!("parameters of {} bytes", value.len()));
    Parameters::from_bytes(&value).ok_or_else(unreadable)
}

/// The controller's programs, found by the map that they read, and the time at which the first was
/// loaded, in seconds since boot.
fn programs_with(map_id: u32) -> (Vec<u32>, f64) {
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let mut ids = Vec::new();
    let mut loaded_at_s = f64::INFINITY;
    for program in ProgInfoIter::with_query_opts(options) {
        if program.map_ids.contains(&map_id) {
            ids.push(program.id);
            loaded_at_s = loaded_at_s.min(program.load_time.as_secs_f64());
        }
    }
    (ids, loaded_at_s)
}

fn uptime_s() -> Result<f64, Error> {
    const UPTIME: &str = "/proc/uptime";
    let text = fs::read_to_string(UPTIME).map_err(|error| Error::io(UPTIME, error))?;
    let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| Error::Unreadable(format!("{UPTIME}: {text}")))
}
