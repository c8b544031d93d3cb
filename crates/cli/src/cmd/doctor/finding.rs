//! The result of a check.

/// Where something was found, or what is known of its absence.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Finding {
    Present(String),
    Missing(String),
}
