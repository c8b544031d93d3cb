//! The terminal: the alternate screen and raw mode, given back however the process ends.

use crate::failure::Failure;
use crate::interrupt;
use crossterm::cursor::{Hide, Show};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use std::io::{self, IsTerminal, Stdout};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};

/// Whether this process holds the terminal.
static HELD: AtomicBool = AtomicBool::new(false);
/// Locked while something is drawn: after [`restore`] nothing is.
static DRAWING: Mutex<()> = Mutex::new(());
static PANIC_HOOK: Once = Once::new();

/// The terminal, as long as the value lives or until [`restore`].
pub(super) struct Terminal(ratatui::Terminal<CrosstermBackend<Stdout>>);

/// Refuses where no view can be shown. To be called before any work.
///
/// # Errors
///
/// Standard output is no terminal, or one that can do nothing.
pub(crate) fn check() -> Result<(), Failure> {
    let able = std::env::var_os("TERM").is_some_and(|name| name != "dumb");
    if io::stdout().is_terminal() && (able || cfg!(windows)) {
        return Ok(());
    }
    Err(Failure::Input("--live needs a terminal; without it, see --json and --help".to_owned()))
}

impl Terminal {
    /// Takes the terminal. A panic gives it back before its message is printed.
    ///
    /// # Errors
    ///
    /// The terminal cannot be set, or keys cannot be read from it.
    pub(super) fn enter() -> io::Result<Terminal> {
        PANIC_HOOK.call_once(|| {
            interrupt::restore_with(restore);
            let previous = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                restore();
                previous(info);
            }));
        });
        let drawing = lock();
        enable_raw_mode()?;
        HELD.store(true, Ordering::Relaxed);
        drop(drawing);
        let entered = execute!(io::stdout(), EnterAlternateScreen, Hide)
            .and_then(|()| ratatui::Terminal::new(CrosstermBackend::new(io::stdout())));
        entered.map(Terminal).inspect_err(|_| restore())
    }

    /// Draws a frame, or nothing once the terminal has been given back.
    pub(super) fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let _drawing = lock();
        if HELD.load(Ordering::Relaxed) {
            self.0.draw(render)?;
        }
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, if this process holds it. To be called before the process ends, from any
/// thread, and before it prints anything.
pub(crate) fn restore() {
    let _drawing = match DRAWING.try_lock() {
        Ok(drawing) => Some(drawing),
        Err(TryLockError::Poisoned(drawing)) => Some(drawing.into_inner()),
        // Drawing that panics holds the lock on this very thread.
        Err(TryLockError::WouldBlock) if std::thread::panicking() => None,
        Err(TryLockError::WouldBlock) => Some(lock()),
    };
    // Twice would put the cursor back to where it was before.
    if HELD.swap(false, Ordering::Relaxed) {
        give_back();
    }
}

fn give_back() {
    // The terminal may be gone.
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

fn lock() -> MutexGuard<'static, ()> {
    DRAWING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use windlass_testbed::{Need, Tmux, skip_unless};

    #[test]
    fn a_panic_while_a_frame_is_drawn_gives_the_terminal_back() {
        if skip_unless(&[Need::Program("tmux"), Need::Program("ps")]) {
            return;
        }
        let terminal = Tmux::new(110, 30);
        let program = std::env::current_exe().expect("this one");
        let test = "live::terminal::tests::panics_while_a_frame_is_drawn";
        let options = format!("--ignored --exact --nocapture {test}");
        terminal.type_command(&format!("RUST_BACKTRACE=0 {} {options}", program.display()));
        let printed = terminal.wait_for_end(101);
        assert!(printed.contains("the view is wrong"), "{printed}");
    }

    #[test]
    #[ignore = "the test above runs it in a terminal of its own"]
    fn panics_while_a_frame_is_drawn() {
        let mut terminal = Terminal::enter().expect("a terminal");
        terminal.draw(|_| panic!("the view is wrong")).expect("a panic instead");
    }
}
