//! The settings of a link, as plain data.

use ipnet::IpNet;
use std::fmt;
use windlass_aqm as aqm;
use windlass_base::{BitRate, Span};
pub use windlass_link_model::GilbertElliott;
use windlass_link_model::{self as link_model, Variation};

/// One direction of a link. The default changes nothing: no rate, no delay, no loss.
#[derive(Clone, Debug, PartialEq)]
pub struct PathConfig {
    /// Rate of the transmitter, counted in bits of IP packets. `None`: unlimited, so no queue forms.
    pub rate: Option<BitRate>,
    /// The queue in front of the transmitter. Default: DropTail with 100 packets.
    pub queue: aqm::Config,
    /// Size of the device's own FIFO between queue and wire, like the ring of a network card. Its unit
    /// is the time that its content takes to transmit.
    pub device_queue: Span,
    /// One-way delay of each packet after its transmission.
    pub delay: Span,
    /// The delay is drawn uniformly from `delay - jitter` to `delay + jitter`; never below zero.
    pub jitter: Span,
    /// Whether jitter may reorder packets. If false, no packet arrives before an earlier one.
    pub reorder: bool,
    /// Loss on the wire, after the queue.
    pub loss: Loss,
    /// Probability that a packet arrives twice; each copy has a delay of its own.
    pub duplicate: f64,
    /// Probability that one bit of a packet, behind the IP header, is flipped.
    pub corrupt: f64,
    /// Variations over time. If the rate varies, `rate` is its mean; if the delay varies, `delay`
    /// is the least.
    pub variation: Variation,
}

impl Default for PathConfig {
    fn default() -> Self {
        PathConfig {
            rate: None,
            queue: aqm::Config::DropTail(aqm::DropTailConfig::default()),
            device_queue: Span::ZERO,
            delay: Span::ZERO,
            jitter: Span::ZERO,
            reorder: false,
            loss: Loss::None,
            duplicate: 0.0,
            corrupt: 0.0,
            variation: Variation::default(),
        }
    }
}

/// Which packets the wire loses.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Loss {
    /// The wire loses no packet.
    #[default]
    None,
    /// It loses each packet with this probability, from 0 to 1, independently of the others.
    Random(f64),
    /// It loses packets in bursts.
    GilbertElliott(GilbertElliott),
    /// It loses the packets with these ordinals.
    Listed(ListedLossConfig),
}

/// Ordinals of the packets to lose in every flow on this path; the first packet is 1. The packets of a
/// flow have the same addresses, protocol and ports. Of TCP's, only segments with payload count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedLossConfig {
    /// Ordinals among the first transmissions.
    pub first: Vec<u64>,
    /// Ordinals among the retransmissions: segments whose whole payload has been seen before.
    pub retransmissions: Vec<u64>,
}

/// A port: packets enter and leave the link here, usually through a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortConfig {
    /// The port's name in results.
    pub name: String,
    /// The destinations behind it. A link with two ports ignores them: packets that enter by one port
    /// leave by the other.
    pub networks: Vec<IpNet>,
    /// From the port towards the others.
    pub up: PathConfig,
    /// From the others to the port.
    pub down: PathConfig,
}

/// A whole link: two ports, or more that meet in the middle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkConfig {
    /// Seed of the random streams.
    pub seed: u64,
    /// The ports, at least two.
    pub ports: Vec<PortConfig>,
}

/// Settings that cannot work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The setting of this name is not a probability from 0 to 1.
    Probability(&'static str),
    /// Ordinals are counted from 1.
    OrdinalZero,
    /// Jitter above the delay: packets would arrive before they were sent.
    Jitter,
    /// A variation over time cannot work.
    Variation(link_model::ConfigError),
    /// The queue refuses its settings.
    Queue(aqm::ConfigError),
    /// Fewer than two ports.
    Ports,
    /// More than two ports, and this one has no destinations behind it.
    NoNetworks(String),
    /// Two ports have this name.
    SameName(String),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Probability(name) => write!(f, "{name}: not a probability from 0 to 1"),
            ConfigError::OrdinalZero => f.write_str("loss: packets are counted from 1, found 0"),
            ConfigError::Jitter => f.write_str("jitter: expected no more than the delay"),
            ConfigError::Variation(error) => write!(f, "{error}"),
            ConfigError::Queue(error) => write!(f, "queue: {error}"),
            ConfigError::Ports => f.write_str("expected at least two ports"),
            ConfigError::NoNetworks(name) => write!(
                f,
                "port {name}: with more than two ports each needs an address or networks, to say \
                 which packets leave there"
            ),
            ConfigError::SameName(name) => write!(f, "there are two ports {name}"),
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<aqm::ConfigError> for ConfigError {
    fn from(error: aqm::ConfigError) -> Self {
        ConfigError::Queue(error)
    }
}

impl From<link_model::ConfigError> for ConfigError {
    fn from(error: link_model::ConfigError) -> Self {
        ConfigError::Variation(error)
    }
}

impl PathConfig {
    /// Checks the settings, as [`Network::new`](crate::Network::new) does.
    ///
    /// # Errors
    ///
    /// A probability outside 0 to 1, an ordinal of 0, a jitter above the delay, or settings that the
    /// queue refuses.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.queue.validate()?;
        self.loss.validate()?;
        self.variation.validate()?;
        check_probability(self.duplicate, "duplicate")?;
        check_probability(self.corrupt, "corrupt")?;
        if self.jitter > self.delay {
            return Err(ConfigError::Jitter);
        }
        Ok(())
    }
}

impl Loss {
    fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Loss::None => Ok(()),
            Loss::Random(probability) => check_probability(*probability, "loss"),
            Loss::GilbertElliott(config) => {
                check_probability(config.good_to_bad, "loss: good_to_bad")?;
                check_probability(config.bad_to_good, "loss: bad_to_good")?;
                check_probability(config.loss_good, "loss: loss_good")?;
                check_probability(config.loss_bad, "loss: loss_bad")
            }
            Loss::Listed(listed) => {
                let mut ordinals = listed.first.iter().chain(&listed.retransmissions);
                if ordinals.any(|n| *n == 0) { Err(ConfigError::OrdinalZero) } else { Ok(()) }
            }
        }
    }
}

impl LinkConfig {
    /// Checks the ports together; each path is checked when it is built.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        if self.ports.len() < 2 {
            return Err(ConfigError::Ports);
        }
        for (index, port) in self.ports.iter().enumerate() {
            if self.ports.len() > 2 && port.networks.is_empty() {
                return Err(ConfigError::NoNetworks(port.name.clone()));
            }
            if self.ports[..index].iter().any(|other| other.name == port.name) {
                return Err(ConfigError::SameName(port.name.clone()));
            }
        }
        Ok(())
    }
}

fn check_probability(value: f64, name: &'static str) -> Result<(), ConfigError> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(ConfigError::Probability(name)) }
}
