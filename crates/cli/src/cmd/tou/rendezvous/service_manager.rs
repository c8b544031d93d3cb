//! Notices to the service manager in systemd's protocol, which uses a Unix socket.

/// A state of the server.
#[derive(Copy, Clone, Debug)]
pub(super) enum Notice {
    Ready,
    Alive,
    Stopping,
}

/// Whether it wants to hear that the server is alive.
#[cfg(unix)]
pub(super) fn is_watching() -> bool {
    sd_notify::watchdog_enabled().is_some()
}

/// Tells it, if there is one.
#[cfg(unix)]
pub(super) fn notify(notice: Notice) {
    use sd_notify::NotifyState;
    let state = match notice {
        Notice::Ready => NotifyState::Ready,
        Notice::Alive => NotifyState::Watchdog,
        Notice::Stopping => NotifyState::Stopping,
    };
    if let Err(error) = sd_notify::notify(&[state]) {
        crate::failure::error(format!("service manager: {error}"));
    }
}

#[cfg(not(unix))]
pub(super) fn is_watching() -> bool {
    false
}

#[cfg(not(unix))]
pub(super) fn notify(_: Notice) {}
