//! Network namespaces, where there are none.

use super::finding::Finding::{self, Missing};
use crate::failure::Failure;

/// Tells why.
pub(super) fn look() -> Finding {
    Missing("namespaces are a part of Linux".to_owned())
}

/// No process is a child that tries to make one.
pub(crate) fn child() -> Option<Result<(), Failure>> {
    None
}
