//! The search for an object that is large enough to measure, if the page is too small: at most five requests of a
//! server, the page among them. Links of the page only, as far as robots.txt permits them.

mod links;
mod robots;

use super::Found;
use crate::topic::read::ReadOrder;
use crate::topic::{Purpose, Report};
use robots::Rules;
use std::collections::VecDeque;
use url::Url;

/// Requests of a search: the page, robots.txt, and links.
const REQUESTS_MAX: usize = 5;
/// Requests on one connection: servers often end it after a hundred.
const REPEATS_MAX: u64 = 100;

/// A search under way.
#[derive(Clone, Debug)]
pub(super) struct Search {
    page: Found,
    /// The bytes that the measurement needs.
    enough: u64,
    user_agent: String,
    /// Links to try, the likeliest first.
    links: VecDeque<Url>,
    /// Whether robots.txt was read, so that `links` has those that it permits.
    has_rules: bool,
    /// The largest link so far.
    best: Option<Found>,
    requests: usize,
}

/// The object to measure.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) found: Found,
    /// How often a connection that measures has to ask for it.
    pub(super) repeats: usize,
    /// Why it is measured, for the user.
    pub(super) why: String,
}

impl Search {
    /// The search from a page whose body was read; `None` if the page has `enough` bytes.
    pub(super) fn new(page: &Found, enough: u64, user_agent: &str) -> Option<Search> {
        let body = page.scout.body.as_ref()?;
        let head = page.scout.head.as_ref()?;
        if size(page) >= enough {
            return None;
        }
        let is_page = head.status == 200 && head.is_html;
        let links = if is_page { links::of(&body.begin, &page.url) } else { Vec::new() };
        Some(Search {
            page: page.clone(),
            enough,
            user_agent: user_agent.to_owned(),
            links: links.into(),
            has_rules: false,
            best: None,
            requests: 1,
        })
    }

    /// The next request; `None` if the search is over.
    pub(super) fn next(&self) -> Option<(Url, Purpose)> {
        let is_found = self.best.as_ref().is_some_and(|best| size(best) >= self.enough);
        let link = self.links.front()?;
        match (is_found || self.requests >= REQUESTS_MAX, self.has_rules) {
            (true, _) => None,
            (false, true) => Some((link.clone(), Purpose::Scout)),
            (false, false) => {
                Some((self.page.url.join("/robots.txt").ok()?, Purpose::Read(ReadOrder::Text)))
            }
        }
    }

    /// Takes the answer to [`Search::next`].
    pub(super) fn handle_report(&mut self, report: Report) {
        self.requests += 1;
        if !self.has_rules {
            self.has_rules = true;
            let rules = Rules::of(&report, &self.user_agent);
            return self.links.retain(|link| rules.permit(link));
        }
        let Some(url) = self.links.pop_front() else { return };
        let link = Found { url, remote: self.page.remote, scout: report };
        let has_length = link
            .scout
            .head
            .as_ref()
            .is_some_and(|head| head.status == 200 && head.content_length.is_some());
        if has_length && self.best.as_ref().is_none_or(|best| size(&link) > size(best)) {
            self.best = Some(link);
        }
    }

    /// The object to measure once the search is over. Where it is too small, it is asked for several times if
    /// `may_repeat`.
    pub(super) fn choose(self, may_repeat: bool) -> Object {
        let page_bytes = size(&self.page);
        let is_link = self.best.as_ref().is_some_and(|best| size(best) > page_bytes);
        let page_url = self.page.url.clone();
        let found = self.best.filter(|_| is_link).unwrap_or(self.page);
        let bytes = size(&found);
        let repeats = match may_repeat {
            true => self.enough.div_ceil(bytes.max(1)).min(REPEATS_MAX) as usize,
            false => 1,
        };
        let mut why = format!("the page {page_url} has {page_bytes} bytes, too few for the tests");
        why += &match is_link {
            true => format!("; its link {} of {bytes} bytes is measured", found.url),
            false => ", and no permitted link of it that was tried has more".to_owned(),
        };
        if repeats > 1 {
            why += &format!("; each connection asks for it {repeats} times");
        }
        Object { found, repeats, why }
    }
}

/// The bytes of an answer: its head and its body, as the head says or as they were read. A body without a length
/// that came slowly has no known end.
fn size(found: &Found) -> u64 {
    let Some(head) = &found.scout.head else { return 0 };
    let body = found.scout.body.as_ref();
    let read = body.map_or(0, |body| if body.is_whole { body.bytes } else { u64::MAX });
    head.content_length.unwrap_or(read).saturating_add(head.head_bytes as u64)
}

#[cfg(test)]
mod tests;
