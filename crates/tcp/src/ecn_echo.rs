//! The ways of echoing CE: [`config`](crate::config) has one for the receiver, and controllers name the one that
//! they need.

/// How a receiver echoes CE (RFC 3168 §6.1.3; Hamann 1999, section 3.1; RFC 8257 §3.2; RFC 9768).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EcnEcho {
    /// ECE in every ACK from a CE until a CWR arrives.
    UntilCwr,
    /// ECE in one ACK for each CE packet. If several CE packets arrive before an ACK leaves, that
    /// one ACK echoes all of them.
    OncePerCe,
    /// ECE in every ACK of data that came with CE, and in no other (RFC 8257 §3.2). An ACK that is delayed leaves
    /// before data with another state is acknowledged.
    Dctcp,
    /// Counts of packets and bytes with CE in every ACK: AccECN (RFC 9768). Both ends must ask for it, so it
    /// counts for the sender's config too. With a peer that has only classic ECN this is `UntilCwr`.
    Accurate,
}
