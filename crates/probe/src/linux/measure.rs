//! A session on Linux: a [`Driver`] makes its connections, one after the other.

use super::Driver;
use super::resolver::Resolver;
use crate::session::{Session, Step};
use std::io;
use windlass_base::Span;

/// The longest wait between two checks of whether to go on.
const WAIT_MAX: Span = Span::from_millis(100);

/// Carries out the steps of a session. It calls `go_on` after each and at least every 100 ms; false interrupts the
/// session and resets the connection under way.
///
/// # Errors
///
/// The driver's, or no thread can be started.
pub fn measure(
    driver: &mut Driver,
    session: &mut Session,
    mut go_on: impl FnMut(&Session) -> bool,
) -> io::Result<()> {
    let mut resolver = Resolver::start(1)?;
    while go_on(session) {
        match session.step() {
            Step::Done => return Ok(()),
            Step::Resolve { host, port } => {
                let mut answer = resolver.ask(0, host, port);
                let addresses = wait(session, &mut go_on, || {
                    Ok(answer.take().or_else(|| resolver.wait(WAIT_MAX)))
                })?;
                if let Some((_, addresses)) = addresses {
                    session.handle_addresses(addresses);
                }
            }
            Step::Connect { remote, order } => {
                let begin = driver.now() + session.pause_min();
                let paused = wait(session, &mut go_on, || {
                    let left = begin.saturating_since(driver.now());
                    if left > Span::ZERO {
                        driver.poll(left.min(WAIT_MAX))?;
                    }
                    Ok((driver.now() >= begin).then_some(()))
                })?;
                if paused.is_none() {
                    continue;
                }
                driver.connect(0, remote, *order)?;
                let report = wait(session, &mut go_on, || Ok(driver.poll(WAIT_MAX)?.pop()))?;
                if let Some((_, report)) = report {
                    session.handle_report(report);
                }
            }
        }
    }
    driver.reset_all();
    session.interrupt();
    Ok(())
}

/// Waits for an event, in steps; `None` if `go_on` ends it.
fn wait<T>(
    session: &Session,
    go_on: &mut impl FnMut(&Session) -> bool,
    mut event: impl FnMut() -> io::Result<Option<T>>,
) -> io::Result<Option<T>> {
    while go_on(session) {
        if let Some(value) = event()? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}
