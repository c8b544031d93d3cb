use serde::Serialize;

/// What the programs have counted, since the tables were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counters {
    /// Packets seen, super-packets as one.
    pub packets: u64,
    /// Of these, TCP over IPv4 or IPv6, whole and not a fragment.
    pub tcp: u64,
}
