//! Times in seconds.

use super::cursor::Cursor;
use crate::script::error::Error;
use crate::script::lexer::Kind;
use windlass_base::Span;

/// The longest time of a script, in seconds: a day.
const TIME_MAX_S: u64 = 86_400;

/// A time in seconds.
pub(super) fn time(cursor: &mut Cursor<'_>) -> Result<Span, Error> {
    let is_number = matches!(cursor.peek(), Some(Kind::Float | Kind::Integer(_)));
    let span = Some(cursor.text()).filter(|_| is_number).and_then(seconds);
    let span = span.ok_or_else(|| {
        let mut error = cursor.expected("a time in seconds (`+0.1`, `0.1`, `*`)");
        if is_number {
            error.message += &format!("; it is not negative, and at most {TIME_MAX_S}");
        }
        error
    })?;
    cursor.skip();
    Ok(span)
}

/// Seconds with up to nine digits behind the point; further ones are left out.
fn seconds(text: &str) -> Option<Span> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digits = format!("{fraction:0<9}");
    let nanos: u64 = digits.get(..9)?.parse().ok()?;
    (whole <= TIME_MAX_S).then(|| Span::from_nanos(whole * 1_000_000_000 + nanos))
}
