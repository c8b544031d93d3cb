//! The cost of loading: `load [TIMES]` loads the programs so often and prints the CPU time of each load, in
//! milliseconds, and the instructions that the verifier followed for each program. Needs root.

use libbpf_rs::query::ProgInfoIter;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::error::Error;
use windlass_ecn_proxy::datapath::{Datapath, Settings};

fn cpu_ms(usage: &Usage) -> i64 {
    (usage.user_time() + usage.system_time()).num_milliseconds()
}

fn main() -> Result<(), Box<dyn Error>> {
    let times = std::env::args().nth(1).map_or(Ok(5), |text| text.parse::<u32>())?;
    let before: Vec<u32> = ProgInfoIter::default().map(|info| info.id).collect();
    for at in 0..times {
        let start = getrusage(UsageWho::RUSAGE_SELF)?;
        let datapath = Datapath::load(&Settings { lease: None, ..Settings::default() })?;
        let end = getrusage(UsageWho::RUSAGE_SELF)?;
        println!("load: {} ms of CPU time", cpu_ms(&end) - cpu_ms(&start));
        if at + 1 == times {
            // Other programs may be loaded meanwhile: the names tell.
            for info in ProgInfoIter::default().filter(|info| !before.contains(&info.id)) {
                println!("{}: {} instructions", info.name.to_string_lossy(), info.verified_insns);
            }
        }
        drop(datapath);
    }
    Ok(())
}
