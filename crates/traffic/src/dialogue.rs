//! Requests and responses with times to think in between: a user, or a client that polls. Several of
//! them are a closed loop: who waits for a response asks for nothing else.

use crate::{ConfigError, Sizes};
use windlass_base::{Rng, Span, Time};

/// One user.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialogue {
    /// The sizes of requests, in bytes.
    pub request: Sizes,
    /// The sizes of responses, in bytes.
    pub response: Sizes,
    /// From the end of a response to the next request, or the mean of it.
    pub think: Span,
    /// The times are drawn from the exponential distribution with this mean.
    pub exponential: bool,
    /// How many requests there are; `None`: no end.
    pub count: Option<u64>,
}

/// A request and its response.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// When the request is sent.
    pub at: Time,
    /// The size of the request, in bytes.
    pub request_bytes: u64,
    /// The size of the response, in bytes.
    pub response_bytes: u64,
}

impl Dialogue {
    /// Checks the sizes.
    ///
    /// # Errors
    ///
    /// That of a distribution.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.request.validate().and(self.response.validate())
    }
}

/// A dialogue that is under way.
#[derive(Clone, Debug)]
pub struct User {
    dialogue: Dialogue,
    rng: Rng,
    begun: u64,
}

impl User {
    /// A user that has asked for nothing.
    pub fn new(dialogue: Dialogue, rng: Rng) -> User {
        User { dialogue, rng, begun: 0 }
    }

    /// The next exchange of a user who has just got a response, or who begins: then it is at once.
    /// `None`: it was the last.
    pub fn next_exchange(&mut self, now: Time) -> Option<Exchange> {
        let Dialogue { think, exponential, count, .. } = self.dialogue;
        if count.is_some_and(|count| self.begun >= count) {
            return None;
        }
        let pause = match self.begun {
            0 => Span::ZERO,
            _ if exponential => Span::from_secs_f64(self.rng.exponential(think.as_secs_f64())),
            _ => think,
        };
        self.begun += 1;
        Some(Exchange {
            at: now + pause,
            request_bytes: self.dialogue.request.draw(&mut self.rng),
            response_bytes: self.dialogue.response.draw(&mut self.rng),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialogue(exponential: bool, count: Option<u64>) -> Dialogue {
        Dialogue {
            request: Sizes::Fixed(300),
            response: Sizes::Uniform { min: 1000, max: 2000 },
            think: Span::from_secs(2),
            exponential,
            count,
        }
    }

    #[test]
    fn a_user_thinks_after_each_response() {
        let mut user = User::new(dialogue(false, Some(3)), Rng::new(1));
        let mut at = |seconds| {
            let exchange = user.next_exchange(Time::ZERO + Span::from_secs(seconds))?;
            assert!((1000..=2000).contains(&exchange.response_bytes));
            Some(exchange.at.as_secs_f64())
        };
        assert_eq!([at(1), at(5), at(6), at(9)], [Some(1.0), Some(7.0), Some(8.0), None]);
    }

    #[test]
    fn drawn_times_have_their_mean() {
        let mut user = User::new(dialogue(true, None), Rng::new(2));
        user.next_exchange(Time::ZERO);
        let pauses = (0..10_000).filter_map(|_| user.next_exchange(Time::ZERO));
        let mean = pauses.map(|exchange| exchange.at.as_secs_f64()).sum::<f64>() / 10_000.0;
        assert!((mean - 2.0).abs() < 3.5 * 2.0 / 100.0, "{mean}");
    }
}
