//! The control bits of a TCP header as scripts write them.

/// The FIN bit.
pub const FIN: u16 = 0x001;
/// The SYN bit.
pub const SYN: u16 = 0x002;
/// The RST bit.
pub const RST: u16 = 0x004;
/// The PSH bit.
pub const PSH: u16 = 0x008;
/// The ACK bit.
pub const ACK: u16 = 0x010;
/// The URG bit.
pub const URG: u16 = 0x020;
/// The ECE bit.
pub const ECE: u16 = 0x040;
/// The CWR bit.
pub const CWR: u16 = 0x080;
/// AE (RFC 9768 §3.1).
pub const AE: u16 = 0x100;
/// The three bits of AccECN's counter ACE.
pub const ACE: u16 = AE | CWR | ECE;

/// The letters in the order in which they are printed.
const LETTERS: [(char, u16); 9] = [
    ('S', SYN),
    ('E', ECE),
    ('W', CWR),
    ('A', AE),
    ('F', FIN),
    ('R', RST),
    ('P', PSH),
    ('U', URG),
    ('.', ACK),
];

/// The bits, and whether ACE is given as a digit.
///
/// # Errors
///
/// A letter that is none, or ACE beside E, W or A.
pub fn parse(text: &str) -> Result<(u16, bool), String> {
    let mut bits = 0;
    let mut ace = None;
    for c in text.chars() {
        if let Some(&(_, bit)) = LETTERS.iter().find(|(letter, _)| *letter == c) {
            bits |= bit;
        } else {
            let digit = c.to_digit(8).filter(|_| ace.is_none());
            ace = Some(digit.ok_or_else(|| {
                format!("`{c}` in the TCP flags `{text}`: expected F, S, R, P, U, E, W, A, a point, or one digit of ACE from 0 to 7")
            })?);
        }
    }
    let Some(ace) = ace else { return Ok((bits, false)) };
    if bits & ACE != 0 {
        return Err(format!(
            "the TCP flags `{text}` give ACE as a digit and by E, W or A: expected one of both"
        ));
    }
    Ok((bits | (ace as u16) << 6, true))
}

/// The bits as scripts write them; with `ace`, those of AccECN's counter as a digit.
pub fn text(bits: u16, ace: bool) -> String {
    let letters = LETTERS.iter().filter(|(_, bit)| bits & bit != 0 && !(ace && ACE & bit != 0));
    let mut text: String = letters.map(|(letter, _)| *letter).collect();
    if ace {
        text.push(char::from(b'0' + ((bits & ACE) >> 6) as u8));
    }
    if text.is_empty() { "-".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_letters_and_one_digit() {
        assert_eq!(parse("SEWA"), Ok((SYN | ACE, false)));
        assert_eq!(parse("P.5"), Ok((PSH | ACK | AE | ECE, true)));
        assert_eq!(parse(".5"), parse("5."));
        assert!(parse("P.8").is_err());
        assert!(parse("E.5").is_err());
        assert!(parse(".55").is_err());
        assert_eq!(text(PSH | ACK | AE | ECE, true), "P.5");
        assert_eq!(text(0, false), "-");
    }
}
