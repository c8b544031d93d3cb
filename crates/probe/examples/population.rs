//! Plays a population of web servers behind a TUN device, to try surveys on: on one machine, in a
//! namespace of its own.
//!
//! ```text
//! population generate COUNT SEED RTT_MAX_MS > servers.csv
//! population hosts servers.csv > hosts.txt
//! population serve servers.csv DEVICE       # until it is ended; as root; then bring the device up
//! population check servers.csv hosts.csv    # how many of those that answer a survey got right
//! ```
#![cfg(target_os = "linux")]

#[path = "../tests/common/population.rs"]
mod population;
#[path = "../tests/common/server.rs"]
mod server;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use population::{Network, Spec};
use std::collections::BTreeMap;
use std::error::Error;
use std::os::fd::AsFd;
use std::time::Instant;
use tun_rs::{DeviceBuilder, SyncDevice};
use windlass_base::Time;
use windlass_probe::survey::HostRow;

type Fallible<T> = Result<T, Box<dyn Error>>;

const USAGE: &str = "population generate COUNT SEED RTT_MAX_MS | hosts FILE | serve FILE DEVICE | \
                     check FILE HOSTS_CSV";

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["generate", count, seed, rtt_max_ms] => {
            let population =
                population::generate(count.parse()?, seed.parse()?, rtt_max_ms.parse()?);
            print!("{}", population::write(&population));
        }
        ["hosts", file] => read(file)?.iter().for_each(|spec| println!("{}", spec.url())),
        ["serve", file, device] => serve(&read(file)?, device)?,
        ["check", file, hosts] => check(&read(file)?, hosts)?,
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

fn read(file: &str) -> Fallible<Vec<Spec>> {
    Ok(population::read(&std::fs::read_to_string(file)?)?)
}

fn serve(population: &[Spec], device: &str) -> Fallible<()> {
    let tun = DeviceBuilder::new().name(device).tx_queue_len(10_000).build_sync()?;
    tun.set_nonblocking(true)?;
    let mut network = Network::new(population, 1);
    let start = Instant::now();
    let now = || Time::from_nanos(start.elapsed().as_nanos() as u64);
    let mut buffer = vec![0; 65536];
    loop {
        while let Ok(len) = tun.recv(&mut buffer) {
            network.take(now(), buffer[..len].to_vec());
        }
        while let Some(packet) = network.poll(now()) {
            // Nobody sends while the device is not up.
            let _ = tun.send(&packet);
        }
        wait(&tun, network.poll_timeout(), now())?;
    }
}

fn wait(tun: &SyncDevice, due: Option<Time>, now: Time) -> Fallible<()> {
    let ms = due.map_or(1000, |due| due.saturating_since(now).as_nanos().div_ceil(1_000_000));
    let mut fds = [PollFd::new(tun.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::try_from(ms.min(1000))?)?;
    Ok(())
}

fn check(population: &[Spec], hosts: &str) -> Fallible<()> {
    let mut rows = BTreeMap::new();
    for row in csv::Reader::from_path(hosts)?.deserialize() {
        let row: HostRow = row?;
        rows.insert(row.host.clone(), row);
    }
    let (mut answering, mut wrong) = (0, 0);
    for spec in population {
        let Some(expected) = spec.reaction() else { continue };
        answering += 1;
        let row = rows.get(&spec.url());
        let right = row.is_some_and(|row| {
            row.reaction == expected && row.initial_window_packets == Some(spec.initial_window)
        });
        if !right {
            wrong += 1;
            println!("{spec:?}: {row:?}");
        }
    }
    println!("{} of {answering} right", answering - wrong);
    Ok(())
}
