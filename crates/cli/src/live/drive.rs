//! The loop of a live view.

use super::keys::{Keys, Quit};
use super::screen::Screen;
use super::terminal::{self, Terminal};
use super::view::{self, Theme};
use crate::failure::{self, Failure};
use crossterm::event::{self, Event};
use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time between two frames, and between two samples of [`watch`] at least.
const INTERVAL: Duration = Duration::from_millis(250);
/// [`watch`] waits so many times as long as the last sample took: a long table costs little too.
#[cfg(all(target_os = "linux", any(feature = "ecn-proxy", feature = "kernel-cc")))]
const REST: u32 = 10;

/// Turns samples of a tool's state into screens.
pub(crate) trait Panels<S> {
    /// Takes the next sample.
    fn take(&mut self, sample: S);

    /// The screen after the samples so far.
    fn screen(&self) -> Screen;
}

/// A view on the terminal.
struct View {
    terminal: Terminal,
    theme: Theme,
    keys: Keys,
    screen: Screen,
    /// Rows that the scrolling table shows.
    page: usize,
}

impl View {
    fn enter(screen: Screen) -> io::Result<View> {
        let (terminal, theme) = (Terminal::enter()?, Theme::of_environment());
        let mut view = View { terminal, theme, keys: Keys::default(), screen, page: 0 };
        view.draw()?;
        Ok(view)
    }

    /// Shows another screen, unless the user has paused.
    fn show(&mut self, screen: Screen) {
        if !self.keys.paused {
            self.screen = screen;
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        let View { terminal, theme, keys, screen, page } = self;
        terminal.draw(|frame| *page = view::render(frame, screen, keys, *theme))
    }

    /// Draws and takes keys until `end`, or until the user ends the view. A new size of the terminal
    /// is an event too.
    fn attend(&mut self, end: Instant) -> io::Result<Option<Quit>> {
        self.draw()?;
        while event::poll(end.saturating_duration_since(Instant::now()))? {
            if let Event::Key(key) = event::read()?
                && let Some(quit) = self.keys.press(key, self.page)
            {
                return Ok(Some(quit));
            }
            self.draw()?;
        }
        Ok(None)
    }
}

/// Shows samples until the user ends the view. After the first one an error is shown instead of
/// ending the view: what is watched may come back.
///
/// # Errors
///
/// There is no terminal, or the first sample fails.
#[cfg(all(target_os = "linux", any(feature = "ecn-proxy", feature = "kernel-cc")))]
pub(crate) fn watch<S>(
    mut sample: impl FnMut() -> Result<S, Failure>,
    mut panels: impl Panels<S>,
) -> Result<(), Failure> {
    terminal::check()?;
    panels.take(sample()?);
    crate::interrupt::end_with(|| 130);
    let mut view = View::enter(panels.screen()).map_err(failed)?;
    let mut rest = INTERVAL;
    loop {
        match view.attend(Instant::now() + rest).map_err(failed)? {
            Some(Quit::Asked) => return Ok(()),
            Some(Quit::Interrupted) => {
                drop(view);
                std::process::exit(130);
            }
            None => {}
        }
        let start = Instant::now();
        match sample() {
            Ok(sample) => {
                panels.take(sample);
                view.show(panels.screen());
            }
            Err(failure) => {
                let note = Some(failure.message().to_owned());
                view.show(Screen { note, ..panels.screen() });
            }
        }
        rest = INTERVAL.max(start.elapsed() * REST);
    }
}

fn failed(error: io::Error) -> Failure {
    Failure::io("the terminal", &error)
}

/// A view in a thread of its own, for a tool whose thread has other work. Dropping it gives the
/// terminal back.
pub(crate) struct Live<S> {
    samples: Option<Sender<Sample<S>>>,
    /// Returns how the user ended the view, if that was the end.
    thread: Option<JoinHandle<Option<Quit>>>,
}

enum Sample<S> {
    Next(S),
    /// There is no further one; the view stays until the user ends it.
    Last,
}

impl<S: Send + 'static> Live<S> {
    /// Begins a view, which takes the terminal with its first sample. The user ends it by a signal of
    /// this process to itself, SIGTERM for q and SIGINT for Ctrl-C, as the keys of a terminal would.
    ///
    /// # Errors
    ///
    /// There is no terminal.
    pub(crate) fn start(panels: impl Panels<S> + Send + 'static) -> Result<Live<S>, Failure> {
        terminal::check()?;
        let (samples, taken) = channel();
        let thread = thread::spawn(move || {
            let shown = show_all(&taken, panels);
            terminal::restore();
            let quit = shown.unwrap_or_else(|error| {
                failure::error(failed(error).message());
                Some(Quit::Asked)
            });
            quit.inspect(|quit| ask_to_end(*quit))
        });
        Ok(Live { samples: Some(samples), thread: Some(thread) })
    }

    /// Shows a sample with the next frame.
    pub(crate) fn show(&self, sample: S) {
        self.send(Sample::Next(sample));
    }

    /// Leaves the last screen until the user ends the view. Returns after q; after Ctrl-C the handler
    /// of the signal ends the process.
    pub(crate) fn stay(mut self) {
        self.send(Sample::Last);
        if let Ok(Some(_)) = self.end() {
            loop {
                thread::park();
            }
        }
    }

    fn send(&self, sample: Sample<S>) {
        // The user may have ended the view.
        let _ = self.samples.as_ref().map(|samples| samples.send(sample));
    }
}

impl<S> Live<S> {
    fn end(&mut self) -> thread::Result<Option<Quit>> {
        drop(self.samples.take());
        self.thread.take().map_or(Ok(None), JoinHandle::join)
    }
}

impl<S> Drop for Live<S> {
    fn drop(&mut self) {
        // A panic has been reported by its hook.
        let _ = self.end();
    }
}

/// Shows samples until the sender is gone: `None`; or until the user wants the command to end.
fn show_all<S>(
    samples: &Receiver<Sample<S>>,
    mut panels: impl Panels<S>,
) -> io::Result<Option<Quit>> {
    let Ok(Sample::Next(first)) = samples.recv() else { return Ok(None) };
    panels.take(first);
    let mut view = View::enter(panels.screen())?;
    let mut last = false;
    loop {
        let end = Instant::now() + INTERVAL;
        let mut over = false;
        while !over {
            match samples.try_recv() {
                Ok(Sample::Next(sample)) => panels.take(sample),
                Ok(Sample::Last) => last = true,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => over = true,
            }
        }
        if over && !last {
            return Ok(None);
        }
        view.show(panels.screen());
        match view.attend(end)? {
            Some(Quit::Asked) if last => return Ok(None),
            Some(quit) => return Ok(Some(quit)),
            None => {}
        }
    }
}

/// Ends this process as a key of the terminal would, so that the tool ends its work in order.
#[cfg(unix)]
fn ask_to_end(quit: Quit) {
    use nix::sys::signal::{Signal, kill};
    let signal = match quit {
        Quit::Asked => Signal::SIGTERM,
        Quit::Interrupted => Signal::SIGINT,
    };
    // A process may always send itself a signal.
    let _ = kill(nix::unistd::Pid::this(), signal);
}

/// Ends this process.
#[cfg(not(unix))]
fn ask_to_end(_: Quit) {
    std::process::exit(130);
}
