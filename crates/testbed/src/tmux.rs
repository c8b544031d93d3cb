//! A terminal that a test types into and reads: a shell in a tmux server of the test's own.

use crate::process::text;
use crate::wait::{PATIENCE, eventually};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A terminal with a shell in it, for as long as the value lives.
#[derive(Debug)]
pub struct Tmux {
    /// Where the server's socket is.
    folder: PathBuf,
    commands: Cell<u32>,
}

impl Tmux {
    /// Starts a shell in a terminal of that many columns and lines.
    ///
    /// # Panics
    ///
    /// Without tmux.
    pub fn new(columns: u16, lines: u16) -> Tmux {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-tmux-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("writable");
        let tmux = Tmux { folder, commands: Cell::new(0) };
        let (columns, lines) = (columns.to_string(), lines.to_string());
        let shell = ["env", "PS1=ready$ ", "ENV=", "sh"];
        let size = ["-x", &columns, "-y", &lines];
        tmux.run(&[&["new-session", "-d"][..], &size, &shell].concat());
        tmux.wait_for(&["ready$"]);
        tmux
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        // Not within the terminal that runs the test, and with characters beyond ASCII.
        command.env_remove("TMUX").env("TERM", "screen-256color");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(self.folder.join("socket"));
        command.args(arguments).output().expect("tmux is installed")
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.tmux(arguments);
        assert!(output.status.success(), "tmux {arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Types a command line and Enter. The shell prints `status-N-S` when it has ended, where N counts
    /// from 1 and S is its exit status.
    #[track_caller]
    pub fn type_command(&self, command: &str) {
        self.commands.set(self.commands.get() + 1);
        // The number is not in the typed line as it will be in the printed one.
        let line = format!("{command}; echo status-$(({} + 0))-$?", self.commands.get());
        self.run(&["send-keys", "-l", &line]);
        self.press("Enter");
    }

    /// Presses a key, by its name in tmux: `q`, `C-c`, `PageDown`.
    #[track_caller]
    pub fn press(&self, key: &str) {
        self.run(&["send-keys", key]);
    }

    /// Gives the terminal another size.
    #[track_caller]
    pub fn resize(&self, columns: u16, lines: u16) {
        self.run(&["resize-window", "-x", &columns.to_string(), "-y", &lines.to_string()]);
    }

    /// The text on the screen.
    #[track_caller]
    pub fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// The same with escape sequences for colours.
    #[track_caller]
    pub fn colored_screen(&self) -> String {
        self.run(&["capture-pane", "-p", "-e"])
    }

    /// Waits until the screen has all of these texts, and returns it. The screen may be drawn by half,
    /// so a test waits for each text that it expects, and asserts only what must not be there.
    ///
    /// # Panics
    ///
    /// After [`PATIENCE`], with the screen.
    #[track_caller]
    pub fn wait_for(&self, parts: &[&str]) -> String {
        self.wait_until(&format!("{parts:?}"), |screen| {
            parts.iter().all(|part| screen.contains(part))
        })
    }

    /// Waits until the screen is as wanted, and returns it.
    ///
    /// # Panics
    ///
    /// After [`PATIENCE`], with `what` and the screen.
    #[track_caller]
    pub fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        let found = eventually(|| {
            screen = self.screen();
            wanted(&screen)
        });
        assert!(found, "not within {} s: {what}, in\n{screen}", PATIENCE.as_secs());
        screen
    }

    /// Waits until the command that was typed last has ended with this status, and checks that the
    /// terminal is as before: the usual screen, the cursor, echo and line editing. Returns the screen.
    ///
    /// # Panics
    ///
    /// If it is not, or not in time.
    #[track_caller]
    pub fn wait_for_end(&self, status: u8) -> String {
        let ended = format!("status-{}-", self.commands.get());
        let screen = self.wait_for(&[&ended]);
        assert!(screen.contains(&format!("{ended}{status}\n")), "{screen}");
        let state = self.run(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
        assert_eq!(state, "0 1\n", "alternate screen, cursor");
        // The shell sets echo and line editing itself while it reads, so a command has to ask.
        self.type_command(
            "clear; stty -a | tr ' ;' '\\n' | grep -xE -- '-?(icanon|echo|isig)' | sort",
        );
        let state = self.wait_for(&[&format!("status-{}-0", self.commands.get())]);
        let found: Vec<&str> = state.lines().take(3).collect();
        assert_eq!(found, ["echo", "icanon", "isig"], "{state}");
        screen
    }

    /// Sends a signal, by its name, to the program in the foreground.
    ///
    /// # Panics
    ///
    /// If only the shell runs.
    #[track_caller]
    pub fn signal(&self, signal: &str) {
        let pid = self.foreground();
        let killed = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(killed.expect("kill is installed").success(), "{signal} {pid}");
    }

    /// The number of the process in the foreground.
    #[track_caller]
    fn foreground(&self) -> String {
        let shell = self.run(&["display-message", "-p", "#{pane_pid}"]);
        let children = Command::new("ps").args(["-o", "pid=", "--ppid", shell.trim()]).output();
        let children = text(&children.expect("ps is installed").stdout);
        children.split_whitespace().next().expect("a program in the foreground").to_owned()
    }

    /// Takes the terminal away, as when a window is closed, and waits until the program in the foreground
    /// has ended.
    ///
    /// # Panics
    ///
    /// If only the shell runs, or the program does not end within [`PATIENCE`].
    #[track_caller]
    pub fn close(self) {
        let process = Path::new("/proc").join(self.foreground());
        self.run(&["kill-server"]);
        assert!(eventually(|| !process.exists()), "still there after {} s", PATIENCE.as_secs());
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
        let _ = fs::remove_dir_all(&self.folder);
    }
}
