//! The load of a page: a document, and then its objects over several connections in parallel.

use crate::{ConfigError, Sizes};
use windlass_base::{Rng, Span, Time};

/// How many connections browsers open to a server over HTTP/1.1.
pub const CONNECTIONS: u32 = 6;

/// A page.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The size of a request, in bytes.
    pub request_bytes: u64,
    /// The size of the document, in bytes.
    pub document: Sizes,
    /// How many objects the document names, at least one: the distribution is that of a number.
    pub objects: Sizes,
    /// The size of an object, in bytes.
    pub object: Sizes,
    /// How many connections there are at most, usually [`CONNECTIONS`]. A connection carries one
    /// request after the other.
    pub connections: u32,
}

impl Page {
    /// Checks the distributions and the connections.
    ///
    /// # Errors
    ///
    /// That of a distribution, [`ConfigError::NoBytes`] or [`ConfigError::Connections`].
    pub fn validate(&self) -> Result<(), ConfigError> {
        [&self.document, &self.objects, &self.object].into_iter().try_for_each(Sizes::validate)?;
        if self.request_bytes == 0 {
            return Err(ConfigError::NoBytes);
        }
        if self.connections == 0 { Err(ConfigError::Connections) } else { Ok(()) }
    }
}

/// A request of a page.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The connection that carries it, from 0 on. It is opened when it is first used.
    pub connection: u32,
    /// The size of the request, in bytes.
    pub request_bytes: u64,
    /// The size of the response, in bytes.
    pub response_bytes: u64,
}

/// The load of a page that is under way.
///
/// ```
/// use windlass_base::{Rng, Span, Time};
/// use windlass_traffic::{Sizes, page};
///
/// let page = page::Page {
///     request_bytes: 400,
///     document: Sizes::Fixed(50_000),
///     objects: Sizes::Fixed(3),
///     object: Sizes::Exponential { mean: 20_000.0 },
///     connections: 2,
/// };
/// let (mut load, document) = page::Load::start(page, Time::ZERO, Rng::new(1));
/// assert_eq!((document.connection, document.response_bytes), (0, 50_000));
/// let at = |ms| Time::ZERO + Span::from_millis(ms);
/// // The document names three objects. Two connections fetch the first two.
/// assert_eq!(load.response_done(0, at(100)).len(), 2);
/// // Connection 1 is done first, and fetches the third.
/// assert_eq!(load.response_done(1, at(150))[0].connection, 1);
/// assert!(load.response_done(0, at(170)).is_empty() && load.load_time().is_none());
/// assert!(load.response_done(1, at(200)).is_empty());
/// assert_eq!(load.load_time(), Some(Span::from_millis(200)));
/// ```
#[derive(Clone, Debug)]
pub struct Load {
    page: Page,
    rng: Rng,
    started: Time,
    /// The objects that have not been requested; `None`: the document has not come.
    left: Option<u64>,
    /// Requests under way.
    pending: u64,
    load_time: Option<Span>,
}

impl Load {
    /// Starts the load of a [valid](Page::validate) page with the request of its document.
    pub fn start(page: Page, now: Time, mut rng: Rng) -> (Load, Request) {
        let response_bytes = page.document.draw(&mut rng);
        let request_bytes = page.request_bytes;
        let load = Load { page, rng, started: now, left: None, pending: 1, load_time: None };
        (load, Request { connection: 0, request_bytes, response_bytes })
    }

    /// The response on a connection is complete. Returns the requests that follow: after the document
    /// one for each connection, after an object at most one, for the same connection. Without a request
    /// under way, nothing happens.
    pub fn response_done(&mut self, connection: u32, now: Time) -> Vec<Request> {
        if self.pending == 0 {
            return Vec::new();
        }
        self.pending -= 1;
        let requests = match self.left {
            Some(_) => self.request(connection).into_iter().collect(),
            None => {
                self.left = Some(self.page.objects.draw(&mut self.rng));
                (0..self.page.connections).map_while(|number| self.request(number)).collect()
            }
        };
        if self.pending == 0 {
            self.load_time = Some(now.saturating_since(self.started));
        }
        requests
    }

    /// From the start to the end of the last response; `None` before.
    pub fn load_time(&self) -> Option<Span> {
        self.load_time
    }

    /// The request of the next object.
    fn request(&mut self, connection: u32) -> Option<Request> {
        let left = self.left.as_mut().filter(|left| **left > 0)?;
        *left -= 1;
        self.pending += 1;
        let response_bytes = self.page.object.draw(&mut self.rng);
        Some(Request { connection, request_bytes: self.page.request_bytes, response_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(objects: u64, connections: u32) -> Page {
        Page {
            request_bytes: 300,
            document: Sizes::Fixed(1000),
            objects: Sizes::Fixed(objects),
            object: Sizes::Fixed(500),
            connections,
        }
    }

    /// The time and connection of each object, where each response takes as long as its connection's
    /// number plus one, in seconds, and the document one second.
    fn load(page: Page) -> (Vec<(u64, u32)>, Load) {
        let (mut load, document) = Load::start(page, Time::ZERO, Rng::new(1));
        let mut under_way = vec![(1, document)];
        let mut done = Vec::new();
        while let Some(index) = (0..under_way.len()).min_by_key(|index| under_way[*index].0) {
            let (at, request) = under_way.swap_remove(index);
            done.push((at, request.connection));
            let next = load.response_done(request.connection, Time::ZERO + Span::from_secs(at));
            under_way.extend(next.into_iter().map(|r| (at + u64::from(r.connection) + 1, r)));
        }
        (done[1..].to_vec(), load)
    }

    #[test]
    fn a_connection_that_is_done_takes_the_next_object() {
        let (mut done, found) = load(page(5, 2));
        done.sort_unstable();
        // Connection 0 needs 1 s for each, connection 1 needs 2.
        assert_eq!(done, [(2, 0), (3, 0), (3, 1), (4, 0), (5, 1)]);
        assert_eq!(found.load_time(), Some(Span::from_secs(5)));
    }

    #[test]
    fn few_objects_use_few_connections() {
        let (done, found) = load(page(2, CONNECTIONS));
        assert_eq!(done, [(2, 0), (3, 1)]);
        assert_eq!(found.load_time(), Some(Span::from_secs(3)));
    }

    #[test]
    fn a_response_that_nobody_asked_for_changes_nothing() {
        let (_, mut found) = load(page(1, 1));
        assert_eq!(found.response_done(0, Time::ZERO + Span::from_secs(9)), []);
        assert_eq!(found.load_time(), Some(Span::from_secs(2)));
    }

    #[test]
    fn pages_that_cannot_be_loaded_are_refused() {
        assert_eq!(page(1, 1).validate(), Ok(()));
        assert_eq!(page(1, 0).validate(), Err(ConfigError::Connections));
        assert_eq!(page(0, 1).validate(), Err(ConfigError::NoBytes));
        assert_eq!(Page { request_bytes: 0, ..page(1, 1) }.validate(), Err(ConfigError::NoBytes));
    }
}
