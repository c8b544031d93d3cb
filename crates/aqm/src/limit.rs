//! The maximum length of a queue.

use crate::ConfigError;

/// The maximum length of a queue.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number of packets, of any size.
    Packets(u32),
    /// A number of bytes, headers included.
    Bytes(u64),
}

impl Limit {
    /// True if another packet of `size` bytes fits beside so many.
    pub(crate) fn has_room(&self, packets: usize, bytes: u64, size: u32) -> bool {
        match *self {
            Limit::Packets(most) => packets < most as usize,
            Limit::Bytes(most) => bytes + u64::from(size) <= most,
        }
    }

    /// Checks that the limit is not zero.
    ///
    /// # Errors
    ///
    /// [`ConfigError::ZeroLimit`] if it is.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Limit::Packets(0) | Limit::Bytes(0) => Err(ConfigError::ZeroLimit),
            Limit::Packets(_) | Limit::Bytes(_) => Ok(()),
        }
    }
}
