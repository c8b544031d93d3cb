//! Keyboard input of a live view.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// The keys, for the help panel.
pub(super) const KEYS: [(&str, &str); 6] = [
    ("q", "end the view"),
    ("Ctrl-C", "interrupt the command"),
    ("p, Space", "pause; the tool works on"),
    ("Up, Down", "scroll by a row"),
    ("PageUp, PageDown", "scroll by a page (Home, End)"),
    ("?", "show or hide this"),
];

/// The state of a view that its keys change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    /// The screen stands still.
    pub(super) paused: bool,
    /// The list of keys is shown.
    pub(super) help: bool,
    /// The first row shown of the table that scrolls.
    pub(super) first_row: usize,
}

/// How the user ends a view.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Quit {
    /// By q.
    Asked,
    /// By Ctrl-C.
    Interrupted,
}

impl Keys {
    /// Takes a key. `page` is the number of rows that the table shows.
    pub(super) fn press(&mut self, key: KeyEvent, page: usize) -> Option<Quit> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return (key.code == KeyCode::Char('c')).then_some(Quit::Interrupted);
        }
        let page = page.max(1);
        match key.code {
            KeyCode::Char('q') => return Some(Quit::Asked),
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('?') => self.help = !self.help,
            KeyCode::Esc => self.help = false,
            KeyCode::Up | KeyCode::Char('k') => self.first_row = self.first_row.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.first_row = self.first_row.saturating_add(1),
            KeyCode::PageUp => self.first_row = self.first_row.saturating_sub(page),
            KeyCode::PageDown => self.first_row = self.first_row.saturating_add(page),
            KeyCode::Home => self.first_row = 0,
            KeyCode::End => self.first_row = usize::MAX,
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(keys: &mut Keys, code: KeyCode) -> Option<Quit> {
        keys.press(KeyEvent::new(code, KeyModifiers::NONE), 10)
    }

    #[test]
    fn q_and_ctrl_c_end_the_view_and_other_keys_do_not() {
        let mut keys = Keys::default();
        assert_eq!(press(&mut keys, KeyCode::Char('q')), Some(Quit::Asked));
        let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        assert_eq!(keys.press(control('c'), 10), Some(Quit::Interrupted));
        assert_eq!(keys.press(control('q'), 10), None);
        assert_eq!(press(&mut keys, KeyCode::Char('c')), None);
        assert_eq!(keys, Keys::default());
    }

    #[test]
    fn pause_and_help_are_switches() {
        let mut keys = Keys::default();
        press(&mut keys, KeyCode::Char('p'));
        press(&mut keys, KeyCode::Char('?'));
        assert!(keys.paused && keys.help);
        press(&mut keys, KeyCode::Char('p'));
        press(&mut keys, KeyCode::Esc);
        assert_eq!(keys, Keys::default());
    }

    #[test]
    fn rows_scroll_by_one_and_by_page() {
        let mut keys = Keys::default();
        let mut at = |code| {
            press(&mut keys, code);
            keys.first_row
        };
        assert_eq!(at(KeyCode::Up), 0);
        assert_eq!(at(KeyCode::Down), 1);
        assert_eq!(at(KeyCode::PageDown), 11);
        assert_eq!(at(KeyCode::PageUp), 1);
        assert_eq!(at(KeyCode::End), usize::MAX);
        assert_eq!(at(KeyCode::Home), 0);
    }
}
