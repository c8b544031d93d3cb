//! The disciplines, a file or folder each; the one list of them, and what derives from it: [`Config`], their
//! settings, and [`Discipline`], a queue of any kind. The simulator derives its kinds of channels from the
//! same list.

mod codel;
mod custom;
mod drop_tail;
mod dual_pi2;
mod fixed_probability;
mod fq_codel;
mod pie;
mod red;
mod sred;
mod tc_red;

pub use codel::{CoDel, CoDelConfig, CoDelParams};
pub use custom::{Custom, CustomConfig, CustomQueue, QueueFactory, Ticket};
pub use drop_tail::{DropTail, DropTailConfig};
pub use dual_pi2::{Decides, DualPi2, DualPi2Config, LowLatency, Overload, Step};
pub use fixed_probability::{FixedProbability, FixedProbabilityConfig};
pub use fq_codel::{FqCoDel, FqCoDelConfig};
pub use pie::{Pie, PieConfig};
pub use red::{
    AboveMax, Adaptation, AdaptiveConfig, Red, RedConfig, SelfConfiguringConfig, Spacing, Unit,
};
pub use sred::{Sred, SredConfig};
pub use tc_red::{TcRed, TcRedConfig};

use crate::{ConfigError, DropReason, Packet, Queue, Stats};
use alloc::sync::Arc;
use windlass_base::{BitRate, Rng, Time};

/// Passes the list of the disciplines to the macro `$callback`. Each entry has a discipline, its
/// settings, whether it decides at enqueue or at dequeue, and how it is built from a reference to the
/// settings and the link's rate. This is the only list of them.
///
/// A discipline that decides at enqueue keeps the order, and never drops a packet that it has taken: the
/// simulator knows then when the packet will leave.
#[doc(hidden)]
#[macro_export]
macro_rules! disciplines {
    ($callback:ident) => {
        $callback! {
            /// First in, first out.
            DropTail(DropTailConfig) decides at enqueue: |config, _| DropTail::new(*config);
            /// Random Early Detection, whether it adapts or not.
            Red(RedConfig) decides at enqueue: |config, rate| Red::new(*config, rate);
            /// Proportional Integral controller Enhanced.
            Pie(PieConfig) decides at enqueue: |config, _| Pie::new(*config);
            /// The same probability for each packet.
            FixedProbability(FixedProbabilityConfig) decides at enqueue:
                |config, _| FixedProbability::new(*config);
            /// Stabilized RED.
            Sred(SredConfig) decides at enqueue: |config, _| Sred::new(*config);
            /// Random Early Detection as in Linux.
            TcRed(TcRedConfig) decides at enqueue: |config, _| TcRed::new(*config);
            /// Controlled Delay.
            CoDel(CoDelConfig) decides at dequeue: |config, _| CoDel::new(*config);
            /// Deficit round robin over flows, with Controlled Delay in each.
            FqCoDel(FqCoDelConfig) decides at dequeue: |config, _| FqCoDel::new(*config);
            /// Two coupled queues, one of low latency.
            DualPi2(DualPi2Config) decides at dequeue: |config, _| DualPi2::new(*config);
            /// A discipline from outside this crate.
            Custom(CustomConfig) decides at dequeue: |config, rate| Custom::new(config, rate);
        }
    };
}

macro_rules! declare {
    ($(
        $(#[doc = $doc:literal])+
        $kind:ident($settings:ty) decides at $when:ident: |$config:ident, $rate:tt| $new:expr;
    )+) => {
        /// A discipline and its settings, as plain data.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config {
            $($(#[doc = $doc])+ $kind($settings),)+
        }

        impl Config {
            /// Checks the settings, except those that depend on the link's rate.
            ///
            /// # Errors
            ///
            /// The first setting that cannot work.
            pub fn validate(&self) -> Result<(), ConfigError> {
                match self {
                    $(Config::$kind(config) => config.validate(),)+
                }
            }

            /// Whether the discipline may mark ECN-capable packets.
            pub fn can_mark(&self) -> bool {
                match self {
                    $(Config::$kind(config) => config.can_mark(),)+
                }
            }

            /// Builds an empty queue with these settings, for a link of the given rate. RED counts idle
            /// time by the rate; without one its average does not decay while the link is idle.
            ///
            /// # Errors
            ///
            /// The first setting that cannot work, or [`ConfigError::NeedsLinkRate`] if RED's weight is
            /// to come from a rate that is not given.
            pub fn build<P: Packet>(
                &self,
                link: Option<BitRate>,
            ) -> Result<Discipline<P>, ConfigError> {
                Ok(match self {
                    $(Config::$kind($config) => {
                        let $rate = link;
                        Discipline::$kind($new?)
                    })+
                })
            }
        }

        /// Any of the queue disciplines. All but custom ones are dispatched without virtual calls.
        /// [`Config::build`] creates it.
        #[derive(Debug)]
        pub enum Discipline<P> {
            $($(#[doc = $doc])+ $kind($kind<P>),)+
        }

        /// Calls the same method on whichever discipline this is.
        macro_rules! each {
            ($self:expr, $queue:ident => $call:expr) => {
                match $self {
                    $(Discipline::$kind($queue) => $call,)+
                }
            };
        }
    };
}

disciplines!(declare);

impl Config {
    /// A discipline of a crate of your own.
    pub fn custom(factory: impl QueueFactory + 'static) -> Config {
        Config::Custom(CustomConfig(Arc::new(factory)))
    }
}

impl<P: Packet> Queue<P> for Discipline<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        each!(self, queue => queue.enqueue(now, packet, rng, dropped))
    }

    fn dequeue(
        &mut self,
        now: Time,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        each!(self, queue => queue.dequeue(now, rng, dropped))
    }

    fn pass(
        &mut self,
        now: Time,
        packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        each!(self, queue => queue.pass(now, packet, rng, dropped))
    }

    fn len_packets(&self) -> usize {
        each!(self, queue => queue.len_packets())
    }

    fn len_bytes(&self) -> u64 {
        each!(self, queue => queue.len_bytes())
    }

    fn average_packets(&self) -> Option<f64> {
        each!(self, queue => queue.average_packets())
    }

    fn stats(&self) -> &Stats {
        each!(self, queue => queue.stats())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EarlyAction;

    #[test]
    fn a_queue_that_only_drops_cannot_mark() {
        for (action, marks) in [(EarlyAction::Mark, true), (EarlyAction::Drop, false)] {
            let configs = [
                Config::Red(RedConfig { action, ..RedConfig::default() }),
                Config::Sred(SredConfig { action, ..SredConfig::default() }),
                Config::FixedProbability(FixedProbabilityConfig {
                    action,
                    ..FixedProbabilityConfig::default()
                }),
                Config::Pie(PieConfig { mark_up_to: marks.then_some(0.1), ..PieConfig::default() }),
                Config::TcRed(TcRedConfig { ecn: marks, ..TcRedConfig::default() }),
            ];
            for config in configs {
                assert_eq!(config.can_mark(), marks, "{config:?}");
            }
        }
        assert!(!Config::DropTail(DropTailConfig::default()).can_mark());
        assert!(Config::DualPi2(DualPi2Config::default()).can_mark());
    }
}
