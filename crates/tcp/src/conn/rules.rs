use crate::Config;
use crate::config::Growth;

/// Of the config, what every segment asks for, side by side.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rules {
    /// [`Config::window_limit`]; [`u64::MAX`] for none.
    pub(super) window_limit: u64,
    /// As in [`Config`], like the rest.
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
}

impl Rules {
    pub(super) fn of(config: &Config) -> Rules {
        Rules {
            window_limit: config.window_limit.unwrap_or(u64::MAX),
            send_buffer: config.send_buffer,
            growth: config.growth,
            avoidance_growth: config.avoidance_growth.unwrap_or(config.growth),
            keep_alive: config.keep_alive.is_some(),
            cwnd_validation: config.cwnd_validation,
            idle_restart: config.idle_restart,
            hold_after_ecn_cut: config.hold_after_ecn_cut,
            limited_transmit: config.limited_transmit,
            rack: config.rack,
            prr: config.prr,
            pacing: config.pacing,
            undo: config.undo,
            frto: config.frto,
            push_when_held_back: config.push_when_held_back,
            tail_loss_probe: config.rack && config.tail_loss_probe,
        }
    }
}
