//! System calls of a script: their arguments become a [`Call`](crate::Call), their results are compared.

mod arguments;
mod control;
mod prepare;
mod result;

pub(super) use prepare::{Prepared, descriptor, epoll_data, prepare};
pub(super) use result::{View, outcome_fault, result, returned_text, value_fault};

use crate::call::Fd;
use crate::script::{Action, CallSpec, Error, Script};

/// A call as text.
pub(super) fn text(spec: &CallSpec) -> String {
    spec.to_string()
}

/// Checks the calls of a script: their names, arguments and constants.
///
/// # Errors
///
/// The first call that no subject could take.
pub(crate) fn check(script: &Script) -> Result<(), Error> {
    for event in &script.events {
        if let Action::Call(spec) = &event.action {
            // A descriptor is known when the script runs.
            let any = |fd: i32| Ok(Fd(fd));
            let checked = prepare(spec, &any).and_then(|prepared| match prepared {
                Prepared::Unsupported(_) => Ok(()),
                _ => result::check(spec),
            });
            checked.map_err(|message| Error {
                position: event.position,
                message: format!("{}: {message}", spec.name),
            })?;
        }
    }
    Ok(())
}
