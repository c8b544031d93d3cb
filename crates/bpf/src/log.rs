//! Keeps libbpf's messages for the next error instead of printing them on standard error.

use libbpf_rs::{PrintLevel, set_print};
use std::mem;
use std::sync::{Mutex, PoisonError};

static LOG: Mutex<String> = Mutex::new(String::new());

/// Starts to keep warnings, and discards earlier ones.
pub fn begin() {
    take();
    set_print(Some((PrintLevel::Warn, |_, message| {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).push_str(&message);
    })));
}

/// Takes the warnings that were kept so far.
pub fn take() -> String {
    mem::take(&mut LOG.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Lines of a log to print: the verifier's reason is at the end, after the instructions that it
/// followed.
const LINES_MAX: usize = 20;

/// The last 20 lines of a log.
pub fn last_lines(log: &str) -> String {
    let lines: Vec<_> = log.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_log_is_kept() {
        let log: String = (0..1000).map(|line| format!("{line}: r1 = r2\n")).collect();
        let kept = last_lines(&log);
        assert!(kept.starts_with("980: ") && kept.ends_with("999: r1 = r2"), "{kept}");
        assert_eq!(last_lines("one\ntwo\n"), "one\ntwo");
    }
}
