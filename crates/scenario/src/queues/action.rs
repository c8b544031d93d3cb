//! The key `action`, which RED, SRED and fixed-probability share.

use windlass_aqm::EarlyAction;
use windlass_keys::words;

words! {
    /// How RED signals congestion to a packet that its drop probability selects.
    enum ActionKeys as "an action" {
        /// Drop it.
        Drop = "drop",
        /// Set CE if it is ECN-capable, else drop it.
        Mark = "mark",
    }
}

impl From<ActionKeys> for EarlyAction {
    fn from(keys: ActionKeys) -> EarlyAction {
        match keys {
            ActionKeys::Drop => EarlyAction::Drop,
            ActionKeys::Mark => EarlyAction::Mark,
        }
    }
}
