//! Populations of servers: drawn by a seed, written as CSV and read again, for `windlass probe population`
//! and `windlass probe serve`.

use crate::server::Server;
use crate::stack::Stack;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use windlass_base::Rng;
use windlass_tcp::Config;

/// The part of a population's seed from which controllers are drawn.
const CONTROLLERS: u64 = 1;

/// A server, and the path to it. The field names are the columns of a population's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Its address; it answers at every port.
    pub address: IpAddr,
    /// Its TCP stack.
    pub stack: Stack,
    /// Its initial window, in segments.
    pub initial_window: u32,
    /// Its MSS, in bytes of payload.
    pub mss: u16,
    /// The RTT of its path, in milliseconds.
    pub rtt_ms: f64,
    /// Probability that a packet is lost, in each direction.
    pub loss: f64,
    /// Bytes of its only page.
    pub page_bytes: usize,
    /// The name of its congestion controller; `None` if the file does not name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
}

impl Spec {
    /// The reaction that a survey should report; `None` for hosts that do not answer.
    pub fn reaction(&self) -> Option<&'static str> {
        self.stack.reaction()
    }

    /// Its line in a list of hosts.
    pub fn url(&self) -> String {
        match self.address {
            IpAddr::V4(v4) => format!("http://{v4}/"),
            IpAddr::V6(v6) => format!("http://[{v6}]/"),
        }
    }

    /// The simulated server with Reno, whatever controller is named; `None` if the host is silent.
    pub fn server(&self) -> Option<Box<dyn Server>> {
        self.configured_server(|_| {})
    }

    /// The same with the options of its engine that `change` sets.
    pub(crate) fn configured_server(
        &self,
        change: impl FnOnce(&mut Config),
    ) -> Option<Box<dyn Server>> {
        self.stack.server(self.initial_window, self.mss, self.page_bytes, change)
    }
}

/// Generates `count` servers in 10.99.0.0/16 and fd99::/64, with all stacks, initial windows and MSS, and
/// RTTs from 5 to `rtt_max_ms`. Every tenth has a loss of 1 %, and every tenth does not answer.
pub fn generate(count: u32, seed: u64, rtt_max_ms: f64) -> Vec<Spec> {
    let mut rng = Rng::new(seed);
    let mut pick = |from: &[Stack]| from[rng.below(from.len() as u64) as usize];
    let stacks: Vec<Stack> = (0..count)
        .map(|index| match index % 10 {
            9 => pick(&[Stack::Silent, Stack::Refuse, Stack::Reset]),
            _ => pick(&[Stack::Rfc2581, Stack::Rfc3465L1, Stack::Rfc3465L2, Stack::Linux]),
        })
        .collect();
    let spec = |(index, stack): (u32, Stack)| {
        let v6 = index % 4 == 3;
        let number = u128::from(index) + 2;
        let address: IpAddr = match v6 {
            false => Ipv4Addr::from(0x0a63_0000 + number as u32).into(),
            true => Ipv6Addr::from((0xfd99 << 112) + number).into(),
        };
        let mss = [536, 1220, 1380, 1440][rng.below(4) as usize];
        Spec {
            address,
            stack,
            initial_window: [2, 3, 4, 10, 10, 16][rng.below(6) as usize],
            mss,
            rtt_ms: (5.0 * (rtt_max_ms / 5.0).powf(rng.uniform())).round(),
            loss: if index % 10 == 4 { 0.01 } else { 0.0 },
            page_bytes: 60_000,
            controller: None,
        }
    };
    (0..count).zip(stacks).map(spec).collect()
}

/// Gives each server one of the controllers `names` at random, of which there is at least one. All else
/// stays as [`generate`] made it.
pub fn draw_controllers(population: &mut [Spec], names: &[String], seed: u64) {
    // A random stream of its own, so that the servers are the same with and without controllers.
    let mut rng = Rng::fork(seed, CONTROLLERS);
    for spec in population {
        let index = rng.below(names.len() as u64) as usize;
        spec.controller = names.get(index).cloned();
    }
}

/// Writes a population as CSV. The column `controller` is there if at least one server names one.
///
/// # Errors
///
/// The CSV writer fails; it does not on populations of [`generate`].
pub fn write(population: &[Spec]) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let named = population.iter().any(|spec| spec.controller.is_some());
    for spec in population {
        // All rows have the same columns.
        let controller = named.then(|| spec.controller.clone().unwrap_or_default());
        writer.serialize(Spec { controller, ..spec.clone() })?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a population from the CSV of [`write()`]. The column `controller` may be absent or empty.
///
/// # Errors
///
/// The text is no such CSV.
pub fn read(text: &str) -> Result<Vec<Spec>, csv::Error> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_column_of_controllers_only_if_a_server_names_one() {
        let mut population = generate(3, 1, 300.0);
        let plain = write(&population).expect("CSV");
        assert!(plain.starts_with("address,stack,initial_window,mss,rtt_ms,loss,page_bytes\n"));
        assert_eq!(read(&plain).expect("its own"), population);
        population[1].controller = Some("vegas".to_owned());
        let named = write(&population).expect("CSV");
        assert!(named.lines().next().is_some_and(|header| header.ends_with(",controller")));
        assert_eq!(read(&named).expect("its own"), population);
    }
}
