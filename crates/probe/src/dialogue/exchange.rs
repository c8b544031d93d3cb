//! A text of the user's, and the end of the answer to it.

use regex::bytes::Regex;

/// The bytes that open a dialogue, and the pattern that ends its answer.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// The bytes to send at once. Empty for a server that speaks first.
    pub send: Vec<u8>,
    /// The answer is complete where this matches, with at most 4 KiB of the answer. `None`: it is complete
    /// when the server closes the connection.
    pub until: Option<Regex>,
}

impl Exchange {
    /// An exchange whose answer is complete where the expression `until` matches.
    ///
    /// # Errors
    ///
    /// The error says what is wrong with the expression.
    pub fn new(send: Vec<u8>, until: Option<&str>) -> Result<Exchange, String> {
        let until = until.map(Regex::new).transpose().map_err(|error| error.to_string())?;
        Ok(Exchange { send, until })
    }
}

/// The bytes of a text in which `\r`, `\n`, `\t`, `\0`, `\\` and `\xNN` have their usual meaning.
///
/// # Errors
///
/// The error names the sequence that has no meaning.
pub fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        bytes.push(match rest.next() {
            Some('r') => b'\r',
            Some('n') => b'\n',
            Some('t') => b'\t',
            Some('0') => 0,
            Some('\\') => b'\\',
            Some('x') => {
                let digits: String = rest.by_ref().take(2).collect();
                let byte = u8::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 2);
                byte.ok_or_else(|| format!("\\x{digits}: expected two hexadecimal digits"))?
            }
            other => {
                let other = other.map(String::from).unwrap_or_default();
                return Err(format!("\\{other}: expected \\r, \\n, \\t, \\0, \\\\ or \\xNN"));
            }
        });
    }
    Ok(bytes)
}
