//! The command with kinds of another crate: the controllers `mine` and `deaf` and a queue `short`.
//! `tests/own_kinds.rs` and `tests/judge.rs` run it.

use serde::Deserialize;
use std::process::ExitCode;
use windlass_aqm::{ConfigError, CustomQueue, DropTail, DropTailConfig, Limit, QueueFactory};
use windlass_base::BitRate;
use windlass_cli::Registry;
use windlass_tcp::cc::{Controller, ControllerFactory, NoControl, Params, Reno};

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

/// A window that no loss reduces.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Deaf {}

impl ControllerFactory for Deaf {
    fn name(&self) -> &'static str {
        "deaf"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        NoControl.build(params)
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
    windlass_cli::main_with(
        Registry::default()
            .controller::<Mine>("mine")
            .controller::<Deaf>("deaf")
            .queue::<Short>("short"),
    )
}
