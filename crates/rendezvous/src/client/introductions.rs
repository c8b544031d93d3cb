//! The introductions that this host takes part in.

use std::collections::VecDeque;

use windlass_identity::PublicKey;

use crate::message::IntroductionId;

/// Introductions remembered. The server remembers them for a minute only.
const LIMIT: usize = 1024;

/// Each introduction with the other host. The oldest is given up first.
#[derive(Debug, Default)]
pub(super) struct Introductions(VecDeque<(IntroductionId, PublicKey)>);

impl Introductions {
    pub(super) fn insert(&mut self, introduction: IntroductionId, peer: PublicKey) {
        self.remove(introduction);
        if self.0.len() == LIMIT {
            self.0.pop_front();
        }
        self.0.push_back((introduction, peer));
    }

    pub(super) fn remove(&mut self, introduction: IntroductionId) {
        self.0.retain(|(known, _)| *known != introduction);
    }

    pub(super) fn peer(&self, introduction: IntroductionId) -> Option<PublicKey> {
        // The newest first: bodies follow their offer at once.
        let entry = self.0.iter().rev().find(|(known, _)| *known == introduction);
        entry.map(|&(_, peer)| peer)
    }
}

#[cfg(test)]
impl Introductions {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
