//! The output of a command whose terminal shows a view.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes at the end of the output from which the view takes its lines.
const TAIL_BYTES: u64 = 16 << 10;

/// A file without a name, to which the command writes. Nothing of its output is lost, and no thread
/// has to read while it runs.
pub(super) struct CommandOutput {
    name: String,
    file: Arc<File>,
}

impl CommandOutput {
    /// A file for the output of that command.
    ///
    /// # Errors
    ///
    /// The folder for temporary files cannot be written.
    pub(super) fn create(command: &[OsString]) -> io::Result<CommandOutput> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-link-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut options = OpenOptions::new();
        // Appended: the command and the one outside write to the same file.
        let file = options.read(true).append(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(&path)?;
        let words: Vec<String> = command.iter().map(|word| word.display().to_string()).collect();
        Ok(CommandOutput { name: plain(&words.join(" ")), file: Arc::new(file) })
    }

    /// The command in one line.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where the command writes.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// The last lines, without what would move the cursor of a terminal.
    pub(super) fn last_lines(&self) -> Vec<String> {
        let bytes = self.tail().unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().map(plain).collect()
    }

    fn tail(&self) -> io::Result<Vec<u8>> {
        let end = self.file.metadata()?.len();
        let start = end.saturating_sub(TAIL_BYTES);
        let mut bytes = vec![0; (end - start) as usize];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes)
    }

    /// Writes all of it to standard output.
    ///
    /// # Errors
    ///
    /// Reading or writing fails.
    pub(super) fn print(&self) -> io::Result<()> {
        use std::io::{Seek, SeekFrom};
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(0))?;
        io::copy(&mut file, &mut io::stdout().lock()).map(drop)
    }
}

/// A line as a terminal would leave it: what follows the last carriage return, without escape
/// sequences (ECMA-48 section 5.4) and other control characters.
fn plain(line: &str) -> String {
    let line = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    let mut kept = String::new();
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\x1b' if characters.as_str().starts_with('[') => {
                characters.next();
                // A control sequence ends with a character from @ to ~.
                characters.by_ref().find(|character| ('@'..='~').contains(character));
            }
            '\t' => kept.push(' '),
            other if other.is_control() => {}
            other => kept.push(other),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_line_is_what_a_terminal_would_leave() {
        assert_eq!(plain("\x1b[1;31mred\x1b[0m and\tplain\x07"), "red and plain");
        assert_eq!(plain("10 %\r50 %\r100 %\r"), "100 %");
        assert_eq!(plain("\x1b[12"), "");
    }

    #[test]
    fn the_last_lines_are_those_of_a_long_output() {
        let output = CommandOutput::create(&["sh".into(), "-c".into()]).expect("writable");
        assert_eq!((output.name(), output.last_lines()), ("sh -c", vec![]));
        for number in 0..20_000 {
            writeln!(&*output.file, "line {number}").expect("writable");
        }
        let lines = output.last_lines();
        assert_eq!(lines.last().map(String::as_str), Some("line 19999"));
        assert!(lines.len() < 2000, "{}", lines.len());
    }
}
