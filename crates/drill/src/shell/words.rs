//! Splits shell commands into lines and words, as far as scripts need.

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Its text.
    pub(super) text: String,
    /// Its words, if it is a simple command: without pipes, redirections and expansions but that of arithmetic.
    pub(super) words: Option<Vec<String>>,
}

/// The commands of a text: lines, joined where a backslash ends them, and parts between semicolons.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut lines = Vec::new();
    for line in joined.lines() {
        for part in parts(line) {
            let text = part.trim().to_owned();
            if !text.is_empty() {
                let words = words(&text);
                lines.push(Line { text, words });
            }
        }
    }
    lines
}

/// The parts of a line between semicolons outside quotes, without a comment at its end.
fn parts(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quote, mut before) = (0, None, ' ');
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == ';' => {
                parts.push(&line[start..at]);
                start = at + 1;
            }
            None if c == '#' && before.is_whitespace() => {
                parts.push(&line[start..at]);
                return parts;
            }
            None => {}
        }
        before = c;
    }
    parts.push(&line[start..]);
    parts
}

/// The words of a simple command.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line;
    let mut quote = None;
    while let Some(c) = rest.chars().next() {
        if let Some(inside) = rest.strip_prefix("$((") {
            let (expression, after) = inside.split_once("))")?;
            word.get_or_insert_default().push_str(&product(expression)?.to_string());
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            // The name of a file that set_sysctls.py writes has the number of a process in it.
            (None, '$') if rest.starts_with("{PPID}") => word.get_or_insert_default().push('$'),
            (None, '|' | '&' | '<' | '>' | '(' | ')' | '$' | '`' | '\\' | '*' | '?')
            | (Some('"'), '$' | '`' | '\\') => {
                return None;
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// The value of numbers with `*` between them.
fn product(expression: &str) -> Option<u64> {
    expression
        .split('*')
        .try_fold(1u64, |product, factor| product.checked_mul(factor.trim().parse().ok()?))
}
