//! The applications of simulated servers: a page over HTTP, or any bytes.

use crate::answer::{Answer, Outgoing};

/// The application of a simulated server.
pub trait Speaker {
    /// Takes received bytes and appends what it sends to `out`. Returns true once the answer is complete;
    /// it is not called again then.
    fn hear(&mut self, bytes: &[u8], out: &mut Outgoing) -> bool;
}

/// The end of a request's head.
const END_OF_HEAD: &[u8; 4] = b"\r\n\r\n";

/// Answers the end of a request's head, and closes.
#[derive(Clone, Debug)]
pub struct Says {
    answer: Answer,
    /// Bytes of [`END_OF_HEAD`] that the received bytes end with.
    matched: usize,
}

impl Says {
    /// A speaker with this answer.
    pub fn new(answer: impl Into<Answer>) -> Says {
        Says { answer: answer.into(), matched: 0 }
    }

    /// Takes a byte, and returns whether it completes the head.
    fn ends_head(&mut self, byte: u8) -> bool {
        self.matched = match END_OF_HEAD.get(self.matched) {
            Some(expected) if *expected == byte => self.matched + 1,
            _ => usize::from(byte == END_OF_HEAD[0]),
        };
        self.matched == END_OF_HEAD.len()
    }
}

impl Speaker for Says {
    fn hear(&mut self, bytes: &[u8], out: &mut Outgoing) -> bool {
        let done = bytes.iter().any(|byte| self.ends_head(*byte));
        if done {
            out.push(&self.answer);
        }
        done
    }
}

/// Makes a speaker with the same answer for each connection.
pub fn says(answer: impl Into<Answer>) -> impl FnMut() -> Box<dyn Speaker> {
    let answer = answer.into();
    move || Box::new(Says::new(answer.clone()))
}

/// The bytes of [`Answer::page`].
pub fn page(len: usize) -> Vec<u8> {
    Answer::page(len).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The answer comes with the end of the head, however the request is cut, and not before.
        #[test]
        fn the_end_of_a_head_is_found_in_any_pieces(head in "[\r\na]{0,20}", cut in 0..24_usize) {
            let request = format!("{head}\r\n\r\nrest").into_bytes();
            let end = request.windows(4).position(|four| four == END_OF_HEAD).expect("there") + 4;
            let (first, second) = request.split_at(cut.min(request.len()));
            let (mut says, mut out) = (Says::new(Vec::from(b"answer")), Outgoing::default());
            let done = says.hear(first, &mut out);
            prop_assert_eq!(done, first.len() >= end);
            if !done {
                prop_assert_eq!(out.written(), 0);
                prop_assert!(says.hear(second, &mut out));
            }
            prop_assert_eq!(out.written(), 6);
        }
    }
}
