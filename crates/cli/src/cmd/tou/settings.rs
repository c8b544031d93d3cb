//! The options of a connection from the arguments of `windlass tou`.

use super::connection_args::{PathOptions, Transport};
use crate::failure::Failure;
use crate::registry;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use windlass_base::Span;
use windlass_tcp::Profile;
use windlass_tcp::cc::ControllerFactory;
use windlass_tcp::config::KeepAlive;
use windlass_tou::{Options, congestion, qlog};

/// No kernel resets the connections of a killed process, and a reset may be lost, so a pure receiver would
/// wait for ever. With these keep-alives it gets an error after two and a quarter minutes of silence.
pub(super) const KEEP_ALIVE: KeepAlive =
    KeepAlive { idle: Span::from_secs(15), interval: Span::from_secs(15), probes: 8 };

/// The options of a connection.
pub(super) fn options(how: &Transport) -> Result<Options, Failure> {
    let congestion =
        controller(how.path.profile, &how.cc).map_err(|error| Failure::Input(error.to_string()))?;
    Ok(Options { congestion, ecn: how.ecn, ..path_options(&how.path)? })
}

/// The controller with that name: ToU's own with the profile `linux`, otherwise the
/// profile's, or one of this build's.
pub(super) fn controller(profile: Profile, name: &str) -> io::Result<Arc<dyn ControllerFactory>> {
    match profile.controller(name) {
        Some(controller) if profile != Profile::Linux => Ok(controller),
        Some(_) => congestion(name),
        None => registry::controller(name)
            .map_err(|message| io::Error::new(io::ErrorKind::NotFound, message)),
    }
}

/// The same where the peer says the rest.
pub(super) fn path_options(path: &PathOptions) -> Result<Options, Failure> {
    Ok(Options {
        profile: path.profile,
        ecn_echo: path.ecn_echo,
        pacing: path.pacing,
        rto_min: path.min_rto.map(|min| Duration::from_nanos(min.as_nanos())),
        rto_rule: path.rto_rule,
        connect_retries: path.connect_retries,
        retries: path.retries,
        mss: path.mss,
        path_probes: !path.no_path_probes,
        send_buffer: path.send_buffer,
        receive_buffer: path.receive_buffer,
        qlog: qlog_folder(path.qlog.as_deref())?,
        ..Options::default()
    })
}

/// The folder that --qlog names.
pub(super) fn qlog_folder(path: Option<&Path>) -> Result<Option<qlog::Folder>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let folder = qlog::Folder::create(path);
    let folder =
        folder.map_err(|error| Failure::io(format!("--qlog {}", path.display()), &error))?;
    Ok(Some(QLOG.get_or_init(|| folder).clone()))
}

/// The folder of this process.
static QLOG: OnceLock<qlog::Folder> = OnceLock::new();

/// The error of the first file in the folder that could not be written, if there is one.
pub(super) fn qlog_written() -> Result<(), Failure> {
    let Some(folder) = QLOG.get() else { return Ok(()) };
    let failed = |error| {
        let text = "a file could not be written, and was removed";
        Failure::io(format!("--qlog {}: {text}", folder.path().display()), &error)
    };
    folder.take_error().map_or(Ok(()), |error| Err(failed(error)))
}
