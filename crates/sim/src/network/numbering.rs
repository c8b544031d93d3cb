//! Numbers of channels: in the order of links, forward before backward.

use crate::model::LinkDirection;

/// The number of the channel in this direction of its link.
pub(crate) fn number(direction: LinkDirection) -> u32 {
    (direction.link * 2 + usize::from(direction.reverse)) as u32
}

/// The direction whose channel has this number.
pub(crate) fn direction(number: u32) -> LinkDirection {
    LinkDirection { link: number as usize / 2, reverse: number % 2 == 1 }
}

/// The number of the channel in the other direction of the same link.
pub(crate) fn opposite(number: u32) -> u32 {
    number ^ 1
}
