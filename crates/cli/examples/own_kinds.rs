//! The command with kinds of another crate: a controller `mine` and a queue `short`.
//! `tests/own_kinds.rs` runs it.

use serde::Deserialize;
use std::process::ExitCode;
use windlass_aqm::{ConfigError, CustomQueue, DropTail, DropTailConfig, Limit, QueueFactory};
use windlass_base::BitRate;
use windlass_cli::Registry;
use windlass_tcp::cc::{Controller, ControllerFactory, Params, Reno};

/// Reno under another name.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Mine {}

impl ControllerFactory for Mine {
    fn name(&self) -> &'static str {
        "mine"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Reno.build(params)
    }
}

/// A DropTail queue with a number of packets of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Short {
    packets: u32,
}

impl QueueFactory for Short {
    fn build(&self, _: Option<BitRate>) -> Result<CustomQueue, ConfigError> {
        let limit = Limit::Packets(self.packets);
        Ok(CustomQueue::new(DropTail::new(DropTailConfig { limit })?))
    }
}

fn main() -> ExitCode {
    windlass_cli::main_with(Registry::default().controller::<Mine>("mine").queue::<Short>("short"))
}
