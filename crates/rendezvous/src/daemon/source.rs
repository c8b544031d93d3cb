//! Sources of events, and their tokens.

use mio::Token;

/// A socket, or the call to look at something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// Another thread wants something.
    Waker,
    /// A UDP socket of the server.
    Udp(usize),
    /// A socket that takes streams.
    Listener(usize),
    /// The socket of a relayed address.
    Relay(usize),
    /// A stream.
    Stream(usize),
}

const KINDS: usize = 5;

impl From<Source> for Token {
    fn from(source: Source) -> Token {
        let (kind, number) = match source {
            Source::Waker => (0, 0),
            Source::Udp(number) => (1, number),
            Source::Listener(number) => (2, number),
            Source::Relay(number) => (3, number),
            Source::Stream(number) => (4, number),
        };
        Token(number * KINDS + kind)
    }
}

impl From<Token> for Source {
    fn from(Token(token): Token) -> Source {
        let number = token / KINDS;
        match token % KINDS {
            0 => Source::Waker,
            1 => Source::Udp(number),
            2 => Source::Listener(number),
            3 => Source::Relay(number),
            _ => Source::Stream(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_source() {
        let sources = [
            Source::Waker,
            Source::Udp(3),
            Source::Listener(0),
            Source::Relay(9),
            Source::Stream(70_000),
        ];
        for source in sources {
            assert_eq!(Source::from(Token::from(source)), source);
        }
    }
}
