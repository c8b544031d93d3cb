//! The cost of a look-up by the size of the table: `table FLOWS` opens so many connections by
//! single frames, then
//! sends data packets of connections picked at random, and prints the nanoseconds that the program
//! took for one, the look-ups included, and the memory of the table. Needs root; for
//! `benches/ecn_proxy.py`, which turns the kernel's statistics (kernel.bpf_stats_enabled) on.

use std::error::Error;
use std::fs;
use windlass_ecn_proxy::datapath::{Datapath, Settings};

const PACKETS: u32 = 300_000;
const FROM_HOST: &str = "client_in";
const TO_HOST: &str = "client_out";
const FLOWS_MAX: u32 = 1 << 21;

/// A frame of Ethernet, IPv4 and TCP; nothing looks at its checksums.
fn frame(connection: u32, from_host: bool, flags: u8, numbers: [u32; 2], payload: u8) -> Vec<u8> {
    // One far host: the connections differ by the served host's address.
    let (host, far) = ((0x0a00_0000 + connection).to_be_bytes(), [192, 0, 2, 1]);
    let (from, to) = if from_host { (host, far) } else { (far, host) };
    let ports = if from_host { [0x9c, 0x40, 0, 80] } else { [0, 80, 0x9c, 0x40] };
    let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    bytes.extend([0x45, 0, 0, 48 + payload, 0, 1, 0x40, 0, 64, 6, 0, 0]);
    bytes.extend([from, to, ports].concat());
    bytes.extend(numbers.map(u32::to_be_bytes).concat());
    // MSS and SACK permitted.
    bytes.extend([0x70, flags, 0x20, 0, 0, 0, 0, 0, 2, 4, 5, 0xb4, 4, 2, 1, 1]);
    bytes.extend(vec![7; payload.into()]);
    bytes
}

/// A number of a file descriptor of this process whose description has `line`.
fn described(line: &str, wanted: &[&str]) -> Option<Vec<u64>> {
    let described = fs::read_dir("/proc/self/fdinfo").ok()?.flatten();
    let texts = described.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let text = texts.into_iter().find(|text| text.lines().any(|own| own == line))?;
    let number = |name: &&str| {
        let value = text.lines().find_map(|own| own.strip_prefix(name)?.strip_prefix(":\t"));
        value?.parse().ok()
    };
    wanted.iter().map(number).collect()
}

/// Nanoseconds and packets of all programs so far.
fn taken() -> Result<(u64, u64), Box<dyn Error>> {
    let mut sum = (0, 0);
    for entry in fs::read_dir("/proc/self/fdinfo")?.flatten() {
        let Ok(text) = fs::read_to_string(entry.path()) else { continue };
        let number = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name));
            value.and_then(|value| value.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        sum.0 += number("run_time_ns:");
        sum.1 += number("run_cnt:");
    }
    Ok(sum)
}

fn main() -> Result<(), Box<dyn Error>> {
    let flows: u32 = std::env::args().nth(1).ok_or("expected a number of flows")?.parse()?;
    let settings = Settings { flows_max: FLOWS_MAX, lease: None, ..Settings::default() };
    let datapath = Datapath::load(&settings)?;
    for connection in 0..flows {
        datapath.run_frame(FROM_HOST, &frame(connection, true, 0x02, [1000, 0], 0))?;
        datapath.run_frame(TO_HOST, &frame(connection, false, 0x52, [5000, 1001], 0))?;
        datapath.run_frame(FROM_HOST, &frame(connection, true, 0x10, [1001, 5001], 0))?;
    }
    let open = datapath.flow_count()?;
    let before = taken()?;
    let mut at = 1u32;
    for _ in 0..PACKETS {
        // Marsaglia's xorshift.
        at ^= at << 13;
        at ^= at >> 17;
        at ^= at << 5;
        datapath.run_frame(FROM_HOST, &frame(at % flows, true, 0x10, [1001, 5001], 100))?;
    }
    let after = taken()?;
    let packets = (after.1 - before.1).max(1);
    let memory = described(&format!("max_entries:\t{FLOWS_MAX}"), &["memlock"]);
    let memory = memory.and_then(|values| values.first().copied()).unwrap_or(0);
    let ns = (after.0 - before.0) / packets;
    println!(r#"{{"flows": {open}, "ns_per_packet": {ns}, "memory_bytes": {memory}}}"#);
    Ok(())
}
