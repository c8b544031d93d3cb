//! Options of the config for the path that each segment takes.

use crate::Config;
use crate::config::Growth;

/// A copy of the options that every segment needs, side by side in memory.
#[derive(Copy, Clone, Debug)]
pub(super) struct HotOptions {
    /// [`WindowConfig::limit`](crate::config::WindowConfig::limit); [`u64::MAX`] for no limit.
    pub(super) window_limit: u64,
    pub(super) send_buffer: u64,
    pub(super) growth: Growth,
    pub(super) avoidance_growth: Growth,
    pub(super) keep_alive: bool,
    pub(super) cwnd_validation: bool,
    pub(super) idle_restart: bool,
    pub(super) hold_after_ecn_cut: bool,
    pub(super) limited_transmit: bool,
    pub(super) rack: bool,
    pub(super) tail_loss_probe: bool,
    pub(super) prr: bool,
    pub(super) pacing: bool,
    pub(super) undo: bool,
    pub(super) frto: bool,
    pub(super) push_when_held_back: bool,
    pub(super) nagle_spares_first: bool,
    pub(super) newly_delivered: bool,
    pub(super) validates_by_round: bool,
}

impl HotOptions {
    pub(super) fn of(config: &Config) -> HotOptions {
        HotOptions {
            window_limit: config.window.limit.unwrap_or(u64::MAX),
            send_buffer: config.buffers.send,
            growth: config.growth.credit,
            avoidance_growth: config.growth.avoidance_credit.unwrap_or(config.growth.credit),
            keep_alive: config.timers.keep_alive.is_some(),
            cwnd_validation: config.growth.cwnd_validation && !config.growth.rate_limited_increase,
            idle_restart: config.window.idle_restart,
            hold_after_ecn_cut: config.ecn.hold_after_cut,
            limited_transmit: config.recovery.limited_transmit,
            rack: config.recovery.rack,
            prr: config.recovery.prr,
            pacing: config.paces(),
            undo: config.recovery.undo,
            frto: config.recovery.frto,
            push_when_held_back: config.sending.push_when_held_back,
            nagle_spares_first: config.sending.nagle_spares_first,
            newly_delivered: config.growth.newly_delivered,
            validates_by_round: config.growth.validates_by_round,
            tail_loss_probe: config.recovery.rack && config.recovery.tail_loss_probe,
        }
    }
}
