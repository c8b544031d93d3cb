use crate::ConfigError;

/// The most that may wait in a queue.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many packets, however large.
    Packets(u32),
    /// So many bytes on the wire.
    Bytes(u64),
}

impl Limit {
    /// Checks that the limit is not zero.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Limit::Packets(0) | Limit::Bytes(0) => Err(ConfigError::ZeroLimit),
            Limit::Packets(_) | Limit::Bytes(_) => Ok(()),
        }
    }
}
