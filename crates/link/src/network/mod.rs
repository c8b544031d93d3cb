//! Paths joined at ports: the core of the emulator. The carrier ([`linux`](crate::linux)) passes it packets
//! and sends those that come out.

use crate::config::{ConfigError, LinkConfig};
use crate::frame::Frame;
use crate::path::{Path, PathStats};
use crate::routes::Routes;
use std::collections::VecDeque;
use windlass_base::{Sketch, Time};

/// The two paths of a port.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the port towards the others.
    Up,
    /// From the others to the port.
    Down,
}

impl Direction {
    /// `up` or `down`.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}

/// A packet that leaves the network.
#[derive(Clone, Debug)]
pub struct Transmit {
    /// The port that it leaves by.
    pub port: usize,
    /// When it should have left.
    pub due: Time,
    /// The packet.
    pub frame: Frame,
}

/// Counts of packets that entered no path.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkStats {
    /// Packets whose destination is behind no port, or behind the port that they came from.
    pub unroutable: u64,
}

/// Two or more ports, each with a path up and a path down, which meet in the middle.
#[derive(Debug)]
pub struct Network {
    /// Up and down of port 0, of port 1, and so on.
    paths: Vec<Path>,
    routes: Routes,
    ready: VecDeque<Transmit>,
    stats: NetworkStats,
}

impl Network {
    /// Builds the network of a link.
    ///
    /// # Errors
    ///
    /// The first invalid setting.
    pub fn new(config: &LinkConfig) -> Result<Network, ConfigError> {
        config.validate()?;
        let mut paths = Vec::with_capacity(2 * config.ports.len());
        for port in &config.ports {
            for path in [&port.up, &port.down] {
                paths.push(Path::new(path, config.seed, paths.len() as u64)?);
            }
        }
        let routes = Routes::new(&config.ports);
        Ok(Network { paths, routes, ready: VecDeque::new(), stats: NetworkStats::default() })
    }

    /// Takes a packet that came in at a port.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn handle_packet(&mut self, now: Time, port: usize, bytes: Vec<u8>) {
        self.advance(now);
        self.paths[2 * port].handle_frame(now, Frame::new(bytes));
    }

    /// The next packet that is due by `now`, if there is one.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        self.advance(now);
        self.ready.pop_front()
    }

    /// The time of the next event; `None` if no packet is on its way.
    pub fn poll_timeout(&self) -> Option<Time> {
        let ready = self.ready.front().map(|transmit| transmit.due);
        ready.or_else(|| self.earliest().map(|(due, _)| due))
    }

    /// Handles the events that are due by `now`, in order of time across all paths.
    fn advance(&mut self, now: Time) {
        while let Some((due, index)) = self.earliest().filter(|(due, _)| *due <= now) {
            if let Some(frame) = self.paths[index].handle_timeout(due) {
                self.forward(due, index, frame);
            }
        }
    }

    fn earliest(&self) -> Option<(Time, usize)> {
        let due = |(index, path): (usize, &Path)| Some((path.poll_timeout()?, index));
        self.paths.iter().enumerate().filter_map(due).min()
    }

    /// Handles a packet at the end of a path.
    fn forward(&mut self, due: Time, index: usize, frame: Frame) {
        let port = index / 2;
        if index % 2 == 1 {
            self.ready.push_back(Transmit { port, due, frame });
        } else if let Some(to) = self.routes.look_up(port, &frame) {
            self.paths[2 * to + 1].handle_frame(due, frame);
        } else {
            self.stats.unroutable += 1;
        }
    }

    /// How many ports there are.
    pub fn ports(&self) -> usize {
        self.paths.len() / 2
    }

    fn path(&self, port: usize, direction: Direction) -> &Path {
        &self.paths[2 * port + usize::from(direction == Direction::Down)]
    }

    /// RED's average of a path's queue, in packets; `None` for other disciplines.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn average_packets(&self, port: usize, direction: Direction) -> Option<f64> {
        self.path(port, direction).average_packets()
    }

    /// How long each packet of a path waited, from its arrival at the queue to the beginning of its
    /// transmission.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn queue_delays(&self, port: usize, direction: Direction) -> &Sketch {
        self.path(port, direction).queue_delays()
    }

    /// The counts of a path so far.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn path_stats(&self, port: usize, direction: Direction) -> PathStats {
        self.path(port, direction).stats()
    }

    /// The counts of packets that entered no path.
    pub fn stats(&self) -> NetworkStats {
        self.stats
    }
}

#[cfg(test)]
mod tests;
